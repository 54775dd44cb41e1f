"""Measures of the channels in one stretch of signal, by which bad ones are recognised."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from epilens.data.mains import KNOWN_HZ
from epilens.data.quality import stuck_share
from epilens.plan import QualityPlan

Floats = NDArray[np.float64]

_FROM_MEDIAN = 4.0
"""A channel is far from the others at this many robust standard deviations of log size."""
_LEAST_CHANNELS = 4
"""With fewer channels, what is usual is unknown."""


@dataclass(frozen=True)
class Stretch:
    """Measures of all channels in one stretch, (channel,) each."""

    flat: NDArray[np.bool_]
    stuck: Floats
    """Fraction of the samples that stick to the channel's extremes."""
    missing: Floats
    """Fraction of the samples that are not finite."""
    mains: Floats
    """Fraction of the power above 1 Hz that is mains."""
    size: Floats
    """RMS above 1 Hz without mains."""
    rough: Floats
    """RMS of the steps between samples, relative to `size`."""


def measure_stretch(x: NDArray[np.float32], fs: float, plan: QualityPlan) -> Stretch:
    """Measures of the channels of a stretch (channel, time) in µV."""
    missing = ~np.isfinite(x)
    x = np.where(missing, np.float32(0), x)
    x = x - np.median(x, axis=1, keepdims=True)
    flat = np.ptp(x, axis=1) < plan.flat_uv
    mains, size, steps = _spectral(x, fs)
    return Stretch(
        flat,
        np.where(flat, 0.0, stuck_share(x)),
        missing.mean(axis=1),
        mains,
        size,
        steps / np.maximum(size, np.finfo(np.float64).tiny),
    )


def _spectral(x: NDArray[np.float32], fs: float) -> tuple[Floats, Floats, Floats]:
    """Share of mains in the power above 1 Hz; without them, size and steps between samples (RMS).

    Steps by the spectrum, because mains would make them large.
    """
    taper = np.hanning(x.shape[1]).astype(np.float32)
    power = np.abs(scipy.fft.rfft(x * taper, axis=1)).astype(np.float64) ** 2
    f = scipy.fft.rfftfreq(x.shape[1], 1 / fs)
    power[:, f < 1.0] = 0
    total = power.sum(axis=1)
    near = [_near_harmonics(f, hz) for hz in KNOWN_HZ]
    share = np.maximum(*(power[:, mains].sum(axis=1) for mains in near))
    share = np.divide(share, total, out=np.zeros_like(total), where=total > 0)
    power[:, near[0] | near[1]] = 0
    norm = 2 / (x.shape[1] * max(float((taper**2).sum()), 1e-9))
    size, steps = power.sum(axis=1), power @ (4 * np.sin(np.pi * f / fs) ** 2)
    return share, np.sqrt(size * norm), np.sqrt(steps * norm)


def _near_harmonics(f: Floats, hz: float) -> NDArray[np.bool_]:
    return (f > hz / 2) & (np.abs(f - hz * np.round(f / hz)) <= 1.0)


def relative_log(values: Floats, flat: NDArray[np.bool_]) -> Floats:
    """Logarithm of a value over that of the median channel; 0 for all if too few are usable."""
    usable = ~flat & (values > 0)
    if usable.sum() < _LEAST_CHANNELS:
        return np.zeros(len(values))
    logs = np.log(np.maximum(values, np.finfo(np.float64).tiny))
    return np.where(usable, logs - np.median(logs[usable]), 0.0)


def is_far(logs: Floats, dead: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Farther above the median than channels of this recording usually are."""
    usable = logs[~dead] if (~dead).any() else logs
    middle = np.median(usable)
    deviation = 1.4826 * np.median(np.abs(usable - middle))
    return logs - middle > _FROM_MEDIAN * deviation
