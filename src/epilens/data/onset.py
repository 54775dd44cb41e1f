"""Seizure onset from free-text events: ordered rules, one answer or a clear refusal.

Annotations are typed by hand, in a hurry: `eeg onset`, `?onset ?TT1 then PST`,
`SZ EVENT # (PB SZ)`, `?onset of facial aut`. A text is read as qualifiers, then a head
(`definite sz onset`), then anything; so `clinical onset`, `no onset` and `Segment: REC START` are
not electrographic onsets because `clinical`, `no` and `rec` are not qualifiers. The best rule that
matches anything decides.

What does not read so is mended and read again: recorders cut at 20 characters (`Z ELECTROGRAPHIC
ONS`), a long word has one typing error, contacts or an unknown token stand first (`AD1-3 onset`).
Within one rule a text that reads as it stands goes before a mended one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from epilens.core.errors import OnsetError
from epilens.data.contacts import plain_marks

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


_SEIZURE = {"sz", "szr", "seizure", "seizures", "ictal", "fnsz", "gnsz", "cpsz", "absz", "tcsz"}
_ELECTRIC = {"electrographic", "electrical", "electroclinical"}
_DEVICE = {"eeg", "ieeg", "seeg", "ecog"}
_SURE = {"definite", "clear", "focal", "generalized", "subclinical", "typical", "habitual", "the"}
_SURE |= {"subclin"}
_PLACE = {"left", "right", "bilateral", "temporal", "frontal", "parietal", "occipital", "mesial"}
_PLACE |= {"l", "r", "lt", "rt"}
_UNSURE = {"possible", "possibly", "probable", "probably", "likely", "maybe", "questionable"}
_UNSURE |= {"poss", "prob"}
_CLINICAL = {"clinical", "clin", "behavioral", "behavioural", "semiologic"}
_ONSET = {"onset", "start", "starts", "started", "begin", "begins", "beginning"}
_MARKER = {"event", "pb", "push", "button", "number", "nr", "type", "foc", "gen", "ia", "nm"}
_END = {"offset", "off", "end", "ends", "ended", "over", "stop", "stops", "stopped"}
_RECORDER = {"segment", "rec", "recording", "schedule", "check", "video", "camera"}

_NOT = {"no", "not", "none", "without", "never"}
# Words that say that there was no seizure, that it was at another time, or that nobody knows when.
_DENIES = {"ruled", "rule", "false", "pseudo", "psychogenic", "denied", "denies", "fake", "missed"}
_DENIES |= {"ago", "yesterday", "yday", "tonight", "tomorrow", "soon", "earlier", "previous"}
_DENIES |= {"imminent", "expected", "awaited", "history", "last"}
_DENIES |= {"unclear", "unknown", "uncertain", "undetermined", "indeterminate", "undefined"}
_DENIES |= {"pseudoseizure", "pseudoseizures", "pnes", "nonepileptic"}
# First words that change what follows, in place of merely standing before it.
_TURNS = (
    _NOT
    | _DENIES
    | {
        "post",
        "pre",
        "before",
        "after",
        "prior",
        "since",
        "until",
        "till",
        "during",
        "near",
    }
)
_TURNS |= {"aura", "sleep", "arousal", "motor", "movement", "artifact", "artefact", "spike", "stim"}
_TURNS |= {"tonic", "clonic", "gtc", "gtcs", "facial", "emg", "ecg", "ekg", "second", "another"}
_TURNS |= {"mark", "trig", "page", "photo"}
_TURNING = ("non", "post", "pre", "inter", "stim", "un")

_UNITS = {"s", "sec", "secs", "second", "seconds", "m", "min", "mins", "minute", "minutes"}
_UNITS |= {"h", "hr", "hrs", "hour", "hours"}
_RELATIVE = {"before", "after", "later", "prior"}

_TIME_ONLY = re.compile(r"^[+-]?\d+(\.\d+)?$")
_TOKEN = re.compile(r"[a-z]+|\d+|\?")
# BrainVision says what kind of marker it is before what somebody typed.
_KIND_OF_MARKER = re.compile(r"^\s*comment\s*[/:]\s*", re.IGNORECASE)
# "Sz 2P": a letter behind the number of a seizure; 30s and 2h are durations.
_NUMBERED = re.compile(r"(?<!\d)(\d+)[a-gi-ln-rt-z](?![a-z\d])")
_CUT_AT = 20
"""Recorders keep this many characters of an annotation."""
_LONGEST = 200
"""Characters of a text that are mended; nobody types an onset behind so many."""
_SLEEP_STAGE = re.compile(r"n[1-3]|s[1-4]")
_ONE_CONTACT = r"[a-z]{1,4}'?\s?\d{1,3}(?:\s*-\s*(?:[a-z]{1,4}'?)?\d{1,3})?"
_CONTACTS_FIRST = re.compile(
    rf"^[\s*?]*({_ONE_CONTACT}(?:(?:\s*[,/&+]\s*|\s+and\s+|\s+)(?:{_ONE_CONTACT}|\d{{1,3}}))*)(?![a-z\d])"
)


def find_onset(events: Iterable[Event], who: str = "run") -> Onset:
    """The one seizure onset among `events`.

    Raises
    ------
    OnsetError
        When no text means an onset, or the best rule finds onsets more than two seconds apart.
    """
    events = [event for event in events if not _TIME_ONLY.match(event.text.strip())]
    ranked = [(rank, event) for event in events if (rank := _reading(event.text)) is not None]
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
        if _names_seizure(event.text) and (rank := _reading(event.text)) is not None
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


def _names_seizure(text: str) -> bool:
    tokens = {_mended(token) for token in _tokens(_KIND_OF_MARKER.sub("", text[:_LONGEST]))}
    return bool(tokens & (_SEIZURE | _ELECTRIC))


def means_onset(text: str) -> bool:
    """Whether a text means a seizure or its onset, by any rule."""
    return _reading(text) is not None


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


def _reading(text: str) -> tuple[int, bool] | None:
    """Index of the rule that a text matches, and whether it had to be mended for that; or None."""
    text = _KIND_OF_MARKER.sub("", text)
    rank = _rank(_tokens(text))
    if rank is not None:
        return rank, False
    rank = _rank_mended(text)
    return None if rank is None else (rank, True)


def _rank(tokens: Sequence[str]) -> int | None:
    """Index of the rule that words match as they stand, or None."""
    unsure, kinds = False, set[str]()
    for position, token in enumerate(tokens):
        if token in _ONSET or (token == "on" and "seizure" in kinds):
            rest = tokens[position + 1 :]
            if token == "on" and "".join(rest).isalpha():
                return None
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
    words = re.sub(r"\b1st\b", "first", re.sub(r"\bw/o\b", "without", spaced.lower()))
    return _TOKEN.findall(_NUMBERED.sub(r"\1", words))


def _rank_mended(text: str) -> int | None:
    """Rule of a text that was cut, mistyped, or has contacts or one unknown token before it."""
    rest, contacts = _without_contacts(text[:_LONGEST])
    tokens = [_mended(token) for token in _tokens(rest)[:_CUT_AT]]
    if len(text.strip()) == _CUT_AT and tokens:
        tokens = _completed(tokens)
    if contacts and "onset" not in tokens:
        return None  # "G3 start" is a stimulation, not a seizure
    rank = _rank(tokens)
    if rank is not None or not tokens:
        return rank
    first, rest_of = tokens[0], tokens[1:]
    if len(first) == 1:
        # A letter by which a center marks its notes: "Z ELECTROGRAPHIC ONS".
        onset = "onset" in rest_of or bool(set(rest_of) & _SEIZURE)
        return _rank(rest_of) if onset else None
    kinds = {_kind(token) for token in rest_of}
    if _turns(first) or "onset" not in rest_of or not kinds & {"seizure", "electric"}:
        return None  # "sleep onset", and whatever else begins
    # One word that nobody knows may change the meaning, so this is never certain.
    return _rank(["?", *rest_of])


def _turns(first: str) -> bool:
    """Whether a first word may change what follows it."""
    return first in _TURNS | _END | _RECORDER or first.startswith(_TURNING)


def _without_contacts(text: str) -> tuple[str, bool]:
    """The text behind the contacts with which it begins; a question mark stays."""
    plain = plain_marks(text.strip().lower())
    match = _CONTACTS_FIRST.match(plain)
    if match is None or not all(map(_may_be_shaft, re.findall(r"[a-z]+", match[1]))):
        return text, False
    if _SLEEP_STAGE.fullmatch(match[1]) or max(map(int, re.findall(r"\d+", match[1]))) > 256:
        return "not " + text, False  # a stage, or P300: it begins, but it is no seizure
    return "? " * ("?" in match[0]) + plain[match.end() :], True


def _may_be_shaft(letters: str) -> bool:
    return letters == "and" or not (letters in _KNOWN or _turns(letters) or letters == "dc")


def _mended(token: str) -> str:
    """The known word that a long word is, but for one typing error; else the word itself."""
    if len(token) < 6 or len(token) > 20 or token in _KNOWN:
        return token
    return next((word for word in _LONG if _one_error(token, word)), token)


@lru_cache(maxsize=4096)
def _one_error(typed: str, word: str) -> bool:
    """Whether one letter too many, too few, wrong, or two exchanged turn a word into another.

    The first letter must be right: `atypical` is no error in `typical`.
    """
    if typed[0] != word[0] or abs(len(typed) - len(word)) > 1:
        return False
    same = next((i for i, (a, b) in enumerate(zip(typed, word, strict=False)) if a != b), None)
    if same is None:
        return True
    a, b = typed[same:], word[same:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])


def _completed(tokens: list[str]) -> list[str]:
    """The words of a text that was cut, with its last word whole, if only one word begins so."""
    *before, last = tokens
    if last in _KNOWN or len(last) < 2:
        return tokens
    classes = [words for words in _CLASSES if any(word.startswith(last) for word in words)]
    if len(classes) != 1:
        return tokens
    # "left temporal eeg on" may be a switch; what is electrographic, a seizure or clinical is not.
    kinds = {_kind(token) for token in before}
    if classes[0] is _ONSET and not kinds & {"electric", "seizure", "clinical"}:
        return tokens
    return [*before, min(word for word in classes[0] if word.startswith(last))]


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


_CLASSES = (
    *(_SEIZURE, _ELECTRIC, _DEVICE, _SURE, _PLACE, _UNSURE, _CLINICAL, _ONSET, _MARKER),
    *(_END, _RECORDER),
)
_KNOWN = set[str]().union(*_CLASSES, {"first", "change"})
_LONG = sorted(
    word
    for words in (_SEIZURE, _ELECTRIC, _SURE, _PLACE, _UNSURE, _CLINICAL)
    for word in words
    if len(word) >= 7
)
"""Words in which one typing error is mended; `started` is not among them (`stated`)."""


def _rank_of_head(head: str, rest: Sequence[str], kinds: set[str], unsure: bool) -> int | None:
    """Rule of `[qualifiers] onset|start [rest]`."""
    words = [token for token in rest if token not in ("?", "the", "a")]
    if words[:1] == ["of"]:
        # "onset of seizure" is one; "onset of facial automatisms" is a symptom, later in time.
        if not (set(words[1:3]) & _SEIZURE):
            return None
        kinds = kinds | {"seizure"}
    if set(words[:1]) & {"zone", "artifact", "artefact"} or set(words) & (_NOT | _DENIES):
        return None
    if _is_elsewhen(words):
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


def _is_elsewhen(words: Sequence[str]) -> bool:
    """Whether words give a time relative to the annotation: `5 min before`, `in 10 s`."""
    before = ("", *words)
    timed = [at for at, pair in enumerate(pairwise(words)) if _is_duration(pair)]
    return any(before[at] == "in" or set(words) & _RELATIVE for at in timed)


def _is_duration(pair: tuple[str, str]) -> bool:
    number, unit = pair
    return number.isdigit() and unit in _UNITS


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


def _shown(events: Sequence[Event]) -> str:
    """The texts of events, without repeating free text that could name a person.

    Only texts made of known words and contact-like tokens are quoted; the others are counted.
    """
    if not events:
        return "no events"
    words_to_quote = _KNOWN | {"on"}
    texts = list(dict.fromkeys(event.text.strip() for event in events))
    quotable = [
        text
        for text in texts
        if len(text) <= 40
        and all(
            word in words_to_quote or re.fullmatch(r"[a-z]{1,4}\d{1,3}", word)
            for word in re.findall(r"[^\W\d_]+\d*|\d+", text.lower())
        )
    ]
    quoted = ", ".join(repr(text) for text in quotable[:8])
    others = len(texts) - len(quotable[:8])
    if not others:
        return quoted
    return f"{quoted + ' and ' if quoted else ''}{others} other texts (see its events.tsv)"
