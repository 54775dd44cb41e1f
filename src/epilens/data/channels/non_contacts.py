"""Which channels of a recording are not implanted contacts, by their types and names.

`F3` is a scalp electrode in one file and a contact of a strip in another. Therefore all names are
used together: names of the midline or of several regions identify a scalp montage, and consecutive
numbers identify an implanted electrode.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise

from epilens.data.channels.contacts import Contact, contacts_of_channel, parse_contact, plain_name

_MIDLINE = {f"{region}Z" for region in ("FP", "AF", "F", "FC", "C", "CP", "P", "PO", "O")}
_CLASSIC = {
    **{"FP": {1, 2}, "F": {3, 4, 7, 8}, "T": set(range(3, 9))},
    **{"C": {3, 4}, "P": {3, 4, 7, 8}, "O": {1, 2}},
}
"""Regions and numbers of the 10-20 system."""
_DENSE = {
    **{"FP": {1, 2}, "AF": {3, 4, 7, 8}, "F": set(range(1, 11)), "FC": set(range(1, 7))},
    **{"FT": {7, 8, 9, 10}, "T": set(range(1, 11)), "C": set(range(1, 7))},
    **{"CP": set(range(1, 7)), "TP": {7, 8, 9, 10}, "P": set(range(1, 11))},
    **{"PO": {3, 4, 7, 8, 9, 10}, "O": {1, 2}, "A": {1, 2}, "M": {1, 2}},
}
"""Regions and numbers of the 10-10 system, ears and mastoids."""
_CAP = ("AF", "FC", "CP", "PO")
# No electrode begins there: reference and ground of recorders.
_BEHIND_THE_EARS = {"TP": {9, 10}, "FT": {9, 10}}
_INPUTS = {"C", "CH"}
"""Names that recorders give to unnamed inputs."""
_FIRST_INPUT, _GAP = 17, 8
_SPARE = {"RQ"}
"""Names of spare inputs, if there are one or two of them."""
_SHAFT = 4
"""Least number of consecutive contacts of an electrode."""

BIDS_CONTACTS = ("ECOG", "SEEG")
"""Types of implanted contacts in channels.tsv; electrodes of a stimulator (DBS) are not ranked."""
_IEEG = ("eeg", "seeg", "ecog", "dbs")
"""MNE's types of channels that can be contacts; `eeg` where the format has no types."""
# Channels that recorders write in addition to the contacts, with or without a number.
_OTHER = re.compile(
    r"^(?:eeg\s+|pol\s+)?(?:ecg|ekg|emg|eog|dc|trig|stim|status|event|mark|mkr|resp|spo2|osat|etco2"
    r"|pulse|pleth|beat|bp|pr|annot|photic|patient|airflow|thor|abdo|snore|chin|leg)[\s_-]*\d*\b",
    re.IGNORECASE,
)


NOT_IEEG = "is not an iEEG channel by its type or name"

MEANT_TWICE = frozenset(
    {"DC", "BP", "PR", "LEG", "CHIN", "BEAT", "THOR", "ABDO", "MARK", "MKR", "RESP"}
)
"""Words for other inputs (blood pressure, pulse rate) that are also names of electrodes."""

NO_NUMBER = "has no contact number in its name"
SCALP = "is a scalp electrode by its name (10-20)"
UNUSED = "is an unused input of the recorder by its name"
ALONE = "is the only channel of its name, as unused inputs are, next to electrodes of four or more"


def why_no_contact(names: Sequence[str], kinds: Sequence[str]) -> dict[str, str]:
    """The reason for each channel that is not a contact by its MNE type and its name.

    A type that only implanted contacts have counts more than any name. Without types (as in EDF),
    the names of all channels together decide.
    """
    kind_of = {name.strip(): kind for name, kind in zip(names, kinds, strict=True)}
    contacts = _by_name(kind_of)
    others = not_contacts([name for name in contacts if kind_of[name] == "eeg"])
    reasons = {}
    for name in kind_of:
        if name not in contacts:
            reasons[name] = NOT_IEEG
        elif parse_contact(name) is None:
            is_midline = _MIDLINE.issuperset(_upper_sides(name))
            reasons[name] = SCALP if is_midline else NO_NUMBER
        elif name in others:
            reasons[name] = others[name]
    return reasons


def _by_name(kind_of: Mapping[str, str]) -> list[str]:
    """Channels of iEEG type, without those whose names are those of other inputs.

    kind_of : type of every channel, in the order of the file.
    """
    ieeg = [name for name, kind in kind_of.items() if kind in _IEEG]
    inputs = {name for name in ieeg if _OTHER.match(name)}
    electrodes = electrodes_called_like_inputs(inputs, [n for n in ieeg if n not in inputs])
    typed = {name: parse_contact(name) for name in inputs if kind_of[name] != "eeg"}
    electrodes |= {name for name, c in typed.items() if c is not None and c.shaft in MEANT_TWICE}
    return [name for name in ieeg if name in electrodes or name not in inputs]


def not_contacts(names: Collection[str]) -> dict[str, str]:
    """The reason for each channel of a file that is not a contact by its name.

    Examples
    --------
    >>> sorted(not_contacts(["Fz", "F3", "F4", "A1", "A2", "B1", "B2"]))
    ['A1', 'A2', 'F3', 'F4']
    >>> not_contacts(["F3", "F4", "F5", "F6", "FZ1", "FZ2"])
    {}
    """
    sides = {name: _sides(name) for name in names}
    groups: dict[str, set[int]] = {}
    for contact in (contact for of_name in sides.values() for contact in of_name):
        groups.setdefault(contact.shaft, set()).add(contact.number)
    midline = {side for name in names for side in _upper_sides(name) if side in _MIDLINE}
    scalp = {
        Contact(shaft, number)
        for shaft, numbers in groups.items()
        if _is_scalp(shaft, groups, midline)
        for number in numbers
    }
    unused = {Contact(shaft, n) for shaft in groups for n in _unused(shaft, groups[shaft])}
    electrodes = [
        shaft
        for shaft, numbers in groups.items()
        if len({Contact(shaft, n) for n in numbers} - scalp - unused) >= _SHAFT
    ]
    reasons = {}
    for name, contacts in sides.items():
        if contacts and scalp.issuperset(contacts):
            reasons[name] = SCALP
        elif contacts and unused.issuperset(contacts):
            reasons[name] = UNUSED
        elif len(electrodes) > 1 and len(contacts) == 1 and len(groups[contacts[0].shaft]) == 1:
            reasons[name] = ALONE
    return reasons


def electrodes_called_like_inputs(names: Collection[str], others: Collection[str]) -> set[str]:
    """Which of `names` (BP, DC, LEG, ... with a number) are contacts of an electrode after all.

    They are if four or more have consecutive numbers from 1 and the spelling of the other contacts:
    recorders spell their own inputs differently (`POL DC01` next to `EEG A1`).

    Examples
    --------
    >>> sorted(electrodes_called_like_inputs(["BP1", "BP2", "BP3", "BP4", "PR"], ["A1", "A2"]))
    ['BP1', 'BP2', 'BP3', 'BP4']
    >>> electrodes_called_like_inputs(["DC01", "DC02", "DC03", "DC04"], ["A1", "A2"])
    set()
    """
    usual = {_spelling(name) for name in others if (c := parse_contact(name)) and c.number < 10}
    groups: dict[str, dict[int, str]] = {}
    for name in names:
        if (contact := parse_contact(name)) is not None and contact.shaft in MEANT_TWICE:
            groups.setdefault(contact.shaft, {})[contact.number] = name
    return {
        name
        for numbers in groups.values()
        if all(n in numbers for n in range(1, _SHAFT + 1)) and _spelling(numbers[1]) in usual
        for name in numbers.values()
    }


def _spelling(name: str) -> tuple[str, bool]:
    """Prefix and suffix of a contact's name, and whether its number has a leading zero."""
    plain = plain_name(name)
    return name.replace(plain, "").upper(), bool(re.search(r"(?<!\d)0\d+$", plain))


def _upper_sides(name: str) -> list[str]:
    return [side.strip() for side in plain_name(name).upper().split("-")]


def _sides(name: str) -> tuple[Contact, ...]:
    """Contacts of a channel, also of a pair from two regions (`Fp1-F7`, `Fz-Cz`)."""
    parsed = [(side, parse_contact(side)) for side in _upper_sides(name)]
    if len(parsed) == 2 and all(contact or side in _MIDLINE for side, contact in parsed):
        return tuple(contact for _, contact in parsed if contact)
    return contacts_of_channel(name)


def _is_scalp(shaft: str, groups: dict[str, set[int]], midline: Collection[str]) -> bool:
    """Whether the names of one region belong to a scalp montage and not to an electrode."""
    numbers = groups[shaft]
    if not numbers <= _DENSE.get(shaft, set()):
        return False
    usual = [region for region, names in _CLASSIC.items() if _within(groups, region, names)]
    if not midline and len(usual) < _SHAFT:
        return numbers <= _BEHIND_THE_EARS.get(shaft, set())
    if numbers <= _CLASSIC.get(shaft, set()) or _longest_run(numbers) < _SHAFT:
        return True
    # T1 and T2 lie in front of the ear, next to T3 to T6 of a montage that has the other regions.
    if shaft == "T" and numbers <= set(range(1, 7)) and len(usual) >= _SHAFT:
        return True
    dense = [region for region in _CAP if _within(groups, region, _DENSE[region])]
    return len(midline) > 2 and len(dense) > 1


def _within(groups: dict[str, set[int]], region: str, numbers: set[int]) -> bool:
    return region in groups and groups[region] <= numbers


def _longest_run(numbers: Iterable[int]) -> int:
    longest = run = 1
    for a, b in pairwise(sorted(numbers)):
        run = run + 1 if b == a + 1 else 1
        longest = max(longest, run)
    return longest


def _unused(shaft: str, numbers: Collection[int]) -> set[int]:
    """Numbers of unused inputs: large ones after the first large gap."""
    if shaft in _SPARE and len(numbers) < 3:
        return set(numbers)
    ordered = [0, *sorted(numbers)] if shaft in _INPUTS else []
    starts = [b for a, b in pairwise(ordered) if b - a > _GAP and b >= _FIRST_INPUT]
    return {number for number in ordered if starts and number >= starts[0]}
