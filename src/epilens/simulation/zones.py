"""Which contacts seizures start in, and which zones the people of a center annotate.

The true onset zone comes first. Clinicians annotate it with small errors at its edges (`soz`).
Surgeons remove a region near it (`resected`). Each center derives its EZ by its own rule. How much
of these zones overlaps follows recorded patients: `python -m benchmarks labels` measures both.
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

READING_ERROR = 0.2
"""Probability that an end of a run of onset contacts is annotated one contact off."""


@dataclass(frozen=True)
class Share:
    """Distribution of a share over patients: exactly 1 in some, beta-distributed in the others."""

    whole: float
    """Probability of 1."""
    mean: float
    """Mean of the others."""
    weight: float
    """Sum of the two beta parameters; the smaller, the more patients differ."""

    def draw(self, rng: Rng) -> float:
        """Share of one patient."""
        partial = float(rng.beta(self.mean * self.weight, (1 - self.mean) * self.weight))
        return 1.0 if rng.random() < self.whole else partial


@dataclass(frozen=True)
class Surgery:
    """How onset zone and resection of a center relate, after recorded patients."""

    inside: Share
    """Share of the SOZ that is resected."""
    soz_of_ez: tuple[Share, Share]
    """Share of the annotated EZ that is SOZ, where SOZ remains and where all of it is resected."""
    offset_mm: float
    """SD of the distance between onset zone and resection, along each axis."""


SURGERY: dict[Rule, Surgery] = {
    "either": Surgery(Share(0.31, 0.43, 2.5), (Share(0.0, 0.65, 2.8), Share(0.0, 0.48, 2.8)), 22.0),
    "resected": Surgery(
        Share(0.88, 0.65, 3.0), (Share(0.0, 0.27, 3.9), Share(0.0, 0.27, 3.9)), 20.0
    ),
    "ablated": Surgery(Share(0.43, 0.51, 3.5), (Share(0.2, 0.74, 3.5), Share(0.2, 0.74, 3.5)), 5.0),
}
"""After ds004100 (36 patients), ds005398 and ds005592, and the 14 of ds004100 with an ablation."""


@dataclass(frozen=True)
class SimulatedZones:
    """Masks over the contacts of an implant; bad contacts are in none of them."""

    onset: Mask
    """The truth: where the simulated seizures start."""
    soz: Mask
    """The onset zone as annotated by clinicians."""
    resected: Mask
    """Resected or ablated; empty where the center does not state it."""
    annotated: Mask
    """The EZ in the center's files."""


def make_zones(rng: Rng, implant: Implant, rule: Rule, size: int) -> SimulatedZones:
    """Zones of one patient; exactly `size` contacts are annotated as EZ."""
    # A separate stream: annotations must not change the seizures.
    people = rng.spawn(1)[0]
    if rule == "soz":
        onset = _onset(rng, implant, size)
        soz = annotate(people, implant, onset)
        return SimulatedZones(onset, soz, np.zeros(len(onset), bool), soz)
    surgery = SURGERY[rule]
    inside = surgery.inside.draw(rng)
    within = max(1, round(surgery.soz_of_ez[inside == 1].draw(rng) * size))
    if rule == "either":
        both, n_soz = round(inside * within), within
        # A patient without any resected contact would not have been operated.
        both = max(both, 1) if n_soz == size else both
        n_resected = size - n_soz + both
    else:
        most = int(implant.good.sum()) - size + within
        both, n_soz, n_resected = within, min(round(within / max(inside, 0.2)), most), size
    onset = _onset(rng, implant, n_soz)
    soz = annotate(people, implant, onset)
    resected = _resection(people, implant, soz, (both, n_resected - both), surgery.offset_mm)
    return SimulatedZones(onset, soz, resected, soz | resected if rule == "either" else resected)


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
        share = rng.beta(*_electrode_share(implant.modality, len(contacts)))
        k = min(left, max(1, round(share * len(contacts))))
        chosen[contacts[np.argsort(distance[contacts], kind="stable")[:k]]] = True
    rest = np.argsort(np.where(good & ~chosen, distance, np.inf), kind="stable")
    chosen[rest[: size - int(chosen.sum())]] = True
    return chosen


def _electrode_share(modality: str, contacts: int) -> tuple[float, float]:
    """Beta parameters of the onset share of an electrode: strip, depth electrode or grid."""
    if contacts > 16:
        return 2.0, 5.0
    return (2.0, 1.6) if modality == "SEEG" else (3.2, 1.2)


def annotate(rng: Rng, implant: Implant, onset: Mask) -> Mask:
    """The onset zone as annotated: some of its edge contacts missed, as many beyond them added."""
    edges = np.flatnonzero(onset & _beside(implant, ~onset))
    beyond = np.flatnonzero(~onset & implant.good & _beside(implant, onset))
    swaps = min(int(rng.binomial(len(edges), READING_ERROR)), len(beyond), int(onset.sum()) - 1)
    annotated = onset.copy()
    annotated[rng.choice(edges, swaps, replace=False)] = False
    annotated[rng.choice(beyond, swaps, replace=False)] = True
    return annotated


def _beside(implant: Implant, zone: Mask) -> Mask:
    """Contacts whose next or previous contact on the same electrode is in the zone."""
    same = np.diff(implant.shaft) == 0
    return np.append(same & zone[1:], False) | np.append(False, same & zone[:-1])


def _resection(
    rng: Rng, implant: Implant, soz: Mask, counts: tuple[int, int], offset_mm: float
) -> Mask:
    """Contacts of the SOZ and others (`counts`), around a point near the middle of the SOZ."""
    middle = implant.mm[soz].mean(axis=0) + rng.normal(0, offset_mm, 3)
    distance = np.linalg.norm(implant.mm - middle, axis=1)
    # Surgeons remove what lies together: contacts of the electrodes with onset count as nearer.
    distance = distance - 4.0 * np.isin(implant.shaft, implant.shaft[soz])
    resected = np.zeros(len(soz), bool)
    for among, count in zip((soz, implant.good & ~soz), counts, strict=True):
        order = np.argsort(np.where(among, distance, np.inf), kind="stable")
        resected[order[: min(count, int(among.sum()))]] = True
    return resected
