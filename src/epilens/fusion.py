"""CDEL's fusion rule: one formula, in one place."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epilens.errors import LedgerError

LOCKED_WEIGHT = 0.20
"""Weight of BCR-Net, fixed before any test."""


def fuse_scores(
    p_prq: ArrayLike, p_bcr: ArrayLike, weight: float = LOCKED_WEIGHT
) -> NDArray[np.float64]:
    """Return (1 - weight) p_PRQ + weight p_BCR (Eq. 9)."""
    if not 0 <= weight <= 1:
        raise LedgerError(f"fuse: expected a weight in [0, 1], found {weight}.")
    return (1 - weight) * np.asarray(p_prq, np.float64) + weight * np.asarray(p_bcr, np.float64)
