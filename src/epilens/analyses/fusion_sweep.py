"""CDEL over the weight of BCR-Net (Figure 3 a): post hoc robustness, nothing is chosen by it."""

from __future__ import annotations

import pandas as pd

from epilens.analyses import Analysis, AnalysisResult
from epilens.analyses.figures import Panels, legend_inside
from epilens.analyses.tables import over_seeds, paper_rows, value_of
from epilens.analyses.verdicts import Comparisons, Verdict, in_words, outcome_of, versus
from epilens.core.decisions import LOCKED_WEIGHT
from epilens.evaluation.ledger import fuse
from epilens.evaluation.run import Run
from epilens.evaluation.scoring import score

WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)
METRICS = ("macro_f1", "ez_f1", "ez_auprc", "ndcg_ez")

# The sweep itself is only drawn in the paper; its ends are PRQ-Net and BCR-Net alone.
PAPER = paper_rows(
    ["weight", "macro_f1", "macro_f1_sd", "ez_f1", "ez_f1_sd"],
    (0.0, 0.6282, 0.0018, 0.4299, 0.0035),
    (0.2, 0.6371, 0.0072, 0.4485, 0.0118),
    (1.0, 0.6248, 0.0024, 0.4303, 0.0083),
)


def compute(run: Run) -> AnalysisResult:
    """Mean, SD and range over seeds; each weight has its thresholds from validation patients."""
    ledger = run.ledger
    prq, bcr = (ledger[ledger["method"] == name] for name in ("prq", "bcr"))
    scores = pd.concat(
        [score(fuse(prq, bcr, weight)).assign(weight=weight) for weight in WEIGHTS],
        ignore_index=True,
    )
    frame = over_seeds(scores, ["weight"], METRICS)
    per_seed = scores.groupby(["weight", "seed"])["macro_f1"].mean().groupby("weight")
    frame["macro_f1_lowest"] = per_seed.min().to_numpy()
    frame["macro_f1_highest"] = per_seed.max().to_numpy()
    named = scores.assign(method="λ = " + scores["weight"].map("{:g}".format))
    ends = ("λ = 0", "λ = 1")
    comparisons = tuple(versus(named, "λ = 0.2", end, "macro_f1") for end in ends)
    return AnalysisResult(frame, claim(frame, comparisons), comparisons)


def draw(frame: pd.DataFrame, axes: Panels) -> None:
    """Mean and range over seeds; even steps, because the weights are not evenly spaced."""
    (ax,) = axes
    places = range(len(frame))
    low, high = frame["macro_f1_lowest"], frame["macro_f1_highest"]
    ax.fill_between(places, low, high, color="0.85", lw=0, label="range over seeds")
    ax.plot(places, frame["macro_f1"], "o-", color="black", ms=4, lw=1.2, label="mean over seeds")
    locked = frame["weight"].tolist().index(LOCKED_WEIGHT)
    rule = f"λ = {LOCKED_WEIGHT:g}, locked before test"
    ax.axvline(locked, ls=":", lw=1, color="0.3", label=rule)
    ax.set_xticks(list(places), [f"{weight:g}" for weight in frame["weight"]])
    ax.set(xlabel="weight λ of BCR-Net", ylabel="patient Macro-F1")
    legend_inside(ax)


def claim(frame: pd.DataFrame, comparisons: Comparisons) -> Verdict:
    """Verdict on the claim that the locked weight beats both branches alone."""
    alone, locked, other = (value_of(frame, "macro_f1", weight=w) for w in (0.0, 0.2, 1.0))
    return Verdict(
        outcome_of(comparisons),
        "at the locked weight 0.2, Macro-F1 (0.6371) exceeds PRQ-Net's (0.6282) and BCR-Net's "
        "(0.6248)",
        f"{locked:.4f} against {alone:.4f} and {other:.4f}; "
        f"{'; '.join(in_words(c, 4) for c in comparisons)}",
    )


ENTRIES = (
    Analysis(
        name="fusion-sweep",
        title="CDEL over the weight of BCR-Net",
        shows="Figure 3 (a)",
        compute=compute,
        needs=("prq", "bcr"),
        keys=("weight",),
        paper=PAPER,
        formats={"weight": "g"},
        higher=METRICS,
        draw=draw,
    ),
)
