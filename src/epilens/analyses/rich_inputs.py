"""Richer inputs than CDEL's: connectivity, graphs, fast activity, raw windows (Discussion)."""

from __future__ import annotations

import pandas as pd

from epilens.analyses import Analysis, AnalysisResult
from epilens.analyses.tables import by_method, title_of
from epilens.analyses.verdicts import ClaimOutcome, Comparisons, Verdict, in_words, usable, versus
from epilens.core.errors import LedgerError
from epilens.evaluation.resampling import Comparison
from epilens.evaluation.run import Run

METRICS = ("macro_f1", "ez_f1", "auroc")
PLAIN = "logistic-z"
READ_BY_LOGISTIC = ("rich/connectivity", "rich/hfo", "rich/graph-residual")
PAPER_GAP = (-0.10, -0.05)
"""Macro-F1 of richer inputs minus CDEL's, "generally"."""


def compute(run: Run) -> AnalysisResult:
    """Every method named `rich/…`, logistic regression on the columns alone, then CDEL.

    `gap` is the Macro-F1 beyond CDEL's. Three of the inputs are read by the classifier of
    `logistic-z`: what they add to its columns is `input_gain`, the rest of a gap is the classifier.
    """
    rich = [method for method in run.methods if method.startswith("rich/")]
    if not rich:
        raise LedgerError(
            f"rich-inputs: expected methods named rich/… in {run.folder}, found none. See `epilens "
            f"list methods` and add them with `epilens run {run.folder}/plan.toml --cubes CUBES "
            f"--out {run.folder.parent} --only rich/…`."
        )
    plain = [PLAIN] if PLAIN in run.methods else []
    frame = by_method(run.scores, [*rich, *plain, "cdel"], METRICS)
    frame["gap"] = frame["macro_f1"] - frame["macro_f1"].iloc[-1]
    is_rich = frame["method"].str.startswith("rich/")
    if plain:
        columns_alone = frame.loc[frame["method"] == PLAIN, "macro_f1"].item()
        same_classifier = frame["method"].isin(READ_BY_LOGISTIC)
        frame["input_gain"] = (frame["macro_f1"] - columns_alone).where(same_classifier)
    for name, value in zip(("paper_gap_low", "paper_gap_high"), PAPER_GAP, strict=True):
        frame[name] = pd.Series(value, frame.index).where(is_rich)
    comparisons = tuple(versus(run.scores, method, "cdel", "macro_f1") for method in rich)
    return AnalysisResult(frame, claim(frame, comparisons), comparisons)


def claim(frame: pd.DataFrame, comparisons: Comparisons) -> Verdict:
    """Verdict on the claim that no richer input improves on CDEL."""
    gaps = frame[frame["method"].str.startswith("rich/")].set_index("method")["gap"]
    tested = usable(comparisons)
    return Verdict(
        _outcome(tested),
        "no richer input improves on CDEL, Macro-F1 being generally 0.05 to 0.10 below",
        f"{_range(gaps)}; {in_words(max(tested, key=lambda c: c.estimate, default=None))}",
    )


def _range(gaps: pd.Series) -> str:
    if len(gaps) == 1:
        return f"one richer input, {title_of(str(gaps.index[0]))}"
    return (
        f"the differences of {len(gaps)} inputs lie between {gaps.min():+.3f} and {gaps.max():+.3f}"
        f", the best being {title_of(str(gaps.idxmax()))}"
    )


def _outcome(compared: list[Comparison]) -> ClaimOutcome:
    """Outcome of "none improves": one does, none does, or the best one may."""
    if not compared:
        return ClaimOutcome.NOT_COMPARABLE
    if any(c.low > 0 for c in compared):
        return ClaimOutcome.DIFFER
    return ClaimOutcome.AGREE if all(c.estimate <= 0 for c in compared) else ClaimOutcome.UNCLEAR


ENTRIES = (
    Analysis(
        name="rich-inputs",
        title="Richer inputs compared with CDEL",
        shows="Discussion",
        compute=compute,
        needs=("cdel",),
        higher=METRICS,
        sorted_by="macro_f1",
        formats={"gap": "+.4f", "input_gain": "+.4f", "gap_low": "+.2f", "gap_high": "+.2f"},
    ),
)
