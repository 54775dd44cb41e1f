"""Certainty of a model's scores: calibration, sets of stated coverage, distances.

`learn_certainty` takes it from out-of-fold scores of a training cohort, `Certainty` says it of a
new patient, and a model stores it as plain JSON (`assurance`). Imported checkpoints have none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import xarray as xr
from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from epilens.core.errors import ModelError
from epilens.core.types import Bools, Floats
from epilens.evaluation.novelty import (
    KNOWN_AGAIN,
    SCORE_NAMES,
    STORED,
    CohortDistance,
    CohortMiddle,
    cohort_middle,
    contact_keys,
    evidence_names,
    evidence_summary,
    feature_summary,
    feature_summary_names,
    score_summary,
    usual_limit,
)
from epilens.evidence.contact_features import feature_table
from epilens.evidence.contact_table import ContactTable
from epilens.methods import seen_labels

COVERAGES = (0.8, 0.9)
"""Shares of a patient's EZ contacts that the sets of contacts should contain."""
_CLAMP = 1e-6


@dataclass(frozen=True, config=STORED)
class Calibration:
    """Platt's P(EZ) = sigm(slope · logit(1 - p_nez) + intercept); Brier scores out of fold."""

    slope: float
    intercept: float
    brier_raw: float
    brier: float
    kind: Literal["platt"] = "platt"

    def probability(self, p_nez: Floats) -> Floats:
        """Calibrated probability of EZ."""
        return _sigmoid(self.slope * ez_logit(p_nez) + self.intercept)


@dataclass(frozen=True, config=STORED)
class CoveringSet:
    """The cut of p_nez below which a stated fraction of the EZ contacts lies, on average."""

    coverage: float
    cut: float | None
    """None: the cohort is too small for this coverage, so the set is all contacts."""
    reached: float
    """Share of the EZ contacts that it held out of fold."""
    share: float
    """Share of all contacts that it held out of fold."""

    def contains(self, p_nez: Floats) -> Bools:
        """Which contacts of a patient are in the set (C,)."""
        return np.ones(len(p_nez), bool) if self.cut is None else p_nez <= self.cut


@dataclass(frozen=True, config=STORED)
class Certainty:
    """What out-of-fold scores of a training cohort show about future scores."""

    patients: int
    calibration: Calibration
    sets: tuple[CoveringSet, ...]
    evidence: CohortMiddle
    scores: CohortMiddle
    seizures: tuple[str, ...] = ()
    """Digests of whole seizures: older models have them, and they are not read."""
    contacts: tuple[str, ...] = ()
    """Digests of the training contacts, seizure by seizure, to know them again."""
    summary: Literal["descriptors", "features"] = "descriptors"
    """What `evidence` summarizes: the cube's descriptors, or the contact features."""

    def distances(
        self, cube: xr.Dataset, p_nez: Floats, threshold: float
    ) -> tuple[CohortDistance, ...]:
        """Distances of a patient's evidence and scores from the cohort's."""
        return (
            self.evidence.distance_of("evidence", self._evidence_of(cube)),
            self.scores.distance_of("scores", score_summary(p_nez, threshold)),
        )

    def _evidence_of(self, patient: xr.Dataset) -> Floats:
        if self.summary == "features":
            return feature_summary(feature_table(patient))
        return evidence_summary(patient)

    def recognised(self, cube: xr.Dataset) -> int | None:
        """How many seizures of a patient the model was trained on; None: it does not know.

        One of which half of the contacts are known: a bad channel, or one more, changes nothing.
        """
        if not self.contacts:
            return None
        trained = set(self.contacts)
        shares = [np.mean([key in trained for key in keys]) for keys in contact_keys(cube) if keys]
        return sum(share >= KNOWN_AGAIN for share in shares)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON, as a model stores it."""
        tree = _JSON.dump_python(self, mode="json")
        if self.summary == "descriptors":  # what models were written with before
            del tree["summary"]
        return tree

    @classmethod
    def from_json(cls, tree: Mapping[str, Any], who: str = "certainty") -> Certainty:
        """Read plain JSON; anything malformed is refused."""
        try:
            return _JSON.validate_json(json.dumps(tree), strict=True)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(key) for key in first["loc"])
            raise ModelError(
                f"{who}: expected what training stores about the certainty of a model, found "
                f"{field!r} wrong ({first['msg']}). Train the model again."
            ) from None


_JSON = TypeAdapter(Certainty)


def learn_certainty(
    cubes: Sequence[xr.Dataset], p_nez: Sequence[Floats], threshold: float
) -> Certainty:
    """Certainty from a cohort.

    cubes, p_nez : one per patient; out-of-fold scores of the seen channels.
    """
    is_ez = [seen_labels(cube) for cube in cubes]
    evidence = np.array([evidence_summary(cube) for cube in cubes])
    middle = cohort_middle(evidence_names(cubes[0]["descriptor"].values), evidence)
    keys = sorted({k for cube in cubes for keys in contact_keys(cube) for k in keys})
    return replace(_certainty(is_ez, p_nez, threshold, middle), contacts=tuple(keys))


def learn_feature_certainty(
    tables: Sequence[ContactTable],
    is_ez: Sequence[Bools],
    p_nez: Sequence[Floats],
    threshold: float,
) -> Certainty:
    """Certainty from a cohort of which contact features are known and no recordings.

    Summary numbers only: of the patients' distances the limit is stored.
    """
    values = np.array([feature_summary(table) for table in tables])
    middle = _only_limit(cohort_middle(feature_summary_names(), values))
    made = _certainty(is_ez, p_nez, threshold, middle)
    return replace(made, scores=_only_limit(made.scores), summary="features")


def _only_limit(cohort: CohortMiddle) -> CohortMiddle:
    return replace(cohort, distances=(usual_limit(cohort.distances),))


def _certainty(
    is_ez: Sequence[Bools], p_nez: Sequence[Floats], threshold: float, evidence: CohortMiddle
) -> Certainty:
    scores = np.array([score_summary(p, threshold) for p in p_nez])
    return Certainty(
        patients=len(p_nez),
        calibration=platt(p_nez, is_ez),
        sets=tuple(covering_set(p_nez, is_ez, coverage) for coverage in COVERAGES),
        evidence=evidence,
        scores=cohort_middle(SCORE_NAMES, scores),
    )


def ez_logit(p_nez: Floats) -> Floats:
    """Log odds of EZ, kept finite."""
    p = np.clip(1 - np.asarray(p_nez), _CLAMP, 1 - _CLAMP)
    return np.log(p / (1 - p))


def _sigmoid(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))


def platt(p_nez: Sequence[Floats], is_ez: Sequence[Bools], rounds: int = 100) -> Calibration:
    """Platt's calibration, patients weighing the same.

    Platt's targets, (n₊ + 1)/(n₊ + 2) and 1/(n₋ + 2), keep the slope finite. A cohort in which
    higher scores do not mean EZ gets the slope 0: everybody has the base rate.
    """
    x, ez = np.concatenate([ez_logit(p) for p in p_nez]), np.concatenate(list(is_ez))
    weight = np.concatenate([np.full(len(p), 1 / len(p)) for p in p_nez])
    weight *= len(x) / weight.sum()
    n_ez, n_nez = weight[ez].sum(), weight[~ez].sum()
    wanted = np.where(ez, (n_ez + 1) / (n_ez + 2), 1 / (n_nez + 2))
    base = float(np.log((n_ez + 1) / (n_nez + 1)))
    slope, intercept = _logistic(x, wanted, weight, base, rounds)
    if slope <= 0:
        slope, intercept = 0.0, base
    raw = 1 - np.concatenate(list(p_nez))
    brier_raw, brier = (
        float(np.average((p - ez) ** 2, weights=weight))
        for p in (raw, _sigmoid(slope * x + intercept))
    )
    return Calibration(slope, intercept, brier_raw, brier)


def _logistic(
    x: Floats, wanted: Floats, weight: Floats, base: float, rounds: int
) -> tuple[float, float]:
    """Weighted logistic regression of soft targets on one variable, by Newton's steps."""
    design, θ = np.stack([x, np.ones_like(x)], axis=1), np.array([0.0, base])
    for _ in range(rounds):
        p = _sigmoid(design @ θ)
        gradient = design.T @ (weight * (p - wanted))
        curvature = (design * (weight * p * (1 - p))[:, None]).T @ design + 1e-9 * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        # Far from the solution a whole step overshoots; half a unit at a time never does.
        step *= min(1, 0.5 / max(np.abs(step).max(), 1e-300))
        θ = θ - step
        if np.abs(step).max() < 1e-10:
            break
    return float(θ[0]), float(θ[1])


def covering_set(p_nez: Sequence[Floats], is_ez: Sequence[Bools], coverage: float) -> CoveringSet:
    """The set that contains `coverage` of a patient's EZ contacts, on average.

    Conformal risk control: with n patients and R the mean share of EZ contacts above the cut, the
    smallest cut with (n R + 1)/(n + 1) ≤ 1 - coverage. None: n is too small for this coverage.
    """
    pairs = [(p, ez) for p, ez in zip(p_nez, is_ez, strict=True) if ez.any()]
    n = len(pairs)
    for cut in np.unique(np.concatenate([p[ez] for p, ez in pairs])) if n else ():
        missed = [float((p[ez] > cut).mean()) for p, ez in pairs]
        if (sum(missed) + 1) / (n + 1) <= 1 - coverage + 1e-12:
            share = float(np.mean([(p <= cut).mean() for p, _ in pairs]))
            return CoveringSet(coverage, float(cut), 1 - float(np.mean(missed)), share)
    return CoveringSet(coverage, None, 1.0, 1.0)
