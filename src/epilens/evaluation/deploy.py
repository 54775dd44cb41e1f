"""A deployable Model from all labelled patients: an ensemble over folds and seeds.

Every patient fits most members and validates the others, so the threshold and all that is told
about how sure the model is come from scores of members that never fitted the patient. Those members
did stop training on it, so out-of-fold numbers are a little better than those of a new patient.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from epilens.arrays import Bools, Floats
from epilens.errors import ModelError
from epilens.evaluation.certainty import learn_certainty
from epilens.evaluation.splits import five_fold
from epilens.evidence.cube import taught
from epilens.evidence.files import Cohort
from epilens.evidence.views import VIEWS
from epilens.fusion import LOCKED_WEIGHT, fuse_scores
from epilens.methods import METHODS, Training, seen_labels
from epilens.networks.model import Branch, Model, group_members
from epilens.plan import Plan
from epilens.progress import StepFunction, Ticks
from epilens.thresholds import select_threshold


def train(plan: Plan, cohort: Cohort, tick: Ticks | StepFunction | None = None) -> Model:
    """Train both branches on every fold and seed of all labelled patients."""
    tick = Ticks.of(tick)
    cubes = {name: taught(cube) for name, cube in cohort.items() if "is_ez" in cube}
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
    assurance = learn_certainty(list(cubes.values()), p_nez, threshold).to_json()
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
        "simulated": any(bool(cube.attrs.get("simulated")) for cube in cubes.values()),
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
