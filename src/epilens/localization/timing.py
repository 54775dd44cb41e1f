"""When: the first clear deviation of each contact from its own baseline, and the order.

A descriptor deviates where its Z-Δ stays at 3 or more standard deviations (or at -3 or less) for
three windows in a row, from 10 s before onset on. Its level is that of the windows that end 10 s
before onset or earlier, so that a contact that changes before the annotated onset is not compared
with its own change. The time is the middle of the first of the windows, so it is exact to about a
second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from epilens.core.types import Bools, Floats
from epilens.evidence.cube import is_reference
from epilens.evidence.descriptors import rows_of
from epilens.evidence.views import VIEWS, views
from epilens.networks.predictor import SEARCH_FROM_S

CLEAR_SD = 3.0
SUSTAINED = 3
"""Windows in a row."""
TIMING_GAP_S = 10.0
"""The reference of times ends so long before onset: a contact may change before others do."""
LEAST_REFERENCE = 5
"""With fewer windows before that, the reference extends to onset."""


@dataclass(frozen=True)
class Timing:
    """Deviations of every descriptor, and recruitment by fast activity.

    Times are seconds from onset; where `deviates` (or `recruited`) is False they mean nothing.
    """

    z: NDArray[np.float32]
    """Z-Δ (S, W, C, D) of D descriptors; 0 where not valid."""
    middle_s: Floats
    """Middle of each window (S, W)."""
    deviates: Bools
    """(S, C, D)"""
    at_s: Floats
    """(S, C, D)"""
    strength: Floats
    """Mean Z-Δ (S, C, D) over the windows of the rule, so 3 or more; negative where it falls."""
    recruited: Bools
    """(S, C)"""
    recruited_s: Floats
    """(S, C)"""
    words: tuple[str, ...]
    """Names of the descriptors in sentences (D,)."""

    @property
    def order(self) -> NDArray[np.int64]:
        """Place in the order of recruitment (S, C), 1 first, ties share; 0: not recruited."""
        place = np.zeros(self.recruited.shape, np.int64)
        for s, recruited in enumerate(self.recruited):
            at_s = self.recruited_s[s, recruited]
            place[s, recruited] = [1 + int((at_s < t).sum()) for t in at_s]
        return place

    def median_s(self) -> tuple[Floats, NDArray[np.int64]]:
        """Median time of recruitment over seizures (C,), and in how many there was one."""
        times = np.where(self.recruited, self.recruited_s, np.nan)
        count = self.recruited.sum(axis=0)
        median = np.zeros(times.shape[1])
        median[count > 0] = np.nanmedian(times[:, count > 0], axis=0)
        return median, count


def time_evidence(cube: xr.Dataset, gap_s: float = TIMING_GAP_S) -> Timing:
    """Deviations in a cube, from a reference that ends `gap_s` before onset."""
    z, valid = _deviations(cube, gap_s), cube["valid"].values
    middle_s = (cube["start_s"].values + cube["stop_s"].values) / 2
    searched = valid & (cube["start_s"].values >= SEARCH_FROM_S)[..., None]
    rises, falls = (first_sustained(sign * z, searched) for sign in (1, -1))
    # Whichever comes first; a descriptor can rise and then fall.
    falls_first = (falls >= 0) & ((rises < 0) | (falls < rises))
    first = np.where(falls_first, falls, rises)
    deviates = first >= 0
    rows = rows_of(cube["descriptor"].values.tolist())
    # Recruitment is a rise of fast activity.
    fast = np.where(rises >= 0, rises, z.shape[1])[..., [row.fast for row in rows]]
    earliest = fast.min(axis=-1, initial=z.shape[1])
    recruited = earliest < z.shape[1]
    seizure = np.arange(len(z))[:, None]
    return Timing(
        z=z,
        middle_s=middle_s,
        deviates=deviates,
        at_s=middle_s[seizure[..., None], np.maximum(first, 0)],
        strength=np.where(deviates, _strength(z, valid, np.maximum(first, 0)), 0),
        recruited=recruited,
        recruited_s=middle_s[seizure, np.where(recruited, earliest, 0)],
        words=tuple(cube["words"].values.tolist() if "words" in cube else (r.words for r in rows)),
    )


def _deviations(cube: xr.Dataset, gap_s: float) -> NDArray[np.float32]:
    """Z-Δ (S, W, C, D) from the reference for times; from the evidence's where that is short."""
    gap_s = max(gap_s, float(cube.attrs.get("reference_gap_s", 0.0)))
    early = cube.assign_attrs(reference_gap_s=gap_s)
    z = views(early).values[..., VIEWS.index("z_delta"), :]
    windows = (early["valid"] & is_reference(early)).sum("window").values  # (S, C)
    short = (windows < LEAST_REFERENCE) & cube["valid"].any("window").values
    if not short.any():
        return z
    usual = views(cube).values[..., VIEWS.index("z_delta"), :]
    return np.where(short[:, None, :, None], usual, z)


def first_sustained(z: NDArray[np.floating], searched: Bools) -> NDArray[np.int64]:
    """First of `SUSTAINED` searched windows in a row with z ≥ 3: (S, C, D) from (S, W, C, D).

    -1 where there is none.
    """
    over = (z >= CLEAR_SD) & searched[..., None]
    W = z.shape[1]
    if W < SUSTAINED:
        return np.full((z.shape[0], *z.shape[2:]), -1)
    run = over[:, : W - SUSTAINED + 1].copy()
    for later in range(1, SUSTAINED):
        run &= over[:, later : W - SUSTAINED + 1 + later]
    return np.where(run.any(axis=1), run.argmax(axis=1), -1)


def _strength(z: NDArray[np.floating], valid: Bools, first: NDArray[np.int64]) -> Floats:
    """Mean of z over the valid ones among the windows from `first` on."""
    S, W, C, D = z.shape
    s, c, d = np.ogrid[:S, :C, :D]
    total, n = np.zeros((S, C, D)), np.zeros((S, C, D))
    for later in range(SUSTAINED):
        w = np.minimum(first + later, W - 1)
        counts = valid[s, w, c] & (first + later < W)
        total += np.where(counts, z[s, w, c, d], 0)
        n += counts
    return total / np.maximum(n, 1)
