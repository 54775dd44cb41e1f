"""Out-of-fold Macro-F1 by center (Figure II): descriptive, no center is unseen here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from epilens.analyses import Analysis
from epilens.analyses.figures import grouped_points, short_center
from epilens.analyses.loco import METHODS
from epilens.analyses.result import AnalysisResult
from epilens.analyses.tables import (
    CORE,
    in_order,
    naturally,
    over_seeds,
    paper_rows,
    title_of,
)
from epilens.analyses.verdicts import (
    FEWEST,
    TOO_FEW,
    Comparisons,
    Verdict,
    outcome_of,
    usable,
    verdict,
    versus_best,
)
from epilens.evaluation.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    comparisons = tuple(
        versus_best(scores[scores["center"] == center], "cdel", "macro_f1") for center in centers
    )
    return AnalysisResult(frame, claim(frame, comparisons), comparisons)


def draw(frame: pd.DataFrame, axes: Sequence[Axes]) -> None:
    """Points by center, a ring around the best of each."""
    (ax,) = axes
    counts = frame.groupby("center", sort=False)["patients"].first()
    names = [f"{short_center(center)}\nn = {n}" for center, n in counts.items()]
    grouped_points(ax, frame, "center", "macro_f1", names)
    methods = list(dict.fromkeys(frame["method"]))
    step, centers = min(0.2, 0.7 / len(methods)), list(counts.index)
    for row in frame[frame["best"]].itertuples():
        place = centers.index(row.center)
        place += (methods.index(row.method) - (len(methods) - 1) / 2) * step
        ax.plot(place, row.macro_f1, "o", ms=11, mfc="none", mec="black", mew=0.8)
    ax.set(xlabel="center", ylabel="patient Macro-F1, mean and SD over seeds")


def claim(frame: pd.DataFrame, comparisons: Comparisons) -> Verdict:
    """CDEL is best in every center."""
    leaders = frame[frame["best"]]
    won = leaders.loc[leaders["method"] == "cdel", "center"].tolist()
    centers = frame["center"].nunique()
    return verdict(
        outcome_of(comparisons),
        "CDEL has the highest out-of-fold Macro-F1 in all four centers",
        f"in {len(won)} of {centers} ({', '.join(won) or 'none'}), {frame['method'].nunique()} "
        f"methods compared; {_beyond(comparisons)}",
    )


def _beyond(comparisons: Comparisons) -> str:
    tested = usable(comparisons)
    if not tested:
        return f"in every center {TOO_FEW}"
    beyond = sum(c.low > 0 for c in tested)
    return (
        f"the interval over patients excludes zero in {beyond} of {len(tested)} with {FEWEST} "
        "patients or more"
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
