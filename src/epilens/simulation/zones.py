"""Which contacts seizures start in, and which zones the people of a center annotate.

The true onset zone comes first. Clinicians annotate it with small errors at its edges (`soz`).
Surgeons remove a region near it (`resected`). Each center derives its EZ by its own rule. How much
of these zones overlaps follows recorded patients: `python -m benchmarks labels` measures both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epilens.simulation.implant import Implant

Rng = np.random.Generator
Rule = Literal["soz", "either", "resected", "ablated"]
Mask = NDArray[np.bool_]

RULE_TEXTS: dict[Rule, str] = {
    "soz": "the onset zone as annotated by the simulated clinicians",
    "either": "the onset zone as annotated by the simulated clinicians, or resected",
    "resected": "resected by the simulated surgeons",
    "ablated": "target of the simulated ablation",
}
"""How each center defines the EZ."""
READING_ERROR = 0.2
"""Probability that an end of a row of onset contacts is annotated one contact off
(docs/simulation.md, "Labels")."""
# Set by hand; docs/developer/calibration.md compares how onset contacts lie on electrodes.
FOCUS_CONTACTS = 4
"""The focus is one of so many contacts at the deep end of its electrode."""
ELECTRODE_ORDER_LOG_SD = 0.35
"""SD of a random factor (natural logarithm) on the distances by which electrodes are chosen."""
GRID_CONTACTS = 16
"""An electrode with more contacts is a grid."""
GRID_BETA, DEPTH_BETA, STRIP_BETA = (2.0, 5.0), (2.0, 1.6), (3.2, 1.2)
"""Beta distributions of the share of an electrode's contacts in the onset zone."""
LEAST_INSIDE = 0.2
"""The SOZ is never larger than its resected part divided by this share."""
SAME_ELECTRODE_MM = 4.0
"""Contacts of electrodes with SOZ are resected as if they were so much nearer, in mm."""


@dataclass(frozen=True)
class Share:
    """Distribution of a share over patients: exactly 1 in some, beta-distributed in the others."""

    whole: float
    """Probability that the share is 1."""
    mean: float
    """Mean of the beta distribution."""
    weight: float
    """Sum of the two beta parameters; the smaller, the more patients differ."""

    def draw(self, rng: Rng) -> float:
        """Draw the share of one patient."""
        partial = float(rng.beta(self.mean * self.weight, (1 - self.mean) * self.weight))
        return 1.0 if rng.random() < self.whole else partial


@dataclass(frozen=True)
class Surgery:
    """How onset zone and resection of a center relate, as measured in recorded patients."""

    inside: Share
    """Share of the SOZ that is resected."""
    soz_of_ez: tuple[Share, Share]
    """Share of the annotated EZ that is SOZ, where SOZ remains and where all of it is resected."""
    offset_mm: float
    """SD of the distance between onset zone and resection along each axis, in mm."""


SURGERY: dict[Rule, Surgery] = {
    "either": Surgery(Share(0.31, 0.43, 2.5), (Share(0.0, 0.65, 2.8), Share(0.0, 0.48, 2.8)), 22.0),
    "resected": Surgery(
        Share(0.88, 0.65, 3.0), (Share(0.0, 0.27, 3.9), Share(0.0, 0.27, 3.9)), 20.0
    ),
    "ablated": Surgery(Share(0.43, 0.51, 3.5), (Share(0.2, 0.74, 3.5), Share(0.2, 0.74, 3.5)), 5.0),
}
"""Measured in ds004100 (36 patients), in ds005398 and ds005592, and in the 14 patients of ds004100
with an ablation (docs/simulation.md, "Labels")."""


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
    counts = _draw_counts(rng, implant, rule, size)
    onset = _onset(rng, implant, counts.soz)
    soz = annotate(people, implant, onset)
    resected = _resection(people, implant, soz, counts, SURGERY[rule].offset_mm)
    return SimulatedZones(onset, soz, resected, soz | resected if rule == "either" else resected)


class _ZoneCounts(NamedTuple):
    """Contacts in the SOZ, in both SOZ and resection, and in the resection only."""

    soz: int
    both: int
    resected_only: int


def _draw_counts(rng: Rng, implant: Implant, rule: Rule, size: int) -> _ZoneCounts:
    """Sizes of the zones of one patient, whose EZ has `size` contacts."""
    surgery = SURGERY[rule]
    inside = surgery.inside.draw(rng)
    soz_in_ez = max(1, round(surgery.soz_of_ez[inside == 1].draw(rng) * size))
    if rule == "either":
        both = round(inside * soz_in_ez)
        # A patient without any resected contact would not have been operated.
        both = max(both, 1) if soz_in_ez == size else both
        return _ZoneCounts(soz_in_ez, both, size - soz_in_ez)
    # The EZ is the resection: SOZ outside of it is in addition.
    room = int(implant.good.sum()) - size + soz_in_ez
    soz = min(round(soz_in_ez / max(inside, LEAST_INSIDE)), room)
    return _ZoneCounts(soz, soz_in_ez, size - soz_in_ez)


def _onset(rng: Rng, implant: Implant, size: int) -> Mask:
    """Rows of neighbouring contacts on the electrodes nearest to the focus, about half of each."""
    good, shaft = implant.good, implant.shaft
    distance = _distance_to_focus(rng, implant)
    by_electrode = np.array([distance[shaft == s].min() for s in range(shaft.max() + 1)])
    by_electrode *= np.exp(rng.normal(0, ELECTRODE_ORDER_LOG_SD, len(by_electrode)))
    onset = np.zeros(len(good), bool)
    for electrode in np.argsort(by_electrode):
        contacts = np.flatnonzero((shaft == electrode) & good)
        left = size - int(onset.sum())
        if left <= 0 or not len(contacts):
            continue
        share = rng.beta(*_electrode_share(implant.modality, len(contacts)))
        count = min(left, max(1, round(share * len(contacts))))
        onset[contacts[np.argsort(distance[contacts], kind="stable")[:count]]] = True
    # All electrodes are used and contacts are still to be chosen: the nearest ones.
    rest = np.argsort(np.where(good & ~onset, distance, np.inf), kind="stable")
    onset[rest[: size - int(onset.sum())]] = True
    return onset


def _distance_to_focus(rng: Rng, implant: Implant) -> NDArray[np.float64]:
    """Distance of every contact to the focus, a contact near the target of its electrode, in mm."""
    candidates = np.flatnonzero((implant.shaft == implant.focus) & implant.good)
    candidates = candidates if len(candidates) else np.flatnonzero(implant.good)
    # Contacts are in the order of their numbers, and contact 1 lies in the target.
    position = min(int(rng.integers(0, FOCUS_CONTACTS)), len(candidates) - 1)
    return np.linalg.norm(implant.mm - implant.mm[candidates[position]], axis=1)


def _electrode_share(modality: str, contacts: int) -> tuple[float, float]:
    """Beta parameters of the onset share of an electrode: strip, depth electrode or grid."""
    if contacts > GRID_CONTACTS:
        return GRID_BETA
    return DEPTH_BETA if modality == "SEEG" else STRIP_BETA


def annotate(rng: Rng, implant: Implant, onset: Mask) -> Mask:
    """The onset zone as annotated: some of its edge contacts missed, as many beyond them added."""
    edges = np.flatnonzero(onset & _next_to(implant, ~onset))
    beyond = np.flatnonzero(~onset & implant.good & _next_to(implant, onset))
    swaps = min(int(rng.binomial(len(edges), READING_ERROR)), len(beyond), int(onset.sum()) - 1)
    annotated = onset.copy()
    annotated[rng.choice(edges, swaps, replace=False)] = False
    annotated[rng.choice(beyond, swaps, replace=False)] = True
    return annotated


def _next_to(implant: Implant, zone: Mask) -> Mask:
    """Contacts whose next or previous contact on the same electrode is in the zone."""
    same_electrode = np.diff(implant.shaft) == 0
    next_one = np.append(same_electrode & zone[1:], False)
    previous = np.append(False, same_electrode & zone[:-1])
    return next_one | previous


def _resection(
    rng: Rng, implant: Implant, soz: Mask, counts: _ZoneCounts, offset_mm: float
) -> Mask:
    """The contacts nearest to a point near the middle of the SOZ: so many of the SOZ and others."""
    middle = implant.mm[soz].mean(axis=0) + rng.normal(0, offset_mm, 3)
    distance = np.linalg.norm(implant.mm - middle, axis=1)
    # Surgeons remove what lies together: contacts of the electrodes with onset count as nearer.
    distance = distance - SAME_ELECTRODE_MM * np.isin(implant.shaft, implant.shaft[soz])
    resected = np.zeros(len(soz), bool)
    for among, count in ((soz, counts.both), (implant.good & ~soz, counts.resected_only)):
        order = np.argsort(np.where(among, distance, np.inf), kind="stable")
        resected[order[: min(count, int(among.sum()))]] = True
    return resected
