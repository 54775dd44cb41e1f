"""Line-length spread: how much the line length of a channel varies through a seizure.

The best single feature of 27 recorded patients (public cohort ds003029): a channel that takes part
is quiet, then fast or large, then quiet again; one that does not stays as it is. Training-free.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from epilens.core.types import Bools, Floats
from epilens.evidence.signals import Piece, each_signal
from epilens.evidence.windows import band_limit
from epilens.methods import Method, Scorer, Training, memoize, seen_channels
from epilens.methods.plain import joined_seizures, known_scorer
from epilens.plan import FilterPlan, SpreadPlan


@dataclass(frozen=True)
class Spread:
    """How the signal is prepared; intervals are in the plan."""

    reference: str = "common-average"
    """`common-average` or `as-recorded`."""
    notch: str = "auto"
    """`auto`: notches at mains and its harmonics, where mains are known; or `none`."""


COMMON_AVERAGE = Spread()


def windows_of(piece: Piece, plan: SpreadPlan) -> list[tuple[int, int]]:
    """First and last sample of the whole windows of a piece.

    Of the grid that begins at `start_s`; a recording that has fewer than two of these is cut from
    its own beginning.
    """
    samples, length = piece.x.shape[1], round(plan.window_s * piece.fs)
    if length < 2:
        return []
    offset = round((plan.start_s - piece.start_s) * piece.fs)
    count = int((plan.stop_s - plan.start_s) / plan.window_s + 1e-9)
    starts = [offset + k * length for k in range(count)]
    # A sample may be lost to rounding where a recording begins or ends at the grid's edge.
    whole = [max(s, 0) for s in starts if s >= -1 and s + length <= samples + 1]
    if len(whole) < 2:
        whole = list(range(0, samples - length + 1, length))
    return [(s, min(s + length, samples)) for s in whole]


def line_length(x: NDArray[np.floating]) -> Floats:
    """Mean |x_t - x_(t-1)| of every row."""
    return np.abs(np.diff(x, axis=-1)).mean(axis=-1, dtype=np.float64)


def seizure_spread(piece: Piece, whole: Bools, plan: SpreadPlan, settings: Spread) -> Floats:
    """Standard deviation over windows of the line length, z-scored over the valid channels.

    whole : (window, channel), which channels miss no sample in a window of `windows_of`. NaN for
    channels with fewer than two windows.
    """
    x = np.asarray(piece.x, np.float32)[piece.valid]
    if settings.notch == "auto" and piece.mains_hz and x.shape[1] > 1:
        x = band_limit(x, piece.fs, FilterPlan(band="none", notch="auto"), piece.mains_hz)
    if settings.reference == "common-average":
        x = x - x.mean(axis=0, keepdims=True)
    out = np.full(len(piece.valid), np.nan)
    cuts = windows_of(piece, plan)
    if len(cuts) < 2:
        return out
    lengths = np.array([line_length(x[:, first:last]) for first, last in cuts])
    used = whole[:, piece.valid]
    n = used.sum(axis=0)
    mean = np.where(used, lengths, 0).sum(axis=0) / np.maximum(n, 1)
    spread = np.sqrt(np.where(used, (lengths - mean) ** 2, 0).sum(axis=0) / np.maximum(n, 1))
    out[piece.valid] = _z(np.where(n >= 2, spread, np.nan))
    return out


def _z(values: Floats) -> Floats:
    """z-score over the channels that have a value; 0 if all are alike."""
    finite = np.isfinite(values)
    if not finite.any():
        return values
    deviation = values[finite].std()
    return (values - values[finite].mean()) / (deviation if deviation > 0 else 1)


def _whole(seizure: xr.Dataset, piece: Piece, plan: SpreadPlan) -> Bools:
    """Which channels miss nothing in a window, by the windows of the cube inside of it.

    The store of signals has 0 where samples are missing; the cube knows where that is.
    """
    start_s, stop_s = (seizure[name].values[0] for name in ("start_s", "stop_s"))
    valid, rows = seizure["valid"].values[0], []
    for first, last in windows_of(piece, plan):
        begin, end = (piece.start_s + sample / piece.fs for sample in (first, last))
        inside = (start_s >= begin - 1e-3) & (stop_s <= end + 1e-3)
        rows.append(valid[inside].all(axis=0))
    return np.array(rows, bool).reshape(-1, valid.shape[1])


def line_length_spread(
    patient: xr.Dataset, plan: SpreadPlan, settings: Spread = COMMON_AVERAGE
) -> Floats:
    """Mean over seizures of the z-scored variability; NaN where all are too short."""
    parts = []
    for s in range(patient.sizes["seizure"]):
        seizure = patient.isel(seizure=[s])
        for piece in each_signal(seizure, plan.start_s, plan.stop_s):
            whole = _whole(seizure, piece, plan)
            parts.append(seizure_spread(piece, whole, plan, settings))
    return joined_seizures(np.array(parts)[:, seen_channels(patient)], "mean")


def fit_spread(settings: Spread, training: Training) -> Scorer:
    """p_nez falls with z as a logistic curve: how far a contact stands out is kept."""
    plan = training.plan.line_length_spread
    remembered = memoize(
        (settings, plan.model_dump()), lambda patient: line_length_spread(patient, plan, settings)
    )
    return known_scorer(
        remembered, lambda z: 1 / (1 + np.exp(np.clip(z, -30, 30))), "without_windows"
    )


ENTRIES = (
    Method(
        name="line-length-spread",
        title="Line-length spread",
        input="signals",
        reference="beyond the paper",
        fitter=fit_spread,
        settings=Spread(),
        sections=("line_length_spread",),
        training_free=True,
        seeded=False,
    ),
)
