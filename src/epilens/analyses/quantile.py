"""Sensitivity of PRQ-Net to the lower-tail quantile (Table VII)."""

from __future__ import annotations

import pandas as pd

from epilens.analyses import Analysis, AnalysisResult
from epilens.analyses.tables import by_method, paper_rows, with_sd
from epilens.analyses.verdicts import (
    TOO_FEW,
    ClaimOutcome,
    Comparisons,
    Verdict,
    in_words,
    usable,
    versus,
)
from epilens.evaluation.resampling import Comparison
from epilens.evaluation.run import Run

METRICS = ("macro_f1", "ez_f1", "accuracy", "auroc", "ez_auprc")
QUANTILES = {"prq/q05": 0.05, "prq": 0.10, "prq/q20": 0.20}

PAPER = paper_rows(
    ["quantile", *with_sd(*METRICS)],
    (0.05, 0.6271, 0.0019, 0.4276, 0.0023, 0.7508, 0.0015, 0.7416, 0.0007, 0.5304, 0.0083),
    (0.10, 0.6282, 0.0018, 0.4299, 0.0035, 0.7511, 0.0003, 0.7416, 0.0007, 0.5304, 0.0083),
    (0.20, 0.6272, 0.0019, 0.4277, 0.0024, 0.7508, 0.0015, 0.7416, 0.0007, 0.5304, 0.0083),
)
LARGEST_CHANGE = 0.0011
"""Largest change of Macro-F1 between quantiles in the paper."""


def compute(run: Run) -> AnalysisResult:
    """Metrics of PRQ-Net with Q05, Q10 and Q20, each trained from scratch."""
    frame = by_method(run.scores, tuple(QUANTILES), METRICS).drop(columns="title")
    frame.insert(0, "quantile", frame["method"].map(QUANTILES))
    frame = frame.drop(columns="method")
    others = [method for method in QUANTILES if method != "prq"]
    comparisons = tuple(versus(run.scores, m, "prq", "macro_f1") for m in others)
    return AnalysisResult(frame, claim(frame, comparisons), comparisons)


def claim(frame: pd.DataFrame, comparisons: Comparisons) -> Verdict:
    """Verdict on the claim that changing the quantile changes less than the seed does."""
    macro = frame.set_index("quantile")["macro_f1"]
    change = float((macro - macro[0.10]).abs().max())
    compared = usable(comparisons)
    return Verdict(
        _outcome(compared),
        f"Macro-F1 stays within {LARGEST_CHANGE} of Q10, less than one SD over seeds",
        f"it stays within {change:.4f}; {'; '.join(in_words(c, 4) for c in compared) or TOO_FEW}",
    )


def _outcome(compared: list[Comparison]) -> ClaimOutcome:
    """Outcome of "it hardly matters": changes are as small as the paper's, larger, or undecided."""
    if not compared:
        return ClaimOutcome.NOT_COMPARABLE
    larger = [c for c in compared if round(abs(c.estimate), 4) > LARGEST_CHANGE]
    if any(not c.low <= 0 <= c.high for c in larger):
        return ClaimOutcome.DIFFER
    return ClaimOutcome.UNCLEAR if larger else ClaimOutcome.AGREE


ENTRIES = (
    Analysis(
        name="quantile",
        title="Sensitivity to the lower-tail quantile of PRQ-Net",
        shows="Table VII",
        compute=compute,
        needs=tuple(QUANTILES),
        keys=("quantile",),
        paper=PAPER,
        formats={"quantile": ".2f"},
        higher=METRICS,
    ),
)
