"""The folder of an evaluation run; only this module and `cell_folder` know its file names.

RUN/
plan.toml  split.csv  run.json       resolved plan, split and cohort
ledger.parquet                       all methods
cells/METHOD/seed-S_fold-F/          ledger, history, checkpoint, cell.json; threshold_scores
                                     where the method chose its threshold on others
subsets.json                         seizures that the cross-seizure analysis drew
times.tsv                            processor time of each cell, in the order in which they ended
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd
import xarray as xr

from epilens.core.errors import CubeError, LedgerError, did_you_mean
from epilens.core.html_repr import bars, card
from epilens.data.bids_scan import MOST_EZ
from epilens.evaluation.cell_folder import CellFolder, reading
from epilens.evaluation.ledger import read_ledger, write_ledger
from epilens.evaluation.scoring import score, summarise
from epilens.evidence.files import Cohort, open_cohort
from epilens.io.atomic import load_json, write_atomically
from epilens.io.delimited import plain, read_csv, to_csv, to_tsv
from epilens.io.os_errors import as_storage_error
from epilens.io.remote import download, download_relative, origin_of, relative_origin
from epilens.plan import Plan

KIND = "a run"
_SETTING, _PLAN, _SPLIT, _LEDGER = "run.json", "plan.toml", "split.csv", "ledger.parquet"
_SUBSETS, _TIMES = "subsets.json", "times.tsv"
Subsets = dict[str, dict[str, list[list[str]]]]
"""Patient → condition → the names of the seizures of each repeat."""
RECOGNISE_GLOBS = ("cells", _PLAN, _SPLIT, _SETTING, _LEDGER, _SUBSETS, _TIMES)
"""Names in a run's folder."""
_DIGESTS = {"patients", "plan_digest", "split_digest", "cohort_digest"}


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

    def __getstate__(self) -> dict[str, Any]:
        """Return the paths alone: a process that receives the run reads its files itself."""
        return {"folder": self.folder, "cubes": self.cubes, "loco": self.loco}

    def cell(self, method: str, seed: int, fold: str) -> CellFolder:
        """The cell of a method, seed and fold; a center's name can be a fold."""
        # Names of centers come from files: characters that could leave the folder are escaped.
        name = quote(f"seed-{seed}_fold-{fold}", safe=" ()+,-.")
        return CellFolder(self.folder / "cells" / method.replace("/", "--") / name)

    @cached_property
    def setting(self) -> dict[str, Any]:
        """Patients with their keys and centers, and digests: `run.json`; empty without a run."""
        if not self.began:
            return {}
        with reading(self.folder / _SETTING) as path:
            setting = load_json(path)
            if not isinstance(setting, dict) or _DIGESTS - set(setting):
                raise ValueError(_SETTING)
            return setting

    @cached_property
    def plan(self) -> Plan:
        """The resolved plan."""
        with reading(self.folder / _PLAN) as path:
            return Plan.load(path)

    @cached_property
    def split(self) -> pd.DataFrame:
        """The split: fold, partition and patient."""
        with reading(self.folder / _SPLIT) as path:
            return read_csv(path.read_bytes())[["fold", "partition", "patient"]]

    @cached_property
    def ledger(self) -> pd.DataFrame:
        """The ledger of all methods, checked when it is read."""
        return read_ledger(self.folder / _LEDGER)

    @cached_property
    def scores(self) -> pd.DataFrame:
        """One row per method, seed and test patient."""
        return score(self.ledger)

    def summary(self) -> pd.DataFrame:
        """One row per method: patient-equal mean of every metric, and its SD over seeds."""
        return summarise(self.scores)

    @property
    def undefined_patients(self) -> int:
        """Test patients with EZ or NEZ contacts only, whose ranking metrics are undefined."""
        return int(self.scores.loc[self.scores["auroc"].isna(), "patient"].nunique())

    def score(self) -> pd.DataFrame:
        """Return :meth:`summary`; the name until 0.2, kept for existing scripts."""
        warnings.warn("Run.score() is now Run.summary()", DeprecationWarning, stacklevel=2)
        return self.summary()

    def __len__(self) -> int:
        return len(self.methods)

    def __bool__(self) -> bool:
        return True  # also before the first method is finished

    def __getitem__(self, method: str) -> pd.DataFrame:
        """The part of the ledger that belongs to a method."""
        if method not in self.methods:
            raise LedgerError(
                f"{self.folder}: expected one of its {len(self)} methods, found {method!r}. "
                f"{did_you_mean(method, self.methods)}"
            )
        return self.ledger[self.ledger["method"] == method]

    def __repr__(self) -> str:
        many = f", {len(self)} methods" if self.ledger_whole else ", not finished"
        return f"Run({str(self.folder)!r}{many})"

    def _repr_html_(self) -> str:
        if not self.ledger_whole:
            return card(f"Run {self.folder.name}, not finished", {}, notes=self.caveats)
        columns = ["method", "macro_f1", "ez_f1", "auroc", "ez_auprc"]
        table = self.summary()[columns].sort_values("auroc", ascending=False)
        facts = {"patients": len(self.setting["patients"]), "methods": len(self)}
        picture = bars(table["auroc"].tolist(), "AUROC by method, in the order of the table")
        return card(f"Run {self.folder.name}", facts, table, picture, self.caveats)

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
        """Whether it leaves out one center at a time."""
        return self.plan.splits.kind == "leave-one-center-out"

    @property
    def caveats(self) -> list[str]:
        """Sentences that must accompany its results wherever they are shown."""
        sentences = []
        if self.setting.get("smoke"):
            sentences.append(
                "Quick test with shortened training: it shows that every step works. Do not "
                "compare methods by it."
            )
        if self.simulated:
            sentences.append("Simulated patients: nothing here is clinical evidence.")
        if names := self.setting.get("unlabelled"):
            sentences.append(unlabelled_patients(names, len(names) + len(self.centers)))
        if odd := self.mostly_ez:
            sentences.append(
                f"More than {MOST_EZ:.0%} of the channels are labelled EZ in {', '.join(odd[:3])}"
                f"{f' and {len(odd) - 3} more' if len(odd) > 3 else ''}: check whether the labels "
                "are inverted."
            )
        return [*sentences, "For research, not for diagnosis."]

    @cached_property
    def mostly_ez(self) -> list[str]:
        """Patients with so many EZ channels that the labels may mean the opposite."""
        if not self.ledger_whole:
            return []
        test = self.ledger[self.ledger["partition"] == "test"]
        share = test.groupby("patient")["is_ez"].mean()
        return sorted(share[share > MOST_EZ].index.astype(str))

    @cached_property
    def cohort(self) -> Cohort:
        """The cubes that the run was made from."""
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
        if not (self.folder / _SUBSETS).exists():
            return None
        with suppress(ValueError):
            written = load_json(self.folder / _SUBSETS)
            return written if isinstance(written, dict) else {}
        return {}

    def write_subsets(self, drawn: Subsets) -> None:
        """Write which seizures were drawn."""
        write_atomically(self.folder / _SUBSETS, json.dumps(drawn, indent=1) + "\n")

    def note_time(self, method: str, seed: int, fold: str, processor_s: float) -> None:
        """Record the processor time of a cell; outside its folder, whose bytes stay the same."""
        path, escaped = self.folder / _TIMES, quote(fold, safe=" ")
        with as_storage_error(path), path.open("a", encoding="utf-8") as file:
            file.write(to_tsv([method, str(seed), escaped, f"{processor_s:.2f}"], ()))

    @property
    def times(self) -> pd.DataFrame:
        """Processor seconds of the cells; the last value of a cell that was run again."""
        path, columns = self.folder / _TIMES, ["method", "seed", "fold", "processor_s"]
        if not path.exists():
            return pd.DataFrame(columns=columns)
        # A kill can leave half a line, which is skipped.
        frame = pd.read_csv(path, sep="\t", names=columns, dtype=str, on_bad_lines="skip")
        for name in ("seed", "processor_s"):
            frame[name] = pd.to_numeric(frame[name], errors="coerce")
        frame = frame.dropna(ignore_index=True).astype({"seed": int})
        frame["fold"] = frame["fold"].map(plain)
        return frame.drop_duplicates(columns[:3], keep="last", ignore_index=True)

    @cached_property
    def loco_run(self) -> Run:
        """The leave-one-center-out run."""
        return Run(self.folder if self.loco is None else self.loco, self.cubes)

    def begin(self, plan: Plan, split: pd.DataFrame, setting: Mapping[str, Any]) -> None:
        """Write what the run begins with."""
        write_atomically(self.folder / _PLAN, plan.to_toml())
        write_atomically(self.folder / _SPLIT, to_csv(split))
        write_atomically(self.folder / _SETTING, json.dumps(setting, indent=1) + "\n")

    @property
    def began(self) -> bool:
        """Whether there is a run to resume."""
        return (self.folder / _SETTING).exists()

    @property
    def begun_with(self) -> Mapping[str, Any]:
        """`run.json` of a run to resume; empty where it is missing or damaged."""
        with suppress(LedgerError):
            return self.setting
        return {}

    @property
    def methods_before(self) -> list[str]:
        """Methods of a run to resume, from its plan or, where that is damaged, its ledger."""
        with suppress(LedgerError, KeyError):
            if (self.folder / _PLAN).exists() and self.plan.digest == self.setting["plan_digest"]:
                return list(self.plan.methods)
        return self.methods if self.ledger_whole else []

    @property
    def ledger_damaged(self) -> bool:
        """Whether there is a ledger that cannot be read."""
        return (self.folder / _LEDGER).exists() and not self.ledger_whole

    @cached_property
    def ledger_whole(self) -> bool:
        """Whether the ledger of methods that were finished before is there and can be read."""
        try:
            return len(self.ledger) > 0
        except LedgerError:
            return False

    def write_ledger(self, ledger: pd.DataFrame) -> None:
        """Write the ledger of all methods."""
        write_ledger(ledger, self.folder / _LEDGER)

    def check_finished(self) -> None:
        """Raise an error unless the folder is a finished run."""
        for name in (_SETTING, _PLAN, _SPLIT, _LEDGER):
            if not (self.folder / name).exists():
                raise LedgerError(
                    f"{self.folder}: expected a finished run with {name}, found none. Make or "
                    "finish it with `epilens run`."
                )


def unlabelled_patients(names: Sequence[str], total: int) -> str:
    """A sentence about patients that are not used because they have no label.

    Examples
    --------
    >>> unlabelled_patients(["sub-W02"], 8)
    '1 of 8 patients has no EZ label and is not used: sub-W02.'
    """
    verbs = ("has", "is") if len(names) == 1 else ("have", "are")
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return (
        f"{len(names)} of {total} patients {verbs[0]} no EZ label and {verbs[1]} not used: "
        f"{', '.join(names[:5])}{more}."
    )


def open_run(
    folder: str | Path, cubes: str | Path | None = None, loco: str | Path | None = None
) -> Run:
    """A finished run, with the cubes and the leave-one-center-out run that belong to it.

    Each is a folder, or the URL of a store. If they are not given: the cubes are looked for where
    the run found them, the other run next to it (not next to a URL).

    Parameters
    ----------
    folder : path or str
        What `epilens run` wrote, or `run` returned.
    cubes : path or str
        Of the same patients.
    loco : path or str
        A run of the same patients whose plan leaves out one center at a time.

    Returns
    -------
    Run
        `.summary()`, `.scores` and `.ledger` are pandas frames; `run[method]` are its rows.

    Examples
    --------
    >>> from epilens.testing import make_run
    >>> run = open_run(make_run().folder)
    >>> len(run), run.methods
    (2, ['logistic-z', 'rbf-svm'])
    >>> run.summary().set_index("method").loc["logistic-z", "seeds"].item()
    1
    """
    run = Run(download(folder))
    run.check_finished()
    other = _find_loco_run(run) if loco is None else Run(download(loco))
    if other is not None:
        other.check_finished()
        if other.setting["cohort_digest"] != run.setting["cohort_digest"]:
            raise LedgerError(
                f"{other.folder}: expected the cohort of {folder}, found another one. Run leave-"
                "one-center-out on the same cubes."
            )
    cubes_folder = _recorded_cubes(run) if cubes is None else download(cubes)
    return Run(run.folder, cubes_folder, None if other is None else other.folder)


def _recorded_cubes(run: Run) -> Path | None:
    """Where the cubes were when the run was made, if they are still there."""
    recorded = str(run.setting.get("cubes") or "?")
    if origin_of(run.folder):
        return download_relative(run.folder, recorded)
    folder = run.folder / recorded
    return folder if folder.is_dir() else None


def relative_cubes(folder: Path, cubes: Path) -> str:
    """Path of the cubes relative to a run's folder; '' where only an absolute path exists.

    Absolute paths can contain names of people.
    """
    if (between_stores := relative_origin(folder, cubes)) is not None:
        return between_stores
    start, target = folder.resolve(), cubes.resolve()
    shared = [a for a, b in zip(start.parts, target.parts, strict=False) if a == b]
    return Path(os.path.relpath(target, start)).as_posix() if len(shared) > 1 else ""


def _find_loco_run(run: Run) -> Run | None:
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
