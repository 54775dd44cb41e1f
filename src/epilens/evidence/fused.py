"""The paper's nine descriptors at once: one pass over the samples, one FFT per window.

Single precision is enough for windows of usual size; `descriptors` says what this must agree with.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from epilens.evidence.descriptors import NINE, RETAINED_HZ, RMS_EPSILON
from epilens.evidence.kernels import band_integrals, hann_power, window_sums
from epilens.evidence.windows import WindowSamples

Array = NDArray[Any]

# Beyond this size, single precision would hide weak bands next to a strong one.
_HUGE_UV = 1e4
_INDEX = {row.name: position for position, row in enumerate(NINE)}


def describe_nine(x: Array, samples: WindowSamples, out: NDArray[np.float32]) -> None:
    """All nine descriptors of the windows of x (row, time), into `out` (row, window, 9)."""
    high, low = x.max(axis=-1, keepdims=True), x.min(axis=-1, keepdims=True)
    # A constant has no power above 1 Hz (Hann), so taking it away first only saves precision.
    pilot = np.where(high == low, low, x.mean(axis=-1, keepdims=True)).astype(x.dtype, copy=False)
    precise = bool(np.maximum(high - pilot, pilot - low).max() > _HUGE_UV)
    y = np.subtract(x, pilot, dtype=np.float64 if precise else np.float32, casting="same_kind")
    flat = _signal_part(y, pilot.astype(np.float64)[:, 0], samples, out)
    _spectral_part(y, samples, out)
    out[..., _INDEX["spectral_entropy"]][flat] = 0


def _signal_part(
    y: Array, pilot: Array, samples: WindowSamples, out: NDArray[np.float32]
) -> NDArray[np.bool_]:
    """RMS, variance and line length; returns which windows are constant up to rounding."""
    sums = window_sums(y, samples.start, samples.length) / samples.length
    mean, square, steps = sums[..., 0], sums[..., 1], sums[..., 2]
    var = square - mean * mean
    flat = var <= 1e-13 * square
    var[flat] = 0
    level = pilot[:, None] + mean
    out[..., _INDEX["rms"]] = np.sqrt(var + level * level + RMS_EPSILON)
    out[..., _INDEX["variance"]] = var
    out[..., _INDEX["line_length"]] = steps * samples.fs
    return flat


@dataclass(frozen=True)
class _Bins:
    """Retained bins of a window length and rate, the scale of their power, and the bands."""

    first: int
    scale: Array
    bands: Array
    """First and last bin of each band, counted from `first`."""
    step_hz: float
    log_count: float


@lru_cache(maxsize=64)
def _bins(length: int, fs: float) -> _Bins:
    f = scipy.fft.rfftfreq(length, 1 / fs)
    inside = np.flatnonzero((f >= RETAINED_HZ[0]) & (f <= RETAINED_HZ[1]))
    first, last = int(inside[0]), int(inside[-1])
    # 3/8 is the mean square of a Hann window; both sides of the spectrum count, except at Nyquist.
    scale = np.full(len(inside), 2 / (fs * length * 3 / 8))
    if length % 2 == 0 and last == length // 2:
        scale[-1] /= 2
    f = f[inside]
    rows = [row.band_hz for row in NINE if row.band_hz]
    members = [np.flatnonzero((f >= low) & (f <= high)) for low, high in rows]
    bands = np.array([(m[0], m[-1]) if len(m) else (0, 0) for m in members])
    return _Bins(first, scale, bands, fs / length, float(np.log(len(inside))))


def _spectral_part(y: Array, samples: WindowSamples, out: NDArray[np.float32]) -> None:
    """Five band powers and the entropy from one FFT per window."""
    bins, start, length = _bins(samples.length, samples.fs), samples.start, samples.length
    stride = int(start[1] - start[0]) if len(start) > 1 else 1
    windows = np.lib.stride_tricks.sliding_window_view(y, length, axis=-1)[:, start[0] :: stride]
    raw = scipy.fft.rfft(windows[:, : len(start)])
    retained = slice(bins.first, bins.first + len(bins.scale))
    power = hann_power(raw, retained, even=length % 2 == 0)
    power *= bins.scale.astype(power.dtype)
    bands = band_integrals(power, bins.bands, bins.step_hz)
    out[..., : len(bins.bands)] = np.log1p(bands)
    total = power.sum(axis=-1)
    # One pass: H = log ΣP - ΣP log P / ΣP.
    np.maximum(power, np.finfo(power.dtype).tiny, out=power)
    weighted = np.einsum("...k,...k", power, np.log(power))
    safe = np.where(total > 0, total, 1)
    entropy = (np.log(safe) - weighted / safe) / bins.log_count
    out[..., _INDEX["spectral_entropy"]] = np.where(total == 0, 0, entropy)
