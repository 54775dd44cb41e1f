"""Doubts about the recordings themselves, from the audit: for the page, its JSON and the terminal.

The audit has a row for everything that was excluded or is unusual; here the rows that can change a
ranking become a few sentences.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from epilens.core.types import Bools
from epilens.data.audit import AuditRow
from epilens.data.contacts import contacts_of_channel, shaft_names, short_names
from epilens.data.readers.mne_reader import WRONG_LENGTH

_LISTED = 6
"""Contacts that a sentence names; the table of excluded channels has all of them."""
_QUALITY = "channel-quality"
_RUN_CODES = ("reader-warning", "header-differs", "header-implausible", "names-matched")
_RUN_CODES += ("signal-implausible",)
_PATIENT_CODES = ("positions",)


def data_doubts(
    rows: Sequence[AuditRow], channels: Sequence[str], seizures: Sequence[str], shown: Bools
) -> tuple[str, ...]:
    """Sentences about recordings that cannot be trusted in full; no text of a file enters.

    Parameters
    ----------
    rows : sequence of AuditRow
        The patient's audit.
    channels, seizures : sequence of str
        Those that are ranked and used.
    shown : array of bool, (seizure, channel)
        Which seizures show a channel.
    """
    return (
        *_untrusted_contacts(rows, channels, seizures),
        *_not_in_every_seizure(rows, channels, seizures, shown),
        *_pairs_among_contacts(channels),
        *_one_electrode(channels),
        *_same_name(rows),
        *_repeated(rows),
        *_about_recordings(rows, seizures),
    )


def _untrusted_contacts(
    rows: Sequence[AuditRow], channels: Sequence[str], seizures: Sequence[str]
) -> list[str]:
    """Contacts that are not ranked, are not used in every seizure, or are used nevertheless."""
    quality = [row for row in rows if row.what == "channel" and row.code == _QUALITY]
    broken = [row for row in quality if row.effect == "excluded"]
    nowhere = [row for row in broken if row.channel not in channels]
    partly = [row for row in broken if row.channel in channels]
    odd = [row for row in quality if row.effect == "noted" and _is_odd(row)]
    sentences = []
    if nowhere:
        text = "not ranked, because no seizure shows a signal that can be trusted"
        sentences.append(f"{_contacts(nowhere)} {text}: {_listed(nowhere, seizures)}.")
    if partly:
        text = "not used in some seizures, because the signal cannot be trusted there"
        sentences.append(f"{_contacts(partly)} {text}: {_listed(partly, seizures)}.")
    if odd:
        text = "ranked, although the signal is not as it should be"
        sentences.append(f"{_contacts(odd)} {text}: {_listed(odd, seizures)}.")
    return sentences


def _not_in_every_seizure(
    rows: Sequence[AuditRow], channels: Sequence[str], seizures: Sequence[str], shown: Bools
) -> list[str]:
    """Contacts that other recordings have; those that a check excluded are listed by it."""
    broken = {row.channel for row in rows if row.what == "channel" and row.code == _QUALITY}
    names, groups = short_names(list(channels)), dict[tuple[int, ...], list[str]]()
    for c in np.flatnonzero(~shown.all(axis=0)):
        if channels[c] not in broken:
            present = tuple(int(s) + 1 for s in np.flatnonzero(shown[:, c]))
            groups.setdefault(present, []).append(names[c])
    if not groups:
        return []
    count = sum(map(len, groups.values()))
    texts = [
        f"{_some(members)} in {len(present)} of {len(seizures)} (seizure "
        f"{', '.join(map(str, present))})"
        for present, members in groups.items()
    ]
    many = "1 contact is" if count == 1 else f"{count} contacts are"
    return [
        f"{many} not in every seizure: {'; '.join(texts[:_LISTED])}. Check whether these contacts "
        "have other names in the other recordings."
    ]


def _pairs_among_contacts(channels: Sequence[str]) -> list[str]:
    """Contacts that are ranked next to differences of themselves."""
    sizes = [len(contacts_of_channel(name)) for name in channels]
    pairs, single = sizes.count(2), sizes.count(1)
    if not pairs or not single:
        return []
    return [
        f"{single} channels are contacts and {pairs} are differences of two contacts (bipolar). "
        "Both kinds are ranked: exclude one of them."
    ]


def _one_electrode(channels: Sequence[str]) -> list[str]:
    shafts = shaft_names(channels)
    if len(shafts) != 1:
        return []
    (shaft,) = shafts
    return [
        f"All {len(channels)} contacts are of electrode {shaft}, and scores are relative to the "
        "patient's other contacts: give recordings of all electrodes."
    ]


def _some(names: Sequence[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")


def _is_odd(row: AuditRow) -> bool:
    """Whether a note is about a kept or repaired signal, and not only a flag of the table."""
    return " onset" in row.found or row.found == "impossible values"


def _contacts(rows: Sequence[AuditRow]) -> str:
    count = len({row.channel for row in rows})
    return "1 contact is" if count == 1 else f"{count} contacts are"


def _listed(rows: Sequence[AuditRow], seizures: Sequence[str]) -> str:
    """Contacts with their defects; each defect with the seizures that show it."""
    by_contact: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        defects = by_contact.setdefault(row.channel, {})
        defects.setdefault(row.found, []).append(_number(row.run, seizures))
    names = dict(zip(by_contact, short_names(list(by_contact)), strict=True))
    texts = [
        f"{names[channel]} ("
        + "; ".join(f"{found} in {', '.join(runs)}" for found, runs in defects.items())
        + ")"
        for channel, defects in by_contact.items()
    ]
    more = len(texts) - _LISTED
    return ", ".join(texts[:_LISTED]) + (f" and {more} more" if more > 0 else "")


def _number(run: str, seizures: Sequence[str]) -> str:
    return f"seizure {list(seizures).index(run) + 1}" if run in seizures else run


def _same_name(rows: Sequence[AuditRow]) -> list[str]:
    """Channels of a file that have the same name, or are the same contact by their names."""
    named = [row for row in rows if row.what == "channel" and row.code == "channel-name"]
    by_why: dict[str, dict[str, None]] = {}
    for row in named:
        by_why.setdefault(row.why, {})[row.channel] = None
    return [
        f"{', '.join(list(channels)[:_LISTED])}: {why}. Check which channel is right."
        for why, channels in by_why.items()
    ]


def _repeated(rows: Sequence[AuditRow]) -> list[str]:
    runs = {row.run: row.why for row in rows if row.code == "signal-repeated"}
    return [f"{run} {why}." for run, why in runs.items()]


def _about_recordings(rows: Sequence[AuditRow], seizures: Collection[str]) -> list[str]:
    """What readers and headers say; a file that was cut off has a caution of its own."""
    sentences: dict[str, list[str]] = {}
    for row in rows:
        about_run = row.code in _RUN_CODES and row.run in seizures and row.found != WRONG_LENGTH
        if about_run or row.code in _PATIENT_CODES:
            label = _number(row.run, list(seizures)).capitalize() if row.run else ""
            labels = sentences.setdefault(row.why, [])
            labels += [label] if label and label not in labels else []
    return [f"{', '.join(labels) or 'Positions'}: {why}." for why, labels in sentences.items()]
