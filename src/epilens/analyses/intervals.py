"""Intervals of the paper's tables: its bootstrap and, in small cohorts, a t interval next to it.

Tables keep the paper's percentile bootstrap, so that they can be compared with the paper. With
fewer than 30 patients this interval is too short, so that the t interval of `epilens compare` is
shown next to it, and verdicts use it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from epilens.core.types import Floats
from epilens.evaluation.resampling import SMALL, t_interval

KINDS = {"low": "t_low", "high": "t_high"}
"""Columns of the bootstrap's limits → columns of the t interval's."""


def add_t_intervals(frame: pd.DataFrame, values: Sequence[Floats]) -> pd.DataFrame:
    """Columns `t_low` and `t_high` where a row has 2 to 29 patients; none if no row has.

    values : the numbers of the patients of each row; empty where a row has no interval.
    """
    small = [1 < len(row) < SMALL for row in values]
    if not any(small):
        return frame
    limits = [
        t_interval(row) if few else (np.nan, np.nan) for row, few in zip(values, small, strict=True)
    ]
    position = list(frame.columns).index("high") + 1
    for name, column in zip(KINDS.values(), zip(*limits, strict=True), strict=True):
        frame.insert(position, name, column)
        position += 1
    return frame


def deciding(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with the limits that decide: the t interval's where there is one.

    Examples
    --------
    >>> frame = pd.DataFrame({"low": [0.1, 0.2], "high": [0.3, 0.4]})
    >>> frame = frame.assign(t_low=[-0.1, np.nan], t_high=[0.5, np.nan])
    >>> deciding(frame)[["low", "high"]].to_numpy().tolist()
    [[-0.1, 0.5], [0.2, 0.4]]
    """
    present = {name: of_t for name, of_t in KINDS.items() if of_t in frame}
    return frame.assign(**{name: frame[of_t].fillna(frame[name]) for name, of_t in present.items()})


def kinds_in(frame: pd.DataFrame) -> str:
    """Which intervals decide in a frame."""
    return "t intervals" if KINDS["low"] in frame else "bootstrap intervals"
