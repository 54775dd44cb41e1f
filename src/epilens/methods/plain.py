"""Plain comparators that need no training: how much a channel changes at onset, and chance."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from epilens.evidence.views import views
from epilens.methods import Method, Scorer, seen_channels
from epilens.plan import Plan


def as_ranks(evidence: NDArray[np.float64]) -> NDArray[np.float64]:
    """Evidence for EZ (large: EZ) → p_nez: average rank from the top over n + 1."""
    from scipy.stats import rankdata

    return rankdata(-evidence) / (len(evidence) + 1)


def change_after_onset(patient: xr.Dataset, descriptor: str) -> NDArray[np.float64]:
    """Median over seizures of the mean Z-Δ of a descriptor in windows that start at or after onset.

    Seen channels only; a seizure without such a window counts as no change.
    """
    z = views(patient).sel(view="z_delta", descriptor=descriptor).values  # (S, W, C)
    used = patient["valid"].values & (patient["start_s"].values >= 0)[..., None]
    mean = np.where(used, z, 0).sum(1) / np.maximum(used.sum(1), 1)  # (S, C)
    there = np.where(patient["valid"].values.any(1), mean, np.nan)
    return np.nanmedian(there[:, seen_channels(patient)], axis=0)


def _change(
    descriptor: str,
    fit: Sequence[xr.Dataset],
    validation: Sequence[xr.Dataset],
    seed: int,
    plan: Plan,
) -> Scorer:
    return Scorer(lambda patient: as_ranks(change_after_onset(patient, descriptor)))


def _chance(
    fit: Sequence[xr.Dataset], validation: Sequence[xr.Dataset], seed: int, plan: Plan
) -> Scorer:
    """Uniform scores that depend on the seed and on names only, never on the channels' order."""

    def p_nez(patient: xr.Dataset) -> NDArray[np.float64]:
        names = patient["channel"].values[seen_channels(patient)]
        keys = [f"{seed} {patient.attrs['patient']} {name}" for name in names]
        digests = [hashlib.sha256(key.encode()).digest()[:8] for key in keys]
        return np.array([int.from_bytes(digest) for digest in digests]) / 2**64

    return Scorer(p_nez)


def _row(name: str, title: str, descriptor: str) -> Method:
    fitter = partial(_change, descriptor)
    spec = f"rank of the mean Z-Δ of {descriptor} after onset"
    return Method(name, title, "cube", "beyond the paper", fitter, spec, training_free=True)


ENTRIES = (
    _row("line-length-change", "Line-length change", "line_length"),
    _row("high-frequency-change", "High-frequency energy change", "log_high_gamma_power"),
    Method("random", "Chance", "cube", "chance", _chance, "chance", training_free=True),
)
