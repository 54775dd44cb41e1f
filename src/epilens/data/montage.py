"""Montages: as recorded, bipolar along a shaft, per-shaft average, common average."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from epilens.core.errors import DataError
from epilens.core.types import Bools
from epilens.data.audit import AuditRow, excluded_row
from epilens.data.channels.contacts import parse_contact, typed_contact
from epilens.data.electrodes.positions import Positions

if TYPE_CHECKING:
    from epilens.data.recording import Recording

# Contacts 8 and 9 of an 8 × 8 grid follow each other by number but lie a whole row apart.
_FARTHEST_NEIGHBOUR = 2.0


def apply_montage(
    recording: Recording, scheme: str, trusted: Bools
) -> tuple[Recording, list[AuditRow]]:
    """The recording in another montage, and a row for every channel that the montage loses.

    trusted : (channel,), whether a channel has no quality flag; only such channels are averaged.
    """
    return (recording, []) if scheme == "as-recorded" else _SCHEMES[scheme](recording, trusted)


def shafts_of(names: Sequence[str]) -> dict[str, list[int]]:
    """Channel indices of each shaft, in the order of contact numbers; '' for names without one.

    Capitals count only where the recording has the same contact in both (`a1` and `A1`).
    """
    parsed = [parse_contact(name) for name in names]
    if len(set(typed := [typed_contact(name) for name in names])) > len(set(parsed)):
        parsed = typed
    shafts: dict[str, list[int]] = {}
    for index in sorted(range(len(parsed)), key=lambda i: (parsed[i] or ("", 0))[1]):
        contact = parsed[index]
        shafts.setdefault(contact.shaft if contact else "", []).append(index)
    return shafts


def neighbour_pairs(
    names: Sequence[str], at: Mapping[str, Sequence[float]]
) -> list[tuple[int, int]]:
    """Channel indices of contacts that follow each other on a shaft.

    at : known positions (mm) by name.
    """
    return [
        pair
        for shaft, members in shafts_of(names).items()
        if shaft
        for pair in pairwise(members)
        if _are_neighbours([names[i] for i in members], at, *(names[i] for i in pair))
    ]


def _bipolar(recording: Recording, trusted: Bools) -> tuple[Recording, list[AuditRow]]:
    pairs = neighbour_pairs(recording.channels, recording.positions.mm)
    if not pairs:
        raise DataError(
            "expected neighbouring contacts (same shaft, consecutive numbers) for the bipolar "
            f"montage, found none among {len(recording.channels)} channels. Use another montage.",
            code="channel-montage",
        )
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    names = tuple(f"{recording.channels[a]}-{recording.channels[b]}" for a, b in pairs)
    missing, at = recording.missing, recording.positions.mm
    ends = [[at[name] for i in pair if (name := recording.channels[i]) in at] for pair in pairs]
    middle = {
        name: tuple(np.mean(pair, axis=0).tolist())
        for name, pair in zip(names, ends, strict=True)
        if len(pair) == 2
    }
    difference = recording.signal[first] - recording.signal[second]
    if missing is not None:
        difference[missing[first] | missing[second]] = 0
    alone = set(range(len(recording.channels))) - set(first) - set(second)
    why = "has no neighbour for the bipolar montage"
    return replace(
        recording,
        signal=difference,
        channels=names,
        positions=Positions(middle, recording.positions.space),
        missing=None if missing is None else missing[first] | missing[second],
        **_pair_labels(recording, pairs),
    ), [_lost(recording, index, why) for index in sorted(alone)]


def _pair_labels(recording: Recording, pairs: list[tuple[int, int]]) -> dict[str, Any]:
    """Labels of bipolar pairs: a pair is in a zone if one of its contacts is."""
    from epilens.data.recording import LABEL_FIELDS

    labels = {name: getattr(recording, name) for name in LABEL_FIELDS}
    return {
        name: None if flags is None else tuple(flags[a] or flags[b] for a, b in pairs)
        for name, flags in labels.items()
    }


def _are_neighbours(
    members: Sequence[str], at: Mapping[str, Sequence[float]], first: str, second: str
) -> bool:
    """Whether two contacts have consecutive numbers and no unusual distance, if it is known."""
    one_end, other_end = parse_contact(first), parse_contact(second)
    if one_end is None or other_end is None or other_end.number - one_end.number != 1:
        return False
    placed = [np.array(at[name]) for name in members if name in at]
    if first not in at or second not in at or len(placed) < 3:
        return True
    usual = np.median([np.linalg.norm(q - p) for p, q in pairwise(placed)])
    apart = np.subtract(at[first], at[second])
    return bool(np.linalg.norm(apart) <= _FARTHEST_NEIGHBOUR * usual)


def _shaft_average(recording: Recording, trusted: Bools) -> tuple[Recording, list[AuditRow]]:
    signal, kept, rows = recording.signal.copy(), [], []
    for shaft, members in shafts_of(recording.channels).items():
        usable = [i for i in members if trusted[i]]
        if shaft and len(usable) > 1:
            signal[members] -= _mean(recording, usable)
            kept += members
            continue
        why = "has no other contact on its shaft for the per-shaft average"
        rows += [_lost(recording, index, why) for index in members]
    if not kept:
        raise DataError(
            "expected shafts with two or more contacts for the average, found none.",
            code="channel-montage",
        )
    from epilens.data.recording import pick

    keep = [index in set(kept) for index in range(len(signal))]
    return pick(replace(recording, signal=_without_missing(recording, signal)), keep), rows


def _common_average(recording: Recording, trusted: Bools) -> tuple[Recording, list[AuditRow]]:
    usable = np.flatnonzero(trusted).tolist()
    if len(usable) < 2:
        raise DataError(
            f"expected two or more unflagged channels for the common average, found {len(usable)}.",
            code="channel-montage",
        )
    signal = recording.signal - _mean(recording, usable)
    return replace(recording, signal=_without_missing(recording, signal)), []


def _mean(recording: Recording, members: list[int]) -> NDArray[np.float32]:
    """Mean over channels at each sample, without missing samples."""
    total = recording.signal[members].sum(axis=0, dtype=np.float64)
    if recording.missing is None:
        return (total / len(members)).astype(np.float32)
    samples = (~recording.missing[members]).sum(axis=0)
    return (total / np.maximum(samples, 1)).astype(np.float32)


def _without_missing(recording: Recording, signal: NDArray[np.float32]) -> NDArray[np.float32]:
    """The signal with 0 for missing samples."""
    missing = recording.missing
    return signal if missing is None else np.where(missing, np.float32(0), signal)


def _lost(recording: Recording, index: int, why: str) -> AuditRow:
    who = (*recording.who, recording.channels[index])
    return excluded_row("channel", why, "channel-montage", who)


_SCHEMES: dict[str, Callable[[Recording, Bools], tuple[Recording, list[AuditRow]]]] = {
    "bipolar": _bipolar,
    "shaft-average": _shaft_average,
    "common-average": _common_average,
}
