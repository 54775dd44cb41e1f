"""BCR-Net's scores shuffled within patients (Figure 3 b): structure, or smoothing?"""

from __future__ import annotations

from math import isnan

import pandas as pd

from epilens.analyses import Analysis, AnalysisResult
from epilens.analyses.columns import HEADINGS
from epilens.analyses.figures import Panels, legend_inside
from epilens.analyses.tables import CORE, paper_rows
from epilens.analyses.verdicts import ClaimOutcome, Verdict
from epilens.evaluation.resampling import permute_within_patients
from epilens.evaluation.run import Run
from epilens.evaluation.scoring import METRICS

PERMUTATIONS = 1000

PAPER = paper_rows(["metric", "observed", "null_mean", "p"], ("macro_f1", 0.6371, 0.6068, 0.001))


def compute(run: Run) -> AnalysisResult:
    """One row per metric; the figure has every value of the null too.

    p is one-sided and corrected: (1 + k)/(1 + n), k of n shuffles being at least as good.
    """
    permutation = permute_within_patients(run.ledger, PERMUTATIONS)
    rows = [
        {
            "metric": metric,
            "observed": permutation.observed[metric],
            "null_mean": null.mean(),
            "null_mean_sd": null.std(ddof=1),
            "null_highest": null.max(),
            "p": permutation.p(metric),
            "permutations": len(null),
        }
        for metric, null in ((metric, permutation.null[metric]) for metric in METRICS)
    ]
    frame = pd.DataFrame(rows)
    null = pd.DataFrame(permutation.null).melt(var_name="metric", value_name="null")
    return AnalysisResult(frame, claim(frame), figure=frame.merge(null, on="metric"))


def draw(frame: pd.DataFrame, axes: Panels) -> None:
    """Histogram of the null of Macro-F1, and where CDEL is."""
    (ax,) = axes
    macro = frame[frame["metric"] == "macro_f1"]
    null, observed, p = macro["null"].tolist(), macro["observed"].iloc[0], macro["p"].iloc[0]
    ax.hist(null, bins=30, color="0.8", edgecolor="0.4", lw=0.4)
    mean = sum(null) / len(null)
    ax.axvline(mean, color="0.3", lw=1, ls="--", label=f"mean of the null: {mean:.4f}")
    ax.axvline(observed, color="black", lw=1.5, label=f"CDEL: {observed:.4f}, p = {p:.3f}")
    ax.set_ylim(0, 1.35 * ax.get_ylim()[1])  # room for the legend above the bars
    ax.set(xlabel="patient Macro-F1, BCR-Net shuffled", ylabel="permutations")
    ax.locator_params(axis="x", nbins=5)
    legend_inside(ax, loc="upper left")


def claim(frame: pd.DataFrame) -> Verdict:
    """Verdict on the claim that CDEL needs BCR-Net's own order of channels."""
    row = frame.set_index("metric").loc["macro_f1"]
    also = [HEADINGS[m] for m in frame.loc[frame["p"] < 0.05, "metric"] if m != "macro_f1"]
    return Verdict(
        _outcome(float(row["p"])),
        "shuffling BCR-Net within patients lowers Macro-F1 from 0.6371 to 0.6068 on average, p = "
        "0.001",
        f"from {row['observed']:.4f} to {row['null_mean']:.4f}, p = {row['p']:.3f}; of the other "
        f"metrics, p is below 0.05 for {', '.join(also) or 'none'}",
    )


def _outcome(p: float) -> ClaimOutcome:
    """Outcome from one-sided p values: near 1, the shuffled scores would be the better ones."""
    if isnan(p):
        return ClaimOutcome.NOT_COMPARABLE
    if p < 0.05:
        return ClaimOutcome.AGREE
    return ClaimOutcome.DIFFER if p > 0.95 else ClaimOutcome.UNCLEAR


ENTRIES = (
    Analysis(
        name="permutation",
        title=f"CDEL with BCR-Net shuffled within patients, {PERMUTATIONS:,} times",
        shows="Figure 3 (b)",
        compute=compute,
        needs=CORE,
        keys=("metric",),
        paper=PAPER,
        formats={"permutations": ".0f", "p": ".3f"},
        draw=draw,
    ),
)
