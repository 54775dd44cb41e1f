"""A deployable Model from all labelled patients: an ensemble over folds, and seeds of networks.

Every patient is used to fit most members and is held out of the others. The threshold and the
uncertainty of the model come from scores of members that were not fitted on the patient. Networks
chose their epoch on it, so their out-of-fold numbers are slightly better than for a new patient.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from epilens.compute.jobs import Job, run_jobs
from epilens.core.decisions import LOCKED_WEIGHT, select_threshold
from epilens.core.errors import ModelError
from epilens.core.progress import Progress, StepFunction
from epilens.core.provenance import digest_of
from epilens.core.types import Bools, Floats
from epilens.evaluation.certainty import learn_certainty
from epilens.evaluation.execution import one_thread, open_once
from epilens.evaluation.member_cache import FittedMember, load_member, save_member
from epilens.evaluation.novelty import check_apart
from epilens.evaluation.plan_check import check_cubes
from epilens.evaluation.scoring import ranking_metrics
from epilens.evaluation.splits import stratified_folds
from epilens.evidence.cube import blind, target_only
from epilens.evidence.files import Cohort, key_of
from epilens.evidence.views import VIEWS
from epilens.methods import METHODS, Scorer, Training, seen_labels, stores_of
from epilens.methods.inputs import method_inputs
from epilens.networks.kinds import KINDS, ModelKind
from epilens.networks.model import Member, Model
from epilens.networks.predictor import Predictor
from epilens.plan import Plan

FittedParts = dict[tuple[str, int, str], FittedMember]
"""Fitted parts by method, seed and fold."""


@dataclass(frozen=True)
class PartToFit(Job[FittedMember]):
    """One member's part: a method fitted on all patients except those of one fold."""

    method: str
    seed: int
    fold: str
    held_out: Mapping[str, str]
    """Fold in which each patient is held out."""
    keys: Mapping[str, str]
    """Keys of the cubes, and of the stores next to them that the method reads."""
    cohort: Cohort
    plan: Plan
    parts: Path | None
    """Folder of parts that were fitted before."""

    @property
    def title(self) -> str:
        """Method, seed and fold."""
        return f"{self.method} seed {self.seed} fold {self.fold}"

    @property
    def key(self) -> str:
        """Digest of everything that it is fitted from; empty where a cube has no key."""
        if not all(self.keys.values()):
            return ""
        inputs = {"seed": self.seed, "fold": self.fold, "held": self.held_out, "keys": self.keys}
        return digest_of(method_inputs(self.method, self.plan) | inputs)

    def finished(self) -> FittedMember | None:
        """The part from an earlier attempt."""
        if self.parts is None or not self.key:
            return None
        return load_member(self.parts, self.key, self.method)

    def work(self) -> FittedMember:
        """Fit the part with one thread, and score the patients that were held out."""
        method = METHODS[self.method]
        with one_thread():
            cubes = {
                name: target_only(open_once(self.cohort.path(name), method.input, key))
                for name, key in self.keys.items()
            }
            out = [cubes[name] for name in cubes if self.held_out[name] == self.fold]
            fit = [cubes[name] for name in cubes if self.held_out[name] != self.fold]
            part = _predictor(self.method, method.fit(Training(fit, out, self.seed, self.plan)))
            p_nez = {cube.attrs["patient"]: part.p_nez(blind(cube)) for cube in out}
            return FittedMember(part, p_nez, tuple(fit[0]["descriptor"].values.tolist()))

    def store(self, result: FittedMember) -> None:
        """Write the part for the next attempt.

        The process that trains writes it: workers of a cluster need not reach the folder.
        """
        if self.parts is not None and self.key:
            save_member(self.parts, self.key, result)


def train(
    plan: Plan,
    cohort: Cohort,
    tick: Progress | StepFunction | None = None,
    method: str = "lens",
    jobs: int = 1,
    *,
    parts: Path | None = None,
) -> Model:
    """Train a model on all labelled patients: one member for every fold, and seed where it matters.

    Parameters
    ----------
    plan : Plan
        Folds, seeds and, for `cdel`, how the networks are trained.
    cohort : Cohort
        Patients; those without labels are not used. Twice as many as folds are needed.
    tick : function of (note, steps)
        Called for every part of a member that is fitted.
    method : str
        `lens`, `cdel` for the paper's two networks, or another kind of model
        (`epilens.networks.kinds`).
    jobs : int
        Processes; their number does not change the result.
    parts : Path, optional
        Folder (`member_cache.member_folder`) that stores parts of members as they are fitted. Parts
        from an earlier attempt are not fitted again.

    Returns
    -------
    Model
        For `localize`; `epilens.networks.model.save_model` writes it.

    Examples
    --------
    >>> from epilens.testing import make_run
    >>> quick = Plan().override(splits={"folds": 2})
    >>> model = train(quick, make_run().cohort)
    >>> len(model), model.kind
    (2, 'lens')
    """
    if method not in KINDS:
        raise ModelError(
            f"train: expected one of {', '.join(KINDS)}, found {method!r}. Other methods can be "
            "evaluated (`epilens run`), but not deployed."
        )
    kind = KINDS[method]
    check_cubes(plan, cohort, stores_of(kind.methods))
    cubes = {name: target_only(cube) for name, cube in cohort.items() if "is_ez" in cube}
    check_apart(cubes.items())
    held_out = _held_out(plan, cubes)
    seeds = plan.seeds if METHODS[kind.methods[0]].seeded else plan.seeds[:1]
    keys = {part: _keys(cohort, cubes, METHODS[part].input) for part in kind.methods}
    tasks = [
        PartToFit(part, seed, fold, held_out, keys[part], cohort, plan, parts)
        for seed in seeds
        for fold in sorted(set(held_out.values()))
        for part in kind.methods
    ]
    fitted = _fit_all(tasks, jobs, Progress.of(tick))
    p_nez = [_out_of_fold(name, held_out[name], kind, seeds, fitted) for name in cubes]
    labels = {name: seen_labels(cube) for name, cube in cubes.items()}
    threshold, _ = select_threshold(p_nez, [*labels.values()], METHODS[method].prevalence_tolerance)
    about = _about(plan, cubes, labels) | {"notes": [kind.note]}
    about["out_of_fold"] = _mean_metrics(p_nez, list(labels.values()))
    assurance = learn_certainty(list(cubes.values()), p_nez, threshold).to_json()
    descriptors = tuple(next(iter(cubes.values()))["descriptor"].values.tolist())
    members = _members(kind, tasks, fitted)
    return Model(members, threshold, LOCKED_WEIGHT, about, assurance, descriptors, VIEWS)


def _keys(cohort: Cohort, cubes: Mapping[str, xr.Dataset], store: str) -> dict[str, str]:
    """Return the key of what a method reads of each patient; empty where a cube has no key."""
    keys = {name: str(cube.attrs.get("key", "")) for name, cube in cubes.items()}
    if store == "cube":
        return keys
    return {name: key and key_of(cohort.path(name), store) for name, key in keys.items()}


def _held_out(plan: Plan, cubes: Mapping[str, xr.Dataset]) -> dict[str, str]:
    """Fold in which each patient is held out."""
    if len(cubes) < 2 * plan.splits.folds:
        raise ModelError(
            f"train: expected {2 * plan.splits.folds} or more labelled patients, found "
            f"{len(cubes)}. Use fewer folds (plan: splits.folds) or label more patients."
        )
    centers = {name: cube.attrs["center"] for name, cube in cubes.items()}
    split = stratified_folds(centers, plan.splits.folds, plan.splits.validation, plan.splits.seed)
    return split[split["partition"] == "test"].set_index("patient")["fold"].to_dict()


def _fit_all(tasks: Sequence[PartToFit], jobs: int, progress: Progress) -> FittedParts:
    """Fit the parts that no earlier attempt fitted; each is stored as soon as it is fitted."""
    fitted = {}
    for task, outcome in run_jobs(tasks, jobs, progress):
        if outcome.status == "done":
            task.store(outcome.result)
        fitted[task.method, task.seed, task.fold] = outcome.result
    return fitted


def _predictor(method: str, fitted: Scorer) -> Predictor:
    make = getattr(fitted, "predictor", None)  # a method of another package may lack it
    if make is None:
        raise ModelError(
            f"{method}: expected a fit with a predictor that a model can store, found none. Give "
            "the fitted object a `predictor` (epilens.networks.predictor)."
        )
    return make()


def _out_of_fold(
    patient: str, fold: str, kind: ModelKind, seeds: Sequence[int], fitted: FittedParts
) -> Floats:
    """Mean score of a patient by the members that were not fitted on it."""
    scores = []
    for seed in seeds:
        parts = [fitted[part, seed, fold].p_nez[patient] for part in kind.methods]
        scores.append(kind.combine(parts, LOCKED_WEIGHT))
    return np.mean(scores, axis=0)


def _members(
    kind: ModelKind, tasks: Sequence[PartToFit], fitted: FittedParts
) -> tuple[Member, ...]:
    fits = dict.fromkeys((task.seed, task.fold) for task in tasks)
    return tuple(
        Member(seed, fold, {name: fitted[name, seed, fold].part for name in kind.methods})
        for seed, fold in fits
    )


def _mean_metrics(p_nez: Sequence[Floats], is_ez: Sequence[Bools]) -> dict[str, float | int]:
    """Out-of-fold metrics: means over the patients with both classes, if there are any."""
    metrics = [
        ranking_metrics(p, ez) for p, ez in zip(p_nez, is_ez, strict=True) if 0 < ez.sum() < len(ez)
    ]
    if not metrics:
        return {}
    means = {name: float(np.mean([m[name] for m in metrics])) for name in ("auroc", "ez_auprc")}
    return {"patients": len(metrics), **means}


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
    }
