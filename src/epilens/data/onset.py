"""Seizure onset from free-text events: ordered rules, one answer or a clear refusal.

`onset_texts` says which rule a text matches. The best rule that matches anything decides; within
one rule, a text that reads as it stands goes before one that had to be mended.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from epilens.core.errors import OnsetError
from epilens.data.onset_texts import RULES, is_quotable, means_end, names_seizure, read_rule

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


class OutsideError(OnsetError, code="onset-outside"):
    """An onset that the user typed does not lie in its recording."""


_TIME_ONLY = re.compile(r"^[+-]?\d+(\.\d+)?$")


def find_onset(events: Iterable[Event], who: str = "run") -> Onset:
    """The one seizure onset among `events`.

    Raises
    ------
    OnsetError
        When no text means an onset, or the best rule finds onsets more than two seconds apart.
    """
    events = [event for event in events if not _TIME_ONLY.match(event.text.strip())]
    ranked = [(rank, event) for event in events if (rank := read_rule(event.text)) is not None]
    if not ranked:
        raise OnsetError(
            "expected one event that means a seizure onset",
            subject=who,
            found=_shown(events),
            hint="Give the onset in a table (patient, run, onset_s) with --onsets.",
        )
    best = min(rank for rank, _ in ranked)
    rule = RULES[best[0]]
    candidates = sorted((e for rank, e in ranked if rank == best), key=lambda e: e.onset_s)
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


def _onset_at(event: Event, events: Iterable[Event], rule: str) -> Onset:
    end_s = _offset(event, events)
    return Onset(event.onset_s, end_s, event.text.strip(), rule, event.kind, event.contacts)


def find_seizures(events: Iterable[Event]) -> list[Onset]:
    """Every seizure among the events of a recording of any kind, in order of time.

    Only texts that name a seizure or an electrographic onset count: in a recording of sleep or of
    a task, a bare `onset` or `start` means something else. The best rule that matches any text
    decides. Events within ten seconds of a seizure's onset, or before its end, belong to it.
    """
    events = sorted(events, key=lambda event: event.onset_s)
    ranked = [
        (rank, event)
        for event in events
        if names_seizure(event.text) and (rank := read_rule(event.text)) is not None
    ]
    if not ranked:
        return []
    best = min(rank for rank, _ in ranked)
    starts: list[Event] = []
    for event in (event for rank, event in ranked if rank == best):
        if not starts or event.onset_s >= starts[-1].onset_s + max(APART_S, starts[-1].duration_s):
            starts.append(event)
    limits_s = [*(event.onset_s for event in starts[1:]), float("inf")]
    return [
        _onset_at(start, [e for e in events if e.onset_s < limit_s], RULES[best[0]])
        for start, limit_s in zip(starts, limits_s, strict=True)
    ]


def _offset(onset: Event, events: Iterable[Event]) -> float | None:
    """End of the seizure: the marker's own duration, else the first end word after the onset."""
    if onset.duration_s > 0:
        return onset.onset_s + onset.duration_s
    ends = [
        event.onset_s for event in events if event.onset_s > onset.onset_s and means_end(event.text)
    ]
    return min(ends, default=None)


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
