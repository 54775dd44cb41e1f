"""The protocol: the only loop over method × seed × fold.

A finished cell is a folder keyed by a digest of what its numbers come from (cubes, settings, code,
split, plan). Adding a method reruns nothing, a changed setting or line of code reruns what depends
on it, and a killed run resumes to the same result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from epilens.compute.jobs import run_jobs
from epilens.core.errors import CubeError, LedgerError, PlanError
from epilens.core.extras import require
from epilens.core.provenance import digest_of
from epilens.evaluation.execution import Cell, as_jobs
from epilens.evaluation.ledger import KEY, check_ledger, fuse, with_thresholds
from epilens.evaluation.novelty import check_apart
from epilens.evaluation.plan_check import check_cubes
from epilens.evaluation.run import KIND, RECOGNISE_GLOBS, Run, relative_cubes
from epilens.evaluation.splits import (
    leave_one_center_out,
    read_split,
    split_digest,
    stratified_folds,
)
from epilens.evidence.files import Cohort, key_of, store_path
from epilens.io.outputs import check_distinct_names, folder_names, locked_output
from epilens.io.remote import download, local_files, writable
from epilens.io.urls import join
from epilens.methods import METHODS, Method, all_parts, stores_of
from epilens.methods.inputs import method_inputs
from epilens.methods.shaft import smoothed_ledger
from epilens.plan import Plan, Runtime


@dataclass(frozen=True)
class LabelledCohort:
    """Labelled patients of a cohort, by the attributes of their cubes alone."""

    about: Mapping[str, dict[str, Any]]
    """Key, center, and whether it is simulated, by patient."""
    cohort: Cohort

    @property
    def centers(self) -> dict[str, str]:
        """Center of every patient."""
        return {name: about["center"] for name, about in self.about.items()}

    @property
    def folder(self) -> Path:
        """Where the cubes are."""
        return self.cohort.path(next(iter(self.about))).parent


def run(plan: Plan, cohort: Cohort, runtime: Runtime | None = None) -> Path:
    """Cross-validate the plan's methods; returns the run's folder. Running it again resumes.

    The folder contains the resolved plan, the split and the cohort with their digests, a folder per
    cell (ledger, history, checkpoint, resolved configuration), and the ledger of all methods. Of a
    run whose `runtime.out` is a URL, the folder is a copy on this machine.

    Parameters
    ----------
    plan : Plan
        Methods, seeds and splits.
    cohort : Cohort
        Patients with labels, and what else the methods read (`epilens describe --plan`).
    runtime : Runtime
        Where to, on how many processes, which of the methods. Default: all, to `runs`, on one.

    Returns
    -------
    Path
        `runtime.out / plan.name`, for `open_run`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from epilens.testing import make_run
    >>> plan = Plan(name="mine", seeds=(1,), methods=("logistic-z",)).override(splits={"folds": 2})
    >>> with TemporaryDirectory() as out:
    ...     folder = run(plan, make_run().cohort, Runtime(out=Path(out)))
    ...     len(Run(folder))
    1
    """
    require("run", "pyarrow")
    runtime = runtime or Runtime()
    methods = [METHODS[name] for name in runtime.only or plan.methods]
    check_cubes(plan, cohort, stores_of(trained_parts(methods)))
    patients = labelled(cohort)
    split = make_split(plan, patients.centers)
    check_distinct_names([plan.name], folder_names(runtime.out))
    out = join(runtime.out, plan.name)
    with writable(out) as local, locked_output(local, KIND, RECOGNISE_GLOBS) as folder:
        run_folder = Run(folder)
        _check_seeds(run_folder, methods, plan)
        _begin(run_folder, plan, split, patients, [method.name for method in methods])
        cells = _cells(run_folder, methods, plan, split, patients)
        for cell, done in run_jobs(as_jobs(cells), runtime.jobs, runtime.tick):
            if done.result:
                run_folder.note_time(cell.method, cell.seed, cell.fold, done.result)
        if run_folder.ledger_damaged:
            methods = [*_finished_before(run_folder, methods, split, patients), *methods]
            cells = _cells(run_folder, methods, plan, split, patients)
        _assemble(run_folder, methods, cells, split, plan)
    return download(out)


def _check_seeds(run_folder: Run, methods: Sequence[Method], plan: Plan) -> None:
    """Refuse other seeds than those of the methods that the run keeps as they are."""
    if not run_folder.ledger_whole:
        return
    current = {name for method in methods for name in (*all_parts(method), method.name)}
    kept = run_folder.ledger[~run_folder.ledger["method"].isin(current)]
    before, now = set(kept["seed"]), set(plan.seeds)
    if not before or before == now:
        return
    names = list(dict.fromkeys(kept["method"]))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    raise PlanError(
        f"{run_folder.folder}: expected the same seeds for all of its methods, found "
        f"{', '.join(map(str, sorted(now)))}; its other methods ({', '.join(names[:3])}{more}) "
        f"have {', '.join(map(str, sorted(before)))}. Run them again too (without --only), or give "
        "the plan another name."
    )


def _finished_before(
    run_folder: Run, methods: Sequence[Method], split: pd.DataFrame, patients: LabelledCohort
) -> list[Method]:
    """Other methods of a run whose ledger is damaged, all of whose cells are still there."""
    plan, current = Run(run_folder.folder).plan, {method.name for method in methods}
    others = [METHODS[name] for name in plan.methods if name in METHODS and name not in current]
    finished = []
    for method in others:
        with suppress(CubeError):  # without the store that it reads, its cells have no key
            if all(cell.complete for cell in _cells(run_folder, [method], plan, split, patients)):
                finished.append(method)
    return finished


def make_split(plan: Plan, centers: Mapping[str, str]) -> pd.DataFrame:
    """The split that the plan asks for."""
    s = plan.splits
    if s.kind == "file":
        return read_split(s.file, centers)
    if s.kind == "leave-one-center-out":
        return leave_one_center_out(centers, s.validation, s.seed)
    return stratified_folds(centers, s.folds, s.validation, s.seed)


def labelled(cohort: Cohort) -> LabelledCohort:
    """The patients with labels, from the cubes' attributes alone."""
    about = {}
    local_files(map(cohort.path, cohort))
    for patient in cohort:
        attrs = cohort.attributes(patient)
        if attrs.get("ez_channels") is not None:
            about[patient] = {
                "key": key_of(cohort.path(patient)),
                "center": attrs["center"],
                "simulated": bool(attrs.get("simulated")),
            }
    if not about:
        raise PlanError(
            f"run: expected patients with EZ labels, found none among {len(cohort)}. Describe the "
            "cohort with labels (see `epilens describe --labels`)."
        )
    return LabelledCohort(about, cohort)


def unlabelled(cohort: Cohort) -> list[str]:
    """Patients without EZ labels, which no method uses, by the cubes' attributes alone."""
    local_files(map(cohort.path, cohort))
    return [name for name in cohort if cohort.attributes(name).get("ez_channels") is None]


def _begin(
    run_folder: Run,
    plan: Plan,
    split: pd.DataFrame,
    patients: LabelledCohort,
    methods: Sequence[str],
) -> None:
    """Write plan, split and cohort; a run refuses to go on with another cohort or split.

    Damaged files of the start are written again: cells record what they were made from.
    """
    digests = {
        "split_digest": split_digest(split),
        "cohort_digest": digest_of(patients.about),
    }
    began = run_folder.begun_with
    if not began:
        check_apart((patient, patients.cohort[patient]) for patient in patients.about)
    for part in ("cohort", "split"):
        old, new = began.get(f"{part}_digest"), digests[f"{part}_digest"]
        if began and old != new:
            raise PlanError(
                f"{run_folder.folder}: expected the {part} that this run began with ({old}), found "
                f"another ({new}). Give the plan another name, or remove the run."
            )
    # The plan of a run names all of its methods, whichever plan file brought them.
    names = [*run_folder.methods_before, *plan.methods, *methods]
    whole = plan.override(methods=tuple(dict.fromkeys(names)))
    setting: dict[str, Any] = {"plan_digest": whole.digest, **digests}
    setting["patients"] = dict(patients.about)
    setting["simulated"] = any(about["simulated"] for about in patients.about.values())
    setting |= {
        "smoke": plan.smoke,
        "unlabelled": unlabelled(patients.cohort),
        "cubes": relative_cubes(run_folder.folder, patients.folder),
    }
    run_folder.begin(whole, split, setting)


def cell_inputs(
    method: str, seed: int, plan: Plan, rows: pd.DataFrame, keys: Mapping[str, str]
) -> dict[str, Any]:
    """Everything that the numbers of a cell come from, as plain JSON; its digest is the key.

    rows : of the split, for one fold. keys : of what the method reads of each patient.
    """
    return {
        **method_inputs(method, plan),
        "seed": seed,
        "split": split_digest(rows),
        "patients": {patient: keys[patient] for patient in sorted(rows["patient"])},
    }


def trained_parts(methods: Sequence[Method]) -> list[str]:
    """Methods that have cells: those that are fitted, and the parts of those made of others."""
    names = dict.fromkeys(name for m in methods for name in (*all_parts(m), m.name))
    return [name for name in names if not METHODS[name].parts]


def _cells(
    run_folder: Run,
    methods: Sequence[Method],
    plan: Plan,
    split: pd.DataFrame,
    patients: LabelledCohort,
) -> list[Cell]:
    cells = []
    for name in trained_parts(methods):
        keys = store_keys(patients.cohort, patients.about, METHODS[name].input)
        for seed in plan.seeds:
            for fold, rows in split.groupby("fold", sort=False):
                inputs = cell_inputs(name, seed, plan, rows, keys)
                paths = {patient: patients.cohort.path(patient) for patient in rows["patient"]}
                folder = run_folder.cell(name, seed, str(fold))
                cells.append(Cell(name, seed, str(fold), rows, paths, plan, folder, inputs))
    return cells


def store_keys(cohort: Cohort, patients: Mapping[str, Any], store: str) -> dict[str, str]:
    """Key of each patient's cube, or of the store next to it that a method reads."""
    local_files(store_path(cohort.path(patient), store) for patient in patients)
    return {patient: key_of(cohort.path(patient), store) for patient in patients}


def _assemble(
    run_folder: Run,
    methods: Sequence[Method],
    cells: Sequence[Cell],
    split: pd.DataFrame,
    plan: Plan,
) -> None:
    """The ledger of all methods, complete or refused with the list of what is missing."""
    by_method = {
        name: pd.concat([cell.folder.ledger for cell in cells if cell.method == name])
        for name in dict.fromkeys(cell.method for cell in cells)
    }
    for name in dict.fromkeys(name for m in methods for name in (*all_parts(m), m.name)):
        if name not in by_method:
            parts = [by_method[part] for part in METHODS[name].parts]
            by_method[name] = _from_parts(METHODS[name], parts, plan)
    rows = pd.concat(list(by_method.values()), ignore_index=True)
    if run_folder.ledger_whole:
        old = run_folder.ledger
        rows = pd.concat([old[~old["method"].isin(set(by_method))], rows], ignore_index=True)
    run_folder.write_ledger(check_complete(rows, split, [method.name for method in methods]))


def _from_parts(method: Method, parts: Sequence[pd.DataFrame], plan: Plan) -> pd.DataFrame:
    """A ledger from those of its parts, with thresholds of its own: smoothed, or fused."""
    if method.smoothing:
        smooth = smoothed_ledger(parts[0], plan.shaft).assign(method=method.name)
        return check_ledger(with_thresholds(smooth), method.name)
    first, second = parts
    return fuse(first, second, method.settings["weight"]).assign(method=method.name)


def check_complete(
    ledger: pd.DataFrame, split: pd.DataFrame, methods: Sequence[str]
) -> pd.DataFrame:
    """Every method, seed and fold has its test and validation patients with the same channels."""
    expected = split[split["partition"] != "fit"][["fold", "partition", "patient"]].astype(str)
    missing = []
    for key, part in ledger.groupby(["method", "seed"], sort=False):
        method, seed = tuple(key)  # ty: ignore
        present = part[["fold", "partition", "patient"]].astype(str).drop_duplicates()
        gone = expected.merge(present, how="left", indicator=True)
        gone = gone[gone["_merge"] == "left_only"]
        missing += [f"{method} seed {seed} fold {r.fold} {r.patient}" for r in gone.itertuples()]
    missing += [f"{name} (all)" for name in methods if name not in set(ledger["method"])]
    if missing:
        raise LedgerError(
            f"run: expected a complete ledger, found {len(missing)} parts missing: "
            f"{'; '.join(missing[:5])}. Run again to complete it."
        )
    counts = ledger.groupby([*KEY[1:], "center", "is_ez"])["method"].nunique()
    if counts.nunique() > 1:
        seed, fold, _, patient, channel, *_ = counts.idxmin()  # ty: ignore
        raise LedgerError(
            "run: expected the same channels, centers and EZ labels for all methods, found "
            f"differences, e.g. seed {seed} fold {fold} {patient} {channel}."
        )
    return check_ledger(ledger, "run")
