"""Out-of-fold Macro-F1 by center (Figure II): descriptive, no center is unseen here."""

from __future__ import annotations

import pandas as pd

from epilens.analyses import Analysis, AnalysisResult
from epilens.analyses.figures import Panels, center_ticks, grouped_points
from epilens.analyses.loco import METHODS
from epilens.analyses.tables import CORE, in_order, naturally, over_seeds, paper_rows, title_of
from epilens.analyses.verdicts import (
    Comparisons,
    Verdict,
    cdel_versus_best,
    centers_excluding_zero,
    outcome_of,
)
from epilens.evaluation.run import Run

# The values are only drawn in the paper; which method is best is said in its text.
PAPER = paper_rows(
    ["center", "method", "best"],
    *(
        (center, method, method == "cdel")
        for center in ("HUP", "Multi-site", "LZU", "Fudan")
        for method in METHODS
    ),
)


def compute(run: Run) -> AnalysisResult:
    """Mean and SD over seeds by center and method; `best` marks the highest in each center."""
    methods = [method for method in METHODS if method in run.methods]
    scores = run.scores[run.scores["method"].isin(methods)]
    frame = over_seeds(scores, ["center", "method"], ["macro_f1"])
    patients = scores.groupby("center")["patient"].nunique()
    frame.insert(2, "title", [title_of(method) for method in frame["method"]])
    frame.insert(3, "patients", patients.loc[frame["center"]].to_numpy())
    frame["best"] = frame["macro_f1"] == frame.groupby("center")["macro_f1"].transform("max")
    centers = naturally(frame["center"])
    frame = in_order(frame, center=centers, method=methods)
    comparisons = cdel_versus_best(scores, "center", centers)
    return AnalysisResult(frame, claim(frame, comparisons), comparisons)


def draw(frame: pd.DataFrame, axes: Panels) -> None:
    """Points by center, a ring around the best of each."""
    (ax,) = axes
    places = grouped_points(ax, frame, "center", "macro_f1", center_ticks(frame))
    for row in frame[frame["best"]].itertuples():
        x = places[row.center, row.method]
        ax.plot(x, row.macro_f1, "o", ms=11, mfc="none", mec="black", mew=0.8)
    ax.set(xlabel="center", ylabel="patient Macro-F1, mean and SD over seeds")


def claim(frame: pd.DataFrame, comparisons: Comparisons) -> Verdict:
    """Verdict on the claim that CDEL is best in every center."""
    leaders = frame[frame["best"]]
    won = leaders.loc[leaders["method"] == "cdel", "center"].tolist()
    centers = frame["center"].nunique()
    return Verdict(
        outcome_of(comparisons),
        "CDEL has the highest out-of-fold Macro-F1 in all four centers",
        f"in {len(won)} of {centers} ({', '.join(won) or 'none'}), {frame['method'].nunique()} "
        f"methods compared; {centers_excluding_zero(comparisons)}",
    )


ENTRIES = (
    Analysis(
        name="centers",
        title="Out-of-fold Macro-F1 by center",
        shows="Figure II",
        compute=compute,
        needs=CORE,
        keys=("center", "method"),
        paper=PAPER,
        formats={"patients": ".0f"},
        draw=draw,
    ),
)
