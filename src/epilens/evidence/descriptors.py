"""The nine descriptors of a window (appendix "Base Feature Construction").

The plain functions and their rows are the definition, in float64 if they are given float64.
`descriptors` computes all nine at once from one single-precision FFT per window; tests hold it to
the definition and to SciPy.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import scipy.fft
import scipy.signal
from numpy.typing import ArrayLike, NDArray

from epilens.errors import DataError
from epilens.evidence.windows import window_samples

Array = NDArray[Any]

RMS_EPSILON = 1e-8
ENTROPY_EPSILON = 1e-12
RETAINED_HZ = (1.0, 150.0)
"""Bins that the spectral entropy counts; up to Nyquist where that is lower."""


@dataclass(frozen=True)
class Descriptor:
    """One descriptor: its name, unit, formula, and the function that defines it."""

    name: str
    unit: str
    formula: str
    of: Literal["signal", "spectrum"]
    compute: Callable[..., Array]
    """(x, fs) for descriptors of the signal, (psd, f) for those of the spectrum; last axis."""
    band_hz: tuple[float, float] | None = None


def power_spectrum(x: Array, fs: float) -> tuple[Array, Array]:
    """One-sided Welch spectrum in µV²/Hz and its frequencies (Eq. of the segment length).

    Segments of min(N, max(64, round(2 fs))) samples, half overlapping, Hann, no detrending. For
    2 s windows this is one segment: the window itself.
    """
    samples = x.shape[-1]
    segment = min(samples, max(64, round(2 * fs)))
    f, psd = scipy.signal.welch(x, fs, nperseg=segment, noverlap=segment // 2, detrend=False)
    return psd, f


def log_band_power(psd: Array, f: Array, band_hz: tuple[float, float]) -> Array:
    """log(1 + power) in a closed band, by the trapezoid over the bins inside."""
    inside = (f >= band_hz[0]) & (f <= band_hz[1])
    return np.log1p(np.trapezoid(psd[..., inside], f[inside], axis=-1))


def root_mean_square(x: Array, fs: float) -> Array:
    """Root mean square, with ε under the root."""
    return np.sqrt(np.mean(np.square(x), axis=-1) + RMS_EPSILON)


def variance(x: Array, fs: float) -> Array:
    """Population variance."""
    return np.var(x, axis=-1)


def line_length(x: Array, fs: float) -> Array:
    """Line length per second; divides by the duration N/fs, not by the N - 1 differences.

    Examples
    --------
    >>> float(line_length(np.array([0.0, 1.0, 0.0, 1.0]), fs=4))
    3.0
    """
    return np.abs(np.diff(x, axis=-1)).sum(axis=-1) * fs / x.shape[-1]


def spectral_entropy(psd: Array, f: Array) -> Array:
    """Entropy of the normalised spectrum in 1-150 Hz, between 0 and 1; 0 without any power."""
    power = psd[..., (f >= RETAINED_HZ[0]) & (f <= RETAINED_HZ[1])]
    total = power.sum(axis=-1, keepdims=True)
    # A constant leaves rounding errors in every bin; they are not a spectrum.
    some = total > _ROUNDING * psd.sum(axis=-1, keepdims=True)
    share = np.where(some, power / np.where(some, total, 1), 0)
    return -(share * np.log(share + ENTROPY_EPSILON)).sum(axis=-1) / np.log(power.shape[-1])


_ROUNDING = 1e-24


def _band_row(name: str, low: float, high: float) -> Descriptor:
    return Descriptor(
        name=f"log_{name}_power",
        unit="log µV²",
        formula=rf"\log(1+\int_{{{low:g}}}^{{{high:g}}}\hat S(f)\,df)",
        of="spectrum",
        compute=partial(log_band_power, band_hz=(low, high)),
        band_hz=(low, high),
    )


_ROWS = (
    _band_row("delta", 1, 4),
    _band_row("theta", 4, 8),
    _band_row("beta", 13, 30),
    _band_row("low_gamma", 30, 80),
    _band_row("high_gamma", 80, 150),
    Descriptor("rms", "µV", r"\sqrt{\frac1N\sum_t x_t^2+\epsilon}", "signal", root_mean_square),
    Descriptor("variance", "µV²", r"\frac1N\sum_t(x_t-\bar x)^2", "signal", variance),
    Descriptor(
        "line_length", "µV/s", r"\frac{f_s}{N}\sum_{t=2}^{N}|x_t-x_{t-1}|", "signal", line_length
    ),
    Descriptor(
        "spectral_entropy",
        "1",
        r"-\frac1{\log K}\sum_k\tilde P_k\log(\tilde P_k+\epsilon)",
        "spectrum",
        spectral_entropy,
    ),
)
DESCRIPTORS = MappingProxyType({row.name: row for row in _ROWS})
"""Rows in the order of the last axis."""

HIGH_GAMMA_HZ = (80.0, 150.0)


def high_gamma_covered(fs: float) -> float:
    """Share of the high-gamma band that lies below Nyquist.

    Examples
    --------
    >>> high_gamma_covered(512), round(high_gamma_covered(256), 3)
    (1.0, 0.686)
    """
    low, high = HIGH_GAMMA_HZ
    return float(np.clip((fs / 2 - low) / (high - low), 0, 1))


def descriptors(
    x: ArrayLike,
    fs: float,
    length_s: float = 2.0,
    stride_s: float = 1.0,
    threads: int | None = None,
) -> NDArray[np.float32]:
    """Cut windows and describe each of them; the signal is not filtered.

    Parameters
    ----------
    x : array, (..., channel, time)
        Signal in µV.
    fs : float
        Sampling rate in Hz; can be fractional.
    length_s, stride_s : float
        A window has round(length_s · fs) samples, the next starts round(stride_s · fs) later.
    threads : int
        Default: as many as there are processors.

    Returns
    -------
    array, (..., window, channel, 9)
        In the order and units of `DESCRIPTORS`.

    Examples
    --------
    >>> descriptors(np.zeros((3, 1024)), fs=256).shape
    (3, 3, 9)
    """
    x = np.asarray(x)
    length, stride = window_samples(fs, length_s, stride_s)
    _check(x, fs, length, stride)
    flat = x.reshape(int(np.prod(x.shape[:-1])), x.shape[-1])
    windows = max(0, (x.shape[-1] - length) // stride + 1)
    out = np.empty((len(flat), windows, len(DESCRIPTORS)), np.float32)
    start = stride * np.arange(windows)
    if windows and len(flat):
        in_blocks(
            lambda rows: describe_block(flat[rows], fs, start, length, out[rows]),
            len(flat),
            threads,
        )
    return np.moveaxis(out.reshape(*x.shape[:-1], windows, out.shape[-1]), -3, -2)


def _check(x: Array, fs: float, length: int, stride: int) -> None:
    if x.ndim < 2:
        raise DataError(
            f"descriptors: expected an array (..., channel, time), found shape {x.shape}. Add the "
            "channel axis: x[np.newaxis]."
        )
    if not np.issubdtype(x.dtype, np.number) or np.iscomplexobj(x):
        raise DataError(f"descriptors: expected real numbers, found {x.dtype}.")
    if not (fs > 0 and length >= 2 and stride >= 1):
        raise DataError(
            f"descriptors: expected a rate that gives windows of two or more samples, found {fs} "
            "Hz."
        )


def in_blocks(work: Callable[[slice], object], rows: int, threads: int | None = None) -> None:
    """Call `work` on slices that cover `rows`, small enough for the cache, on several threads."""
    threads = threads or min(4, os.cpu_count() or 1)
    step = max(1, min(_BLOCK, -(-rows // threads)))
    blocks = [slice(first, min(rows, first + step)) for first in range(0, rows, step)]
    if threads == 1 or len(blocks) == 1:
        for block in blocks:
            work(block)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, blocks))


_BLOCK = 8
# Beyond this size, single precision would hide weak bands beside a strong one.
_HUGE_UV = 1e4


def describe_block(
    x: Array, fs: float, start: NDArray[np.int64], length: int, out: NDArray[np.float32]
) -> None:
    """All nine descriptors of the windows that start at `start`, into `out` (row, window, 9)."""
    high, low = x.max(axis=-1, keepdims=True), x.min(axis=-1, keepdims=True)
    # A constant has no power above 1 Hz (Hann), so taking it away first only saves precision.
    pilot = np.where(high == low, low, x.mean(axis=-1, keepdims=True)).astype(x.dtype, copy=False)
    precise = bool(np.maximum(high - pilot, pilot - low).max() > _HUGE_UV)
    y = np.subtract(x, pilot, dtype=np.float64 if precise else np.float32, casting="same_kind")
    flat = _signal_part(y, pilot.astype(np.float64)[:, 0], fs, start, length, out)
    _spectral_part(y, fs, start, length, out)
    out[..., _INDEX["spectral_entropy"]][flat] = 0


def _signal_part(
    y: Array, pilot: Array, fs: float, start: Array, length: int, out: NDArray[np.float32]
) -> NDArray[np.bool_]:
    """RMS, variance and line length; returns which windows are constant up to rounding."""
    from epilens.evidence.kernels import window_sums  # numba is large, and only needed here

    sums = window_sums(y, start, length) / length
    mean, square, steps = sums[..., 0], sums[..., 1], sums[..., 2]
    var = square - mean * mean
    flat = var <= 1e-13 * square
    var[flat] = 0
    level = pilot[:, None] + mean
    out[..., _INDEX["rms"]] = np.sqrt(var + level * level + RMS_EPSILON)
    out[..., _INDEX["variance"]] = var
    out[..., _INDEX["line_length"]] = steps * fs
    return flat


_INDEX = {name: position for position, name in enumerate(DESCRIPTORS)}


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
    rows = [row.band_hz for row in _ROWS if row.band_hz]
    members = [np.flatnonzero((f >= low) & (f <= high)) for low, high in rows]
    bands = np.array([(m[0], m[-1]) if len(m) else (0, 0) for m in members])
    return _Bins(first, scale, bands, fs / length, float(np.log(len(inside))))


def _spectral_part(
    y: Array, fs: float, start: Array, length: int, out: NDArray[np.float32]
) -> None:
    """Five band powers and the entropy from one FFT per window."""
    from epilens.evidence.kernels import hann_power

    bins = _bins(length, fs)
    stride = int(start[1] - start[0]) if len(start) > 1 else 1
    windows = np.lib.stride_tricks.sliding_window_view(y, length, axis=-1)[:, start[0] :: stride]
    raw = scipy.fft.rfft(windows[:, : len(start)])
    real = raw.real.dtype
    power = np.empty((*raw.shape[:-1], len(bins.scale)), real)
    bands = np.empty((*raw.shape[:-1], len(bins.bands)))
    halves, scale = np.array([0.5, 0.25], real), bins.scale.astype(real)
    even = length % 2 == 0
    hann_power(
        raw.view(real), bins.first, even, halves, scale, bins.bands, bins.step_hz, power, bands
    )
    out[..., : len(bins.bands)] = np.log1p(bands)
    total = power.sum(axis=-1)
    # One pass: H = log ΣP - ΣP log P / ΣP.
    np.maximum(power, np.finfo(power.dtype).tiny, out=power)
    weighted = np.einsum("...k,...k", power, np.log(power))
    safe = np.where(total > 0, total, 1)
    entropy = (np.log(safe) - weighted / safe) / bins.log_count
    out[..., _INDEX["spectral_entropy"]] = np.where(total > 0, entropy, 0)
