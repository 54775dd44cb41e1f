"""Decisions from probabilities: confusion metrics, threshold selection and CDEL's fusion rule.

A channel is flagged EZ where `p_nez` < threshold. Pure arithmetic, so that training, evaluation and
models decide by the same functions. Thresholds are chosen on validation scores only: by a method
for itself, by `evaluation.ledger` for a cell and for fused methods, by `evaluation.train` for a
model.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from epilens.core.errors import LedgerError
from epilens.core.types import Bools, Floats

GRID = np.arange(201) / 200
"""Candidate thresholds 0, 0.005, …, 1."""


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Division with 0/0 = 0, as scikit-learn's zero_division=0."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)


def confusion_metrics(tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> dict[str, Floats]:
    """Metrics of decisions from counts; EZ is the positive class here. Broadcasts."""
    tp, fp, fn, tn = (a.astype(np.float64) for a in np.broadcast_arrays(tp, fp, fn, tn))
    ez_f1 = _ratio(2 * tp, 2 * tp + fp + fn)
    nez_f1 = _ratio(2 * tn, 2 * tn + fp + fn)
    ez_recall, nez_recall = _ratio(tp, tp + fn), _ratio(tn, tn + fp)
    # Balanced accuracy averages the recalls of the classes that are there.
    classes = (tp + fn > 0).astype(float) + (tn + fp > 0)
    return {
        "macro_f1": (ez_f1 + nez_f1) / 2,
        "ez_f1": ez_f1,
        "nez_f1": nez_f1,
        "accuracy": _ratio(tp + tn, tp + fp + fn + tn),
        "balanced_accuracy": _ratio(ez_recall + nez_recall, classes),
    }


def grid_metrics(
    p_nez: Sequence[Floats], is_ez: Sequence[Bools], grid: Floats = GRID
) -> dict[str, Floats]:
    """Thresholded metrics of every patient at every threshold: (patient, threshold) each."""
    flagged_ez, flagged = [], []
    is_ez = [np.asarray(ez, bool) for ez in is_ez]
    for p, ez in zip(p_nez, is_ez, strict=True):
        # How many scores lie below each threshold: p >= t is NEZ, so the left side.
        flagged_ez.append(np.searchsorted(np.sort(p[ez]), grid, side="left"))
        flagged.append(np.searchsorted(np.sort(p), grid, side="left"))
    tp, positive = np.array(flagged_ez, float), np.array(flagged, float)
    n_ez = np.array([[ez.sum()] for ez in is_ez], float)
    n = np.array([[len(ez)] for ez in is_ez], float)
    fp = positive - tp
    return confusion_metrics(tp, fp, n_ez - tp, n - n_ez - fp)


def select_threshold(
    p_nez: Sequence[Floats], is_ez: Sequence[Bools], prevalence_tolerance: float | None = None
) -> tuple[float, tuple[float, float, float]]:
    """Best threshold over validation patients, and its (Macro-F1, EZ-F1, balanced accuracy).

    Patient-averaged Macro-F1, then EZ-F1, then balanced accuracy; then nearest to 0.5, then lowest.
    prevalence_tolerance : only thresholds whose flagged fraction is within this of the EZ fraction
    (or the nearest one). Macro-F1 alone flags too few contacts: where patients differ, a false
    positive costs more than a missed contact.
    """
    metrics = grid_metrics(p_nez, is_ez)
    # Rounded, so that sums in another order cannot make or break a tie.
    keys = [metrics[k].mean(axis=0).round(12) for k in ("macro_f1", "ez_f1", "balanced_accuracy")]
    distance = np.abs(np.arange(201) - 100)
    order = np.lexsort([GRID, distance, *(-key for key in reversed(keys))])
    if prevalence_tolerance is not None:
        off = np.abs(_flagged_fraction(p_nez) - np.concatenate(list(is_ez)).mean()).round(12)
        order = order[(off <= max(prevalence_tolerance, off.min()))[order]]
    best = order[0]
    return float(GRID[best]), (float(keys[0][best]), float(keys[1][best]), float(keys[2][best]))


def selected_threshold(rows: pd.DataFrame, prevalence_tolerance: float | None = None) -> float:
    """Threshold that these patients' scores (patient, is_ez, p_nez) select."""
    groups = [part for _, part in rows.groupby("patient", sort=False)]
    if not groups:
        raise LedgerError(
            "threshold: expected scores of one patient or more to choose it from, found none. Give "
            "the validation patients' rows, or those that the method keeps."
        )
    p_nez = [part["p_nez"].to_numpy(np.float64) for part in groups]
    is_ez = [part["is_ez"].to_numpy(bool) for part in groups]
    return select_threshold(p_nez, is_ez, prevalence_tolerance)[0]


def _flagged_fraction(p_nez: Sequence[Floats]) -> Floats:
    """Share of all contacts that each threshold of the grid flags."""
    everyone = np.sort(np.concatenate(list(p_nez)))
    return np.searchsorted(everyone, GRID, side="left") / len(everyone)


def with_neutral(p_nez: Floats, scored: Bools) -> Floats:
    """A patient's scores; a channel that could not be scored gets the median of the others.

    So it is at neither end of the ranking. 0.5 where no channel could be scored.
    """
    neutral = np.median(p_nez[scored]) if scored.any() else 0.5
    return np.where(scored, p_nez, neutral)


LOCKED_WEIGHT = 0.20
"""Weight of BCR-Net, fixed before any test."""


def fuse_scores(
    p_prq: ArrayLike, p_bcr: ArrayLike, weight: float = LOCKED_WEIGHT
) -> NDArray[np.float64]:
    """Return (1 - weight) p_PRQ + weight p_BCR (Eq. 9)."""
    if not 0 <= weight <= 1:
        raise LedgerError(f"fuse: expected a weight in [0, 1], found {weight}.")
    return (1 - weight) * np.asarray(p_prq, np.float64) + weight * np.asarray(p_bcr, np.float64)
