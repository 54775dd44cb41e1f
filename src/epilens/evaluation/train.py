"""A deployable Model from all labelled patients: an ensemble over folds, and seeds of networks.

Every patient fits most members and is held out of the others, so the threshold and all that is told
about how sure the model is come from scores of members that never fitted the patient. Networks did
stop training on it, so their out-of-fold numbers are a little better than those of a new patient.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from epilens.compute.local import map_jobs
from epilens.core.decisions import LOCKED_WEIGHT, select_threshold
from epilens.core.errors import ModelError
from epilens.core.progress import Progress, StepFunction
from epilens.core.provenance import digest_of
from epilens.core.types import Bools, Floats
from epilens.evaluation.certainty import learn_certainty
from epilens.evaluation.execution import one_thread, open_once
from epilens.evaluation.member_cache import FittedMember, load_member, save_member
from epilens.evaluation.scoring import ranking_metrics
from epilens.evaluation.splits import stratified_folds
from epilens.evidence.cube import blind, target_only
from epilens.evidence.files import Cohort
from epilens.evidence.views import VIEWS
from epilens.methods import METHODS, Training, method_inputs, seen_labels
from epilens.networks.kinds import KINDS, ModelKind
from epilens.networks.model import Member, Model
from epilens.plan import Plan


@dataclass(frozen=True)
class Task:
    """One member's part to be fitted: a row of the methods, on all patients but those of a fold."""

    method: str
    seed: int
    fold: str
    held: Mapping[str, str]
    """Fold in which each patient is held out."""
    keys: Mapping[str, str]
    """Of the cubes."""
    cohort: Cohort
    plan: Plan

    @property
    def title(self) -> str:
        """What people call it."""
        return f"{self.method} seed {self.seed} fold {self.fold}"

    @property
    def key(self) -> str:
        """Digest of all that it is fitted from; empty where the cubes do not tell."""
        if not all(self.keys.values()):
            return ""
        inputs = {"seed": self.seed, "fold": self.fold, "held": self.held, "keys": self.keys}
        return digest_of(method_inputs(self.method, self.plan) | inputs)


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
        Told of every member that is trained.
    method : str
        `lens`, `cdel` for the paper's two networks, or another kind of model
        (`epilens.networks.kinds`).
    jobs : int
        Processes; the result is the same however many there are.
    parts : Path, optional
        Folder (`member_cache.member_folder`) that stores members as they are fitted. Members from
        an earlier attempt are not fitted again.

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
    tick = Progress.of(tick)
    cubes = {name: target_only(cube) for name, cube in cohort.items() if "is_ez" in cube}
    if len(cubes) < 2 * plan.splits.folds:
        raise ModelError(
            f"train: expected {2 * plan.splits.folds} or more labelled patients, found "
            f"{len(cubes)}. Use fewer folds (plan: splits.folds) or label more patients."
        )
    centers = {name: cube.attrs["center"] for name, cube in cubes.items()}
    split = stratified_folds(centers, plan.splits.folds, plan.splits.validation, plan.splits.seed)
    held = split[split["partition"] == "test"].set_index("patient")["fold"].to_dict()
    keys = {name: str(cube.attrs.get("key", "")) for name, cube in cubes.items()}
    seeds = plan.seeds if METHODS[kind.methods[0]].seeded else plan.seeds[:1]
    tasks = [
        Task(part, seed, fold, held, keys, cohort, plan)
        for seed in seeds
        for fold in sorted(set(held.values()))
        for part in kind.methods
    ]
    tick.expect(len(tasks))
    done = {(t.method, t.seed, t.fold): result for t, result in _all(tasks, jobs, parts, tick)}
    p_nez = [_out_of_fold(name, held[name], kind, seeds, done) for name in cubes]
    labels = {name: seen_labels(cube) for name, cube in cubes.items()}
    threshold, _ = select_threshold(p_nez, [*labels.values()], METHODS[method].prevalence_tolerance)
    about = _about(plan, cubes, labels) | {"notes": [kind.note]}
    about["out_of_fold"] = _figures(p_nez, list(labels.values()))
    assurance = learn_certainty(list(cubes.values()), p_nez, threshold).to_json()
    descriptors = tuple(next(iter(cubes.values()))["descriptor"].values.tolist())
    return Model(
        _members(kind, tasks, done),
        threshold,
        LOCKED_WEIGHT,
        about,
        assurance,
        descriptors,
        VIEWS,
    )


def _all(
    tasks: Sequence[Task], jobs: int, parts: Path | None, tick: Progress
) -> Iterator[tuple[Task, FittedMember]]:
    """What was fitted before, then what is fitted now, each kept as soon as it is there."""
    todo = []
    for task in tasks:
        before = (
            None if parts is None or not task.key else load_member(parts, task.key, task.method)
        )
        if before is None:
            todo.append(task)
        else:
            yield task, before
            tick(f"{task.title} kept")
    for task, result in map_jobs(_fit, todo, jobs, lambda task: task.title):
        if parts is not None and task.key:
            save_member(parts, task.key, result)
        yield task, result
        tick(task.title)


def _fit(task: Task) -> FittedMember:
    """Fit one part on one thread, and score the held-out patients."""
    store = METHODS[task.method].input
    with one_thread():
        cubes = {
            name: target_only(open_once(task.cohort.path(name), store, key))
            for name, key in task.keys.items()
        }
        out = [cubes[name] for name in cubes if task.held[name] == task.fold]
        fit = [cubes[name] for name in cubes if task.held[name] != task.fold]
        fitted = METHODS[task.method].fit(Training(fit, out, task.seed, task.plan))
        make = getattr(fitted, "predictor", None)  # a method of another package may lack it
        if make is None:
            raise ModelError(
                f"{task.method}: expected a fit with a predictor that a model can store, found "
                "none. Give the fitted object a `predictor` (epilens.networks.predictor)."
            )
        part = make()
        p_nez = {cube.attrs["patient"]: part.p_nez(blind(cube)) for cube in out}
        return FittedMember(part, p_nez, tuple(fit[0]["descriptor"].values.tolist()))


def _out_of_fold(
    patient: str,
    fold: str,
    kind: ModelKind,
    seeds: Sequence[int],
    done: Mapping[tuple[str, int, str], FittedMember],
) -> Floats:
    """Mean score of a patient by the members that never fitted it."""
    scores = []
    for seed in seeds:
        parts = [done[part, seed, fold].p_nez[patient] for part in kind.methods]
        scores.append(kind.combine(parts, LOCKED_WEIGHT))
    return np.mean(scores, axis=0)


def _members(
    kind: ModelKind, tasks: Sequence[Task], done: Mapping[tuple[str, int, str], FittedMember]
) -> tuple[Member, ...]:
    fits = dict.fromkeys((task.seed, task.fold) for task in tasks)
    return tuple(
        Member(seed, fold, {name: done[name, seed, fold].part for name in kind.methods})
        for seed, fold in fits
    )


def _figures(p_nez: Sequence[Floats], is_ez: Sequence[Bools]) -> dict[str, float | int]:
    """How good the out-of-fold scores are: means over patients with both classes, if any."""
    found = [
        ranking_metrics(p, ez) for p, ez in zip(p_nez, is_ez, strict=True) if 0 < ez.sum() < len(ez)
    ]
    if not found:
        return {}
    means = {name: float(np.mean([one[name] for one in found])) for name in ("auroc", "ez_auprc")}
    return {"patients": len(found), **means}


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
