"""Cautions about the recordings, from the audit: for the page, its JSON and the terminal.

The audit has a row for everything that was excluded or is unusual; here the rows that can change a
ranking become a few sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import numpy as np
import xarray as xr

from epilens.core.types import Bools
from epilens.data.audit import AuditRow
from epilens.data.channels.contacts import (
    along_shafts,
    contacts_of_channel,
    shaft_names,
    short_names,
)
from epilens.data.channels.non_contacts import NO_NUMBER
from epilens.data.readers.mne_reader import WRONG_LENGTH
from epilens.evidence.contact_features import NEEDS, features_shown, is_bipolar
from epilens.plan import Flag

_LISTED = 6
"""Contacts that a sentence names; the table of excluded channels has all of them."""
_QUALITY = "channel-quality"
_FLAGS = frozenset(get_args(Flag))
_RUN_CODES = (
    *("reader-warning", "header-differs", "header-implausible", "names-matched"),
    *("signal-implausible", "signal-interrupted"),
)
_PATIENT_CODES = ("positions",)
_MANY_INPUTS, _INPUT_SHARE = 4, 0.1
"""From this number of channels without a contact number on, or above this share, some may be
contacts."""
_FEW = 10
"""Contacts below which comparisons between contacts mean little."""


def data_cautions(
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
    repeated = {row.run: row.why for row in rows if row.code == "signal-repeated"}
    return (
        *_untrusted_contacts(rows, channels, seizures),
        *_not_in_every_seizure(rows, channels, seizures, shown),
        *_without_number(rows, channels),
        *_pairs_among_contacts(channels),
        *_one_electrode(channels),
        *_same_name(rows),
        *(f"{run} {why}." for run, why in repeated.items()),
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
    kinds = {
        "not ranked, because no seizure shows a signal that can be trusted": nowhere,
        "not used in some seizures, because the signal cannot be trusted there": partly,
        "ranked, although the signal is not as it should be": odd,
    }
    return [
        f"{_contacts_are(len({row.channel for row in about}))} {text}: {_listed(about, seizures)}."
        for text, about in kinds.items()
        if about
    ]


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
    return [
        f"{_contacts_are(count)} not in every seizure: {'; '.join(texts[:_LISTED])}. Check whether "
        "these contacts have other names in the other recordings."
    ]


def _without_number(rows: Sequence[AuditRow], channels: Sequence[str]) -> list[str]:
    """Channels that may be contacts, although their names have no number; inputs have one or two.

    Known inputs (ECG, DC, MARK, ...) and scalp electrodes have other reasons.
    """
    names = dict.fromkeys(row.channel for row in rows if row.why == NO_NUMBER)
    few = len(names) <= _INPUT_SHARE * (len(names) + len(channels))
    if len(names) < 2 or (few and len(names) < _MANY_INPUTS):
        return []
    return [
        f"{len(names)} channels are not ranked, because their names have no contact number: "
        f"{_some(list(names))}. Rename those that are contacts."
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


def _is_odd(row: AuditRow) -> bool:
    """Whether a note is about a kept or repaired signal, and not only a flag of the table."""
    return row.found not in _FLAGS


def _contacts_are(count: int) -> str:
    return "1 contact is" if count == 1 else f"{count} contacts are"


def _some(texts: Sequence[str]) -> str:
    """The first texts, and how many more there are."""
    more = len(texts) - _LISTED
    return ", ".join(texts[:_LISTED]) + (f" and {more} more" if more > 0 else "")


def _listed(rows: Sequence[AuditRow], seizures: Sequence[str]) -> str:
    """Contacts with their defects; each defect with the seizures that show it."""
    by_contact: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        defects = by_contact.setdefault(row.channel, {})
        defects.setdefault(row.found, []).append(_number(row.run, seizures))
    texts = []
    for name, defects in zip(short_names(list(by_contact)), by_contact.values(), strict=True):
        parts = [f"{defect} in {', '.join(runs)}" for defect, runs in defects.items()]
        texts.append(f"{name} ({'; '.join(parts)})")
    return _some(texts)


def _number(run: str, seizures: Sequence[str]) -> str:
    return f"seizure {seizures.index(run) + 1}" if run in seizures else run


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


def _about_recordings(rows: Sequence[AuditRow], seizures: Sequence[str]) -> list[str]:
    """What readers and headers say of recordings, and how interruptions were handled."""
    labels: dict[str, dict[str, None]] = {}
    for row in rows:
        if row.code in _PATIENT_CODES or (row.code in _RUN_CODES and row.run in seizures):
            cut_off = row.found == WRONG_LENGTH
            why = f"{WRONG_LENGTH}. Check the file" if cut_off else row.why
            label = _number(row.run, seizures).capitalize() if row.run else "Positions"
            labels.setdefault(why, {})[label] = None
    return [f"{', '.join(of_why)}: {why}." for why, of_why in labels.items()]


def feature_cautions(patient: xr.Dataset) -> list[str]:
    """What a recording does not allow a model on contact features, the gravest first."""
    channels = [str(name) for name in patient["channel"].values]
    return [
        *_lacking(patient),
        *_bands(patient),
        *_bipolar(channels),
        *_context(channels),
        *_few(channels),
    ]


def _lacking(patient: xr.Dataset) -> list[str]:
    shown = features_shown(patient).any(axis=1)
    if shown.all():
        return []
    count = f"{int((~shown).sum())} of {patient.sizes['seizure']} seizures"
    return [f"The model does not use {count}: it needs {NEEDS}."]


def _bands(patient: xr.Dataset) -> list[str]:
    fast = patient["features_valid"].sel(feature="hfo_std").any("channel").values
    lacking = features_shown(patient).any(axis=1) & ~fast
    if not lacking.any():
        return []
    return [
        f"Power at 80-150 Hz is left out in {int(lacking.sum())} of {len(fast)} seizures, because "
        "their sampling rate is below 300 Hz. Scores are then less exact."
    ]


def _few(channels: list[str]) -> list[str]:
    if len(channels) >= _FEW:
        return []
    return [
        f"The model compares contacts with each other, and this patient has only {len(channels)}."
    ]


def _bipolar(channels: list[str]) -> list[str]:
    if not is_bipolar(channels):
        return []
    return [
        "The recording is bipolar; the model was trained on recordings with a common average "
        "reference, and was not evaluated on bipolar ones."
    ]


def _context(channels: list[str]) -> list[str]:
    """Electrodes on which no two contacts are within two places of each other."""
    for _, numbers in along_shafts(channels):
        apart = np.abs(np.subtract.outer(numbers, numbers))
        if ((apart > 0) & (apart <= 2)).any():
            return []
    return ["No contact has a neighbour on its electrode, by its name: the model has less to use."]
