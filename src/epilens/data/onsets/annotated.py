"""The seizure onsets among the annotations of a recording, or one clear refusal.

Annotations are free text; `texts` says which rule a text matches. The best rule that matches any
text decides. Within one rule, a text that matches as it was typed precedes one that had to be
corrected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from epilens.core.errors import OnsetError
from epilens.data.onsets.onset import APART_S, Event, Onset
from epilens.data.onsets.texts import RULES, is_quotable, means_end, names_seizure, read_rule

SAME_ONSET_S = 2.0
"""Annotations of one rule that are closer than this mean one onset, the first."""
_TIME_ONLY = re.compile(r"^[+-]?\d+(\.\d+)?$")


def find_onset(events: Iterable[Event], who: str = "run") -> Onset:
    """The one seizure onset among `events`; refuses two different ones of the best rule."""
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
    """The best rule that matches any event, and the events that match it, if any."""
    ranked = [(rank, event) for event in events if (rank := read_rule(event.text)) is not None]
    best = min((rank for rank, _ in ranked), default=(0, False))
    return RULES[best[0]], [event for rank, event in ranked if rank == best]


def find_seizures(events: Iterable[Event]) -> list[Onset]:
    """Every seizure among the events of a recording of any kind, in order of time.

    Only texts that name a seizure or an electrographic onset count, because `onset` or `start`
    alone means something else in a recording of sleep or of a task. The best rule that matches any
    text decides. Events within ten seconds of an onset, or before its end, belong to the seizure.
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
    """The onset that an event states; the seizure ends after its duration or at an end event."""
    ends_s = (e.onset_s for e in events if e.onset_s > start.onset_s and means_end(e.text))
    end_s = start.onset_s + start.duration_s if start.duration_s > 0 else min(ends_s, default=None)
    return Onset(start.onset_s, end_s, start.text.strip(), rule, start.kind, start.contacts)


def _shown(events: Sequence[Event]) -> str:
    """The texts of events for a message; texts that could name a person are only counted."""
    if not events:
        return "no events"
    texts = list(dict.fromkeys(event.text.strip() for event in events))
    quotable = [text for text in texts if is_quotable(text)]
    quoted = ", ".join(repr(text) for text in quotable[:8])
    others = len(texts) - len(quotable[:8])
    if not others:
        return quoted
    counted = f"{others} other text{'' if others == 1 else 's'}"
    return f"{quoted} and {counted}" if quoted else counted
