"""Every table and figure of the paper, one file each: a run in, a frame out, Axes filled.

An analysis reads frozen out-of-fold ledgers and checkpoints; it never fits anything. It works on
any cohort, and puts what the paper reports beside its numbers, in columns `paper_…`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from epilens.analyses.verdicts import Outcome, Verdict
from epilens.core.errors import LedgerError
from epilens.core.registry import Registry
from epilens.evaluation.run import Run, open_run

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Analysis:
    """One table or figure: how it is computed, drawn, and held against the paper."""

    name: str
    title: str
    shows: str
    """Which table or figure of the paper it is, or where it comes from."""
    compute: Callable[[Run], pd.DataFrame]
    claim: Callable[[pd.DataFrame], str | Verdict] = lambda frame: ""
    """What the frame says; a `Verdict` where the paper claims something that it can be held to."""
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
    higher: tuple[str, ...] = ()
    """Columns in which the highest is the best, which pages mark; the first one sorts the rows if
    the paper's order has no meaning of its own (`sorted_by`)."""
    within: str = ""
    """Column whose values have a best row each, e.g. every center; empty: one best of all rows."""
    sorted_by: str = ""
    """Column by which pages sort the rows, highest first; empty: as they are."""
    wide: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    """The frame as the paper prints it, where that is not as it is computed. Of its numbers the
    highest are the best."""
    draw: Callable[[pd.DataFrame, Sequence[Axes]], None] | None = None
    """Fills as many Axes as it has panels; writes nothing."""
    panels: int = 1


ANALYSES: Registry[Analysis] = Registry("epilens.analyses", "analysis", "epilens.analyses")


def analyse(name: str, run: Run | str | Path) -> pd.DataFrame:
    """A registered analysis of a run, or of its folder, with the paper's values beside its own.

    What it needs and is not there is refused, with the command that makes it.

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


def outcome(name: str, frame: pd.DataFrame) -> Outcome | None:
    """How this cohort stands to what the paper claims; None: it claims nothing."""
    claim = ANALYSES[name].claim(frame)
    return claim.outcome if isinstance(claim, Verdict) else None


def sentence(name: str, frame: pd.DataFrame, run: Run) -> str:
    """Whether this cohort agrees with the paper, and what that is worth."""
    text = str(ANALYSES[name].claim(frame))
    note = "Simulated patients: this proves nothing clinical."
    return f"{text} {note}".lstrip() if run.simulated else text
