"""A deployable Model from all labelled patients: an ensemble over folds and seeds.

Every patient fits most members and validates the others, so the threshold and all that is told
about how sure the model is come from scores of members that never fitted the patient. Those members
did stop training on it, so out-of-fold numbers are a little better than those of a new patient.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from epilens.arrays import Bools, Floats
from epilens.errors import ModelError
from epilens.evaluation.splits import five_fold
from epilens.evidence.cube import Cohort, is_reference
from epilens.evidence.descriptors import DESCRIPTORS
from epilens.evidence.views import VIEWS, views
from epilens.fusion import LOCKED_WEIGHT, fuse_scores
from epilens.methods import METHODS, Training, seen_channels, seen_labels
from epilens.networks.model import Branch, Model, group_members
from epilens.plan import Plan
from epilens.progress import StepFunction, Ticks
from epilens.thresholds import select_threshold

COVERAGES = (0.8, 0.9)
"""Shares of a patient's EZ contacts that the sets of contacts should hold."""
_CLAMP = 1e-6
_FARTHEST = 20.0
"""Robust z-scores beyond this say no more than this."""


def train(plan: Plan, cohort: Cohort, tick: Ticks | StepFunction | None = None) -> Model:
    """Train both branches on every fold and seed of all labelled patients."""
    tick = Ticks.of(tick)
    cubes = {name: cube for name, cube in cohort.items() if "is_ez" in cube}
    if len(cubes) < 2 * plan.splits.folds:
        raise ModelError(
            f"train: expected {2 * plan.splits.folds} or more labelled patients, found "
            f"{len(cubes)}. Use fewer folds (plan: splits.folds) or label more patients."
        )
    centers = {name: cube.attrs["center"] for name, cube in cubes.items()}
    split = five_fold(centers, plan.splits.folds, plan.splits.validation, plan.splits.seed)
    held = split[split["partition"] == "test"].set_index("patient")["fold"].to_dict()
    branches: list[tuple[str, int, str, Branch]] = []
    scores: dict[str, list[Floats]] = {}
    tick.expect(2 * len(plan.seeds) * len(set(held.values())))
    for seed in plan.seeds:
        for fold in sorted(set(held.values())):
            out = [cubes[p] for p in cubes if held[p] == fold]
            fit = [cubes[p] for p in cubes if held[p] != fold]
            made = {}
            for name in ("prq", "bcr"):
                fitted: Any = METHODS[name].fit(Training(fit, out, seed, plan))
                made[name] = Branch(fitted.network, fitted.standardizer)
                branches.append((name, seed, fold, made[name]))
                tick(f"{name} seed {seed} fold {fold}")
            for cube in out:
                fused = fuse_scores(made["prq"].p_nez(cube), made["bcr"].p_nez(cube))
                scores.setdefault(cube.attrs["patient"], []).append(fused)
    labels = {name: seen_labels(cube) for name, cube in cubes.items()}
    p_nez = [np.mean(scores[name], axis=0) for name in cubes]
    threshold, _ = select_threshold(p_nez, list(labels.values()))
    about = _about(plan, cubes, labels)
    assurance = assure(list(cubes.values()), p_nez, threshold)
    descriptors = tuple(next(iter(cubes.values()))["descriptor"].values.tolist())
    members = group_members(branches)
    return Model(members, threshold, LOCKED_WEIGHT, about, assurance, descriptors, VIEWS)


def _about(plan: Plan, cubes: Mapping[str, Any], labels: Mapping[str, Bools]) -> dict[str, Any]:
    centers = sorted({cube.attrs["center"] for cube in cubes.values()})
    channels, ez = sum(map(len, labels.values())), int(sum(v.sum() for v in labels.values()))
    return {
        "source": "epilens train",
        "plan_digest": plan.digest,
        "plan": plan.model_dump(mode="json"),
        "simulated": any("(simulated)" in center for center in centers),
        "cohort": {
            "patients": len(cubes),
            "centers": ", ".join(centers),
            "seizures": int(sum(cube.sizes["seizure"] for cube in cubes.values())),
            "channels": channels,
            "EZ channels": ez,
        },
        "notes": [
            "threshold, calibration and sets come from members that never fitted the patient, but "
            "whose epoch was chosen on it"
        ],
    }


def assure(cubes: Sequence[xr.Dataset], p_nez: Sequence[Floats], threshold: float) -> dict:
    """What out-of-fold scores of the training cohort tell about scores to come; plain JSON.

    cubes, p_nez : one per patient; scores of the seen channels.
    """
    is_ez = [seen_labels(cube) for cube in cubes]
    evidence = np.array([evidence_summary(cube) for cube in cubes])
    scores = np.array([score_summary(p, threshold) for p in p_nez])
    return {
        "patients": len(cubes),
        "calibration": platt(p_nez, is_ez),
        "sets": [covering_set(p_nez, is_ez, coverage) for coverage in COVERAGES],
        "evidence": {"names": evidence_names(), **cohort_middle(evidence)},
        "scores": {"names": list(SCORE_NAMES), **cohort_middle(scores)},
        "seizures": sorted({key for cube in cubes for key in seizure_keys(cube).values()}),
    }


def ez_logit(p_nez: Floats) -> Floats:
    """Log odds of EZ, kept finite."""
    p = np.clip(1 - np.asarray(p_nez), _CLAMP, 1 - _CLAMP)
    return np.log(p / (1 - p))


def platt(p_nez: Sequence[Floats], is_ez: Sequence[Bools], rounds: int = 100) -> dict[str, Any]:
    """Platt's P(EZ) = sigm(slope · logit(1 - p_nez) + intercept), patients weighing the same.

    His targets, (n₊ + 1)/(n₊ + 2) and 1/(n₋ + 2), keep the slope finite. A cohort in which higher
    scores do not mean EZ gets the slope 0: everybody has the base rate.
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
    calibrated = 1 / (1 + np.exp(-(slope * x + intercept)))
    raw = 1 - np.concatenate(list(p_nez))
    brier = {
        name: float(np.average((p - ez) ** 2, weights=weight))
        for name, p in (("brier_raw", raw), ("brier", calibrated))
    }
    return {"kind": "platt", "slope": slope, "intercept": intercept, **brier}


def _logistic(
    x: Floats, wanted: Floats, weight: Floats, base: float, rounds: int
) -> tuple[float, float]:
    """Weighted logistic regression of soft targets on one variable, by Newton's steps."""
    design, θ = np.stack([x, np.ones_like(x)], axis=1), np.array([0.0, base])
    for _ in range(rounds):
        p = 1 / (1 + np.exp(-(design @ θ)))
        gradient = design.T @ (weight * (p - wanted))
        curvature = (design * (weight * p * (1 - p))[:, None]).T @ design + 1e-9 * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        # Far from the solution a whole step overshoots; half a unit at a time never does.
        step *= min(1, 0.5 / max(np.abs(step).max(), 1e-300))
        θ = θ - step
        if np.abs(step).max() < 1e-10:
            break
    return float(θ[0]), float(θ[1])


def covering_set(
    p_nez: Sequence[Floats], is_ez: Sequence[Bools], coverage: float
) -> dict[str, Any]:
    """The cut below which the contacts of a patient hold `coverage` of its EZ contacts, on average.

    Conformal risk control: with n patients and R the mean share of EZ contacts above the cut, the
    smallest cut with (n R + 1)/(n + 1) ≤ 1 - coverage. None: n is too small for this coverage.
    """
    pairs = [(p, ez) for p, ez in zip(p_nez, is_ez, strict=True) if ez.any()]
    n = len(pairs)
    for cut in np.unique(np.concatenate([p[ez] for p, ez in pairs])) if n else ():
        missed = [float((p[ez] > cut).mean()) for p, ez in pairs]
        if (sum(missed) + 1) / (n + 1) <= 1 - coverage + 1e-12:
            share = float(np.mean([(p <= cut).mean() for p, _ in pairs]))
            reached = 1 - float(np.mean(missed))
            return {"coverage": coverage, "cut": float(cut), "reached": reached, "share": share}
    return {"coverage": coverage, "cut": None, "reached": 1.0, "share": 1.0}


_LOGGED = ("rms", "variance", "line_length")
"""Descriptors over orders of magnitude: their levels are compared as logarithms."""
SCORE_NAMES = ("median", "lowest twentieth", "interquartile range", "share called EZ")


def evidence_names() -> list[str]:
    """Names of the numbers of `evidence_summary`."""
    kinds = ("level", "change after onset", "largest changes after onset")
    return [f"{kind} of {name}" for kind in kinds for name in DESCRIPTORS]


def evidence_summary(cube: xr.Dataset) -> Floats:
    """27 numbers that say what a patient's evidence is like; no label enters.

    For every descriptor: its level before onset and its Z-Δ after onset in the median channel, and
    the Z-Δ that a tenth of the channels exceeds.
    """
    seen, valid = seen_channels(cube), cube["valid"].values[..., None]
    z = views(cube).values[..., VIEWS.index("z_delta"), :]
    x = cube["x"].values.astype(np.float64)
    x[..., [d in _LOGGED for d in DESCRIPTORS]] = np.log1p(
        np.abs(x[..., [d in _LOGGED for d in DESCRIPTORS]])
    )
    before = is_reference(cube).values[..., None, None]
    after = (cube["start_s"].values >= 0)[..., None, None]
    level = _mean_where(x, valid & before)[seen]  # (channel, descriptor)
    # A reference that hardly varies makes Z-Δ huge; its size matters, not its last digit.
    change = np.arcsinh(_mean_where(z, valid & after)[seen])
    parts = [np.median(level, 0), np.median(change, 0), np.quantile(change, 0.9, axis=0)]
    return np.concatenate(parts)


def _mean_where(x: NDArray[Any], where: Bools) -> Floats:
    """Mean over seizures and windows (the first two axes) where told; 0 where there is none."""
    n = np.maximum(where.sum(axis=(0, 1)), 1)
    return np.where(where, x, 0).sum(axis=(0, 1)) / n


def score_summary(p_nez: Floats, threshold: float) -> Floats:
    """Four numbers that say how a patient's scores lie."""
    low, quarter, median, three = np.quantile(p_nez, [0.05, 0.25, 0.5, 0.75])
    return np.array([median, low, three - quarter, float((p_nez < threshold).mean())])


def cohort_middle(values: Floats) -> dict[str, Any]:
    """Median and robust scale of (patient, number), and every patient's distance from the others.

    The distances leave the patient itself out, so that a new patient can be compared with them.
    """
    middle, scale = _middle(values)
    distances = []
    if len(values) > 1:
        others = [_middle(np.delete(values, i, axis=0)) for i in range(len(values))]
        distances = [distance(v, *other) for v, other in zip(values, others, strict=True)]
    return {"middle": middle.tolist(), "scale": scale.tolist(), "distances": sorted(distances)}


def _middle(values: Floats) -> tuple[Floats, Floats]:
    middle = np.median(values, axis=0)
    scale = 1.4826 * np.median(np.abs(values - middle), axis=0)
    # A number that is the same in half of the patients has no MAD; its spread stands in.
    scale = np.where(scale > 1e-6, scale, values.std(axis=0))
    return middle, np.where(scale > 1e-6, scale, 1.0)


def distance(value: Floats, middle: Floats, scale: Floats) -> float:
    """Root mean square of the robust z-scores, each at most 20."""
    z = np.clip((value - middle) / scale, -_FARTHEST, _FARTHEST)
    return float(np.sqrt(np.mean(z**2)))


def seizure_keys(cube: xr.Dataset) -> dict[str, str]:
    """A digest of each seizure's descriptors: knows a seizure again, says nothing about it."""
    keys = {}
    for name, x, valid in zip(
        cube["seizure"].values, cube["x"].values, cube["valid"].values, strict=True
    ):
        names = cube["channel"].values.astype(str)
        there = [i for i in np.argsort(names, kind="stable") if valid[:, i].any()]
        keys[str(name)] = hashlib.sha256(x[:, there].tobytes()).hexdigest()[:16]
    return keys
