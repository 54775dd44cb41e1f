"""Seizure onset from free-text events: ordered rules, one answer or a clear refusal.

`onset_texts` says which rule a text matches. The best rule that matches anything decides; within
one rule, a text that reads as it stands goes before one that had to be mended.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from itertools import pairwise

from epilens.core.errors import OnsetError

APART_S = 10.0
"""Onsets of one file that lie closer are one seizure marked twice, or a slip."""
GIVEN, TABLED = "given by the user", "given in a table of onsets"
CLOCK = "given by the user as a clock time"
"""In place of a rule, where the user says when."""


@dataclass(frozen=True)
class Event:
    """One annotation: seconds from the start of the recording, and what somebody typed."""

    onset_s: float
    text: str
    duration_s: float = 0.0
    kind: str = ""
    """`clinical` or `subclinical`, where a seizure is said to be one."""
    contacts: str = ""
    """Contacts in which a seizure began, as somebody typed them."""


@dataclass(frozen=True)
class Onset:
    """The onset of a seizure in a file, and its source."""

    onset_s: float
    """Seconds from the start of the file."""
    offset_s: float | None
    """End of the seizure, where it is known."""
    text: str
    """The annotation; empty where a person gave the onset."""
    rule: str
    """The rule that the annotation matched (`RULES`, best first), or how a person gave it."""
    kind: str = ""
    """`clinical` or `subclinical`, where the events say so."""
    contacts: str = ""
    """Contacts in which the seizure began, as somebody typed them; no output repeats this text."""
    by_clock: bool = False
    """Whether it counts interruptions of the recording too, as events.tsv does."""

    @classmethod
    def given(cls, onset_s: float, how: str = GIVEN) -> Onset:
        """An onset that the user typed, or that a table contains: no rule was needed."""
        return cls(onset_s, None, "", how)


def too_close(onsets_s: Iterable[float]) -> tuple[float, float] | None:
    """The first two onsets of one file that are closer than any two seizures; None without any.

    Examples
    --------
    >>> too_close([300.0, 20.0, 24.5]), too_close([20.0, 300.0])
    ((20.0, 24.5), None)
    """
    pairs = pairwise(sorted(onsets_s))
    return next((pair for pair in pairs if pair[1] - pair[0] < APART_S), None)


class OutsideError(OnsetError, code="onset-outside"):
    """An onset that the user typed does not lie in its recording."""


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
            at = time.fromisoformat(clock if clock[2] == ":" else f"0{clock}")
            return cls(text.strip(), at, datetime.fromisoformat(day) if day else None)
        except ValueError:  # 25:00:00, or the 30th of February
            return None

    def seconds_from(self, start: datetime | None, duration_s: float, who: str) -> float:
        """Seconds from the start of a file to this time, which must lie in it."""
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
