"""Annotations, seizure onsets and clock times."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from itertools import pairwise

from epilens.core.errors import OnsetError

APART_S = 10.0
"""Two onsets in one file that are closer than this are a mistake or one seizure."""
GIVEN, TABLED = "given by the user", "given in a table of onsets"
CLOCK = "given by the user as a clock time"
"""Values of `Onset.rule` for onsets that the user gave."""


@dataclass(frozen=True)
class Event:
    """An annotation: its time in seconds from the start of the recording, and its text."""

    onset_s: float
    text: str
    duration_s: float = 0.0
    kind: str = ""
    """`clinical` or `subclinical` if the annotation says so, else empty."""
    contacts: str = ""
    """Contacts in which a seizure began, as somebody typed them, or empty text."""


@dataclass(frozen=True)
class Onset:
    """The onset of a seizure in a file, and who or what stated it."""

    onset_s: float
    """Seconds from the start of the file."""
    offset_s: float | None
    """End of the seizure in seconds from the start of the file, if it is known."""
    text: str
    """Text of the annotation; empty if the user gave the onset."""
    rule: str
    """The rule that the annotation matched (`texts.RULES`), or how the user gave the onset."""
    kind: str = ""
    """`clinical` or `subclinical` if the events say so, else empty."""
    contacts: str = ""
    """Contacts in which the seizure began, as somebody typed them; outputs never show it."""
    by_clock: bool = False
    """Whether the time includes interruptions of the recording, as in events.tsv."""
    uncertainty_s: float | None = None
    """The onset is at most this far from `onset_s`, as stated by the user; None: not stated. It is
    shown and changes no number."""

    @classmethod
    def given(cls, onset_s: float, how: str = GIVEN, uncertainty_s: float | None = None) -> Onset:
        """An onset that the user typed, marked or gave in a table."""
        return cls(onset_s, None, "", how, uncertainty_s=uncertainty_s)


def too_close(onsets_s: Iterable[float]) -> tuple[float, float] | None:
    """The first two onsets that are closer than `APART_S`, or None.

    Examples
    --------
    >>> too_close([300.0, 20.0, 24.5]), too_close([20.0, 300.0])
    ((20.0, 24.5), None)
    """
    pairs = pairwise(sorted(onsets_s))
    return next((pair for pair in pairs if pair[1] - pair[0] < APART_S), None)


class OutsideError(OnsetError, code="onset-outside"):
    """An onset of the user is outside of its recording."""


_CLOCK = re.compile(r"(?:(\d{4}-\d\d-\d\d)[ T])?(\d{1,2}:\d\d:\d\d(?:\.\d{1,6})?)")
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class ClockTime:
    """A time of day, with or without a date."""

    text: str
    time: time
    date: datetime | None = None
    """Midnight of the day, or None."""

    @classmethod
    def parse(cls, text: str) -> ClockTime | None:
        """Parse a clock time; None for any other text.

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
            at = time.fromisoformat(clock if clock[2] == ":" else f"0{clock}")
            return cls(text.strip(), at, datetime.fromisoformat(day) if day else None)
        except ValueError:  # 25:00:00, or the 30th of February
            return None

    def seconds_from(self, start: datetime | None, duration_s: float, who: str) -> float:
        """Seconds from the start of a file to this time; refuses a time outside of the file."""
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
