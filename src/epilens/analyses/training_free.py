"""Training-free scores and their variants, each as it is and smoothed along shafts."""

from __future__ import annotations

import pandas as pd

from epilens.analyses import Analysis
from epilens.analyses.tables import best, by_method, title_of
from epilens.core.errors import LedgerError
from epilens.evaluation.run import Run
from epilens.methods import METHODS
from epilens.plan import SHAFT

METRICS = ("macro_f1", "ez_f1", "auroc", "ez_auprc")


def compute(run: Run) -> pd.DataFrame:
    """Every training-free method of the run; `gain` is the AUROC that smoothing adds to it."""
    free = [m for m in run.methods if m in METHODS and METHODS[m].training_free]
    raw = dict.fromkeys(m.removesuffix(SHAFT) for m in free)
    order = [name for m in raw for name in (m, m + SHAFT) if name in free]
    if not set(raw) - {"random"}:
        raise LedgerError(
            f"training-free: expected training-free methods in {run.folder}, found none. See "
            "`epilens list methods` and add one, e.g. line-length-spread."
        )
    frame = by_method(run.scores, order, METRICS)
    auroc = frame.set_index("method")["auroc"]
    own = frame["method"].str.removesuffix(SHAFT).map(auroc)
    frame["gain"] = (frame["auroc"] - own).where(frame["method"].str.endswith(SHAFT))
    return frame


def claim(frame: pd.DataFrame) -> str:
    """State which score is highest without smoothing, and what smoothing adds.

    Chance is in the table for comparison only.
    """
    frame = frame[frame["method"].str.removesuffix(SHAFT) != "random"]
    raw = frame[~frame["method"].str.endswith(SHAFT)]
    highest = best(raw, "auroc")
    gains = frame["gain"].dropna()
    added = f" Smoothing adds {gains.min():+.3f} to {gains.max():+.3f} AUROC." if len(gains) else ""
    return (
        f"Beyond the paper. Highest AUROC of {len(raw)} training-free methods: {title_of(highest)} "
        f"({raw['auroc'].max():.3f}).{added}"
    )


ENTRIES = (
    Analysis(
        name="training-free",
        title="Training-free scores, as they are and smoothed along shafts",
        shows="beyond the paper",
        compute=compute,
        claim=claim,
        formats={"gain": "+.4f"},
        higher=METRICS,
        sorted_by="auroc",
    ),
)
