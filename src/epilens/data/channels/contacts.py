"""Names of contacts: `EEG LF 01-Ref` is contact 1 of shaft LF, `TT1-6` means six contacts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple


class Contact(NamedTuple):
    """One contact of a shaft, grid or strip, whatever the spelling of its name."""

    shaft: str
    number: int

    def __str__(self) -> str:
        return f"{self.shaft}{self.number}"


# What recording systems wrap around the name that the implantation scheme uses.
_PREFIX = re.compile(r"^(?:i?eeg|seeg|ecog|pol)\s+", re.IGNORECASE)
_SUFFIX = re.compile(r"(?:[\s-]*(?:ref|av|avg)|(?<=\d)[\s-]+g2)$", re.IGNORECASE)
# The second channel of a file that has this name, as readers here call it.
_SECOND = re.compile(r"\s+\(\d+\)$")
# A1' is contact 1 of shaft A', as A'1 is.
_LAST_PRIME = re.compile(r"(?<!['\w])([^\W\d_]+)([\s_-]*\d+)(?:'?(\s*-\s*\d+))?'(?!\w)")
_NAME = re.compile(r"^(?P<shaft>[^\W\d_].*?)[\s_-]*(?<!\d)(?P<number>\d+)$")
# Python refuses to read numbers of thousands of digits.
_MOST_DIGITS = 9
_LONGEST_NAME = 1000
# What word processors and keyboards make of ' and -.
_TYPOGRAPHY = str.maketrans(dict.fromkeys("’‘`´ʼʹ′", "'") | dict.fromkeys("‐‑‒–—―−﹣－", "-"))


def plain_typography(text: str) -> str:
    """The text with plain apostrophes and dashes instead of typographic ones."""
    return text.translate(_TYPOGRAPHY)


def _prime_first(text: str) -> str:
    """The text with the prime of a side after the letters of the shaft: `A'1` for `A1'`."""
    return _LAST_PRIME.sub(r"\1'\2\3", text)


@lru_cache(4096)
def plain_name(name: str) -> str:
    """A name without the prefix and suffix of a recorder, with plain apostrophes and dashes.

    Examples
    --------
    >>> plain_name("EEG LF 01-Ref"), plain_name("POL A’1–A’2"), plain_name("EEG A1'-Ref")
    ('LF 01', "A'1-A'2", "A'1")
    """
    name = _SECOND.sub("", re.sub(r"\s+", " ", plain_typography(name.strip())))
    if len(name) > _LONGEST_NAME:
        return name
    return _SUFFIX.sub("", _prime_first(_PREFIX.sub("", name)))


@lru_cache(4096)
def typed_contact(name: str) -> Contact | None:
    """Shaft and number of a channel name, with the shaft in the case in which it was typed."""
    name = plain_name(name)
    match = _NAME.match(name) if len(name) <= _LONGEST_NAME else None
    if match is None or len(match["number"]) > _MOST_DIGITS:
        return None
    return Contact(match["shaft"], int(match["number"]))


def parse_contact(name: str) -> Contact | None:
    """Shaft (in capitals) and number of a channel name, or None for names without a number.

    Examples
    --------
    >>> parse_contact("EEG LF 01-Ref"), parse_contact("a'12"), parse_contact("ECG")
    (Contact(shaft='LF', number=1), Contact(shaft="A'", number=12), None)
    """
    typed = typed_contact(name)
    return None if typed is None else Contact(typed.shaft.upper(), typed.number)


Parser = Callable[[str], Contact | None]


def contacts_of_channel(channel: str, parse: Parser = parse_contact) -> tuple[Contact, ...]:
    """The contacts of a channel: one, two of a bipolar channel, or none.

    A number alone is the neighbour on the same electrode: `LF2-3` is LF2 against LF3.

    Examples
    --------
    >>> names = ("LF 01-Ref", "EEG LF1-LF2", "LF2-3", "ECG")
    >>> [[str(c) for c in contacts_of_channel(name)] for name in names]
    [['LF1'], ['LF1', 'LF2'], ['LF2', 'LF3'], []]
    """
    sides = plain_name(channel).split("-")
    both = [contact for side in sides if (contact := parse(side))]
    if len(both) == 2 and both[0].shaft.upper() == both[1].shaft.upper():
        return tuple(both)
    if len(sides) == 2 and len(both) == 1 and _is_neighbour(both[0], sides[1]):
        return (both[0], Contact(both[0].shaft, int(sides[1])))
    contact = parse(channel)
    return (contact,) if contact else ()


def _is_neighbour(contact: Contact, side: str) -> bool:
    """Whether the other side of a channel is the number of a contact next to this one."""
    side = side.strip()
    is_number = side.isascii() and side.isdigit() and len(side) <= _MOST_DIGITS
    return is_number and int(side) > 0 and abs(int(side) - contact.number) == 1


@dataclass(frozen=True)
class ContactList:
    """Contacts in a free text, and the pieces of the text that are not contacts."""

    contacts: tuple[Contact, ...]
    not_understood: tuple[str, ...]
    typed: Mapping[Contact, Collection[str]] = field(default_factory=dict)
    """Shafts of each contact as they were typed."""

    @classmethod
    def of_names(cls, names: Iterable[str]) -> ContactList:
        """The contacts of single names; two for the name of a bipolar channel."""
        typed: dict[Contact, set[str]] = {}
        not_understood = []
        for name in names:
            contacts = contacts_of_channel(name, typed_contact)
            not_understood += [] if contacts else [name]
            for contact in contacts:
                typed.setdefault(_folded(contact), set()).add(contact.shaft)
        return cls(tuple(typed), tuple(not_understood), typed)


def _folded(contact: Contact) -> Contact:
    return Contact(contact.shaft.upper(), contact.number)


_SHAFT = r"[^\W\d_]+'?"
_PIECE = re.compile(
    rf"(?P<shaft>(?<![^\W\d_]){_SHAFT})?\s*(?P<first>\d+)"
    rf"(?:\s*-\s*(?P<last_shaft>{_SHAFT})?\s*(?P<last>\d+))?(?P<prime>'(?!\w))?"
)
_QUOTED = re.compile(r"(?<!\w)'([^']*)'(?!\w)")
_LONGEST_SHAFT = 256
# "TT1 and 2" has no shaft AND.
_JOINED = re.compile(r"and\s", re.IGNORECASE)
_WRAPPING = {"eeg", "ieeg", "seeg", "ecog", "pol", "ref"}


def expand_contacts(text: str, shafts: Collection[str] | None = None) -> ContactList:
    """Contacts in a clinician's list with separators `;` `,` `:`, spaces, and ranges by `-`, `to`.

    A bare number or range continues the shaft before it. Order is kept, repetitions are dropped.

    shafts : shafts of the patient, in capitals. If one is named `TO`, this word between numbers is
    a contact and not a range. Without shafts, that depends on its capitals.

    Examples
    --------
    >>> [str(c) for c in expand_contacts("TT1-3; pst1, 4: AST 2").contacts]
    ['TT1', 'TT2', 'TT3', 'PST1', 'PST4', 'AST2']
    >>> [str(c) for c in expand_contacts("A’1–2, B1 to 3, C1'-2'").contacts]
    ["A'1", "A'2", 'B1', 'B2', 'B3', "C'1", "C'2"]
    """
    text = _QUOTED.sub(r"\1", plain_typography(text))
    text = _with_ranges(_prime_first(re.sub(r"\s+", " ", text)), shafts)
    contacts: dict[Contact, set[str]] = {}
    not_understood, end, shaft = [], 0, ""
    for match in _PIECE.finditer(text):
        not_understood += _words(text[end : match.start()])
        end = match.end()
        if not _JOINED.match(match[0]):
            shaft = match["shaft"] or shaft
        if max(len(match["first"]), len(match["last"] or "")) > _MOST_DIGITS:
            not_understood.append(match[0].strip())
            continue
        first, last = int(match["first"]), int(match["last"] or match["first"])
        other_shaft = (match["last_shaft"] or shaft).upper() != shaft.upper()
        other_shaft |= bool(match["prime"]) and not shaft.endswith("'")
        if not shaft or other_shaft or abs(last - first) >= _LONGEST_SHAFT:
            not_understood.append(match[0].strip())
            continue
        for number in range(min(first, last), max(first, last) + 1):
            contacts.setdefault(Contact(shaft.upper(), number), set()).add(shaft)
    not_understood += _words(text[end:])
    return ContactList(tuple(contacts), tuple(not_understood), contacts)


def _with_ranges(text: str, shafts: Collection[str] | None) -> str:
    """The text with `A1-4` for `A1 to 4` and `A1..4`; a strip named TO is not changed."""
    text = re.sub(rf"(?<=\d)\s*(?:\.{{2,}}|…)\s*(?={_SHAFT}\s*\d|\d)", "-", text)
    if shafts is not None and "TO" in shafts:
        return text
    word = "to" if shafts is None else "[tT][oO]"
    return re.sub(rf"(?<=\d)\s+{word}\s+(?={_SHAFT}\s*\d|\d)", "-", text)


_NEGATIONS = re.compile(
    r"\b(?:without|except|excluding|spared|sparing|nicht|keine?|ohne|au(?:ß|ss)er|sauf|sans)\b"
    r"|\b(?:not|no|non|but|pas)\b(?!\s*-?\d)",
    re.IGNORECASE,
)


def negation_in(text: str, shafts: Collection[str] = ()) -> str:
    """The first word in a list that excludes contacts, such as `not`, or empty text.

    Examples
    --------
    >>> negation_in("TT1-6, not TT3"), negation_in("NO 1-4"), negation_in("RB1, RB2")
    ('not', '', '')
    """
    words = (match[0] for match in _NEGATIONS.finditer(text))
    return next((word for word in words if word.upper() not in shafts), "")


def _words(text: str) -> list[str]:
    words = re.split(r"[\s;,:.&+-]+", text)
    return [word for word in words if word and word.lower() not in _WRAPPING]


@dataclass(frozen=True)
class Matches:
    """The channels that a list of contacts means."""

    channels: frozenset[str]
    unknown: tuple[Contact, ...]
    """Contacts of the list that no channel has."""
    ambiguous: tuple[Contact, ...]
    """Contacts of which two electrodes differ only in case, spelt like neither of them."""

    @property
    def unmatched(self) -> tuple[Contact, ...]:
        """Contacts of the list that do not mean exactly one contact of the recording."""
        return self.unknown + self.ambiguous


def match_list(listed: ContactList, channels: Iterable[str]) -> Matches:
    """The channels that a list means; the spelling matters only if it distinguishes contacts.

    A bipolar channel matches by either contact, as in the bipolar montage. If the recording has
    `a1` and `A1`, case counts, and a contact that is spelt like neither does not match.
    """
    of_contact: dict[Contact, list[tuple[str, str]]] = {}
    for channel in channels:
        for contact in contacts_of_channel(channel, typed_contact):
            of_contact.setdefault(_folded(contact), []).append((contact.shaft, channel))
    meant, unknown, ambiguous = set[str](), [], []
    for contact in listed.contacts:
        matches = of_contact.get(contact, [])
        if len({shaft for shaft, _ in matches}) > 1:
            typed = listed.typed.get(contact, frozenset({contact.shaft}))
            matches = [pair for pair in matches if pair[0] in typed]
            ambiguous += [] if matches else [contact]
        elif not matches:
            unknown.append(contact)
        meant |= {channel for _, channel in matches}
    return Matches(frozenset(meant), tuple(unknown), tuple(ambiguous))


def meant_channels(names: Iterable[str], channels: Sequence[str]) -> frozenset[str]:
    """The channels that single names mean, in the spelling of the file or in a short form.

    Examples
    --------
    >>> sorted(meant_channels(["ra3", "EEG RB 1-Ref"], ["EEG RA 03-Ref", "EEG RB 1-Ref", "RC1"]))
    ['EEG RA 03-Ref', 'EEG RB 1-Ref']
    """
    typed = {name.strip().upper(): name for name in names}
    exact = {channel for channel in channels if channel.upper() in typed}
    others = [typed[name] for name in typed.keys() - {channel.upper() for channel in exact}]
    return frozenset(exact | match_list(ContactList.of_names(others), channels).channels)


def shaft_names(channels: Iterable[str]) -> frozenset[str]:
    """Names of the shafts of channels, in capitals."""
    return frozenset(c.shaft for name in channels for c in contacts_of_channel(name))


def contact_of(channel: str) -> Contact | None:
    """The contact of a channel; the first one of a bipolar pair (`A1-A2`)."""
    return next(iter(contacts_of_channel(channel)), None)


def along_shafts(channels: Iterable[str]) -> list[tuple[list[int], list[int]]]:
    """Channel indices and contact numbers of each shaft."""
    shafts: dict[str, tuple[list[int], list[int]]] = {}
    for i, channel in enumerate(channels):
        contact = contact_of(str(channel))
        if contact is not None:
            members, numbers = shafts.setdefault(contact.shaft, ([], []))
            members.append(i)
            numbers.append(contact.number)
    return list(shafts.values())


# Letters, an apostrophe, digits, perhaps of a pair: nothing else becomes shorter.
_SHORT = re.compile(r"[^\W\d_]+'?\d+(?:-(?:[^\W\d_]+'?)?\d+)?")
# `A1-2` without its dash would be contact A12.
_SEPARATORS = re.compile(r"(?<!\d)[\s_-]+|[\s_-]+(?!\d)")


def short_names(channels: Sequence[str]) -> tuple[str, ...]:
    """Short names of channels; the full name if two channels would have the same.

    Examples
    --------
    >>> short_names(["EEG RC 12-Ref", "POL A’1", "EEG LF 01-Ref-EEG LF 02-Ref", "<b>1"])
    ('RC12', "A'1", 'LF01-LF02', '<b>1')
    >>> short_names(["RM2-3", "EEG A1-2"])
    ('RM2-3', 'A1-2')
    >>> short_names(["EEG A1", "POL A1"])
    ('EEG A1', 'POL A1')
    """
    short = [_short(name) for name in channels]
    times = Counter(short)
    return tuple(s if times[s] == 1 else name for s, name in zip(short, channels, strict=True))


def _short(name: str) -> str:
    contacts = contacts_of_channel(name)
    sides = [s for s in plain_name(name).split("-") if parse_contact(s) or s.strip().isdigit()]
    if len(contacts) == 1:
        sides = [plain_name(name)]
    sides = [_SEPARATORS.sub("", plain_name(side)) for side in sides]
    is_plain = len(sides) == len(contacts) > 0 and bool(_SHORT.fullmatch("-".join(sides)))
    return "-".join(sides) if is_plain else name
