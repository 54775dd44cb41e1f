"""The audit of cells: complete, computed from the current inputs, and equal to the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pandas as pd

from epilens.core.decisions import fuse_scores, selected_threshold
from epilens.core.errors import EpilensError, LedgerError
from epilens.core.provenance import digest_of
from epilens.evaluation.cell_folder import CellFolder
from epilens.evaluation.ledger import KEY, cell_threshold
from epilens.evaluation.protocol import cell_inputs, store_keys, trained_parts
from epilens.evaluation.run import Run
from epilens.methods import METHODS, VALIDATION
from epilens.methods.shaft import smoothed_ledger
from epilens.plan import SHAFT

Check = tuple[str, Any, Any]
"""Title of the check (with a remark in parentheses), expected value, value found."""


def cell_checks(run: Run) -> Iterator[Check]:
    """Every cell that the plan asks for exists and is what its inputs give today."""
    wanted = [PlannedCell(run, *key) for key in _asked(run, _parts(run))]
    whole = [cell for cell in wanted if cell.folder.record]
    yield "cells that the plan asks for", len(wanted), len(whole)
    damaged = [cell for cell in whole if not cell.is_itself()]
    yield "cells whose key is not that of the inputs they name", 0, len(damaged)
    installed = [cell for cell in whole if cell.method in METHODS]
    gone = sorted({cell.method for cell in whole if cell.method not in METHODS})
    note = f" (not asked: {', '.join(gone)}, not installed)" if gone else ""
    stale = Counter(cell.method for cell in installed if not cell.is_current())
    title = f"cells that other settings, code, cubes or split made{note}"
    yield title, "none", _listed(stale) or "none"


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n} of {name}" for name, n in sorted(counts.items()))


def _parts(run: Run) -> list[str]:
    """Methods of the plan that have cells."""
    parts = trained_parts([METHODS[name] for name in run.plan.methods if name in METHODS])
    # A method of a package that is gone had cells of its own.
    return parts + [name for name in run.plan.methods if name not in METHODS]


def _asked(run: Run, methods: Sequence[str]) -> list[tuple[str, int, str]]:
    """Each of the methods with every seed and fold of the run's plan."""
    folds = dict.fromkeys(run.split["fold"])
    return [(name, seed, fold) for name in methods for seed in run.plan.seeds for fold in folds]


@dataclass(frozen=True)
class PlannedCell:
    """A cell that the plan of a run asks for, compared with its current inputs."""

    run: Run
    method: str
    seed: int
    fold: str

    @cached_property
    def folder(self) -> CellFolder:
        """Its files."""
        return self.run.cell(self.method, self.seed, self.fold)

    def is_itself(self) -> bool:
        """Whether its key is that of the inputs that it records."""
        record = self.folder.record
        return record.get("key") == digest_of(record.get("inputs"))

    def is_current(self) -> bool:
        """Whether settings, code, plan, split and patients would give this cell's key again."""
        stored = self.folder.record.get("inputs", {})
        rows = self.run.split[self.run.split["fold"] == self.fold]
        try:
            keys = _keys(self.run, METHODS[self.method].input) or stored["patients"]
            inputs = cell_inputs(self.method, self.seed, self.run.plan, rows, keys)
        except (EpilensError, KeyError):
            return False
        # Pretrained weights may have been removed; other weights are detected.
        inputs["pretrained"] = inputs["pretrained"] or stored.get("pretrained")
        return digest_of(inputs) == self.folder.record.get("key")


@lru_cache(maxsize=16)
def _keys(run: Run, store: str) -> dict[str, str]:
    """Keys of what a method reads of each patient; empty if the stores are not available."""
    patients = run.setting["patients"]
    if store == "cube":
        return {patient: about["key"] for patient, about in patients.items()}
    return {} if run.cubes is None else store_keys(run.cohort, patients, store)


def ledger_checks(run: Run) -> Iterator[Check]:
    """The ledger contains what the plan asks for, as the cells wrote it."""
    cells = cells_of_ledger(run)
    asked = set(_asked(run, run.plan.methods))
    present = asked & {cell.name for cell in cells}
    yield "methods, seeds and folds of the plan in the ledger", len(asked), len(present)
    yield from _thresholds(run, cells)
    whole = [cell for cell in cells if cell.folder.record]
    title = f"of the cells, those that the ledger does not repeat exactly (of {len(whole)})"
    yield title, 0, sum(cell.differs() for cell in whole)
    if {"prq", "bcr", "cdel"} <= set(run.methods):
        yield "largest difference of cdel from 0.8 prq + 0.2 bcr", 0.0, _fusion_error(run.ledger)
    smooth = [m for m in run.methods if m.endswith(SHAFT) and m.removesuffix(SHAFT) in run.methods]
    if smooth:
        title = "largest difference of smoothed methods from the smoothed scores of their methods"
        yield title, 0.0, max(_smoothing_error(run, name) for name in smooth)


def _thresholds(run: Run, cells: Sequence[LedgerCell]) -> Iterator[Check]:
    """Chosen on validation patients, or by the method on scores that it stored; never on tests."""
    asked = [cell for cell in cells if cell.chosen_on == VALIDATION]
    same = sum(cell.threshold_is_selected() for cell in asked)
    yield "thresholds that validation patients alone select", len(asked), same
    own = [cell for cell in cells if cell.chosen_on != VALIDATION]
    named = "; ".join(sorted({f"{cell.name[0]}, by {cell.chosen_on}" for cell in own}))
    same = sum(cell.threshold_is_selected() for cell in own)
    title = f"thresholds that the scores kept with their cells select ({named or 'no method'})"
    yield title, len(own), same
    trained = run.split[run.split["partition"] != "test"].groupby("fold")["patient"].agg(set)
    outside = [c for c in own if not set(c.own_scores["patient"]) <= trained.get(c.name[2], set())]
    yield "cells that chose a threshold on others than fit and validation", 0, len(outside)


@dataclass(frozen=True)
class LedgerCell:
    """The ledger's rows of one method, seed and fold, and the cell that they come from."""

    name: tuple[str, int, str]
    rows: pd.DataFrame
    folder: CellFolder

    @property
    def chosen_on(self) -> str:
        """Patients whose scores choose its threshold; fused methods have no cell: validation."""
        return self.folder.record.get("threshold", {}).get("chosen_on", VALIDATION)

    @property
    def prevalence_tolerance(self) -> float | None:
        """Largest distance of the flagged fraction from the EZ fraction."""
        return self.folder.record.get("threshold", {}).get("share_within")

    @cached_property
    def own_scores(self) -> pd.DataFrame:
        """Scores on which the method itself chose its threshold; empty if it stored none."""
        stored = None if self.chosen_on == VALIDATION else self.folder.threshold_scores
        return self.rows.iloc[:0] if stored is None else stored

    def threshold_is_selected(self) -> bool:
        """Whether these scores select the threshold of the ledger and of the cell's record."""
        try:
            selected = (
                cell_threshold(self.rows)
                if self.chosen_on == VALIDATION
                else selected_threshold(self.own_scores, self.prevalence_tolerance)
            )
        except LedgerError:
            return False
        stated = [self.rows["threshold"].iloc[0]]
        if self.folder.record:
            stated.append(self.folder.record.get("threshold", {}).get("value"))
        return all(value == selected for value in stated)

    def differs(self) -> bool:
        """Whether the ledger differs from what the cell wrote."""
        try:
            written = self.folder.ledger
        except LedgerError:
            return True
        first, second = (f.sort_values(KEY, ignore_index=True) for f in (self.rows, written))
        return not first.equals(second[list(first)])


def cells_of_ledger(run: Run) -> list[LedgerCell]:
    """All cells, in the ledger's order."""
    groups = run.ledger.groupby(["method", "seed", "fold"], sort=False)
    return [LedgerCell(name, rows, run.cell(*name)) for name, rows in groups]  # ty: ignore


def _smoothing_error(run: Run, name: str) -> float:
    raw, smooth = (run.ledger[run.ledger["method"] == m] for m in (name.removesuffix(SHAFT), name))
    again = smoothed_ledger(raw, run.plan.shaft)
    both = smooth.merge(again, on=KEY[1:], how="outer", suffixes=("", "_again"))
    return float((both["p_nez"] - both["p_nez_again"]).abs().max(skipna=False).round(12))


def _fusion_error(ledger: pd.DataFrame) -> float:
    key = KEY[1:]
    scores = ledger.pivot(index=key, columns="method", values="p_nez")
    fused = fuse_scores(scores["prq"], scores["bcr"])
    return float(np.abs(fused - scores["cdel"]).max().round(12))
