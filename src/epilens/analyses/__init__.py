"""Every table and figure of the paper, one file each: a run in, a frame out, Axes filled.

An analysis reads frozen out-of-fold ledgers and checkpoints; it never fits anything. It works on
any cohort, and puts what the paper reports beside its numbers, in columns `paper_…`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import xarray as xr

from epilens.errors import CubeError, LedgerError
from epilens.evaluation.ledger import read_ledger
from epilens.evaluation.scoring import score
from epilens.evidence.files import Cohort, open_cohort
from epilens.plan import Plan
from epilens.registry import Registry

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Run:
    """A finished run as an analysis reads it; files are read when they are asked for, once."""

    folder: Path
    cubes: Path | None = None
    """The cubes that it was made from, for what reads signals' descriptors again."""
    loco: Path | None = None
    """The leave-one-center-out run of the same cohort."""

    @cached_property
    def setting(self) -> dict[str, Any]:
        """Patients with their keys and centers, and digests: `run.json`."""
        return json.loads((self.folder / "run.json").read_text(encoding="utf-8"))

    @cached_property
    def plan(self) -> Plan:
        """The resolved plan."""
        return Plan.load(self.folder / "plan.toml")

    @cached_property
    def split(self) -> pd.DataFrame:
        """Fold, partition, patient."""
        return pd.read_csv(self.folder / "split.csv", dtype=str)

    @cached_property
    def ledger(self) -> pd.DataFrame:
        """All methods, checked."""
        return read_ledger(self.folder / "ledger.parquet")

    @cached_property
    def scores(self) -> pd.DataFrame:
        """One row per method, seed and test patient."""
        return score(self.ledger)

    @property
    def methods(self) -> list[str]:
        """Methods of the ledger, in its order."""
        return list(dict.fromkeys(self.ledger["method"]))

    @property
    def simulated(self) -> bool:
        """Whether its patients were simulated: their centers say so."""
        return any("(simulated)" in about["center"] for about in self.setting["patients"].values())

    @cached_property
    def cohort(self) -> Cohort:
        """The cubes."""
        return open_cohort(Path("?") if self.cubes is None else self.cubes)

    def cube(self, patient: str) -> xr.Dataset:
        """A patient's cube, if it is the one that the run was made from."""
        cube, known = self.cohort[patient], self.setting["patients"][patient]["key"]
        if cube.attrs.get("key") != known:
            raise CubeError(
                f"{self.cubes}: expected the cube of {patient} that {self.folder} was made from "
                f"(key {known}), found another one. Give the cubes of this run."
            )
        return cube

    @cached_property
    def loco_run(self) -> Run:
        """The leave-one-center-out run."""
        return Run(self.folder if self.loco is None else self.loco, self.cubes)


@dataclass(frozen=True)
class Analysis:
    """One table or figure: how it is computed, drawn, and held against the paper."""

    name: str
    title: str
    shows: str
    """Which table or figure of the paper it is."""
    compute: Callable[[Run], pd.DataFrame]
    claim: Callable[[pd.DataFrame], str]
    """One plain sentence: does this cohort agree with what the paper claims?"""
    needs: tuple[str, ...] = ()
    """Methods that must be in the ledger (of the leave-one-center-out run, if it reads that)."""
    reads: tuple[str, ...] = ()
    """What else it reads: `cubes`, `loco`."""
    keys: tuple[str, ...] = ()
    """Columns by which the paper's rows are found."""
    paper: pd.DataFrame | None = None
    """The paper's values, named like the frame's columns."""
    formats: Mapping[str, str] = field(default_factory=dict)
    """Format specifications of columns; others: four digits, whole numbers as they are."""
    draw: Callable[[pd.DataFrame, Sequence[Axes]], None] | None = None
    """Fills as many Axes as it has panels; writes nothing."""
    panels: int = 1


ANALYSES: Registry[Analysis] = Registry("epilens.analyses", "analysis", "epilens.analyses")


def open_run(
    folder: str | Path, cubes: str | Path | None = None, loco: str | Path | None = None
) -> Run:
    """A finished run, with the cubes and the leave-one-center-out run that belong to it.

    If they are not given: the cubes are looked for where the run found them, the other run beside.
    """
    folder = Path(folder)
    _check_finished(folder)
    run = Run(folder)
    found = _beside(run) if loco is None else Path(loco)
    known = _remembered(run) if cubes is None else Path(cubes)
    if found is not None:
        _check_finished(found)
        if Run(found).setting["cohort_digest"] != run.setting["cohort_digest"]:
            raise LedgerError(
                f"{found}: expected the cohort of {folder}, found another one. Run leave-one-"
                "center-out on the same cubes."
            )
    return Run(folder, known, found)


def _remembered(run: Run) -> Path | None:
    """Where the cubes were when the run was made, if they still are there."""
    told = run.setting.get("cubes")
    return Path(told) if told and Path(told).is_dir() else None


_FILES = ("run.json", "plan.toml", "split.csv", "ledger.parquet")


def _check_finished(folder: Path) -> None:
    for name in _FILES:
        if not (folder / name).exists():
            raise LedgerError(
                f"{folder}: expected a finished run with {name}, found none. Make or finish it "
                "with `epilens run`."
            )


def _beside(run: Run) -> Path | None:
    """A finished leave-one-center-out run of the same cohort in the same folder of runs."""
    for path in sorted(run.folder.resolve().parent.glob("*/run.json")):
        if (
            not (path.parent / "ledger.parquet").exists()
            or not (path.parent / "plan.toml").exists()
        ):
            continue
        other = Run(path.parent)
        if other.setting.get("cohort_digest") == run.setting["cohort_digest"] and is_loco(other):
            return path.parent
    return None


def is_loco(run: Run) -> bool:
    """Whether a run holds out one center at a time."""
    return run.plan.splits.kind == "leave-one-center-out"


def analyse(name: str, run: Run | str | Path) -> pd.DataFrame:
    """A registered analysis of a run, or of its folder, with the paper's values beside its own.

    What it needs and is not there is refused, with the command that makes it.
    """
    analysis = ANALYSES[name]
    run = run if isinstance(run, Run) else open_run(run)
    check_needs(analysis, run)
    return beside_paper(analysis.compute(run), analysis)


def check_needs(analysis: Analysis, run: Run) -> None:
    """Refuse, in one sentence, an analysis whose methods, cubes or runs are not there."""
    if "loco" in analysis.reads and run.loco is None:
        raise LedgerError(
            f"{analysis.name}: expected a leave-one-center-out run of the same cohort, found none. "
            'Make one with `epilens run PLAN --cubes CUBES`, the plan having splits.kind = "leave-'
            'one-center-out" and another name.'
        )
    if "cubes" in analysis.reads and run.cubes is None:
        raise LedgerError(
            f"{analysis.name}: expected the cubes that {run.folder} was made from, found none "
            "given. Add --cubes CUBES; `epilens describe` writes them."
        )
    source = run.loco_run if "loco" in analysis.reads else run
    missing = [method for method in analysis.needs if method not in source.methods]
    if missing:
        only = " ".join(f"--only {method}" for method in missing)
        raise LedgerError(
            f"{analysis.name}: expected the methods {', '.join(analysis.needs)} in {source.folder},"
            f" found no {', '.join(missing)}. Add them with `epilens run {source.folder}/plan.toml "
            f"--cubes CUBES --out {source.folder.parent} {only}`."
        )


def beside_paper(frame: pd.DataFrame, analysis: Analysis) -> pd.DataFrame:
    """The frame with the paper's columns, each behind its own; NaN where the paper has none."""
    if analysis.paper is None:
        return frame
    keys = list(analysis.keys)
    values = analysis.paper.rename(
        columns={name: f"paper_{name}" for name in analysis.paper if name not in keys}
    )
    merged = frame.merge(values, on=keys, how="left", validate="m:1")
    merged.attrs = frame.attrs
    return merged[_in_order(list(frame), [name for name in values if name not in keys])]


def _in_order(own: list[str], paper: list[str]) -> list[str]:
    """Each column of the paper behind the column, and its SD, that it belongs to."""
    order: list[str] = []
    for name in own:
        order.append(name)
        if f"{name}_sd" not in own:
            base = f"paper_{name.removesuffix('_sd')}"
            order += [other for other in (base, f"{base}_sd") if other in paper]
    return order + [name for name in paper if name not in order]


def sentence(name: str, frame: pd.DataFrame, run: Run) -> str:
    """Whether this cohort agrees with the paper, and what that is worth."""
    text = ANALYSES[name].claim(frame)
    return f"{text} Simulated patients: this proves nothing clinical." if run.simulated else text
