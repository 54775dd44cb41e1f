"""The folder of a cell: results of one method, seed and fold, with a SHA-256 of every file."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from epilens.core.errors import LedgerError, PlanError
from epilens.evaluation.ledger import read_ledger, write_ledger
from epilens.io.atomic import load_json
from epilens.io.outputs import first_corrupt, replace_folder
from epilens.plan import UNKNOWN_SECTION

_LEDGER, _RECORD, _HISTORY = "ledger.parquet", "cell.json", "history.parquet"
_OWN_SCORES, _CHECKPOINT = "threshold_scores.parquet", "checkpoint.safetensors"
OWN_SCORES = ["patient", "channel", "is_ez", "p_nez"]
"""Columns of the scores on which a method chose its own threshold."""
KIND, RECOGNISE_GLOBS = "a cell", (_RECORD, _LEDGER, _HISTORY, _OWN_SCORES, _CHECKPOINT)


@dataclass(frozen=True)
class CellFolder:
    """The results of one method, seed and fold."""

    path: Path

    @cached_property
    def record(self) -> dict[str, Any]:
        """Key, resolved inputs, threshold and notes: `cell.json`; empty if it cannot be read."""
        try:
            record = load_json(self.path / _RECORD)
        except (OSError, ValueError):
            return {}
        return record if isinstance(record, dict) else {}

    @property
    def is_intact(self) -> bool:
        """Whether no file is missing or changed."""
        return not first_corrupt(self.path)

    @property
    def ledger(self) -> pd.DataFrame:
        """Scores of its validation and test patients, checked."""
        return read_ledger(self.path / _LEDGER)

    @property
    def checkpoint(self) -> Path:
        """Tensors of the fitted method."""
        return self.path / _CHECKPOINT

    @property
    def history(self) -> pd.DataFrame:
        """History of the training: one row per epoch."""
        with reading(self.path / _HISTORY) as path:
            return pd.read_parquet(path)

    @property
    def threshold_scores(self) -> pd.DataFrame | None:
        """Scores on which the method chose its threshold; None if there are none to read."""
        try:
            return pd.read_parquet(self.path / _OWN_SCORES, columns=OWN_SCORES)
        except (OSError, ValueError):
            return None

    def write(
        self,
        record: Mapping[str, Any],
        ledger: pd.DataFrame,
        history: pd.DataFrame,
        weights: Mapping[str, Any],
        threshold_scores: pd.DataFrame | None = None,
    ) -> None:
        """Write the cell atomically."""
        from safetensors.numpy import save

        with self._writing(record, ledger) as folder:
            (folder / _HISTORY).write_bytes(_parquet(history))
            if threshold_scores is not None:
                (folder / _OWN_SCORES).write_bytes(_parquet(threshold_scores[OWN_SCORES]))
            if weights:
                (folder / _CHECKPOINT).write_bytes(
                    save({name: np.asarray(w, order="C") for name, w in weights.items()})
                )

    def repeat(self, other: CellFolder, record: Mapping[str, Any], ledger: pd.DataFrame) -> None:
        """Write the cell with the files of another one, but its own record and ledger."""
        with self._writing(record, ledger) as folder:
            for name in (_HISTORY, _OWN_SCORES, _CHECKPOINT):
                if (other.path / name).exists():
                    shutil.copyfile(other.path / name, folder / name)

    @contextmanager
    def _writing(self, record: Mapping[str, Any], ledger: pd.DataFrame) -> Generator[Path]:
        """Yield the folder for the other files; all of them appear together."""
        text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
        with replace_folder(self.path, KIND, RECOGNISE_GLOBS, sealed=True) as folder:
            write_ledger(ledger, folder / _LEDGER)
            yield folder
            (folder / _RECORD).write_text(text, encoding="utf-8")


@contextmanager
def reading(path: Path) -> Generator[Path]:
    """Report a file of a run that cannot be read, with what repairs it."""
    try:
        yield path
    except (OSError, ValueError, KeyError) as error:
        if isinstance(error, PlanError) and error.code == UNKNOWN_SECTION:
            raise LedgerError(f"{error} Install the package that provides it.") from None
        raise LedgerError(
            f"{path}: expected what `epilens run` wrote, found a damaged file. Repair it: run "
            "`epilens run` again with the same plan, cubes and folder."
        ) from None


def _parquet(frame: pd.DataFrame) -> bytes:
    file = io.BytesIO()
    frame.to_parquet(file, index=False)
    return file.getvalue()
