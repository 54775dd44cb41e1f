"""Component ablation: nine variants of PRQ-Net and BCR-Net (Table 3)."""

from __future__ import annotations

import pandas as pd

from epilens.analyses import Analysis, AnalysisResult
from epilens.analyses.tables import by_method, paper_rows, title_of, value_of, with_sd
from epilens.analyses.verdicts import Comparisons, Verdict, in_words, outcome_of, versus
from epilens.evaluation.run import Run

METRICS = ("macro_f1", "accuracy", "auroc")

PAPER = paper_rows(
    ["method", *with_sd(*METRICS)],
    ("prq/base", 0.6267, 0.0048, 0.7434, 0.0038, 0.7403, 0.0030),
    ("prq/temporal", 0.6261, 0.0040, 0.7469, 0.0015, 0.7414, 0.0003),
    ("prq", 0.6282, 0.0018, 0.7511, 0.0003, 0.7416, 0.0007),
    ("prq/absolute", 0.5550, 0.0265, 0.6985, 0.0245, 0.7479, 0.0025),
    ("bcr/base", 0.6207, 0.0043, 0.7408, 0.0040, 0.7403, 0.0022),
    ("bcr/q10", 0.6227, 0.0030, 0.7349, 0.0062, 0.7402, 0.0018),
    ("bcr/boundary", 0.6268, 0.0019, 0.7480, 0.0025, 0.7371, 0.0050),
    ("bcr/coverage", 0.6198, 0.0060, 0.7386, 0.0058, 0.7369, 0.0048),
    ("bcr", 0.6248, 0.0024, 0.7443, 0.0042, 0.7392, 0.0034),
)
VARIANTS = tuple(PAPER["method"])


def compute(run: Run) -> AnalysisResult:
    """Metrics of the nine variants, each trained from scratch on the same folds and seeds."""
    frame = by_method(run.scores, VARIANTS, METRICS)
    rest = [m for m in VARIANTS if m.startswith("prq/") and m != "prq/absolute"]
    lowest = frame[frame["method"].isin(rest)].set_index("method")["macro_f1"].idxmin()
    pairs = ("prq", str(lowest))
    comparisons = tuple(versus(run.scores, m, "prq/absolute", "macro_f1") for m in pairs)
    return AnalysisResult(frame, claim(frame, comparisons), comparisons)


def claim(frame: pd.DataFrame, comparisons: Comparisons) -> Verdict:
    """Verdict on the claim that PRQ-Net needs patient-relative normalization most."""
    full = value_of(frame, "macro_f1", method="prq")
    rows = frame[frame["method"].str.startswith("prq/")]
    loss = full - rows.set_index("method")["macro_f1"]
    worst = str(loss.idxmax())
    against_full, against_others = comparisons
    return Verdict(
        outcome_of(comparisons),
        "removing patient-relative normalization costs PRQ-Net most Macro-F1 (0.628 to 0.555)",
        f"Macro-F1 goes from {full:.3f} to {full - loss['prq/absolute']:.3f} without it, "
        f"{in_words(against_full)}; the lowest of PRQ-Net's variants is "
        f"{title_of(worst)}, the next one {in_words(against_others)}",
    )


ENTRIES = (
    Analysis(
        name="ablation",
        title="Component ablation",
        shows="Table 3",
        compute=compute,
        needs=VARIANTS,
        keys=("method",),
        paper=PAPER,
        higher=METRICS,
    ),
)
