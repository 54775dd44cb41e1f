"""Every seed by itself (Table VIII)."""

from __future__ import annotations

import pandas as pd

from epilens.analyses import Analysis, AnalysisResult
from epilens.analyses.tables import CORE, in_order, paper_rows
from epilens.analyses.verdicts import Comparisons, Verdict, cdel_versus_best, in_words, outcome_of
from epilens.evaluation.run import Run
from epilens.evaluation.scoring import per_seed_means

COLUMNS = ["macro_f1", "ez_f1", "ez_fraction_bias"]

PAPER = paper_rows(
    ["seed", "method", *COLUMNS],
    (42, "prq", 0.6285, 0.4303, -0.0075),
    (42, "bcr", 0.6274, 0.4387, +0.0127),
    (42, "cdel", 0.6446, 0.4602, +0.0059),
    (52, "prq", 0.6263, 0.4262, -0.0161),
    (52, "bcr", 0.6243, 0.4221, -0.0195),
    (52, "cdel", 0.6364, 0.4488, +0.0021),
    (62, "prq", 0.6299, 0.4331, -0.0055),
    (62, "bcr", 0.6227, 0.4301, +0.0187),
    (62, "cdel", 0.6302, 0.4366, +0.0022),
)


def compute(run: Run) -> AnalysisResult:
    """Metrics of the three models, seed by seed."""
    core = run.scores[run.scores["method"].isin(CORE)]
    seeds = sorted(set(core["seed"]))
    frame = per_seed_means(core)[["seed", "method", *COLUMNS]]
    frame = in_order(frame, seed=seeds, method=CORE)
    comparisons = cdel_versus_best(core, "seed", seeds)
    return AnalysisResult(frame, claim(frame, comparisons), comparisons)


def claim(frame: pd.DataFrame, comparisons: Comparisons) -> Verdict:
    """Verdict on the claim that CDEL is best in every seed."""
    leaders = frame.loc[frame.groupby("seed")["macro_f1"].idxmax()]
    won = int((leaders["method"] == "cdel").sum())
    by_seed = [
        f"seed {seed}: {in_words(comparison)}"
        for seed, comparison in zip(leaders["seed"], comparisons, strict=True)
    ]
    return Verdict(
        outcome_of(comparisons),
        "CDEL has the highest Macro-F1 of the three models in each of three seeds",
        f"in {won} of {len(leaders)}; {'; '.join(by_seed)}",
    )


ENTRIES = (
    Analysis(
        name="per-seed",
        title="Localization by seed",
        shows="Table VIII",
        compute=compute,
        needs=CORE,
        keys=("seed", "method"),
        paper=PAPER,
        formats={"ez_fraction_bias": "+.4f"},
        higher=("macro_f1", "ez_f1"),
        within="seed",
    ),
)
