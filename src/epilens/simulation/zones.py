"""Which contacts seizures start in, and what the people of a center make of it.

The true onset zone comes first. Clinicians see most of it (`soz`); surgeons take out a region near
it (`resected`); what a center hands over as the EZ follows its own rule, as in real cohorts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from epilens.simulation.implant import Implant

Rng = np.random.Generator
Rule = Literal["soz", "either", "resected", "ablated"]
Mask = NDArray[np.bool_]

MISREAD = 0.40
"""Share of the onset contacts that clinicians miss; as many neighbours are taken instead."""


_SURGERY = {"resected": ((0.1, 0.3), 0.85), "ablated": ((0.6, 1.1), 0.65)}
"""Size of the onset zone relative to what is taken out, and how much of it is inside."""


@dataclass(frozen=True)
class Zones:
    """Masks over the contacts of an implant; bad contacts are in none of them."""

    onset: Mask
    """The truth: where the simulated seizures start."""
    soz: Mask
    """The onset zone as clinicians read it."""
    resected: Mask
    """What was taken out or ablated; empty where the center says nothing about it."""
    annotated: Mask
    """The EZ in the center's files."""


def make_zones(rng: Rng, implant: Implant, rule: Rule, size: int) -> Zones:
    """Zones of one patient; exactly `size` contacts are annotated as EZ."""
    nobody = np.zeros(len(implant.names), bool)
    # A stream of its own: what people make of an onset must not change the seizures.
    people = rng.spawn(1)[0]
    if rule == "soz":
        onset = _onset(rng, implant, size)
        soz = _misread(people, implant, onset)
        return Zones(onset, soz, nobody, soz)
    if rule == "either":
        # Jaccard of onset zone and resection: median 0.29, quartiles 0.07 and 0.50 in 64 implants.
        overlap = round(float(rng.beta(0.9, 1.9)) * size)
        only_soz = round((size - overlap) * float(rng.uniform(0.03, 0.25)))
        onset = _onset(rng, implant, max(1, overlap + only_soz))
        soz = _misread(people, implant, onset)
        resected = _resection(people, implant, soz, overlap, size - int(soz.sum()))
        return Zones(onset, soz, resected, soz | resected)
    (least, most), inside = _SURGERY[rule]
    onset = _onset(rng, implant, max(1, round(size * float(rng.uniform(least, most)))))
    soz = _misread(people, implant, onset)
    taken = min(size, max(1, round(inside * int(soz.sum()))))
    resected = _resection(people, implant, soz, taken, size - taken)
    return Zones(onset, soz, resected, resected)


def _onset(rng: Rng, implant: Implant, size: int) -> Mask:
    """Runs of neighbouring contacts on the electrodes nearest to the focus, about half of each."""
    mm, good, shaft = implant.mm, implant.good, implant.shaft
    mine = np.flatnonzero((shaft == implant.focus) & good)
    mine = mine if len(mine) else np.flatnonzero(good)
    # Deep ends first: contact 1 lies in the target.
    focus = mm[mine[min(int(rng.integers(0, 4)), len(mine) - 1)]]
    distance = np.linalg.norm(mm - focus, axis=1)
    near = np.array([distance[shaft == s].min() for s in range(shaft.max() + 1)])
    near = near * np.exp(rng.normal(0, 0.35, len(near)))
    chosen = np.zeros(len(mm), bool)
    for s in np.argsort(near):
        contacts = np.flatnonzero((shaft == s) & good)
        left = size - int(chosen.sum())
        if left <= 0 or not len(contacts):
            continue
        share = rng.beta(3.4, 1.2) if len(contacts) <= 16 else rng.beta(2.0, 5.0)
        k = min(left, max(1, round(share * len(contacts))))
        chosen[contacts[np.argsort(distance[contacts], kind="stable")[:k]]] = True
    rest = np.argsort(np.where(good & ~chosen, distance, np.inf), kind="stable")
    chosen[rest[: size - int(chosen.sum())]] = True
    return chosen


def _misread(rng: Rng, implant: Implant, onset: Mask) -> Mask:
    """Some onset contacts are missed, as many neighbours taken instead."""
    read = onset.copy()
    others = implant.good & ~onset
    swaps = min(round(MISREAD * int(onset.sum())), int(others.sum()))
    if not swaps:
        return read
    read[rng.choice(np.flatnonzero(onset), swaps, replace=False)] = False
    candidates = _nearest(implant, onset, others)[: 3 * swaps]
    read[rng.choice(candidates, swaps, replace=False)] = True
    return read


def _resection(rng: Rng, implant: Implant, soz: Mask, inside: int, outside: int) -> Mask:
    """`inside` contacts of the onset zone and `outside` others, around a point near its middle."""
    middle = implant.mm[soz].mean(axis=0) + rng.normal(0, 32, 3)
    distance = np.linalg.norm(implant.mm - middle, axis=1)
    # A surgeon takes what lies together: contacts of the electrodes with onset count as nearer.
    distance = distance - 4.0 * np.isin(implant.shaft, implant.shaft[soz])
    resected = np.zeros(len(soz), bool)
    for among, count in ((soz, inside), (implant.good & ~soz, outside)):
        order = np.argsort(np.where(among, distance, np.inf), kind="stable")
        resected[order[: min(count, int(among.sum()))]] = True
    return resected


def _nearest(implant: Implant, to: Mask, among: Mask) -> NDArray[np.int_]:
    """Contacts of `among`, the nearest to any contact of `to` first."""
    apart = np.linalg.norm(implant.mm[:, None] - implant.mm[to][None], axis=2).min(axis=1)
    return np.argsort(np.where(among, apart, np.inf), kind="stable")[: int(among.sum())]
