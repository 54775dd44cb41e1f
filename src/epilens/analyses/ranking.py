"""Ranking of EZ channels without a threshold (Table IX, and the text on complementary ranking)."""

from __future__ import annotations

import pandas as pd

from epilens.analyses import Analysis, AnalysisResult
from epilens.analyses.columns import HEADINGS
from epilens.analyses.tables import CORE, best, by_method, paper_rows, with_sd
from epilens.analyses.verdicts import TOO_FEW, Comparisons, Verdict, outcome_of, usable, versus
from epilens.evaluation.resampling import Comparison
from epilens.evaluation.run import Run

METRICS = ("mrr_ez", "recall_at_k", "top1_ez", "ez_auprc", "ndcg_ez")

PAPER = paper_rows(
    ["method", *with_sd(*METRICS)],
    ("prq", 0.6944, 0.0079, 0.4795, 0.0131, 0.5792, 0.0191, 0.5304, 0.0083, 0.7615, 0.0050),
    ("bcr", 0.7663, 0.0098, 0.4928, 0.0129, 0.6667, 0.0191, 0.5564, 0.0112, 0.7859, 0.0091),
    ("cdel", 0.7427, 0.0125, 0.4899, 0.0141, 0.6417, 0.0315, 0.5475, 0.0038, 0.7765, 0.0009),
)


def compute(run: Run) -> AnalysisResult:
    """Ranking metrics of the three models; patients with one class only are left out."""
    frame = by_method(run.scores, CORE, METRICS)
    pairs = (("bcr", "cdel"), ("cdel", "prq"))
    comparisons = tuple(versus(run.scores, *pair, m) for m in METRICS for pair in pairs)
    return AnalysisResult(frame, claim(frame, comparisons), comparisons)


def claim(frame: pd.DataFrame, comparisons: Comparisons) -> Verdict:
    """Verdict on the claim that BCR-Net ranks best and CDEL between the two."""
    values = frame.set_index("method")
    leads = [metric for metric in METRICS if best(frame, metric) == "bcr"]
    between = [
        metric
        for metric in METRICS
        if values.loc["prq", metric] < values.loc["cdel", metric] < values.loc["bcr", metric]
    ]
    names = ", ".join(HEADINGS[metric] for metric in leads) or "none"
    return Verdict(
        outcome_of(comparisons),
        "BCR-Net ranks EZ channels best in all five metrics, CDEL second, PRQ-Net third",
        f"BCR-Net is best in {len(leads)} of {len(METRICS)} ({names}), CDEL lies between the two "
        f"in {len(between)}; {_beyond(usable(comparisons))}",
    )


def _beyond(compared: list[Comparison]) -> str:
    if not compared:
        return TOO_FEW
    along, against = sum(c.low > 0 for c in compared), sum(c.high < 0 for c in compared)
    return (
        f"of {len(compared)} differences between neighbours, {along} are in the paper's direction "
        f"and {against} against it with an interval that excludes zero"
    )


ENTRIES = (
    Analysis(
        name="ranking",
        title="Ranking of EZ channels",
        shows="Table IX",
        compute=compute,
        needs=CORE,
        keys=("method",),
        paper=PAPER,
        higher=METRICS,
    ),
)
