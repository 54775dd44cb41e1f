"""How sure: calibrated probability, sets of stated coverage, likeness to the cohort, abstention.

What a model knows about this comes from out-of-fold scores of its training cohort and is stored in
it (`epilens.evaluation.deploy.assure`). Training-free methods and imported checkpoints know nothing
of the kind; then nothing is claimed, and the page says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from epilens.arrays import Bools, Floats
from epilens.evaluation.deploy import distance, evidence_summary, ez_logit, score_summary
from epilens.evidence.cube import is_reference

USUAL = 0.95
"""Share of the cohort's own patients within which a patient counts as like the cohort."""
FEW_REFERENCE = 10
"""Below this many pre-onset windows in the median contact, levels and spreads mean little."""
FEW_CONTACTS = 8


@dataclass(frozen=True)
class Caution:
    """Something to know before reading on; `abstain` marks the whole result."""

    level: Literal["abstain", "caution", "note"]
    text: str


@dataclass(frozen=True)
class ContactSet:
    """Contacts that together hold a stated share of the EZ, as found on out-of-fold patients."""

    coverage: float
    reached: float
    cut: float | None
    holds: Bools
    """(C,)"""


@dataclass(frozen=True)
class Likeness:
    """How far a patient lies from the middle of the training cohort, and why."""

    what: str
    distance: float
    limit: float
    farthest: tuple[tuple[str, float], ...]
    """The three numbers that stick out most, with their robust z-scores."""

    @property
    def unlike(self) -> bool:
        """Farther out than nearly all of the cohort's own patients."""
        return self.distance > self.limit


def calibrated(p_nez: Floats, assurance: Mapping[str, Any]) -> Floats | None:
    """Calibrated probability of EZ, or None where the model has no calibration."""
    if not assurance:
        return None
    fit = assurance["calibration"]
    return 1 / (1 + np.exp(-(fit["slope"] * ez_logit(p_nez) + fit["intercept"])))


def contact_sets(p_nez: Floats, assurance: Mapping[str, Any]) -> tuple[ContactSet, ...]:
    """The sets of contacts for each coverage that the model knows a cut for."""
    return tuple(
        ContactSet(
            coverage=kept["coverage"],
            reached=kept["reached"],
            cut=kept["cut"],
            holds=np.ones(len(p_nez), bool) if kept["cut"] is None else p_nez <= kept["cut"],
        )
        for kept in assurance.get("sets", ())
    )


def likeness(
    cube: xr.Dataset, p_nez: Floats, threshold: float, assurance: Mapping[str, Any]
) -> tuple[Likeness, ...]:
    """Distances of the patient's evidence and scores from the cohort's; empty if none is known."""
    if not assurance:
        return ()
    found = {"evidence": evidence_summary(cube), "scores": score_summary(p_nez, threshold)}
    return tuple(_likeness(what, value, assurance[what]) for what, value in found.items())


def _likeness(what: str, value: Floats, cohort: Mapping[str, Any]) -> Likeness:
    middle, scale = np.array(cohort["middle"]), np.array(cohort["scale"])
    z = (value - middle) / scale
    out = np.argsort(-np.abs(z))[:3]
    return Likeness(
        what,
        distance(value, middle, scale),
        usual_limit(cohort["distances"]),
        tuple((cohort["names"][i], float(z[i])) for i in out),
    )


def usual_limit(distances: Sequence[float]) -> float:
    """The distance that 95 % of the cohort's patients do not exceed, each seen from the others.

    The ⌈0.95 (n + 1)⌉-th smallest; with fewer than 19 patients, the largest.
    """
    ordered = sorted(distances)
    if not ordered:
        return math.inf
    return ordered[min(math.ceil(USUAL * (len(ordered) + 1)), len(ordered)) - 1]


def reference_windows(cube: xr.Dataset) -> NDArray[np.int64]:
    """Valid pre-onset windows of each seizure and contact (S, C)."""
    return (cube["valid"] & is_reference(cube)).sum("window").values


def seizure_agreement(per_seizure: Floats, there: Bools) -> float | None:
    """Mean Spearman correlation between the scores of two seizures, over contacts in both.

    None where no two seizures share three contacts whose scores differ.
    """
    from scipy.stats import rankdata

    found = []
    for a, b in combinations(range(len(per_seizure)), 2):
        both = there[a] & there[b]
        if both.sum() < 3:
            continue
        x, y = (rankdata(per_seizure[s, both]) for s in (a, b))
        if x.std() > 0 and y.std() > 0:
            found.append(float(np.corrcoef(x, y)[0, 1]))
    return float(np.mean(found)) if found else None


def top_share(per_seizure: Floats, there: Bools, k: int) -> Floats:
    """Share of its seizures in which a contact is among the k lowest p_nez (C,); ties count."""
    inside = np.zeros(per_seizure.shape, bool)
    for s, who in enumerate(there):
        p = per_seizure[s]
        inside[s, who] = [(p[who] < value).sum() < k for value in p[who]]
    return inside.sum(axis=0) / np.maximum(there.sum(axis=0), 1)


def seizure_spread(per_seizure: Floats, there: Bools) -> Floats:
    """Standard deviation of a contact's score over its seizures (C,), population value."""
    n = np.maximum(there.sum(axis=0), 1)
    mean = np.where(there, per_seizure, 0).sum(axis=0) / n
    return np.sqrt(np.where(there, (per_seizure - mean) ** 2, 0).sum(axis=0) / n)


def cautions_of(
    cube: xr.Dataset, alike: Sequence[Likeness], agreement: float | None
) -> list[Caution]:
    """What the patient's own evidence gives to think about, gravest first."""
    found = [_unlike(one) for one in alike if one.unlike]
    windows = reference_windows(cube)
    usual = float(np.median(windows[windows > 0]))
    if usual < FEW_REFERENCE:
        found.append(
            Caution(
                "abstain",
                f"Too few reference windows: the median contact has {usual:g} before onset, "
                f"{FEW_REFERENCE} are wanted. Deviations from so short a reference mean little.",
            )
        )
    if cube.sizes["seizure"] == 1:
        found.append(Caution("caution", "One seizure only: agreement cannot be told."))
    if cube.sizes["channel"] < FEW_CONTACTS:
        found.append(
            Caution(
                "caution",
                f"{cube.sizes['channel']} contacts only: scores are relative to the patient's "
                "other contacts.",
            )
        )
    if agreement is not None and agreement < 0.3:
        found.append(
            Caution("caution", f"The seizures disagree: mean rank correlation {agreement:.2f}.")
        )
    covered = cube["high_gamma_covered"].values if "high_gamma_covered" in cube.coords else None
    if covered is not None and covered.min() < 1:
        text = f"High gamma (80-150 Hz) is covered to {covered.min():.0%} in {(covered < 1).sum()} "
        text += f"of {len(covered)} seizures, because of their sampling rate."
        found.append(Caution("note", text))
    return found


def _unlike(one: Likeness) -> Caution:
    reasons = "; ".join(
        f"{name.replace('_', ' ')} ({z:+.1f} robust SD)" for name, z in one.farthest
    )
    return Caution(
        "abstain",
        f"The {one.what} of this patient {'is' if one.what == 'evidence' else 'are'} unlike the "
        f"training cohort: distance {one.distance:.2f}, usual up to {one.limit:.2f}. Most unlike: "
        f"{reasons}.",
    )
