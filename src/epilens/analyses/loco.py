"""Leave-one-center-out: a center that no decision has seen (Table 5)."""

from __future__ import annotations

import pandas as pd

from epilens.analyses import Analysis, AnalysisResult
from epilens.analyses.tables import (
    CORE,
    as_columns,
    best,
    in_order,
    naturally,
    over_seeds,
    paper_rows,
    title_of,
    value_of,
)
from epilens.analyses.verdicts import Comparisons, Verdict, in_words, outcome_of, versus
from epilens.evaluation.run import Run
from epilens.plan import SHAFT

MEAN, WORST = "center mean", "worst center"
METHODS = ("rbf-svm", "timeconv-cnn", "logistic-z", *CORE)
"""Methods of the paper's table; others of the run follow them."""

_CENTERS = ("HUP", "Multi-site", "LZU", "Fudan", MEAN, WORST)
_TABLE = """
rbf-svm      .4872±.0012 .5080±.0004 .4399±.0026 .4516±.0000 .4717 .4399
timeconv-cnn .5015±.0087 .4816±.0395 .4696±.0139 .4568±.0422 .4774 .4568
logistic-z   .6181±.0000 .5956±.0000 .4995±.0000 .5830±.0000 .5741 .4995
prq          .6480±.0051 .6322±.0190 .5714±.0082 .6022±.0282 .6135 .5714
bcr          .6483±.0144 .6153±.0231 .5631±.0327 .5909±.0182 .6044 .5631
cdel         .6508±.0110 .6414±.0166 .5773±.0102 .5956±.0355 .6163 .5773
"""
PAPER = paper_rows(
    ["method", "center", "macro_f1", "macro_f1_sd"],
    *(
        (method, center, float(mean), float(sd or "nan"))
        for method, *cells in map(str.split, _TABLE.strip().splitlines())
        for center, cell in zip(_CENTERS, cells, strict=True)
        for mean, _, sd in [cell.partition("±")]
    ),
)


def compute(run: Run) -> AnalysisResult:
    """Macro-F1 by method and held-out center, their mean over centers, and the lowest."""
    loco = run.loco_run
    others = [m for m in loco.methods if m not in METHODS and "/" not in m.removesuffix(SHAFT)]
    methods = [m for m in (*METHODS[:-3], *others, *CORE) if m in loco.methods]
    scores = loco.scores[loco.scores["method"].isin(methods)]
    means = over_seeds(scores, ["method", "center"], ["macro_f1"])
    count = scores.groupby("center")["patient"].nunique().rename("patients").reset_index()
    means = in_order(means.merge(count, on="center"), center=naturally(count["center"]))
    rows = []
    for method in methods:
        part = means[means["method"] == method]
        together = {"macro_f1": part["macro_f1"].mean(), "patients": part["patients"].sum()}
        worst = part.loc[part["macro_f1"].idxmin(), ["macro_f1", "patients"]].to_dict()
        rows += part.to_dict("records")
        rows.append({"method": method, "center": MEAN} | together)
        rows.append({"method": method, "center": WORST} | worst)
    frame = pd.DataFrame(rows)
    frame.insert(1, "title", [title_of(method) for method in frame["method"]])
    frame = frame[["method", "title", "center", "patients", "macro_f1", "macro_f1_sd"]]
    comparisons = _compare_with_best(frame, scores)
    return AnalysisResult(frame, claim(frame, comparisons), comparisons)


def _compare_with_best(frame: pd.DataFrame, scores: pd.DataFrame) -> Comparisons:
    """CDEL minus the best other method of the paper, over all patients and in its worst center."""
    leaders = _leaders(frame[frame["method"] != "cdel"])
    own = frame[(frame["method"] == "cdel") & ~frame["center"].isin([MEAN, WORST])]
    in_lowest = scores[scores["center"] == own.loc[own["macro_f1"].idxmin(), "center"]]
    return (
        versus(scores, "cdel", leaders[MEAN], "macro_f1"),
        versus(in_lowest, "cdel", leaders[WORST], "macro_f1"),
    )


def _leaders(frame: pd.DataFrame) -> dict[str, str]:
    """The paper's best method on average and in the worst center."""
    frame = frame[frame["method"].isin(METHODS)]
    return {c: best(frame[frame["center"] == c], "macro_f1") for c in (MEAN, WORST)}


def wide(frame: pd.DataFrame) -> pd.DataFrame:
    """The table as the paper prints it: a row per method; centers, mean and worst as columns."""
    return as_columns(frame, ["method", "title"], "center", "macro_f1")


def claim(frame: pd.DataFrame, comparisons: Comparisons) -> Verdict:
    """Verdict on the claim that CDEL transfers best, on average and in the worst center."""
    frame = frame[frame["method"].isin(METHODS)]
    highest = ", ".join(
        f"{center} {value_of(frame, 'macro_f1', method=leader, center=center):.4f} "
        f"by {title_of(leader)}"
        for center, leader in _leaders(frame).items()
    )
    everywhere, worst = comparisons
    own = [value_of(frame, "macro_f1", method="cdel", center=center) for center in (MEAN, WORST)]
    return Verdict(
        outcome_of(comparisons),
        "CDEL has the highest Macro-F1 on average over held-out centers (0.6163) and in the worst "
        "one (0.5773)",
        f"highest are {highest} of {frame['method'].nunique()} methods of the paper; CDEL has "
        f"{own[0]:.4f} and {own[1]:.4f}; over all patients {in_words(everywhere)}; in its worst "
        f"center {in_words(worst)}",
    )


ENTRIES = (
    Analysis(
        name="loco",
        title="Leave-one-center-out: Macro-F1 on centers that no decision has seen",
        shows="Table 5",
        compute=compute,
        needs=CORE,
        reads=("loco",),
        keys=("method", "center"),
        paper=PAPER,
        formats={"patients": ".0f"},
        wide=wide,
        sorted_by=MEAN,
    ),
)
