"""Onsets as clock times: `14:03:07` or `2026-01-05 14:03:07` → seconds from a file's start."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, time, timedelta

from epilens.core.errors import OnsetError

_CLOCK = re.compile(r"(?:(\d{4}-\d\d-\d\d)[ T])?(\d{1,2}:\d\d:\d\d(?:\.\d{1,6})?)")
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class ClockTime:
    """A time of day, with a date where one is given."""

    text: str
    time: time
    date: datetime | None = None
    """Midnight of the day."""

    @classmethod
    def parse(cls, text: str) -> ClockTime | None:
        """The clock time that a text is; None for any other text.

        Examples
        --------
        >>> ClockTime.parse("2026-01-05 14:03:07").time
        datetime.time(14, 3, 7)
        >>> ClockTime.parse("38.5") is None
        True
        """
        match = _CLOCK.fullmatch(text.strip())
        if match is None:
            return None
        day, clock = match.groups()
        try:
            at = time.fromisoformat(clock.zfill(8) if "." not in clock else _padded(clock))
            return cls(text.strip(), at, datetime.fromisoformat(day) if day else None)
        except ValueError:  # 25:00:00, or the 30th of February
            return None

    def seconds_from(self, start: datetime | None, duration_s: float, who: str) -> float:
        """Seconds from the start of a file to this time.

        Raises
        ------
        OnsetError
            Where the file has no start time, or the time does not lie in it.
        """
        if start is None:
            raise OnsetError(
                f"expected seconds from the start of the file, because it has no start time, found "
                f"the clock time {self.text}. Give a number such as 61.5.",
                subject=who,
            )
        start = start.replace(tzinfo=None)
        midnight = self.date or datetime.combine(start.date(), time())
        at = datetime.combine(midnight.date(), self.time)
        if self.date is None and at < start:
            at += _DAY  # a recording over midnight
        seconds = (at - start).total_seconds()
        if 0 <= seconds < duration_s:
            return seconds
        end = start + timedelta(seconds=duration_s)
        since_midnight_s = (at - datetime.combine(at.date(), time())).total_seconds()
        raise OnsetError(
            f"expected a clock time from {start:%H:%M:%S} to {end:%H:%M:%S}, when this file was "
            f"recorded, found {self.text}. If it counts from the start of the file, give "
            f"{since_midnight_s:g} in seconds.",
            subject=who,
        )


def _padded(clock: str) -> str:
    """A clock time with six decimals, which is all that every Python reads."""
    whole, _, decimals = clock.partition(".")
    return f"{whole.zfill(8)}.{decimals.ljust(6, '0')}"
