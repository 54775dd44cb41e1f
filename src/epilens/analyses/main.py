"""The main comparison: every method on the same patients, folds and channels (Table 2)."""

from __future__ import annotations

import pandas as pd

from epilens.analyses import Analysis, AnalysisResult
from epilens.analyses.tables import best, by_method, paper_text, title_of, value_of, with_sd
from epilens.analyses.verdicts import (
    ClaimOutcome,
    Comparisons,
    Verdict,
    in_words,
    outcome_of,
    versus_best,
)
from epilens.evaluation.run import Run
from epilens.evaluation.scoring import summarise
from epilens.methods import METHODS
from epilens.plan import SHAFT

METRICS = ("macro_f1", "ez_f1", "nez_f1", "accuracy", "auroc")
BIAS = "ez_fraction_bias"
CLAIMED = {"macro_f1": "Macro-F1", "ez_f1": "EZ-F1", "auroc": "AUROC"}
"""Metrics in which the paper says that CDEL is highest."""

PAPER = paper_text(
    ["method", *with_sd(*METRICS), BIAS],
    """
logistic      .4910 .0000 .2740 .0000 .7080 .0000 .6690 .0000 .5930 .0000 +.0713
rbf-svm       .5020 .0026 .2830 .0034 .7210 .0025 .6800 .0029 .6080 .0003 +.0557
random-forest .4820 .0128 .3000 .0166 .6630 .0313 .6360 .0164 .5880 .0023 +.1203
lightgbm      .4890 .0000 .2640 .0000 .7130 .0000 .6670 .0000 .5940 .0000 +.0420
deepsets      .4862 .0171 .3060 .0073 .6664 .0413 .6522 .0327 .6300 .0138 +.0960
mlp-rank      .5753 .0072 .3446 .0011 .8060 .0133 .7136 .0157 .6380 .0079 -.0298
logistic-z    .6065 .0000 .3988 .0000 .8142 .0000 .7356 .0000 .6835 .0000 -.0138
rbf-svm-z     .5888 .0003 .3958 .0010 .7819 .0012 .7047 .0015 .6799 .0001 +.0541
seegnet       .4540 .0100 .0630 .0180 .8440 .0050 .7550 .0060 .6264 .0122 -.2020
timeconv-cnn  .4570 .0080 .0610 .0140 .8530 .0040 .7660 .0040 .5922 .0087 -.2083
clap          .4310 .0140 .0270 .0180 .8360 .0070 .7500 .0080 .5051 .0150 -.1995
seegformer    .4202 .0101 .1187 .0176 .7216 .0110 .7056 .0061 .6208 .0005 -.0261
prq           .6282 .0018 .4299 .0035 .8265 .0001 .7511 .0003 .7416 .0007 -.0097
bcr           .6248 .0024 .4303 .0083 .8192 .0063 .7443 .0042 .7392 .0034 +.0040
cdel          .6371 .0072 .4485 .0118 .8256 .0030 .7526 .0029 .7468 .0004 +.0034
""",
)


def compute(run: Run) -> AnalysisResult:
    """Metrics of all methods except ablations and richer inputs; those of the paper first.

    What is smoothed along shafts stands behind its row.
    """
    methods = [method for method in run.methods if "/" not in method.removesuffix(SHAFT)]
    ours = list(PAPER["method"])
    # Methods beyond the paper stand before its own three, like the other comparators.
    order = [*ours[:-3], *(m for m in methods if m not in ours), *ours[-3:]]
    order = [m for name in order if not name.endswith(SHAFT) for m in (name, name + SHAFT)]
    frame = by_method(run.scores, [m for m in order if m in methods], METRICS)
    bias = summarise(run.scores[run.scores["method"].isin(methods)]).set_index("method")[BIAS]
    frame[BIAS] = bias.loc[frame["method"]].to_numpy()
    frame.insert(2, "input", [_input(method) for method in frame["method"]])
    compared = run.scores[run.scores["method"].isin(ours)]
    comparisons = tuple(versus_best(compared, "cdel", metric) for metric in CLAIMED)
    return AnalysisResult(frame, claim(frame, comparisons), comparisons)


def _input(method: str) -> str:
    reads_cube = method not in METHODS or METHODS[method].input == "cube"
    return "Feature" if reads_cube else "Raw iEEG"


def claim(frame: pd.DataFrame, comparisons: Comparisons) -> Verdict:
    """Verdict on the claim that CDEL leads in three metrics and has the smallest absolute bias.

    Leading in all three without the smallest bias is not enough to agree. The paper's methods
    decide. The best of the others is named where it is higher than they are.
    """
    plain = frame[~frame["method"].str.endswith(SHAFT)]
    of_paper = plain["method"].isin(PAPER["method"])
    frame, others = plain[of_paper], plain[~of_paper]
    leaders = [best(frame, metric) for metric in CLAIMED]
    nearest = str(frame.loc[frame[BIAS].abs().idxmin(), "method"])
    highest = ". ".join(
        f"{name} is highest for {title_of(leader)} "
        f"({value_of(frame, column, method=leader):.3f}); {in_words(comparison)}"
        f"{_higher(others, column, value_of(frame, column, method=leader))}"
        for (column, name), leader, comparison in zip(
            CLAIMED.items(), leaders, comparisons, strict=True
        )
    )
    outcome = outcome_of(comparisons)
    if outcome is ClaimOutcome.AGREE and nearest != "cdel":
        outcome = ClaimOutcome.UNCLEAR
    absent = [title_of(m) for m in PAPER["method"] if m not in set(frame["method"])]
    without = f". Not in this run: {', '.join(absent)}" if absent else ""
    return Verdict(
        outcome,
        "CDEL is highest in Macro-F1 (0.637), EZ-F1 (0.449) and AUROC (0.747) and has the EZ-"
        "fraction bias closest to zero (+0.003)",
        f"of {len(frame)} methods of the paper, {highest}. The bias is closest to zero for "
        f"{title_of(nearest)}{without}",
    )


def _higher(others: pd.DataFrame, metric: str, value: float) -> str:
    """Name the best method that is not in the paper, if it is higher than the paper's best."""
    if not (others[metric] > value).any():
        return ""
    name = best(others, metric)
    number = value_of(others, metric, method=name)
    return f". {title_of(name)}, which is not in the paper, is higher ({number:.3f})"


ENTRIES = (
    Analysis(
        name="main",
        title="Comparison of methods: patient-equal means, SD over seeds",
        shows="Table 2",
        compute=compute,
        needs=("cdel",),
        keys=("method",),
        paper=PAPER,
        formats={BIAS: "+.4f"},
        higher=METRICS,
        sorted_by="macro_f1",
    ),
)
