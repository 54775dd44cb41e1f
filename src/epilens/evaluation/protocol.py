"""The protocol: the only loop over method × seed × fold.

A finished cell is a folder keyed by a digest of just what it reads (cubes, method, split,
training), so adding a method reruns nothing, and a killed run resumes to the same result.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from epilens.errors import CubeError, LedgerError, PlanError
from epilens.evaluation.execution import Cell, execute, finished
from epilens.evaluation.ledger import (
    KEY,
    check_ledger,
    fuse,
    read_ledger,
    write_ledger,
)
from epilens.evaluation.splits import five_fold, leave_one_center_out, read_split, split_digest
from epilens.evidence.cube import Cohort
from epilens.methods import METHODS, Method, method_inputs
from epilens.plan import Plan, Runtime
from epilens.progress import Ticks
from epilens.storage import own_folder, write_atomically

SIMULATED = "(simulated)"
"""Centers of simulated cohorts say so in their name."""


def run(plan: Plan, cohort: Cohort, runtime: Runtime | None = None) -> Path:
    """Cross-validate the plan's methods; returns the run's folder. Running it again resumes.

    The folder holds the resolved plan, the split and the cohort with their digests, a folder per
    cell (ledger, history, checkpoint), and `ledger.parquet` of all methods.
    """
    runtime = runtime or Runtime()
    known = _labelled(cohort)
    tick, folder = Ticks.of(runtime.tick), own_folder(runtime.out / plan.name, "a run")
    split = make_split(plan, {name: about["center"] for name, about in known.items()})
    _write_setting(folder, plan, split, known, cohort.path(next(iter(known))).parent)
    names = runtime.only or plan.methods
    methods = [METHODS[name] for name in names]
    trained = list(dict.fromkeys(part for m in methods for part in (m.parts or (m.name,))))
    cells = _cells(trained, plan, split, known, cohort, folder)
    tick.expect(len(cells))
    todo = [cell for cell in cells if not finished(cell)]
    for cell in (cell for cell in cells if finished(cell)):
        tick(f"{cell.method} seed {cell.seed} fold {cell.fold} kept")
    for cell in execute(todo, runtime.jobs):
        tick(f"{cell.method} seed {cell.seed} fold {cell.fold}")
    _assemble(folder, methods, cells, split, known)
    return folder


def caveats(folder: Path) -> list[str]:
    """What must be said wherever results of a run are shown."""
    try:
        setting = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except OSError:
        setting = {}
    said = []
    if setting.get("smoke"):
        said.append(
            "Smoke plan, below the paper's budget: it shows that every step works, and "
            "judges no method."
        )
    if setting.get("simulated"):
        said.append("Simulated patients: nothing here is clinical evidence.")
    return [*said, "For research, not for diagnosis."]


def make_split(plan: Plan, centers: Mapping[str, str]) -> pd.DataFrame:
    """The split that the plan asks for."""
    s = plan.splits
    if s.kind == "file":
        return read_split(s.file, centers)
    if s.kind == "leave-one-center-out":
        return leave_one_center_out(centers, s.validation, s.seed)
    return five_fold(centers, s.folds, s.validation, s.seed)


def _labelled(cohort: Cohort) -> dict[str, dict[str, Any]]:
    """Key and center of every patient with labels, from the cubes' attributes alone."""
    known = {}
    for patient in cohort:
        attrs = json.loads((cohort.path(patient) / ".zattrs").read_text(encoding="utf-8"))
        if attrs.get("ez_channels") is not None:
            known[patient] = {"key": attrs["key"], "center": attrs["center"]}
    if not known:
        raise PlanError(
            f"run: expected patients with EZ labels, found none among {len(cohort)}. Describe the "
            "cohort with labels (see `epilens describe --labels`)."
        )
    return known


def _write_setting(
    folder: Path,
    plan: Plan,
    split: pd.DataFrame,
    known: Mapping[str, dict[str, Any]],
    cubes: Path,
) -> None:
    """Plan, split and cohort; a run refuses to go on with another cohort or split."""
    setting = {
        "plan_digest": plan.digest,
        "split_digest": split_digest(split),
        "cohort_digest": _digest(dict(known)),
        "patients": dict(known),
        "simulated": any(SIMULATED in about["center"] for about in known.values()),
        "smoke": plan.smoke,
        "cubes": str(cubes.resolve()),
    }
    path = folder / "run.json"
    if path.exists():
        old = json.loads(path.read_text(encoding="utf-8"))
        for what in ("cohort", "split"):
            if old[f"{what}_digest"] != setting[f"{what}_digest"]:
                raise PlanError(
                    f"{folder}: expected the {what} that this run began with "
                    f"({old[f'{what}_digest']}), found another ({setting[f'{what}_digest']}). Give "
                    "the plan another name, or remove the run."
                )
    write_atomically(folder / "plan.toml", plan.to_toml())
    write_atomically(folder / "split.csv", split.to_csv(index=False))
    write_atomically(path, json.dumps(setting, indent=1) + "\n")


def _cells(
    methods: Sequence[str],
    plan: Plan,
    split: pd.DataFrame,
    known: Mapping[str, dict[str, Any]],
    cohort: Cohort,
    folder: Path,
) -> list[Cell]:
    cells = []
    for name in methods:
        known_keys = {p: _store_key(cohort.path(p), METHODS[name].input) for p in known}
        inputs = method_inputs(name, plan)
        for seed in plan.seeds:
            for fold, rows in split.groupby("fold", sort=False):
                keys = {patient: known_keys[patient] for patient in rows["patient"]}
                parts = [inputs, seed, split_digest(rows), keys]
                place = folder / "cells" / name.replace("/", "--") / f"seed-{seed}_fold-{fold}"
                paths = {patient: cohort.path(patient) for patient in rows["patient"]}
                cells.append(
                    Cell(name, seed, str(fold), rows, paths, keys, plan, place, _digest(parts))
                )
    return cells


def _store_key(path: Path, beside: str) -> str:
    """Key of a patient's cube, or of the store beside it that a method reads."""
    place = path if beside == "cube" else path.parent / beside / path.name
    try:
        return json.loads((place / ".zattrs").read_text(encoding="utf-8"))["key"]
    except OSError:
        raise CubeError(
            f"{place}: expected the {beside} of a patient, found none. Write them with `epilens "
            f"describe --plan PLAN`, where the plan has a method that reads {beside}."
        ) from None


def _digest(tree: Any) -> str:
    return hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()[:16]


def _assemble(
    folder: Path,
    methods: Sequence[Method],
    cells: Sequence[Cell],
    split: pd.DataFrame,
    known: Mapping[str, dict[str, Any]],
) -> None:
    """`ledger.parquet`: all methods, complete or refused with the list of what is missing."""
    by_method = {
        name: pd.concat(
            [read_ledger(c.folder / "ledger.parquet") for c in cells if c.method == name]
        )
        for name in dict.fromkeys(cell.method for cell in cells)
    }
    wanted = [m.name for m in methods]
    for method in methods:
        if method.parts:
            first, second = (by_method[part] for part in method.parts)
            by_method[method.name] = fuse(first, second, method.settings["weight"])
    rows = pd.concat([by_method[name] for name in by_method], ignore_index=True)
    path = folder / "ledger.parquet"
    if path.exists():
        old = read_ledger(path)
        rows = pd.concat([old[~old["method"].isin(set(by_method))], rows], ignore_index=True)
    write_ledger(check_complete(rows, split, wanted), path)


def check_complete(
    ledger: pd.DataFrame, split: pd.DataFrame, methods: Sequence[str]
) -> pd.DataFrame:
    """Every method, seed and fold has its test and validation patients with the same channels."""
    expected = split[split["partition"] != "fit"][["fold", "partition", "patient"]].astype(str)
    missing = []
    for key, part in ledger.groupby(["method", "seed"], sort=False):
        method, seed = tuple(key)  # ty: ignore
        there = part[["fold", "partition", "patient"]].astype(str).drop_duplicates()
        gone = expected.merge(there, how="left", indicator=True)
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
