"""Smoothing along electrodes (shafts): `Method.smoothing`, in names as `NAME/shaft`.

A contact's rank within the patient is averaged with the means of its neighbours and of its
electrode, by the plan's weights (`[shaft]`). Part of the gain reflects how labels are written:
clinicians mark whole strips. So the method itself is always reported next to the smoothed one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from epilens.core.types import Floats
from epilens.data.channels.contacts import along_shafts
from epilens.methods import Scorer
from epilens.plan import ShaftPlan


def smoothed(names: Sequence[str], p_nez: Floats, plan: ShaftPlan) -> Floats:
    """Ranks of one patient's scores, over n + 1, mixed along shafts.

    A contact without a neighbour, or whose name contains no electrode, uses its own rank instead.
    """
    from scipy.stats import rankdata

    rank = rankdata(p_nez) / (len(p_nez) + 1)
    near, shaft = rank.copy(), rank.copy()
    for members, numbers in along_shafts(names):
        own = rank[members]
        shaft[members] = own.mean()
        adjacent = np.abs(np.subtract.outer(numbers, numbers)) == 1
        n = adjacent.sum(axis=1)
        near[members] = np.where(n > 0, adjacent @ own / np.maximum(n, 1), own)
    return plan.own * rank + plan.neighbours * near + plan.shaft * shaft


def smoothed_ledger(ledger: pd.DataFrame, plan: ShaftPlan) -> pd.DataFrame:
    """The ledger with the scores of every patient smoothed; thresholds are chosen elsewhere."""
    parts = []
    for _, rows in ledger.groupby(["seed", "fold", "partition", "patient"], sort=False):
        p_nez = smoothed(rows["channel"].tolist(), rows["p_nez"].to_numpy(np.float64), plan)
        parts.append(rows.assign(p_nez=p_nez))
    return pd.concat(parts)


def smooth_fitted(fitted: Scorer, plan: ShaftPlan) -> Scorer:
    """A fitted method whose scores are smoothed when they are predicted."""

    def p_nez(patient: xr.Dataset) -> Floats:
        scores = fitted.predict([patient])
        return smoothed(scores["channel"].tolist(), scores["p_nez"].to_numpy(np.float64), plan)

    return Scorer(p_nez, fitted.history, notes=fitted.notes, tensors=fitted.weights())
