"""Leave-one-center-out: how much the choice of patients matters (Table XI)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from epilens.analyses import Analysis
from epilens.analyses.figures import legend_above, short_center, style_of
from epilens.analyses.intervals import add_t_intervals
from epilens.analyses.result import AnalysisResult
from epilens.analyses.tables import CORE, naturally, paper_rows, title_of
from epilens.analyses.verdicts import (
    FEWEST,
    TOO_FEW,
    ClaimOutcome,
    Comparisons,
    Verdict,
    outcome_of,
    usable,
    verdict,
    versus_best,
)
from epilens.evaluation.resampling import bootstrap, interval, patient_means
from epilens.evaluation.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DRAWS = 2000

PAPER = paper_rows(
    ["center", "method", "macro_f1", "low", "high"],
    ("HUP", "prq", 0.6480, 0.6054, 0.6913),
    ("HUP", "bcr", 0.6483, 0.6068, 0.6888),
    ("HUP", "cdel", 0.6508, 0.6079, 0.6943),
    ("Multi-site", "prq", 0.6322, 0.5720, 0.6978),
    ("Multi-site", "bcr", 0.6153, 0.5340, 0.6912),
    ("Multi-site", "cdel", 0.6414, 0.5722, 0.7116),
    ("LZU", "prq", 0.5714, 0.5309, 0.6120),
    ("LZU", "bcr", 0.5631, 0.5266, 0.6000),
    ("LZU", "cdel", 0.5773, 0.5365, 0.6176),
    ("Fudan", "prq", 0.6022, 0.5198, 0.6857),
    ("Fudan", "bcr", 0.5909, 0.5062, 0.6737),
    ("Fudan", "cdel", 0.5956, 0.5184, 0.6713),
)


def compute(run: Run) -> AnalysisResult:
    """Seeds averaged within patients, then patients of each center drawn; 95 % intervals."""
    scores, rows, of_patients = run.loco_run.scores, [], []
    for center in naturally(scores["center"]):
        for method in CORE:
            values = patient_means(scores[scores["center"] == center], method, "macro_f1")
            of_patients.append(values.to_numpy())
            low, high = interval(bootstrap(values.sort_index().to_numpy(), DRAWS))
            rows.append(
                (center, method, title_of(method), len(values), values.mean(), low, high, DRAWS)
            )
    columns = ["center", "method", "title", "patients", "macro_f1", "low", "high", "draws"]
    frame = add_t_intervals(pd.DataFrame(rows, columns=columns), of_patients)
    core = scores[scores["method"].isin(CORE)]
    comparisons = tuple(
        versus_best(core[core["center"] == center], "cdel", "macro_f1")
        for center in naturally(scores["center"])
    )
    return AnalysisResult(frame, claim(frame, comparisons), comparisons)


def draw(frame: pd.DataFrame, axes: Sequence[Axes]) -> None:
    """Macro-F1 with intervals, one group of points per center."""
    (ax,) = axes
    centers = list(dict.fromkeys(frame["center"]))
    for place, method in enumerate(CORE):
        rows = frame[frame["method"] == method]
        ax.errorbar(
            [centers.index(center) + (place - 1) * 0.2 for center in rows["center"]],
            rows["macro_f1"],
            yerr=[rows["macro_f1"] - rows["low"], rows["high"] - rows["macro_f1"]],
            ls="none",
            ms=5,
            lw=1.2,
            capsize=2,
            label=title_of(method),
            **style_of(method),
        )
    counts = frame.groupby("center")["patients"].first()
    names = [f"{short_center(center)}\nn = {counts[center]}" for center in centers]
    ax.set_xticks(range(len(centers)), names)
    ax.set_xlim(-0.5, len(centers) - 0.5)
    ax.set(xlabel="center held out", ylabel="patient Macro-F1, 95 % bootstrap interval")
    legend_above(ax)


def claim(frame: pd.DataFrame, comparisons: Comparisons) -> Verdict:
    """CDEL has the highest estimate in most centers, with wide intervals."""
    leaders = frame.loc[frame.groupby("center", sort=False)["macro_f1"].idxmax()]
    won = leaders.loc[leaders["method"] == "cdel", "center"].tolist()
    outcome = outcome_of(comparisons)
    # The paper's claim is one of point estimates, whose intervals overlap.
    if outcome is ClaimOutcome.UNCLEAR and len(won) >= max(1, len(leaders) - 1):
        outcome = ClaimOutcome.AGREE
    return verdict(
        outcome,
        "CDEL has the highest point estimate in three of four held-out centers, all intervals "
        "overlapping",
        f"in {len(won)} of {len(leaders)} ({', '.join(won) or 'none'}); {_beyond(comparisons)}",
    )


def _beyond(comparisons: Comparisons) -> str:
    tested = usable(comparisons)
    if not tested:
        return f"in every center {TOO_FEW}"
    apart = sum(not c.low <= 0 <= c.high for c in tested)
    return (
        f"the interval of its difference from the best of the others excludes zero in "
        f"{apart} of {len(tested)} with {FEWEST} patients or more"
    )


ENTRIES = (
    Analysis(
        name="loco-bootstrap",
        title=f"Leave-one-center-out: patient bootstrap, {DRAWS:,} draws",
        shows="Table XI",
        compute=compute,
        needs=CORE,
        reads=("loco",),
        keys=("center", "method"),
        paper=PAPER,
        higher=("macro_f1",),
        within="center",
        formats={"patients": ".0f", "draws": ".0f"},
        interval="macro_f1",
        draw=draw,
    ),
)
