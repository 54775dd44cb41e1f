"""One cell of the protocol: fit, predict blind, choose a threshold, write; here or on processes."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from time import process_time
from typing import Any

import pandas as pd
import xarray as xr

from epilens.compute.local import map_jobs
from epilens.core.errors import LedgerError
from epilens.core.provenance import digest_of
from epilens.evaluation.cell_folder import CellFolder
from epilens.evaluation.ledger import with_thresholds
from epilens.evidence.cube import blind, target_only
from epilens.evidence.files import open_patient
from epilens.methods import METHODS, Fitted, Training
from epilens.plan import Plan


@dataclass(frozen=True)
class Cell:
    """One method, seed and fold, with all that it reads."""

    method: str
    seed: int
    fold: str
    split: pd.DataFrame
    """Rows of this fold."""
    paths: Mapping[str, Path]
    plan: Plan
    folder: CellFolder
    inputs: Mapping[str, Any]
    """What its numbers come from, as plain JSON."""

    @property
    def key(self) -> str:
        """Digest of the inputs."""
        return digest_of(self.inputs)

    @property
    def seeded(self) -> bool:
        """Whether another seed gives other numbers."""
        return METHODS[self.method].seeded

    @property
    def title(self) -> str:
        """What people call it."""
        return f"{self.method} seed {self.seed} fold {self.fold}"


def finished(cell: Cell) -> bool:
    """Whether the cell was written from the same inputs before, and is as it was written."""
    return cell.folder.record.get("key") == cell.key and cell.folder.is_intact


def execute(cells: Sequence[Cell], jobs: int) -> Iterator[tuple[Cell, float]]:
    """Run cells here or on local processes, with one thread each: the same bits either way.

    Cells as they are ready, with the seconds of processor time that each took.
    """
    # One process needs no groups, and shows every cell as it is done.
    groups = grouped(cells) if jobs > 1 else [(cell,) for cell in cells]
    for group, took in map_jobs(_run_alone, groups, jobs, lambda group: group[0].title):
        yield from zip(group, took, strict=True)


def grouped(cells: Sequence[Cell]) -> list[tuple[Cell, ...]]:
    """Cells that go to the same process, one after another.

    A training-free score is computed once per patient and process: its folds stay together, so that
    no second process computes the same patients again. All others are on their own.
    """
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        alone = cell.seeded or not METHODS[cell.method].training_free
        groups.setdefault(cell.title if alone else cell.method, []).append(cell)
    return [tuple(group) for group in groups.values()]


@contextmanager
def one_thread() -> Generator[None]:
    """One thread for torch and for NumPy; the number of threads can change the last bits."""
    import torch
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(before)


def _run_alone(cells: Sequence[Cell]) -> list[float]:
    took = []
    with one_thread():
        for cell in cells:
            began = process_time()
            run_cell(cell)
            took.append(process_time() - began)
    return took


@lru_cache(maxsize=256)
def open_once(path: Path, beside: str, key: str) -> xr.Dataset:
    """Cubes stay in memory between the cells of a process; the key makes a changed one another."""
    return open_patient(path, beside)


def run_cell(cell: Cell) -> None:
    """Fit, predict blind, choose one threshold on validation patients, write all of it."""
    method, keys = METHODS[cell.method], cell.inputs["patients"]
    cubes = {
        part: [open_once(cell.paths[name], method.input, keys[name]) for name in rows["patient"]]
        for part, rows in cell.split.groupby("partition", sort=False)
    }
    own, held = ([target_only(cube) for cube in cubes[part]] for part in ("fit", "validation"))
    training = Training(own, held, cell.seed, cell.plan)
    fitted = method.fit(training)
    parts = []
    for partition in ("validation", "test"):
        scores = fitted.predict([blind(cube) for cube in cubes[partition]])
        parts.append(_labelled_rows(scores, cubes[partition]).assign(partition=partition))
    ledger = pd.concat(parts, ignore_index=True)
    ledger = ledger.assign(method=cell.method, seed=cell.seed, fold=cell.fold)
    if fitted.threshold is None:
        ledger = with_thresholds(ledger)
    else:
        ledger = ledger.assign(threshold=fitted.threshold)
    # A method of another package may not offer them.
    own = getattr(fitted, "threshold_scores", None)
    record = _record(cell, ledger, fitted)
    if own is not None:
        record["threshold"]["share_within"] = method.prevalence_tolerance
    cell.folder.write(record, ledger, fitted.history, fitted.weights(), own)


def repeat_cell(done: Cell, cell: Cell) -> None:
    """Write a cell of a method that draws nothing from that of another seed: the same numbers."""
    record = CellFolder(done.folder.path).record
    record = record | {"key": cell.key, "seed": cell.seed, "inputs": dict(cell.inputs)}
    cell.folder.repeat(done.folder, record, done.folder.ledger.assign(seed=cell.seed))


def _record(cell: Cell, ledger: pd.DataFrame, fitted: Fitted) -> dict[str, Any]:
    """What must be known of a cell later: where its numbers and its threshold come from."""
    return {
        "key": cell.key,
        "method": cell.method,
        "seed": cell.seed,
        "fold": cell.fold,
        "threshold": {
            "value": float(ledger["threshold"].iloc[0]),
            "chosen_on": fitted.threshold_from,
        },
        "inputs": dict(cell.inputs),
        "versions": versions(),
        "notes": dict(fitted.notes),
    }


@cache
def versions() -> dict[str, str]:
    """Versions of what computes; other ones may round otherwise."""
    packages = ("epilens", "numpy", "scipy", "scikit-learn", "lightgbm", "torch")
    return {name: version(name) for name in packages}


def _labelled_rows(scores: pd.DataFrame, cubes: Sequence[xr.Dataset]) -> pd.DataFrame:
    """Predictions with label and center; every valid channel once, and no other."""
    truth = pd.concat(
        [
            pd.DataFrame(
                {
                    "patient": cube.attrs["patient"],
                    "channel": cube["channel"].values[seen],
                    "center": cube.attrs["center"],
                    "is_ez": cube["is_ez"].values[seen],
                }
            )
            for cube in cubes
            for seen in [cube["valid"].any(["seizure", "window"]).values]
        ],
        ignore_index=True,
    )
    merged = truth.merge(scores, on=["patient", "channel"], how="outer", indicator=True)
    odd = merged[merged["_merge"] != "both"]
    if len(odd) or len(merged) != len(truth):
        names = ", ".join(f"{r.patient} {r.channel}" for r in odd.head(5).itertuples())
        raise LedgerError(
            f"predict: expected one score for each of {len(truth)} valid channels, found "
            f"{len(scores)}; missing or unknown: {names or 'duplicates'}."
        )
    return merged.drop(columns="_merge")
