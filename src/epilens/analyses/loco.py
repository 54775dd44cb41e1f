"""Leave-one-center-out: a center that no decision has seen (Table 5)."""

from __future__ import annotations

import pandas as pd

from epilens.analyses import Analysis
from epilens.analyses.result import AnalysisResult
from epilens.analyses.tables import (
    CORE,
    in_order,
    naturally,
    over_seeds,
    paper_text,
    title_of,
    value_of,
)
from epilens.analyses.verdicts import (
    Comparisons,
    Verdict,
    in_words,
    outcome_of,
    verdict,
    versus,
)
from epilens.evaluation.run import Run
from epilens.plan import SHAFT

MEAN, WORST = "center mean", "worst center"
METHODS = ("rbf-svm", "timeconv-cnn", "logistic-z", *CORE)
"""Those of the paper's table; others of the run follow them."""

_PAPER = paper_text(
    ["method", "HUP", "s", "Multi-site", "s", "LZU", "s", "Fudan", "s", MEAN, WORST],
    """
rbf-svm    .4872 .0012 .5080 .0004 .4399 .0026 .4516 .0000 .4717 .4399
timeconv-cnn .5015 .0087 .4816 .0395 .4696 .0139 .4568 .0422 .4774 .4568
logistic-z .6181 .0000 .5956 .0000 .4995 .0000 .5830 .0000 .5741 .4995
prq        .6480 .0051 .6322 .0190 .5714 .0082 .6022 .0282 .6135 .5714
bcr        .6483 .0144 .6153 .0231 .5631 .0327 .5909 .0182 .6044 .5631
cdel       .6508 .0110 .6414 .0166 .5773 .0102 .5956 .0355 .6163 .5773
""",
)


def _long(table: pd.DataFrame) -> pd.DataFrame:
    """The paper's wide table as one row per method and center."""
    rows = []
    for _, row in table.iterrows():
        method, *numbers = row.tolist()
        for place, center in enumerate(("HUP", "Multi-site", "LZU", "Fudan")):
            rows.append((method, center, numbers[2 * place], numbers[2 * place + 1]))
        rows += [(method, MEAN, numbers[8], None), (method, WORST, numbers[9], None)]
    frame = pd.DataFrame(rows, columns=["method", "center", "macro_f1", "macro_f1_sd"])
    return frame.astype({"macro_f1_sd": float})


PAPER = _long(_PAPER)


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
        extra = [{"method": method, "center": MEAN} | together]
        extra.append({"method": method, "center": WORST} | worst)
        rows += [*part.to_dict("records"), *extra]
    frame = pd.DataFrame(rows)
    frame.insert(1, "title", [title_of(method) for method in frame["method"]])
    frame = frame[["method", "title", "center", "patients", "macro_f1", "macro_f1_sd"]]
    comparisons = _compare_with_best(frame, scores)
    return AnalysisResult(frame, claim(frame, comparisons), comparisons)


def _compare_with_best(frame: pd.DataFrame, scores: pd.DataFrame) -> Comparisons:
    """CDEL minus the best other method, over all patients and in CDEL's worst center."""
    others = frame[(frame["method"] != "cdel") & ~frame["method"].str.endswith(SHAFT)]
    rows_of = {center: others[others["center"] == center] for center in (MEAN, WORST)}
    best = {c: str(rows.loc[rows["macro_f1"].idxmax(), "method"]) for c, rows in rows_of.items()}
    own = frame[(frame["method"] == "cdel") & ~frame["center"].isin([MEAN, WORST])]
    lowest = own.loc[own["macro_f1"].idxmin(), "center"]
    in_lowest = scores[scores["center"] == lowest]
    return (
        versus(scores, "cdel", best[MEAN], "macro_f1"),
        versus(in_lowest, "cdel", best[WORST], "macro_f1"),
    )


def wide(frame: pd.DataFrame) -> pd.DataFrame:
    """As the paper prints it: a row per method, centers as columns, then their mean and worst."""
    centers = list(dict.fromkeys(frame["center"]))
    columns = ["macro_f1", "macro_f1_sd", "paper_macro_f1", "paper_macro_f1_sd"]
    rows = []
    for method, part in frame.groupby("method", sort=False):
        part = part.set_index("center")
        row = {"method": method, "title": part["title"].iloc[0]}
        for center in centers:
            for column in columns:
                before = "paper_" if column.startswith("paper_") else ""
                after = "_sd" if column.endswith("_sd") else ""
                value = part[column].get(center) if column in part else None
                row[f"{before}{center}{after}"] = value
        rows.append(row)
    return pd.DataFrame(rows)


def claim(frame: pd.DataFrame, comparisons: Comparisons) -> Verdict:
    """CDEL transfers best, on average and in the worst center; among rows as they are."""
    frame = frame[~frame["method"].str.endswith(SHAFT)]
    leaders = {}
    for center in (MEAN, WORST):
        rows = frame[frame["center"] == center]
        leaders[center] = str(rows.loc[rows["macro_f1"].idxmax(), "method"])
    here = ", ".join(
        f"{center} {value_of(frame, 'macro_f1', method=leader, center=center):.4f} "
        f"by {title_of(leader)}"
        for center, leader in leaders.items()
    )
    everywhere, worst = comparisons
    own = [value_of(frame, "macro_f1", method="cdel", center=center) for center in (MEAN, WORST)]
    return verdict(
        outcome_of(comparisons),
        "CDEL has the highest Macro-F1 on average over held-out centers (0.6163) and in the worst "
        "one (0.5773)",
        f"highest are {here} of {frame['method'].nunique()} methods; CDEL has {own[0]:.4f} and "
        f"{own[1]:.4f}; over all patients {in_words(everywhere)}; in its worst center "
        f"{in_words(worst)}",
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
