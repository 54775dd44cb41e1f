"""Simulated implants: which electrodes a patient has, around a suspected lobe."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from epilens.simulation.anatomy import (
    DEPTHS,
    FOCUS_SHARE,
    GRIDS,
    SHEETS,
    Electrode,
    Target,
    depth,
    sheet,
)

Rng = np.random.Generator

# Typical values that were set by hand.
STRIP_SIZES, GRID_SIZES = ((1, 4), (1, 6), (1, 8)), ((8, 8), (4, 8), (4, 5))
"""Rows and columns of strips and grids."""
SAME_SIDE_SHARE = 0.78
"""Share of the electrodes on the suspected side."""
GRID_SHARE, FEWEST_FOR_GRID = 0.4, 24
"""A patient with so many contacts or more still to place gets a grid with this probability."""
SUSPECTED_LOBE_WEIGHT = 4.0
"""How much more often a target in the suspected lobe is chosen than another one."""


@dataclass(frozen=True)
class Implant:
    """Contacts of one patient; those of one electrode follow each other."""

    modality: str
    """`SEEG` or `ECOG`."""
    names: tuple[str, ...]
    """Side, letters and number of each contact, before a center spells it in its own way."""
    shaft: NDArray[np.int_]
    """Index of each contact's electrode, from 0."""
    regions: tuple[str, ...]
    """Structure that each contact's electrode is aimed at."""
    mm: NDArray[np.float64]
    """Positions, (contact, 3), MNI coordinates in mm."""
    good: NDArray[np.bool_]
    """Whether the contact is recorded well."""
    focus: int
    """Index of the electrode nearest to where seizures start."""


def make_implant(rng: Rng, modality: str, good_contacts: int, bad_contacts: int) -> Implant:
    """Add electrodes until there are enough contacts; most are in the suspected lobe."""
    wanted = good_contacts + bad_contacts
    side = float(rng.choice([-1.0, 1.0]))
    lobe = str(rng.choice(list(FOCUS_SHARE), p=list(FOCUS_SHARE.values())))
    electrodes: list[Electrode] = []
    used: Counter[str] = Counter()
    while (left := wanted - sum(len(e.mm) for e in electrodes)) > 0:
        electrodes.append(_next_electrode(rng, modality, lobe, side, used, left))
    counts = [len(e.mm) for e in electrodes]
    counts[-1] -= sum(counts) - wanted
    shaft = np.repeat(np.arange(len(electrodes)), counts)
    names = [f"{e.name}{i + 1}" for e, n in zip(electrodes, counts, strict=True) for i in range(n)]
    good = np.ones(wanted, bool)
    good[rng.choice(wanted, bad_contacts, replace=False)] = False
    suspected = [i for i, e in enumerate(electrodes) if e.lobe == lobe and counts[i] > 1]
    return Implant(
        modality=modality,
        names=tuple(names),
        shaft=shaft,
        regions=tuple(electrodes[s].region for s in shaft),
        mm=np.round(np.concatenate([e.mm for e in electrodes])[:wanted], 3),
        good=good,
        focus=int(rng.choice(suspected)) if suspected else int(rng.integers(len(electrodes))),
    )


def _next_electrode(
    rng: Rng, modality: str, lobe: str, side: float, used: Counter[str], left: int
) -> Electrode:
    """An electrode for the contacts that are left to place, on the suspected side or the other."""
    side = side if rng.random() < SAME_SIDE_SHARE else -side
    if modality == "SEEG":
        target, name = _pick(rng, DEPTHS, lobe, side, used)
        return depth(rng, target, side, name)
    has_grid = any(name.endswith("G") for name in used)
    if left >= FEWEST_FOR_GRID and not has_grid and rng.random() < GRID_SHARE:
        target, name = _pick(rng, GRIDS, lobe, side, used)
        fitting = [(rows, columns) for rows, columns in GRID_SIZES if rows * columns <= left]
        return sheet(rng, target, side, name, fitting[int(rng.integers(len(fitting)))])
    target, name = _pick(rng, SHEETS, lobe, side, used)
    return sheet(rng, target, side, name, STRIP_SIZES[int(rng.integers(len(STRIP_SIZES)))])


def _pick(
    rng: Rng, targets: tuple[Target, ...], lobe: str, side: float, used: Counter[str]
) -> tuple[Target, str]:
    """Choose a target that is free on this side, more often in the suspected lobe; and its name.

    If all are used, a second electrode goes next to the first: its letters are doubled.
    """
    prefix = "L" if side < 0 else "R"
    least = min(used[prefix + t.letters] for t in targets)
    free = [t for t in targets if used[prefix + t.letters] == least]
    weight = np.array([SUSPECTED_LOBE_WEIGHT if t.lobe == lobe else 1.0 for t in free])
    target = free[int(rng.choice(len(free), p=weight / weight.sum()))]
    used[prefix + target.letters] += 1
    return target, prefix + target.letters * (least + 1)
