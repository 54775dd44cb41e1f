"""Seizure onset from free-text events: ordered rules, one answer or a clear refusal.

Annotations are typed by hand, in a hurry: `eeg onset`, `?onset ?TT1 then PST`,
`SZ EVENT # (PB SZ)`, `?onset of facial aut`. A text is read as qualifiers, then a head
(`definite sz onset`), then anything; so `clinical onset`, `no onset` and `Segment: REC START` are
not electrographic onsets because `clinical`, `no` and `rec` are not qualifiers. The best rule that
matches anything decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from epilens.errors import OnsetError

SAME_ONSET_S = 2.0
"""Markers of one rule that lie closer than this mean one onset: the first of them."""


@dataclass(frozen=True)
class Event:
    """One annotation: seconds from the start of the recording, and what somebody typed."""

    onset_s: float
    text: str
    duration_s: float = 0.0


@dataclass(frozen=True)
class Onset:
    """The onset that was taken, by which rule, from which annotation; the end where it is known."""

    onset_s: float
    offset_s: float | None
    text: str
    rule: str

    @classmethod
    def given(cls, onset_s: float) -> Onset:
        """An onset that the user typed: no rule was needed."""
        return cls(onset_s, None, "", "given by the user")


_SEIZURE = {"sz", "szr", "seizure", "seizures", "ictal", "fnsz", "gnsz", "cpsz", "absz", "tcsz"}
_ELECTRIC = {"electrographic", "electrical", "electroclinical"}
_DEVICE = {"eeg", "ieeg", "seeg", "ecog"}
_SURE = {"definite", "clear", "focal", "generalized", "subclinical", "typical", "habitual", "the"}
_PLACE = {"left", "right", "bilateral", "temporal", "frontal", "parietal", "occipital", "mesial"}
_UNSURE = {"possible", "possibly", "probable", "probably", "likely", "maybe", "questionable"}
_CLINICAL = {"clinical", "behavioral", "behavioural", "semiologic"}
_ONSET = {"onset", "start", "starts", "started", "begin", "begins", "beginning"}
_MARKER = {"event", "pb", "push", "button", "number", "nr", "type", "foc", "gen", "ia", "nm"}
_END = {"offset", "off", "end", "ends", "ended", "over", "stop", "stops", "stopped"}
_RECORDER = {"segment", "rec", "recording", "schedule", "check", "video", "camera"}

_NOT = {"no", "not", "none", "without", "never"}

_TIME_ONLY = re.compile(r"^[+-]?\d+(\.\d+)?$")
_TOKEN = re.compile(r"[a-z]+|\d+|\?")


def find_onset(events: Iterable[Event], who: str = "run") -> Onset:
    """The one seizure onset among `events`.

    Raises
    ------
    OnsetError
        When no text means an onset, or the best rule finds onsets more than two seconds apart.
    """
    events = [event for event in events if not _TIME_ONLY.match(event.text.strip())]
    ranked = [(rank, event) for event in events if (rank := _rank(event.text)) is not None]
    if not ranked:
        raise OnsetError(
            f"{who}: expected one event that means a seizure onset, found {_seen(events)}. "
            "Give the onset in a table (patient, run, onset_s) with --onsets."
        )
    best = min(rank for rank, _ in ranked)
    candidates = sorted((e for rank, e in ranked if rank == best), key=lambda e: e.onset_s)
    first, last = candidates[0], candidates[-1]
    if last.onset_s - first.onset_s > SAME_ONSET_S:
        times = ", ".join(f"{event.onset_s:.3f}" for event in candidates[:6])
        raise OnsetError(
            f"{who}: expected one seizure onset, found {len(candidates)} ({RULES[best]}) at "
            f"{times} s. Say which in a table (patient, run, onset_s) with --onsets."
        )
    return Onset(first.onset_s, _offset(first, events), first.text.strip(), RULES[best])


RULES = (
    "onset marker",
    "start marker",
    "uncertain onset marker",
    "seizure marker",
    "first change",
    "clinical onset",
    "uncertain clinical onset",
)
"""Best first; a text belongs to at most one of them."""


def _rank(text: str) -> int | None:
    """Index of the rule that a text matches, or None."""
    tokens = _tokens(text)
    unsure, kinds = False, set[str]()
    for position, token in enumerate(tokens):
        rest = tokens[position + 1 :]
        if token in _ONSET or (
            token == "on" and "seizure" in kinds and not "".join(rest).isalpha()
        ):
            return _rank_of_head(token, rest, kinds, unsure or rest[:1] == ["?"])
        if token in ("change", "changes") and "first" in kinds:
            return RULES.index("first change")
        if token == "?" or token in _UNSURE:
            unsure = True
        elif kind := _kind(token):
            kinds.add(kind)
        else:
            return None
    return RULES.index("seizure marker") if "seizure" in kinds else None


def _tokens(text: str) -> list[str]:
    """Words, numbers and question marks; SzOnset and EEGOnset are two words each."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", text)
    return _TOKEN.findall(re.sub(r"\b1st\b", "first", spaced.lower()))


def _kind(token: str) -> str | None:
    """What a qualifier says, or None when the word is not a qualifier."""
    if token in ("first", "earliest"):
        return "first"
    for kind, words in (
        ("seizure", _SEIZURE),
        ("electric", _ELECTRIC),
        ("device", _DEVICE),
        ("sure", _SURE | _PLACE),
        ("clinical", _CLINICAL),
        ("marker", _MARKER),
    ):
        if token in words:
            return kind
    return "marker" if token.isdigit() else None


def _rank_of_head(head: str, rest: Sequence[str], kinds: set[str], unsure: bool) -> int | None:
    """Rule of `[qualifiers] onset|start [rest]`."""
    words = [token for token in rest if token not in ("?", "the", "a")]
    if words[:1] == ["of"]:
        # "onset of seizure" is one; "onset of facial automatisms" is a symptom, later in time.
        if not (set(words[1:3]) & _SEIZURE):
            return None
        kinds = kinds | {"seizure"}
    if set(words[:1]) & {"zone", "artifact", "artefact"} or set(words) & _NOT:
        return None
    if set(words[:1]) & _CLINICAL:
        kinds = kinds | {"clinical"}
    if "clinical" in kinds and not kinds & {"electric", "device"}:
        return RULES.index("uncertain clinical onset" if unsure else "clinical onset")
    if head != "onset" and "device" in kinds and "seizure" not in kinds:
        return None  # "EEG started": the recording, not the seizure
    if head != "onset" and not kinds & {"seizure", "electric"}:
        # A bare "start" must stand alone: "start eating" is not a seizure.
        if any(not token.isdigit() for token in words):
            return None
        return RULES.index("uncertain onset marker" if unsure else "start marker")
    return RULES.index("uncertain onset marker" if unsure else "onset marker")


def _offset(onset: Event, events: Iterable[Event]) -> float | None:
    """End of the seizure: the marker's own duration, else the first end word after the onset."""
    if onset.duration_s > 0:
        return onset.onset_s + onset.duration_s
    ends = [
        event.onset_s
        for event in events
        if event.onset_s > onset.onset_s
        and _END & set(_tokens(event.text))
        and not _RECORDER & set(_tokens(event.text))
    ]
    return min(ends, default=None)


def _seen(events: Sequence[Event]) -> str:
    """The texts that were seen, without repeating free text that could name a person.

    Only texts made of known words and contact-like tokens are quoted; the others are counted.
    """
    if not events:
        return "no events"
    known = set[str]().union(
        *(_SEIZURE, _ELECTRIC, _DEVICE, _SURE, _PLACE, _UNSURE, _CLINICAL, _ONSET, _MARKER),
        *(_END, _RECORDER, {"on", "first", "change"}),
    )
    texts = list(dict.fromkeys(event.text.strip() for event in events))
    quotable = [
        text
        for text in texts
        if len(text) <= 40
        and all(
            word in known or re.fullmatch(r"[a-z]{1,4}\d{1,3}", word)
            for word in re.findall(r"[^\W\d_]+\d*|\d+", text.lower())
        )
    ]
    quoted = ", ".join(repr(text) for text in quotable[:8])
    others = len(texts) - len(quotable[:8])
    if not others:
        return quoted
    return f"{quoted + ' and ' if quoted else ''}{others} other texts (see its events.tsv)"
