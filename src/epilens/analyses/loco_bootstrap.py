"""Leave-one-center-out: how much the choice of patients matters (Table XI)."""

from __future__ import annotations

import pandas as pd

from epilens.analyses import Analysis, AnalysisResult
from epilens.analyses.figures import Panels, center_ticks, grouped_points
from epilens.analyses.intervals import add_t_intervals
from epilens.analyses.tables import CORE, naturally, paper_rows, title_of
from epilens.analyses.verdicts import (
    ClaimOutcome,
    Comparisons,
    Verdict,
    cdel_versus_best,
    centers_excluding_zero,
    outcome_of,
)
from epilens.evaluation.resampling import bootstrap, interval, patient_means
from epilens.evaluation.run import Run

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
    """Macro-F1 by center with 95 % intervals: seeds are averaged, then patients are drawn."""
    scores, rows, of_patients = run.loco_run.scores, [], []
    centers = naturally(scores["center"])
    for center in centers:
        for method in CORE:
            values = patient_means(scores[scores["center"] == center], method, "macro_f1")
            of_patients.append(values.to_numpy())
            low, high = interval(bootstrap(values.sort_index().to_numpy(), DRAWS))
            rows.append(
                (center, method, title_of(method), len(values), values.mean(), low, high, DRAWS)
            )
    columns = ["center", "method", "title", "patients", "macro_f1", "low", "high", "draws"]
    frame = add_t_intervals(pd.DataFrame(rows, columns=columns), of_patients)
    comparisons = cdel_versus_best(scores[scores["method"].isin(CORE)], "center", centers)
    return AnalysisResult(frame, claim(frame, comparisons), comparisons)


def draw(frame: pd.DataFrame, axes: Panels) -> None:
    """Macro-F1 with intervals, one group of points per center."""
    (ax,) = axes
    grouped_points(ax, frame, "center", "macro_f1", center_ticks(frame))
    ax.set(xlabel="center held out", ylabel="patient Macro-F1, 95 % bootstrap interval")


def claim(frame: pd.DataFrame, comparisons: Comparisons) -> Verdict:
    """Verdict on the claim that CDEL is highest in most centers, with wide intervals."""
    leaders = frame.loc[frame.groupby("center", sort=False)["macro_f1"].idxmax()]
    won = leaders.loc[leaders["method"] == "cdel", "center"].tolist()
    outcome = outcome_of(comparisons)
    # The paper's claim is one of point estimates, whose intervals overlap.
    if outcome is ClaimOutcome.UNCLEAR and len(won) >= max(1, len(leaders) - 1):
        outcome = ClaimOutcome.AGREE
    return Verdict(
        outcome,
        "CDEL has the highest point estimate in three of four held-out centers, all intervals "
        "overlapping",
        f"in {len(won)} of {len(leaders)} ({', '.join(won) or 'none'}); "
        + centers_excluding_zero(comparisons),
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
