"""Measures of the signal of each channel, by which bad channels are recognised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.fft
import scipy.signal
from numpy.typing import NDArray

from epilens.core.types import Floats
from epilens.plan import Flag, QualityPlan

_FROM_MEDIAN = 4.0
"""Robust standard deviations of the logarithm at which a channel is unlike the others."""
_LEAST_CHANNELS = 4
"""With fewer channels, nothing can be said about what is usual."""
_MOSTLY = 0.75
"""Fraction of the stretches in which a channel must be unlike the others."""


@dataclass(frozen=True)
class Stretch:
    """Measures of all channels in one stretch of the signal, each (channel,)."""

    flat: NDArray[np.bool_]
    stuck: Floats
    """Fraction of the samples that stick to the channel's extremes."""
    missing: Floats
    """Fraction of the samples that are not finite."""
    mains: Floats
    """Fraction of the power above 1 Hz that is mains."""
    size: Floats
    """RMS in µV above 1 Hz, without mains."""
    rough: Floats
    """RMS of the steps between samples, relative to `size`."""


def measure_stretch(x: NDArray[np.float32], fs: float, plan: QualityPlan) -> Stretch:
    """Measure the channels of one stretch (channel, time) in µV."""
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
    """Mains fraction of the power above 1 Hz, RMS size and RMS steps between samples.

    Size and steps are computed from the spectrum without mains.
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


@dataclass(frozen=True)
class Summary:
    """Measures of all channels over several stretches, each (channel,)."""

    flat: Floats
    """Fraction of the stretches in which the channel is constant."""
    stuck: Floats
    missing: Floats
    mains: Floats
    """Mains fraction that most stretches exceed, as for `large` and `rough`."""
    large: Floats
    """Logarithm of the size relative to the median channel."""
    small: Floats
    """The same logarithm, but the value that most stretches stay below."""
    rough: Floats
    """Logarithm of the roughness relative to the median channel."""

    @classmethod
    def of(cls, parts: Sequence[Stretch]) -> Summary:
        """Summarise one or more stretches."""
        size, rough = (
            [_relative_log(getattr(part, name), part.flat) for part in parts]
            for name in ("size", "rough")
        )
        return cls(
            *(np.mean([getattr(p, name) for p in parts], axis=0) for name in _FRACTIONS),
            mostly_above([part.mains for part in parts]),
            mostly_above(size),
            np.quantile(size, _MOSTLY, axis=0),
            mostly_above(rough),
        )


_FRACTIONS = ("flat", "stuck", "missing")


def mostly_above(values: Sequence[Floats]) -> Floats:
    """The value of each channel that most stretches exceed; `values` is (stretch, channel)."""
    return np.quantile(values, 1 - _MOSTLY, axis=0)


def _relative_log(values: Floats, flat: NDArray[np.bool_]) -> Floats:
    """Logarithm of the ratio to the median channel; 0 for all if few are usable."""
    usable = ~flat & (values > 0)
    if usable.sum() < _LEAST_CHANNELS:
        return np.zeros(len(values))
    logs = np.log(np.maximum(values, np.finfo(np.float64).tiny))
    return np.where(usable, logs - np.median(logs[usable]), 0.0)


def is_beyond(logs: Floats, ratio: float, dead: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which living channels exceed the median by this ratio and are far from the others."""
    usable = logs[~dead] if (~dead).any() else logs
    middle = np.median(usable)
    deviation = 1.4826 * np.median(np.abs(usable - middle))
    return ~dead & (logs > np.log(ratio)) & (logs - middle > _FROM_MEDIAN * deviation)


KNOWN_HZ = (50.0, 60.0)
_HALF_PEAK_HZ, _NEAR_HZ, _FAR_HZ = 0.5, 2.0, 6.0
_LEAST_RATIO, _LEAST_LEAD = 4.0, 2.0
"""Least ratio of a peak to its neighbours, and to the ratio of the other frequency."""
_OF_CHANNELS = 0.75
"""Quantile over channels, because mains can be in some electrodes only."""
_SEGMENT_S = 4.0
_MOST_CHANNELS = 64
"""Number of channels that are enough to find mains."""


def mains_of(signal: NDArray[np.float32], fs: float) -> float | None:
    """50 or 60 Hz if it clearly stands out in a quarter of the channels (channel, time), or None.

    The spectrum is a median over segments, so that a seizure of some seconds does not count. A peak
    is compared with 2 to 6 Hz on both sides, so that a broad rhythm does not count.
    """
    samples = round(_SEGMENT_S * fs)
    if fs / 2 <= max(KNOWN_HZ) + _FAR_HZ or signal.shape[1] < 3 * samples:
        return None
    subset = signal[:: -(-len(signal) // _MOST_CHANNELS)]
    f, power = scipy.signal.welch(subset, fs, nperseg=samples, average="median")
    alive = power.max(axis=1) > 0
    if not alive.any():
        return None
    ratios = {hz: float(np.quantile(_ratio(f, power[alive], hz), _OF_CHANNELS)) for hz in KNOWN_HZ}
    other, best = sorted(KNOWN_HZ, key=ratios.__getitem__)
    clear = ratios[best] >= max(_LEAST_RATIO, _LEAST_LEAD * ratios[other])
    return best if clear else None


def _ratio(f: NDArray[np.float64], power: NDArray[np.float32], hz: float) -> NDArray[np.float64]:
    """Ratio of the power at a frequency to that of its neighbourhood, for each channel."""
    distance = np.abs(f - hz)
    peak = power[:, distance <= _HALF_PEAK_HZ].max(axis=1)
    around = np.median(power[:, (distance >= _NEAR_HZ) & (distance <= _FAR_HZ)], axis=1)
    return peak / np.maximum(around, np.finfo(np.float32).tiny)


def quality_flags(
    signal: NDArray[np.float32], missing: NDArray[np.bool_] | None, plan: QualityPlan
) -> list[tuple[Flag, ...]]:
    """Quality flags of each channel.

    signal : (channel, time) in µV, 0 where `missing` (samples that were not finite, or None).
    """
    high, low = _extremes(signal, missing)
    flat = high - low < plan.flat_uv
    # Every eighth sample and its neighbour suffice, in a fraction of the time.
    a, b = signal[:, :-1:8], signal[:, 1::8]
    b = b[:, : a.shape[1]]
    channels_with: dict[Flag, Any] = {
        "flat": flat,
        "clipped": ~flat & (_stuck_share(a, b, high, low) > plan.clipped_share),
        "non-finite": np.zeros(len(signal), bool) if missing is None else missing.any(axis=1),
        "out-of-scale": _out_of_scale(np.abs(b - a)[:, ::8], flat, plan.scale_ratio),
    }
    return [
        tuple(flag for flag, where in channels_with.items() if where[channel])
        for channel in range(len(signal))
    ]


def stuck_share(signal: NDArray[np.float32]) -> NDArray[np.float64]:
    """Fraction of the samples of each channel (channel, time) that stick to its extremes."""
    a, b = signal[:, :-1], signal[:, 1:]
    return _stuck_share(a, b, signal.max(axis=1), signal.min(axis=1))


def _extremes(
    signal: NDArray[np.float32], missing: NDArray[np.bool_] | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Largest and smallest sample of each channel, without missing samples."""
    if missing is None:
        return signal.max(axis=1), signal.min(axis=1)
    present = ~missing
    high = np.max(signal, axis=1, where=present, initial=-np.inf)
    low = np.min(signal, axis=1, where=present, initial=np.inf)
    none = ~present.any(axis=1)
    return np.where(none, 0, high), np.where(none, 0, low)


def _stuck_share(
    a: NDArray[np.float32],
    b: NDArray[np.float32],
    high: NDArray[np.float32],
    low: NDArray[np.float32],
) -> NDArray[np.float64]:
    """Fraction of samples at a channel's extreme that equal the next sample.

    A clean signal touches its maximum once; an amplifier at its rail stays there.
    """
    at_rail = (a == high[:, None]) | (a == low[:, None])
    return ((a == b) & at_rail).mean(axis=1)


def _out_of_scale(
    steps: NDArray[np.float32], flat: NDArray[np.bool_], ratio: float
) -> NDArray[np.bool_]:
    """Channels whose median step differs from that of the median channel by this ratio.

    Steps between neighbouring samples do not depend on a constant offset.
    """
    size = np.median(steps, axis=1)
    usable = ~flat & (size > 0)
    if usable.sum() < 3:
        return np.zeros(len(steps), bool)
    usual = np.median(size[usable])
    return usable & ((size > ratio * usual) | (size < usual / ratio))
