"""One cell of the protocol: fit, predict blind, choose a threshold, write; here or on processes."""

from __future__ import annotations

import io
import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from epilens.errors import LedgerError
from epilens.evaluation.ledger import with_thresholds, write_ledger
from epilens.evidence.cube import blind, open_patient
from epilens.methods import METHODS, Training
from epilens.plan import Plan
from epilens.processes import work_through
from epilens.storage import replace_folder


@dataclass(frozen=True)
class Cell:
    """One method, seed and fold, with all that it reads."""

    method: str
    seed: int
    fold: str
    split: pd.DataFrame
    """Rows of this fold."""
    paths: Mapping[str, Path]
    keys: Mapping[str, str]
    """Of what the method reads of each patient."""
    plan: Plan
    folder: Path
    key: str


def finished(cell: Cell) -> bool:
    """Whether the cell was written by the same inputs before."""
    try:
        told = json.loads((cell.folder / "cell.json").read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError):
        return False
    return told.get("key") == cell.key


def execute(cells: Sequence[Cell], jobs: int) -> Iterator[Cell]:
    """Run cells here or on local processes, with one thread each: the same bits either way."""
    yield from (cell for cell, _ in work_through(_run_alone, cells, jobs))


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


def _run_alone(cell: Cell) -> None:
    with one_thread():
        run_cell(cell)


@lru_cache(maxsize=256)
def _open(path: Path, beside: str, key: str) -> xr.Dataset:
    """Cubes stay in memory between the cells of a process; the key makes a changed one another."""
    return open_patient(path, beside)


def run_cell(cell: Cell) -> None:
    """Fit, predict blind, choose one threshold on validation patients, write all of it."""
    method = METHODS[cell.method]
    cubes = {
        part: [_open(cell.paths[name], method.input, cell.keys[name]) for name in rows["patient"]]
        for part, rows in cell.split.groupby("partition", sort=False)
    }
    training = Training(cubes["fit"], cubes["validation"], cell.seed, cell.plan)
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
    _write_cell(cell, ledger, fitted)


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


def _write_cell(cell: Cell, ledger: pd.DataFrame, fitted: Any) -> None:
    from safetensors.torch import save

    history = io.BytesIO()
    fitted.history.to_parquet(history, index=False)
    told = {"key": cell.key, "method": cell.method, "seed": cell.seed, "fold": cell.fold}
    told["notes"] = dict(fitted.notes)
    with replace_folder(cell.folder, "a cell") as folder:
        write_ledger(ledger, folder / "ledger.parquet")
        (folder / "history.parquet").write_bytes(history.getvalue())
        if weights := fitted.weights():
            (folder / "checkpoint.safetensors").write_bytes(save(dict(weights)))
        (folder / "cell.json").write_text(json.dumps(told) + "\n", encoding="utf-8")
