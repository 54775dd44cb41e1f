"""Seizure onset from free-text events: ordered rules, one answer or a clear refusal.

`onset_texts` says which rule a text matches. The best rule that matches anything decides; within
one rule, a text that reads as it stands goes before one that had to be mended.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from itertools import pairwise

from epilens.core.errors import OnsetError
from epilens.data.onsets.texts import RULES, is_quotable, means_end, names_seizure, read_rule

APART_S = 10.0
"""Onsets of one file that lie closer are one seizure marked twice, or a slip."""
SAME_ONSET_S = 2.0
"""Markers of one rule that lie closer than this mean one onset: the first of them."""
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


_TIME_ONLY = re.compile(r"^[+-]?\d+(\.\d+)?$")


def find_onset(events: Iterable[Event], who: str = "run") -> Onset:
    """The one seizure onset among `events`; two different ones of the best rule are refused."""
    events = [event for event in events if not _TIME_ONLY.match(event.text.strip())]
    rule, candidates = _best_ranked(events)
    if not candidates:
        raise OnsetError(
            "expected one event that means a seizure onset",
            subject=who,
            found=_shown(events),
            hint="Give the onset in a table (patient, run, onset_s) with --onsets.",
        )
    candidates.sort(key=lambda event: event.onset_s)
    first, last = candidates[0], candidates[-1]
    if last.onset_s - first.onset_s > SAME_ONSET_S:
        times = ", ".join(f"{event.onset_s:.3f}" for event in candidates[:6])
        raise OnsetError(
            "expected one seizure onset",
            subject=who,
            found=f"{len(candidates)} ({rule}) at {times} s",
            hint="Say which in a table (patient, run, onset_s) with --onsets.",
        )
    return _onset_at(first, events, rule)


def _best_ranked(events: Sequence[Event]) -> tuple[str, list[Event]]:
    """The best rule that matches any text, and the events that match it; none where none does."""
    ranked = [(rank, event) for event in events if (rank := read_rule(event.text)) is not None]
    best = min((rank for rank, _ in ranked), default=(0, False))
    return RULES[best[0]], [event for rank, event in ranked if rank == best]


def find_seizures(events: Iterable[Event]) -> list[Onset]:
    """Every seizure among the events of a recording of any kind, in order of time.

    Only texts that name a seizure or an electrographic onset count: in a recording of sleep or of
    a task, a bare `onset` or `start` means something else. The best rule that matches any text
    decides. Events within ten seconds of a seizure's onset, or before its end, belong to it.
    """
    events = sorted(events, key=lambda event: event.onset_s)
    rule, candidates = _best_ranked([event for event in events if names_seizure(event.text)])
    starts: list[Event] = []
    for event in candidates:
        if not starts or event.onset_s >= starts[-1].onset_s + max(APART_S, starts[-1].duration_s):
            starts.append(event)
    limits_s = [*(event.onset_s for event in starts[1:]), float("inf")]
    return [
        _onset_at(start, [e for e in events if e.onset_s < limit_s], rule)
        for start, limit_s in zip(starts, limits_s, strict=False)
    ]


def _onset_at(start: Event, events: Iterable[Event], rule: str) -> Onset:
    """The seizure of a marker; it ends by the marker's own duration, else the first end word."""
    ends_s = (e.onset_s for e in events if e.onset_s > start.onset_s and means_end(e.text))
    end_s = start.onset_s + start.duration_s if start.duration_s > 0 else min(ends_s, default=None)
    return Onset(start.onset_s, end_s, start.text.strip(), rule, start.kind, start.contacts)


def _shown(events: Sequence[Event]) -> str:
    """The texts of events; those that could name a person are only counted."""
    if not events:
        return "no events"
    texts = list(dict.fromkeys(event.text.strip() for event in events))
    quotable = [text for text in texts if is_quotable(text)]
    quoted = ", ".join(repr(text) for text in quotable[:8])
    others = len(texts) - len(quotable[:8])
    if not others:
        return quoted
    return f"{quoted + ' and ' if quoted else ''}{others} other texts (see its events.tsv)"


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
