"""Checks of the audit on cells and ledger: complete, current, and the same in both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from epilens.analyses.audit_parts import AuditCheck, CellName, LedgerCell
from epilens.core.decisions import fuse_scores
from epilens.core.errors import EpilensError
from epilens.core.provenance import digest_of
from epilens.evaluation.ledger import KEY
from epilens.evaluation.protocol import cell_inputs, store_keys, trained_parts
from epilens.evaluation.run import Run
from epilens.methods import METHODS, VALIDATION
from epilens.methods.shaft import smoothed_ledger
from epilens.plan import SHAFT


def cell_checks(run: Run) -> Iterator[AuditCheck]:
    """Every cell that the plan asks for exists and is what its inputs give today."""
    wanted = _all_cells(run, _methods_with_cells(run))
    records = {name: run.cell(*name).record for name in wanted}
    records = {name: record for name, record in records.items() if record}
    yield AuditCheck("cells that the plan asks for", len(wanted), len(records))
    damaged = [r for r in records.values() if r.get("key") != digest_of(r.get("inputs"))]
    yield AuditCheck("cells whose key is not that of the inputs they name", 0, len(damaged))
    gone = sorted({name.method for name in records if name.method not in METHODS})
    note = f" (not asked: {', '.join(gone)}, not installed)" if gone else ""
    title = f"cells that other settings, code, cubes or split made{note}"
    yield AuditCheck(title, "none", _listed(_outdated(run, records)) or "none")


def warn_outdated(run: Run) -> str:
    """A sentence if the run mixes cells of different settings; it needs no cubes."""
    run = Run(run.folder)
    cells = {name: run.cell(*name).record for name in _all_cells(run, _methods_with_cells(run))}
    outdated = _outdated(run, {name: record for name, record in cells.items() if record})
    if not outdated:
        return ""
    return (
        f"warning: cells were made with other settings or code than the plan of this run has now: "
        f"{_listed(outdated)}. Run the plan again, without --only."
    )


def _outdated(run: Run, records: Mapping[CellName, Mapping[str, Any]]) -> Counter[str]:
    """Number of cells, by method, that settings, code, cubes and split would not give again."""
    return Counter(
        name.method
        for name, record in records.items()
        if name.method in METHODS and not _is_current(run, name, record)
    )


def _listed(outdated: Counter[str]) -> str:
    return ", ".join(f"{count} of {method}" for method, count in sorted(outdated.items()))


def _methods_with_cells(run: Run) -> list[str]:
    """Methods of the plan, or parts of them, that have cells."""
    parts = trained_parts([METHODS[name] for name in run.plan.methods if name in METHODS])
    # A method of a package that is gone had cells of its own.
    return parts + [name for name in run.plan.methods if name not in METHODS]


def _all_cells(run: Run, methods: Sequence[str]) -> list[CellName]:
    """Each of the methods with every seed and fold of the run's plan."""
    folds = dict.fromkeys(run.split["fold"])
    seeds = run.plan.seeds
    return [CellName(name, seed, fold) for name in methods for seed in seeds for fold in folds]


def _is_current(run: Run, name: CellName, record: Mapping[str, Any]) -> bool:
    """Whether settings, code, plan, split and patients would give the key of a cell again."""
    stored = record.get("inputs", {})
    rows = run.split[run.split["fold"] == name.fold]
    try:
        keys = _store_keys(run, METHODS[name.method].input) or stored["patients"]
        inputs = cell_inputs(name.method, name.seed, run.plan, rows, keys)
    except (EpilensError, KeyError):
        return False
    # Pretrained weights may have been removed; other weights are detected.
    inputs["pretrained"] = inputs["pretrained"] or stored.get("pretrained")
    return digest_of(inputs) == record.get("key")


@lru_cache(maxsize=16)
def _store_keys(run: Run, store: str) -> dict[str, str]:
    """Keys of what a method reads of each patient; empty if the stores are not available."""
    patients = run.setting["patients"]
    if store == "cube":
        return {patient: about["key"] for patient, about in patients.items()}
    return {} if run.cubes is None else store_keys(run.cohort, patients, store)


def ledger_checks(run: Run, cells: Sequence[LedgerCell]) -> Iterator[AuditCheck]:
    """The ledger contains what the plan asks for, as the cells wrote it."""
    wanted = set(_all_cells(run, run.plan.methods))
    present = wanted & {cell.name for cell in cells}
    yield AuditCheck(
        "methods, seeds and folds of the plan in the ledger", len(wanted), len(present)
    )
    yield from _threshold_checks(run, cells)
    written = [cell for cell in cells if cell.folder.record]
    title = f"of the cells, those that the ledger does not repeat exactly (of {len(written)})"
    yield AuditCheck(title, 0, sum(cell.differs() for cell in written))
    if {"prq", "bcr", "cdel"} <= set(run.methods):
        title = "largest difference of cdel from 0.8 prq + 0.2 bcr"
        yield AuditCheck(title, 0.0, _fusion_error(run.ledger))
    smooth = [m for m in run.methods if m.endswith(SHAFT) and m.removesuffix(SHAFT) in run.methods]
    if smooth:
        title = "largest difference of smoothed methods from the smoothed scores of their methods"
        yield AuditCheck(title, 0.0, max(_smoothing_error(run, name) for name in smooth))


def _threshold_checks(run: Run, cells: Sequence[LedgerCell]) -> Iterator[AuditCheck]:
    """Thresholds are chosen on validation patients, or by the method on scores that it stored."""
    validated = [cell for cell in cells if cell.chosen_on == VALIDATION]
    selected = sum(cell.threshold_is_selected() for cell in validated)
    yield AuditCheck("thresholds that validation patients alone select", len(validated), selected)
    own = [cell for cell in cells if cell.chosen_on != VALIDATION]
    named = "; ".join(sorted({f"{cell.name.method}, by {cell.chosen_on}" for cell in own}))
    selected = sum(cell.threshold_is_selected() for cell in own)
    title = f"thresholds that the scores kept with their cells select ({named or 'no method'})"
    yield AuditCheck(title, len(own), selected)
    trained = run.split[run.split["partition"] != "test"].groupby("fold")["patient"].agg(set)
    outside = [
        cell
        for cell in own
        if not set(cell.own_scores["patient"]) <= trained.get(cell.name.fold, set())
    ]
    title = "cells that chose a threshold on others than fit and validation"
    yield AuditCheck(title, 0, len(outside))


def _smoothing_error(run: Run, name: str) -> float:
    """Largest difference of a smoothed method from smoothing the scores of its method again."""
    raw, smooth = (run.ledger[run.ledger["method"] == m] for m in (name.removesuffix(SHAFT), name))
    again = smoothed_ledger(raw, run.plan.shaft)
    both = smooth.merge(again, on=KEY[1:], how="outer", suffixes=("", "_again"))
    return float((both["p_nez"] - both["p_nez_again"]).abs().max(skipna=False).round(12))


def _fusion_error(ledger: pd.DataFrame) -> float:
    """Largest difference of CDEL from fusing PRQ-Net and BCR-Net again."""
    scores = ledger.pivot(index=KEY[1:], columns="method", values="p_nez")
    fused = fuse_scores(scores["prq"], scores["bcr"])
    return float(np.abs(fused - scores["cdel"]).max().round(12))
