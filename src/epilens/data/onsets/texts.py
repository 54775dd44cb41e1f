"""Which text of an annotation means a seizure onset, and by which rule.

Annotations are typed by hand, in a hurry: `eeg onset`, `?onset ?TT1 then PST`,
`SZ EVENT # (PB SZ)`, `?onset of facial aut`. A text consists of qualifiers, then a head
(`definite sz onset`), then anything. `clinical onset`, `no onset` and `Segment: REC START` are not
electrographic onsets, because `clinical`, `no` and `rec` are not qualifiers.

A text that matches no rule is corrected and read again: recorders cut texts at 20 characters
(`Z ELECTROGRAPHIC ONS`), a long word can have a typing error, and contacts or an unknown word can
precede the head (`AD1-3 onset`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from epilens.data.channels.contacts import plain_typography

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
# First words that alter the meaning of what follows.
_ALTER = _NOT | _DENIES
_ALTER |= {"post", "pre", "before", "after", "prior", "since", "until", "till", "during", "near"}
_ALTER |= {"aura", "sleep", "arousal", "motor", "movement", "artifact", "artefact", "spike", "stim"}
_ALTER |= {"tonic", "clonic", "gtc", "gtcs", "facial", "emg", "ecg", "ekg", "second", "another"}
_ALTER |= {"mark", "trig", "page", "photo"}
_ALTER_PREFIXES = ("non", "post", "pre", "inter", "stim", "un")

_UNITS = {"s", "sec", "secs", "second", "seconds", "m", "min", "mins", "minute", "minutes"}
_UNITS |= {"h", "hr", "hrs", "hour", "hours"}
_RELATIVE = {"before", "after", "later", "prior"}
_TOKEN = re.compile(r"[a-z]+|\d+|\?")
# BrainVision says what kind of marker it is before what somebody typed.
_KIND_OF_MARKER = re.compile(r"^\s*comment\s*[/:]\s*", re.IGNORECASE)
# "Sz 2P": a letter after the number of a seizure; 30s and 2h are durations.
_NUMBERED = re.compile(r"(?<!\d)(\d+)[a-gi-ln-rt-z](?![a-z\d])")
_CUT_AT = 20
"""Recorders keep this many characters of an annotation."""
_LONGEST = 200
"""Only so many characters of a text are corrected."""
_SLEEP_STAGE = re.compile(r"n[1-3]|s[1-4]")
_ONE_CONTACT = r"[a-z]{1,4}'?\s?\d{1,3}(?:\s*-\s*(?:[a-z]{1,4}'?)?\d{1,3})?"
_CONTACTS_FIRST = re.compile(
    rf"^[\s*?]*({_ONE_CONTACT}(?:(?:\s*[,/&+]\s*|\s+and\s+|\s+)(?:{_ONE_CONTACT}|\d{{1,3}}))*)(?![a-z\d])"
)


def names_seizure(text: str) -> bool:
    """Whether a text names a seizure or an electrographic onset."""
    tokens = {_corrected(token) for token in _tokens(_KIND_OF_MARKER.sub("", text[:_LONGEST]))}
    return bool(tokens & (_SEIZURE | _ELECTRIC))


def means_onset(text: str) -> bool:
    """Whether a text means a seizure or its onset, by any rule."""
    return read_rule(text) is not None


CLINICAL = "clinical onset"
UNCERTAIN = ("uncertain onset marker", "uncertain clinical onset")
RULES = (
    "onset marker",
    "start marker",
    UNCERTAIN[0],
    "seizure marker",
    "first change",
    CLINICAL,
    UNCERTAIN[1],
)
"""Names of the rules, best first; a text matches at most one."""


def read_rule(text: str) -> tuple[int, bool] | None:
    """Index of the rule that a text matches and whether the text was corrected; or None."""
    text = _KIND_OF_MARKER.sub("", text)
    rank = _rank(_tokens(text))
    if rank is not None:
        return rank, False
    rank = _rank_corrected(text)
    return None if rank is None else (rank, True)


def _rank(tokens: Sequence[str]) -> int | None:
    """Index of the rule that words match without correction, or None."""
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
    """Words, numbers and question marks of a text; SzOnset is two words."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", text)
    words = re.sub(r"\b1st\b", "first", re.sub(r"\bw/o\b", "without", spaced.lower()))
    return _TOKEN.findall(_NUMBERED.sub(r"\1", words))


def _rank_corrected(text: str) -> int | None:
    """Rule of a text that was cut, mistyped, or begins with contacts or an unknown word."""
    rest, contacts = _without_contacts(text[:_LONGEST])
    tokens = [_corrected(token) for token in _tokens(rest)[:_CUT_AT]]
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
    if _alters(first) or "onset" not in rest_of or not kinds & {"seizure", "electric"}:
        return None  # "sleep onset", and whatever else begins
    # One word that nobody knows may change the meaning, so this is never certain.
    return _rank(["?", *rest_of])


def _alters(first: str) -> bool:
    """Whether a first word may alter the meaning of what follows."""
    return first in _ALTER | _END | _RECORDER or first.startswith(_ALTER_PREFIXES)


def _without_contacts(text: str) -> tuple[str, bool]:
    """The text without the contacts at its beginning, and whether there were any."""
    plain = plain_typography(text.strip().lower())
    match = _CONTACTS_FIRST.match(plain)
    if match is None or not all(map(_may_be_shaft, re.findall(r"[a-z]+", match[1]))):
        return text, False
    if _SLEEP_STAGE.fullmatch(match[1]) or max(map(int, re.findall(r"\d+", match[1]))) > 256:
        return "not " + text, False  # a sleep stage or P300 begins: not a seizure
    return "? " * ("?" in match[0]) + plain[match.end() :], True


def _may_be_shaft(letters: str) -> bool:
    return letters == "and" or not (letters in _KNOWN or _alters(letters) or letters == "dc")


def _corrected(token: str) -> str:
    """The known word that differs from a long word by one typing error; else the word itself."""
    if len(token) < 6 or len(token) > 20 or token in _KNOWN:
        return token
    return next((word for word in _LONG if _one_error(token, word)), token)


@lru_cache(maxsize=4096)
def _one_error(typed: str, word: str) -> bool:
    """Whether two words differ by one extra, missing or wrong letter, or by two swapped ones.

    The first letter must be equal: `atypical` is not an error in `typical`.
    """
    if typed[0] != word[0] or abs(len(typed) - len(word)) > 1:
        return False
    pairs = zip(typed, word, strict=False)
    start = next((i for i, (a, b) in enumerate(pairs) if a != b), None)
    if start is None:
        return True
    a, b = typed[start:], word[start:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])


def _completed(tokens: list[str]) -> list[str]:
    """The words of a text that was cut, with the last one completed if that is clear."""
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
    """Kind of a qualifier, or None if the word is not a qualifier."""
    kinds = (kind for kind, words in _QUALIFIERS if token in words)
    return next(kinds, "marker" if token.isdigit() else None)


_QUALIFIERS = (
    *(("first", {"first", "earliest"}), ("seizure", _SEIZURE), ("electric", _ELECTRIC)),
    *(("device", _DEVICE), ("sure", _SURE | _PLACE), ("clinical", _CLINICAL), ("marker", _MARKER)),
)
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
"""Words in which one typing error is corrected; without `started` (`stated`)."""


def _rank_of_head(head: str, rest: Sequence[str], kinds: set[str], unsure: bool) -> int | None:
    """Index of the rule of `[qualifiers] onset|start [rest]`, or None."""
    words = [token for token in rest if token not in ("?", "the", "a")]
    if words[:1] == ["of"]:
        # "onset of seizure" is one; "onset of facial automatisms" is a symptom, later in time.
        if not (set(words[1:3]) & _SEIZURE):
            return None
        kinds = kinds | {"seizure"}
    if set(words[:1]) & {"zone", "artifact", "artefact"} or set(words) & (_NOT | _DENIES):
        return None
    if _states_another_time(words):
        return None
    if set(words[:1]) & _CLINICAL:
        kinds = kinds | {"clinical"}
    if "clinical" in kinds and not kinds & {"electric", "device"}:
        return RULES.index(UNCERTAIN[1] if unsure else CLINICAL)
    if head != "onset" and "device" in kinds and "seizure" not in kinds:
        return None  # "EEG started": the recording, not the seizure
    if head != "onset" and not kinds & {"seizure", "electric"}:
        # A bare "start" must stand alone: "start eating" is not a seizure.
        if any(not token.isdigit() for token in words):
            return None
        return RULES.index(UNCERTAIN[0] if unsure else "start marker")
    return RULES.index(UNCERTAIN[0] if unsure else "onset marker")


def _states_another_time(words: Sequence[str]) -> bool:
    """Whether words state another time than that of the annotation: `5 min before`."""
    return any(
        number.isdigit() and unit in _UNITS and (before == "in" or set(words) & _RELATIVE)
        for before, number, unit in zip(("", *words), words, words[1:], strict=False)
    )


def means_end(text: str) -> bool:
    """Whether a text means the end of a seizure and not that of a recording."""
    words = set(_tokens(text))
    return bool(_END & words) and not _RECORDER & words


def is_quotable(text: str) -> bool:
    """Whether a text has only known words and contacts, so that it cannot name a person."""
    words = re.findall(r"[^\W\d_]+\d*|\d+", text.lower())
    known = _KNOWN | {"on"}
    return len(text) <= 40 and all(
        word in known or re.fullmatch(r"[a-z]{1,4}\d{1,3}", word) for word in words
    )
