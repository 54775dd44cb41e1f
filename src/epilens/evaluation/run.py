"""A run on disk: this module alone knows where its files are.

RUN/
plan.toml  split.csv  run.json       what it began with: resolved plan, split, cohort
ledger.parquet                       all methods
cells/METHOD/seed-S_fold-F/          ledger, history, checkpoint, cell.json; threshold_scores
                                     where the method chose its threshold on others
subsets.json                         seizures that the cross-seizure analysis drew
times.tsv                            processor time of each cell, in the order in which they ended
"""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd
import xarray as xr

from epilens.errors import CubeError, LedgerError, did_you_mean
from epilens.evaluation.ledger import read_ledger, write_ledger
from epilens.evaluation.scoring import score, summarise
from epilens.evidence.files import Cohort, open_cohort
from epilens.notebook import card
from epilens.plan import Plan
from epilens.provenance import digest_of
from epilens.spreadsheet import plain, read_csv, to_csv, to_tsv
from epilens.storage import own_folder, replace_folder, write_atomically

KIND = "a run"
_SETTING, _PLAN, _SPLIT, _LEDGER = "run.json", "plan.toml", "split.csv", "ledger.parquet"
_SUBSETS, _OWN_SCORES, _TIMES = "subsets.json", "threshold_scores.parquet", "times.tsv"
OWN_SCORES = ["patient", "channel", "is_ez", "p_nez"]
"""Columns of the scores on which a method chose its own threshold."""
Subsets = dict[str, dict[str, list[list[str]]]]
"""Patient → condition → the names of the seizures of each repeat."""


@dataclass(frozen=True)
class CellFolder:
    """What one method, seed and fold left behind."""

    path: Path

    @cached_property
    def record(self) -> dict[str, Any]:
        """Key, resolved inputs, threshold and notes: `cell.json`; empty where it is not whole."""
        try:
            record = json.loads((self.path / "cell.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return record if isinstance(record, dict) else {}

    @property
    def ledger(self) -> pd.DataFrame:
        """Scores of its validation and test patients, checked."""
        return read_ledger(self.path / _LEDGER)

    @property
    def checkpoint(self) -> Path:
        """Tensors of the fitted method."""
        return self.path / "checkpoint.safetensors"

    @property
    def history(self) -> pd.DataFrame:
        """One row per epoch."""
        return pd.read_parquet(self.path / "history.parquet")

    @property
    def threshold_scores(self) -> pd.DataFrame | None:
        """Scores on which the method itself chose its threshold; None: none that can be read."""
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
        """Write the cell, whole or not at all."""
        from safetensors.torch import save

        text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
        with replace_folder(self.path, "a cell") as folder:
            write_ledger(ledger, folder / _LEDGER)
            (folder / "history.parquet").write_bytes(_parquet(history))
            if threshold_scores is not None:
                (folder / _OWN_SCORES).write_bytes(_parquet(threshold_scores[OWN_SCORES]))
            if weights:
                (folder / self.checkpoint.name).write_bytes(save(dict(weights)))
            (folder / "cell.json").write_text(text, encoding="utf-8")

    def repeat(self, other: CellFolder, record: Mapping[str, Any], ledger: pd.DataFrame) -> None:
        """Write the cell with all that another one left behind, but record and ledger."""
        text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
        with replace_folder(self.path, "a cell") as folder:
            for name in ("history.parquet", _OWN_SCORES, self.checkpoint.name):
                if (other.path / name).exists():
                    shutil.copyfile(other.path / name, folder / name)
            write_ledger(ledger, folder / _LEDGER)
            (folder / "cell.json").write_text(text, encoding="utf-8")


def _parquet(frame: pd.DataFrame) -> bytes:
    file = io.BytesIO()
    frame.to_parquet(file, index=False)
    return file.getvalue()


@dataclass(frozen=True)
class Run:
    """A run's folder, with the cubes and the leave-one-center-out run that belong to it.

    Files are read when they are asked for, once.
    """

    folder: Path
    cubes: Path | None = None
    """The cubes that it was made from, for what reads signals' descriptors again."""
    loco: Path | None = None
    """The leave-one-center-out run of the same cohort."""

    def cell(self, method: str, seed: int, fold: str) -> CellFolder:
        """The cell of a method, seed and fold; a center's name can be a fold."""
        # Names of centers come from files: what could lead elsewhere is spelt out.
        place = quote(f"seed-{seed}_fold-{fold}", safe=" ()+,-.")
        return CellFolder(self.folder / "cells" / method.replace("/", "--") / place)

    @cached_property
    def setting(self) -> dict[str, Any]:
        """Patients with their keys and centers, and digests: `run.json`; empty without a run."""
        if not self.began:
            return {}
        return json.loads((self.folder / _SETTING).read_text(encoding="utf-8"))

    @cached_property
    def plan(self) -> Plan:
        """The resolved plan."""
        return Plan.load(self.folder / _PLAN)

    @cached_property
    def split(self) -> pd.DataFrame:
        """Fold, partition, patient."""
        return read_csv((self.folder / _SPLIT).read_bytes())

    @cached_property
    def ledger(self) -> pd.DataFrame:
        """All methods, checked."""
        return read_ledger(self.folder / _LEDGER)

    @cached_property
    def scores(self) -> pd.DataFrame:
        """One row per method, seed and test patient."""
        return score(self.ledger)

    def score(self) -> pd.DataFrame:
        """One row per method: patient-equal mean of every metric, and its SD over seeds."""
        return summarise(self.scores)

    def __len__(self) -> int:
        return len(self.methods)

    def __bool__(self) -> bool:
        return True  # also before the first method is finished

    def __getitem__(self, method: str) -> pd.DataFrame:
        """The ledger's rows of a method."""
        if method not in self.methods:
            raise LedgerError(
                f"{self.folder}: expected one of its {len(self)} methods, found {method!r}. "
                f"{did_you_mean(method, self.methods)}"
            )
        return self.ledger[self.ledger["method"] == method]

    def __repr__(self) -> str:
        many = f", {len(self)} methods" if self.has_ledger else ", not finished"
        return f"Run({str(self.folder)!r}{many})"

    def _repr_html_(self) -> str:
        if not self.has_ledger:
            return card(f"Run {self.folder.name}, not finished", {}, notes=self.caveats)
        columns = ["method", "macro_f1", "ez_f1", "auroc", "ez_auprc"]
        table = self.score()[columns].sort_values("auroc", ascending=False)
        facts = {"patients": len(self.setting["patients"]), "methods": len(self)}
        return card(f"Run {self.folder.name}", facts, table, notes=self.caveats)

    @property
    def methods(self) -> list[str]:
        """Methods of the ledger, in its order."""
        return list(dict.fromkeys(self.ledger["method"]))

    @property
    def centers(self) -> dict[str, str]:
        """Center of every patient."""
        return {patient: about["center"] for patient, about in self.setting["patients"].items()}

    @property
    def simulated(self) -> bool:
        """Whether its patients were simulated."""
        return bool(self.setting.get("simulated"))

    @property
    def leaves_centers_out(self) -> bool:
        """Whether it holds out one center at a time."""
        return self.plan.splits.kind == "leave-one-center-out"

    @property
    def caveats(self) -> list[str]:
        """What must be said wherever its results are shown."""
        said = []
        if self.setting.get("smoke"):
            said.append(
                "Smoke plan, below the paper's budget: it shows that every step works, and "
                "judges no method."
            )
        if self.simulated:
            said.append("Simulated patients: nothing here is clinical evidence.")
        return [*said, "For research, not for diagnosis."]

    @cached_property
    def cohort(self) -> Cohort:
        """The cubes."""
        return open_cohort(Path("?") if self.cubes is None else self.cubes)

    def cube(self, patient: str) -> xr.Dataset:
        """A patient's cube, if it is the one that the run was made from."""
        cube, key = self.cohort[patient], self.setting["patients"][patient]["key"]
        if cube.attrs.get("key") != key:
            raise CubeError(
                f"{self.cubes}: expected the cube of {patient} that {self.folder} was made from "
                f"(key {key}), found another one. Give the cubes of this run."
            )
        return cube

    @property
    def subsets(self) -> Subsets | None:
        """Seizures that the cross-seizure analysis drew first; None: it drew none yet."""
        path = self.folder / _SUBSETS
        if not path.exists():
            return None
        try:
            written = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            return {}
        return written if isinstance(written, dict) else {}

    def write_subsets(self, drawn: Subsets) -> None:
        """Write which seizures were drawn."""
        write_atomically(self.folder / _SUBSETS, json.dumps(drawn, indent=1) + "\n")

    def note_time(self, method: str, seed: int, fold: str, processor_s: float) -> None:
        """Write down what a cell cost. Not in its folder: the same cell has the same bytes."""
        with (self.folder / _TIMES).open("a", encoding="utf-8") as file:
            file.write(to_tsv([method, str(seed), quote(fold, safe=" "), f"{processor_s:.2f}"], ()))

    @property
    def times(self) -> pd.DataFrame:
        """Processor seconds of the cells; of one that was made again, the last ones."""
        path, columns = self.folder / _TIMES, ["method", "seed", "fold", "processor_s"]
        if not path.exists():
            return pd.DataFrame(columns=columns)
        frame = pd.read_csv(path, sep="\t", names=columns, dtype={"fold": str})
        frame["fold"] = frame["fold"].map(plain)
        return frame.drop_duplicates(columns[:3], keep="last", ignore_index=True)

    @cached_property
    def loco_run(self) -> Run:
        """The leave-one-center-out run."""
        return Run(self.folder if self.loco is None else self.loco, self.cubes)

    def begin(self, plan: Plan, split: pd.DataFrame, setting: Mapping[str, Any]) -> None:
        """Write what the run begins with."""
        own_folder(self.folder, KIND)
        write_atomically(self.folder / _PLAN, plan.to_toml())
        write_atomically(self.folder / _SPLIT, to_csv(split))
        write_atomically(self.folder / _SETTING, json.dumps(setting, indent=1) + "\n")

    @property
    def began(self) -> bool:
        """Whether there is a run to go on with."""
        return (self.folder / _SETTING).exists()

    @property
    def has_ledger(self) -> bool:
        """Whether some methods were finished before."""
        return (self.folder / _LEDGER).exists()

    def write_ledger(self, ledger: pd.DataFrame) -> None:
        """Write the ledger of all methods."""
        write_ledger(ledger, self.folder / _LEDGER)

    def check_finished(self) -> None:
        """Refuse a folder that is no finished run."""
        for name in (_SETTING, _PLAN, _SPLIT, _LEDGER):
            if not (self.folder / name).exists():
                raise LedgerError(
                    f"{self.folder}: expected a finished run with {name}, found none. Make or "
                    "finish it with `epilens run`."
                )


def cohort_digest(patients: Mapping[str, Any]) -> str:
    """Digest of the patients of a run with their keys and centers."""
    return digest_of(patients)


def open_run(
    folder: str | Path, cubes: str | Path | None = None, loco: str | Path | None = None
) -> Run:
    """A finished run, with the cubes and the leave-one-center-out run that belong to it.

    If they are not given: the cubes are looked for where the run found them, the other run beside.

    Examples
    --------
    >>> from epilens.testing import make_run
    >>> run = open_run(make_run().folder)
    >>> len(run), run.methods
    (2, ['logistic-z', 'rbf-svm'])
    >>> run.score().set_index("method").loc["logistic-z", "seeds"].item()
    1
    """
    run = Run(Path(folder))
    run.check_finished()
    other = _beside(run) if loco is None else Run(Path(loco))
    if other is not None:
        other.check_finished()
        if other.setting["cohort_digest"] != run.setting["cohort_digest"]:
            raise LedgerError(
                f"{other.folder}: expected the cohort of {folder}, found another one. Run leave-"
                "one-center-out on the same cubes."
            )
    place = _remembered(run) if cubes is None else Path(cubes)
    return Run(run.folder, place, None if other is None else other.folder)


def _remembered(run: Run) -> Path | None:
    """Where the cubes were when the run was made, if they still are there."""
    place = run.setting.get("cubes")
    return Path(place) if place and Path(place).is_dir() else None


def _beside(run: Run) -> Run | None:
    """A finished leave-one-center-out run of the same cohort in the same folder of runs."""
    for folder in sorted(p for p in run.folder.resolve().parent.iterdir() if p.is_dir()):
        other = Run(folder)
        try:
            other.check_finished()
            same = other.setting.get("cohort_digest") == run.setting["cohort_digest"]
        except (LedgerError, ValueError, OSError):
            continue
        if same and other.leaves_centers_out:
            return other
    return None
