"""A cell of the protocol: fit, predict blind, choose a threshold, write."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import process_time
from typing import Any

import pandas as pd
import xarray as xr

from epilens.compute.jobs import Job
from epilens.core.errors import LedgerError
from epilens.core.extras import missing
from epilens.core.provenance import digest_of
from epilens.evaluation.cell_folder import CellFolder
from epilens.evaluation.ledger import with_thresholds
from epilens.evidence.cube import blind, target_only
from epilens.evidence.files import open_patient
from epilens.methods import METHODS, Scorer, Training
from epilens.plan import Plan


@dataclass(frozen=True)
class Cell(Job[float]):
    """One method, seed and fold, with everything that it reads; a job that takes processor time."""

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
    copies: tuple[Cell, ...] = ()
    """Cells of other seeds that have the same numbers, because the method draws none at random."""

    @property
    def key(self) -> str:
        """Digest of the inputs."""
        return digest_of(self.inputs)

    @property
    def title(self) -> str:
        """Method, seed and fold."""
        return f"{self.method} seed {self.seed} fold {self.fold}"

    @property
    def steps(self) -> int:
        """Number of steps: one for the cell, and one for each of its copies."""
        return 1 + len(self.copies)

    @property
    def group(self) -> str:
        """A training-free score is computed once per patient and process: its folds stay together.

        Otherwise a second process would compute the same patients again.
        """
        method = METHODS[self.method]
        return self.method if method.training_free and not method.seeded else ""

    @property
    def complete(self) -> bool:
        """Whether the cell was written from the same inputs before, and is as it was written."""
        return self.folder.record.get("key") == self.key and self.folder.is_intact

    def finished(self) -> float | None:
        """Processor time 0 if the cell and its copies are complete; otherwise None."""
        return 0.0 if all(cell.complete for cell in (self, *self.copies)) else None

    def work(self) -> float:
        """Compute the cell with one thread, and write it for the other seeds too.

        Returns the seconds of processor time; 0 where only copies were missing.
        """
        processor_s = 0.0
        if not self.complete:
            with one_thread():
                began = process_time()
                run_cell(self)
                processor_s = process_time() - began
        for cell in self.copies:
            if not cell.complete:
                copy_cell(self, cell)
        return processor_s


def as_jobs(cells: Sequence[Cell]) -> list[Cell]:
    """Cells to run; of a method that draws nothing at random, one with other seeds as copies."""
    jobs: dict[tuple[str, str, int | None], Cell] = {}
    for cell in cells:
        key = (cell.method, cell.fold, cell.seed if METHODS[cell.method].seeded else None)
        first = jobs.get(key)
        jobs[key] = replace(first, copies=(*first.copies, cell)) if first else cell
    return list(jobs.values())


@contextmanager
def one_thread() -> Generator[None]:
    """Use one thread for torch and for NumPy: the number of threads can change the last bits."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), ExitStack() as stack:
        if not missing("torch"):
            import torch

            stack.callback(torch.set_num_threads, torch.get_num_threads())
            torch.set_num_threads(1)
        yield


@lru_cache(maxsize=256)
def open_once(path: Path, store: str, key: str) -> xr.Dataset:
    """A cube, cached between the cells of a process under its path and key."""
    return open_patient(path, store)


def run_cell(cell: Cell) -> None:
    """Fit, predict blind, choose one threshold on validation patients, and write the results."""
    method, keys = METHODS[cell.method], cell.inputs["patients"]
    cubes = {
        part: [open_once(cell.paths[name], method.input, keys[name]) for name in rows["patient"]]
        for part, rows in cell.split.groupby("partition", sort=False)
    }
    labelled = [[target_only(cube) for cube in cubes[part]] for part in ("fit", "validation")]
    fitted = method.fit(Training(*labelled, cell.seed, cell.plan))
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
    # A method of another package may not have them.
    threshold_scores = getattr(fitted, "threshold_scores", None)
    record = _record(cell, ledger, fitted)
    if threshold_scores is not None:
        record["threshold"]["share_within"] = method.prevalence_tolerance
    cell.folder.write(record, ledger, fitted.history, fitted.weights(), threshold_scores)


def copy_cell(source: Cell, cell: Cell) -> None:
    """Write a cell from that of another seed: the method draws nothing at random."""
    # Read again: what a cell looked like before it was run is remembered.
    written = CellFolder(source.folder.path)
    record = written.record | {"key": cell.key, "seed": cell.seed, "inputs": dict(cell.inputs)}
    cell.folder.repeat(written, record, written.ledger.assign(seed=cell.seed))


def _record(cell: Cell, ledger: pd.DataFrame, fitted: Scorer) -> dict[str, Any]:
    """`cell.json`: where the numbers and the threshold of a cell come from."""
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
    """Versions of the packages that compute; others may round differently."""
    installed = {}
    for name in ("epilens", "numpy", "scipy", "scikit-learn", "lightgbm", "torch"):
        with suppress(PackageNotFoundError):
            installed[name] = version(name)
    return installed


def _labelled_rows(scores: pd.DataFrame, cubes: Sequence[xr.Dataset]) -> pd.DataFrame:
    """Predictions with label and center; every valid channel once, and no other."""
    truth = pd.concat(
        [
            pd.DataFrame(
                {
                    "patient": cube.attrs["patient"],
                    "channel": cube["channel"].values[valid],
                    "center": cube.attrs["center"],
                    "is_ez": cube["is_ez"].values[valid],
                }
            )
            for cube in cubes
            for valid in [cube["valid"].any(["seizure", "window"]).values]
        ],
        ignore_index=True,
    )
    merged = truth.merge(scores, on=["patient", "channel"], how="outer", indicator=True)
    unmatched = merged[merged["_merge"] != "both"]
    if len(unmatched) or len(merged) != len(truth):
        names = ", ".join(f"{r.patient} {r.channel}" for r in unmatched.head(5).itertuples())
        raise LedgerError(
            f"predict: expected one score for each of {len(truth)} valid channels, found "
            f"{len(scores)}; missing or unknown: {names or 'duplicates'}."
        )
    return merged.drop(columns="_merge")
