"""Smoothing along shafts: a modifier that any row can carry, as `ROW/shaft`.

A contact's rank within the patient is mixed with the mean of its neighbours and the mean of its
shaft, by the plan's weights (`[shaft]`). Part of what is gained so is how labels are written:
clinicians mark whole strips. So the row itself always stands beside the smoothed one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from epilens.core.types import Floats
from epilens.data.contacts import along_shafts
from epilens.methods import METHODS, Scorer, Training
from epilens.plan import ShaftPlan


def smoothed(names: Sequence[str], p_nez: Floats, plan: ShaftPlan) -> Floats:
    """Ranks of one patient's scores, over n + 1, mixed along shafts.

    A contact without a neighbour, or whose name tells no shaft, stands in for what it lacks.
    """
    from scipy.stats import rankdata

    rank = rankdata(p_nez) / (len(p_nez) + 1)
    near, shaft = rank.copy(), rank.copy()
    for members, numbers in along_shafts(names):
        own = rank[members]
        shaft[members] = own.mean()
        beside = np.abs(np.subtract.outer(numbers, numbers)) == 1
        n = beside.sum(axis=1)
        near[members] = np.where(n > 0, beside @ own / np.maximum(n, 1), own)
    return plan.own * rank + plan.neighbours * near + plan.shaft * shaft


def smoothed_ledger(ledger: pd.DataFrame, plan: ShaftPlan) -> pd.DataFrame:
    """The ledger with the scores of every patient smoothed; thresholds are chosen elsewhere."""
    parts = []
    for _, rows in ledger.groupby(["seed", "fold", "partition", "patient"], sort=False):
        p_nez = smoothed(rows["channel"].tolist(), rows["p_nez"].to_numpy(np.float64), plan)
        parts.append(rows.assign(p_nez=p_nez))
    return pd.concat(parts)


def fit_smoothed(settings: Mapping[str, Any], training: Training) -> Scorer:
    """Fit the row that is smoothed; its scores are smoothed when they are predicted."""
    fitted = METHODS[settings["of"]].fit(training)
    plan = training.plan.shaft

    def p_nez(patient: xr.Dataset) -> Floats:
        raw = fitted.predict([patient])
        return smoothed(raw["channel"].tolist(), raw["p_nez"].to_numpy(np.float64), plan)

    return Scorer(p_nez, fitted.history, notes=fitted.notes, tensors=fitted.weights())
