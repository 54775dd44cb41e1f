"""Names of contacts: `EEG LF 01-Ref` is contact 1 of shaft LF; `TT1-6` means six contacts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple


class Contact(NamedTuple):
    """One contact of a shaft, grid or strip; spelling differences are gone."""

    shaft: str
    number: int

    def __str__(self) -> str:
        return f"{self.shaft}{self.number}"


# What recording systems wrap around the name that the implantation scheme uses.
_PREFIX = re.compile(r"^(?:i?eeg|seeg|ecog|pol)\s+", re.IGNORECASE)
_SUFFIX = re.compile(r"(?:[\s-]*(?:ref|av|avg)|(?<=\d)[\s-]+g2)$", re.IGNORECASE)
_NAME = re.compile(r"^(?P<shaft>[^\W\d_].*?)[\s_-]*(?<!\d)(?P<number>\d+)$")
# Python refuses to read numbers of thousands of digits.
_MOST_DIGITS = 9


def parse_contact(name: str) -> Contact | None:
    """Shaft and number of a channel name, or None for names without a number.

    Examples
    --------
    >>> parse_contact("EEG LF 01-Ref"), parse_contact("a'12"), parse_contact("ECG")
    (Contact(shaft='LF', number=1), Contact(shaft="A'", number=12), None)
    """
    match = _NAME.match(_SUFFIX.sub("", _PREFIX.sub("", name.strip())))
    if match is None or len(match["number"]) > _MOST_DIGITS:
        return None
    return Contact(match["shaft"].upper(), int(match["number"]))


@dataclass(frozen=True)
class ContactList:
    """Contacts read from free text, and the pieces that are not contacts."""

    contacts: tuple[Contact, ...]
    not_understood: tuple[str, ...]


_PIECE = re.compile(
    r"(?P<shaft>[^\W\d_]+['`’]?)?\s*(?P<first>\d+)"
    r"(?:\s*-\s*(?P<last_shaft>[^\W\d_]+['`’]?)?\s*(?P<last>\d+))?"
)
_LONGEST_SHAFT = 256
# "TT1 and 2" has no shaft AND.
_JOINED = re.compile(r"and\s", re.IGNORECASE)


def expand_contacts(text: str) -> ContactList:
    """Contacts of a clinician's list: `;` `,` `:` space and newline separate, ranges by `-`.

    A bare number or range continues the shaft before it. Order is kept, repetitions are dropped.

    Examples
    --------
    >>> [str(c) for c in expand_contacts("TT1-3; pst1, 4: AST 2").contacts]
    ['TT1', 'TT2', 'TT3', 'PST1', 'PST4', 'AST2']
    """
    contacts: dict[Contact, None] = {}
    not_understood, end, shaft = [], 0, ""
    for match in _PIECE.finditer(text):
        not_understood += _words(text[end : match.start()])
        end = match.end()
        if not _JOINED.match(match[0]):
            shaft = (match["shaft"] or shaft).upper()
        if max(len(match["first"]), len(match["last"] or "")) > _MOST_DIGITS:
            not_understood.append(match[0].strip())
            continue
        first, last = int(match["first"]), int(match["last"] or match["first"])
        other_shaft = (match["last_shaft"] or shaft).upper() != shaft
        if not shaft or other_shaft or abs(last - first) >= _LONGEST_SHAFT:
            not_understood.append(match[0].strip())
            continue
        for number in range(min(first, last), max(first, last) + 1):
            contacts[Contact(shaft, number)] = None
    not_understood += _words(text[end:])
    return ContactList(tuple(contacts), tuple(not_understood))


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[\s;,:.&+-]+", text) if word]
