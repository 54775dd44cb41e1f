"""Every table and figure of the paper, one file each: a run in, a frame out, Axes filled.

An analysis reads frozen out-of-fold ledgers and checkpoints; it never fits anything. It works on
any cohort, and adds the paper's values in columns `paper_…`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from epilens.analyses.columns import PAPER, Column, columns_of, with_paper
from epilens.analyses.result import AnalysisResult
from epilens.analyses.verdicts import Verdict
from epilens.core.errors import LedgerError
from epilens.core.registry import Registry
from epilens.evaluation.run import Run, open_run
from epilens.evaluation.scoring import RANKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Analysis:
    """One table or figure: how it is computed, drawn, and compared with the paper."""

    name: str
    title: str
    shows: str
    """Which table or figure of the paper it is, or where it comes from."""
    compute: Callable[[Run], pd.DataFrame | AnalysisResult]
    """A frame, or a result whose verdict or figure needs more than the frame."""
    claim: Callable[[pd.DataFrame], str | Verdict] = lambda frame: ""
    """What the frame says, where `compute` returns no verdict: a sentence, or a `Verdict` on what
    the paper claims."""
    needs: tuple[str, ...] = ()
    """Methods that must be in the ledger (of the leave-one-center-out run, if it reads that)."""
    reads: tuple[str, ...] = ()
    """What else it reads: `cubes`, `loco`."""
    keys: tuple[str, ...] = ()
    """Columns that identify a row of the paper."""
    paper: pd.DataFrame | None = None
    """The paper's values, named like the frame's columns."""
    formats: Mapping[str, str] = field(default_factory=dict)
    """Format specifications of columns; others: four digits, whole numbers as they are."""
    higher: tuple[str, ...] = ()
    """Columns in which the highest value is the best; pages mark it."""
    interval: str = ""
    """Column whose 95 % interval is in the columns `low` and `high`; pages print them together."""
    within: str = ""
    """Column whose values have a best row each, e.g. every center; empty: one best of all rows."""
    sorted_by: str = ""
    """Column by which pages sort the rows, highest first; empty: as they are."""
    wide: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    """The frame as the paper prints it, if different. The highest of its numbers are the best."""
    draw: Callable[[pd.DataFrame, Sequence[Axes]], None] | None = None
    """Fills as many Axes as it has panels; writes nothing."""
    panels: int = 1

    def columns(self, frame: pd.DataFrame) -> tuple[Column, ...]:
        """What each column of its frame contains."""
        return tuple(columns_of(frame, self.formats, self.higher))


ANALYSES: Registry[Analysis] = Registry("epilens.analyses", "analysis", "epilens.analyses")


def analyse(name: str, run: Run | str | Path) -> pd.DataFrame:
    """A registered analysis of a run, or of its folder, with the paper's values.

    An analysis whose methods, cubes or runs are missing is refused, with the command that adds
    them.

    Parameters
    ----------
    name : str
        A row of `epilens list analyses`.
    run : Run or path
        What `epilens run` wrote; `open_run` also takes cubes and the leave-one-center-out run.

    Returns
    -------
    DataFrame
        Numbers of this run, SDs over seeds in columns `…_sd`, the paper's in columns `paper_…`.

    Examples
    --------
    >>> from epilens.testing import make_run
    >>> sorted(analyse("reliability", make_run())["method"])
    ['logistic-z', 'rbf-svm']
    """
    return run_analysis(name, run if isinstance(run, Run) else open_run(run)).frame


def run_analysis(name: str, run: Run) -> AnalysisResult:
    """A registered analysis of a run: the frame of `analyse`, and what else pages need."""
    analysis = ANALYSES[name]
    check_needs(analysis, run)
    computed = analysis.compute(run)
    result = computed if isinstance(computed, AnalysisResult) else AnalysisResult(computed)
    frame = add_paper_values(result.frame, analysis)
    verdict = result.verdict or analysis.claim(frame)
    return replace(result, frame=frame, verdict=verdict, columns=analysis.columns(frame))


def check_needs(analysis: Analysis, run: Run) -> None:
    """Refuse, in one sentence, an analysis whose methods, cubes or runs are missing."""
    if "loco" in analysis.reads and run.loco is None:
        raise LedgerError(
            f"{analysis.name}: expected a leave-one-center-out run of the same cohort, found none. "
            "Make one with `epilens run loco --cubes CUBES`, or with a plan of your own that has "
            'splits.kind = "leave-one-center-out" and another name.'
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
            f"{analysis.name}: expected {', '.join(analysis.needs)} in {source.folder},"
            f" found no {', '.join(missing)}. Add them with `epilens run {source.folder}/plan.toml "
            f"--cubes CUBES --out {source.folder.parent} {only}`."
        )


def add_paper_values(frame: pd.DataFrame, analysis: Analysis) -> pd.DataFrame:
    """The frame with the paper's columns, each after its own; NaN where the paper has none."""
    if analysis.paper is None:
        return frame
    keys = list(analysis.keys)
    values = analysis.paper.rename(
        columns={name: PAPER + name for name in analysis.paper if name not in keys}
    )
    merged = frame.merge(values, on=keys, how="left", validate="m:1")
    return merged[with_paper(list(frame), [name for name in values if name not in keys])]


def sentence(result: AnalysisResult, run: Run) -> str:
    """Whether this cohort agrees with the paper, and what to know about its patients."""
    sentences = [str(result.verdict), _undefined(result.frame, run)]
    if run.simulated:
        sentences.append("Simulated patients: this is not clinical evidence.")
    return " ".join(filter(None, sentences))


def _undefined(frame: pd.DataFrame, run: Run) -> str:
    """State how many patients the ranking metrics of a frame leave out; empty if none."""
    patients = run.undefined_patients
    if not patients or not any(name in frame for name in RANKING):
        return ""
    verb = "patient has" if patients == 1 else "patients have"
    return f"{patients} {verb} EZ or NEZ contacts only; ranking metrics exclude them."
