"""What the audit consists of: a check, and a cell of the ledger with the folder it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import pandas as pd

from epilens.core.decisions import selected_threshold
from epilens.core.errors import LedgerError
from epilens.evaluation.cell_folder import CellFolder
from epilens.evaluation.ledger import KEY, cell_threshold
from epilens.evaluation.run import Run
from epilens.methods import VALIDATION


class AuditCheck(NamedTuple):
    """A property that a run must have; it is passed if both values are written alike."""

    title: str
    """What is checked, with a remark in parentheses."""
    expected: str | float
    found: str | float


class CellName(NamedTuple):
    """Method, seed and fold: what identifies a cell of a run."""

    method: str
    seed: int
    fold: str


@dataclass(frozen=True)
class LedgerCell:
    """The ledger's rows of one method, seed and fold, and the cell that they come from."""

    name: CellName
    rows: pd.DataFrame
    folder: CellFolder

    @property
    def recorded(self) -> Mapping[str, Any]:
        """What the cell records about its threshold; empty for fused methods, without a cell."""
        return self.folder.record.get("threshold", {})

    @property
    def chosen_on(self) -> str:
        """Patients whose scores choose its threshold."""
        return self.recorded.get("chosen_on", VALIDATION)

    @property
    def counts(self) -> Mapping[str, Mapping[str, int]]:
        """Seizures and windows of each patient, as the cell counted them; empty if it did not."""
        return self.folder.record.get("notes", {}).get("counts", {})

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
                else selected_threshold(self.own_scores, self.recorded.get("share_within"))
            )
        except LedgerError:
            return False
        stated = [self.rows["threshold"].iloc[0]]
        if self.folder.record:
            stated.append(self.recorded.get("value"))
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
    """All cells, in the order of the ledger."""
    groups = run.ledger.groupby(["method", "seed", "fold"], sort=False)
    cells = []
    for (method, seed, fold), rows in groups:  # ty: ignore[not-iterable]
        name = CellName(method, seed, fold)
        cells.append(LedgerCell(name, rows, run.cell(*name)))
    return cells
