"""Mains frequency of a recording that states none, from its spectrum."""

from __future__ import annotations

import numpy as np
import scipy.signal
from numpy.typing import NDArray

KNOWN_HZ = (50.0, 60.0)
_HALF_PEAK_HZ, _NEAR_HZ, _FAR_HZ = 0.5, 2.0, 6.0
_LEAST_RATIO, _LEAST_LEAD = 4.0, 2.0
"""How far a peak stands above its neighbours, and its ratio above that of the other candidate."""
_OF_CHANNELS = 0.75
"""This quantile over channels: mains can be in some electrodes alone."""
_SEGMENT_S = 4.0
_MOST_CHANNELS = 64
"""Mains reach all of them, so more would only take longer."""


def mains_of(signal: NDArray[np.float32], fs: float) -> float | None:
    """50 or 60 Hz, whichever clearly stands out in a quarter of the channels (channel, time).

    None where neither does.

    The spectrum is a median over segments: what a seizure does for some seconds does not count. A
    peak is compared with 2 to 6 Hz on both sides, so a broad rhythm is none.
    """
    samples = round(_SEGMENT_S * fs)
    if fs / 2 <= max(KNOWN_HZ) + _FAR_HZ or signal.shape[1] < 3 * samples:
        return None
    some = signal[:: -(-len(signal) // _MOST_CHANNELS)]
    f, power = scipy.signal.welch(some, fs, nperseg=samples, average="median")
    alive = power.max(axis=1) > 0
    if not alive.any():
        return None
    ratios = {hz: float(np.quantile(_ratio(f, power[alive], hz), _OF_CHANNELS)) for hz in KNOWN_HZ}
    other, best = sorted(KNOWN_HZ, key=ratios.__getitem__)
    clear = ratios[best] >= max(_LEAST_RATIO, _LEAST_LEAD * ratios[other])
    return best if clear else None


def _ratio(f: NDArray[np.float64], power: NDArray[np.float32], hz: float) -> NDArray[np.float64]:
    """Power at a frequency over that of its neighbourhood, for each channel."""
    distance = np.abs(f - hz)
    peak = power[:, distance <= _HALF_PEAK_HZ].max(axis=1)
    around = np.median(power[:, (distance >= _NEAR_HZ) & (distance <= _FAR_HZ)], axis=1)
    return peak / np.maximum(around, np.finfo(np.float32).tiny)
