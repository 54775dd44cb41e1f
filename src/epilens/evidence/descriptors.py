"""The descriptors of a window (appendix "Base Feature Construction"), one entry each.

The plain functions and their entries are the definition, in float64 if they are given float64. The
paper's nine are computed at once from one single-precision FFT per window; tests compare that
with the definition and with SciPy. Every other descriptor runs its own function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import scipy.signal
from numpy.typing import ArrayLike, NDArray

from epilens.core.errors import DataError, EpilensError
from epilens.core.registry import Registry
from epilens.evidence.blocks import in_blocks
from epilens.evidence.windows import WindowSamples, window_samples
from epilens.plan import PAPER_NINE

Array = NDArray[Any]

RMS_EPSILON = 1e-8
ENTROPY_EPSILON = 1e-12
RETAINED_HZ = (1.0, 150.0)
"""Bins that the spectral entropy counts; up to Nyquist where that is lower."""


@dataclass(frozen=True)
class Descriptor:
    """One descriptor: what it is, the function that computes it, and how it is used."""

    name: str
    unit: str
    formula: str
    of: Literal["signal", "spectrum"]
    compute: Callable[..., Array]
    """(x, fs) for those of the signal, (psd, f) for those of the spectrum: reduces the last axis,
    and is called on several threads."""
    words: str
    """Its name in a sentence."""
    band_hz: tuple[float, float] | None = None
    """Its band, if it has one; the audit reports how much of it lies below Nyquist."""
    fast: bool = False
    """Whether it measures fast activity, whose rise is recruitment."""
    log_level: bool = False
    """Whether it spans orders of magnitude: its levels are compared as logarithms."""
    state: int = 0
    """Position among the state terms of the channel table; 0: it has none."""

    @property
    def band(self) -> str:
        """Its band in words, for the audit."""
        return self.name.rpartition("log_")[2].removesuffix("_power").replace("_", " ")

    def covered(self, fs: float) -> float:
        """Share of its band that lies below Nyquist; 1 where it has none."""
        if self.band_hz is None:
            return 1.0
        low, high = self.band_hz
        return float(np.clip((fs / 2 - low) / (high - low), 0, 1))


def welch_samples(samples: int, fs: float) -> int:
    """Samples of a Welch segment in a window: min(N, max(64, round(2 fs))).

    Examples
    --------
    >>> welch_samples(512, 256), welch_samples(1024, 256)
    (512, 512)
    """
    return min(samples, max(64, round(2 * fs)))


def power_spectrum(x: Array, fs: float) -> tuple[Array, Array]:
    """One-sided Welch spectrum in µV²/Hz and its frequencies (Eq. of the segment length).

    Segments of `welch_samples`, half overlapping, Hann, no detrending. For windows of up to 2 s
    this is one segment: the window itself.
    """
    segment = welch_samples(x.shape[-1], fs)
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
    some = ~(total <= _ROUNDING * psd.sum(axis=-1, keepdims=True))  # NaN stays NaN
    share = np.where(some, power / np.where(some, total, 1), 0)
    return -(share * np.log(share + ENTROPY_EPSILON)).sum(axis=-1) / np.log(power.shape[-1])


_ROUNDING = 1e-24


def band_row(name: str, low: float, high: float, fast: bool = False) -> Descriptor:
    """The row of the log power in a band: all that another one needs."""
    return Descriptor(
        name=f"log_{name}_power",
        unit="log µV²",
        formula=rf"\log(1+\int_{{{low:g}}}^{{{high:g}}}\hat S(f)\,df)",
        of="spectrum",
        compute=partial(log_band_power, band_hz=(low, high)),
        words=f"{name.replace('_', '-')} power",
        band_hz=(low, high),
        fast=fast,
    )


NINE = (
    band_row("delta", 1, 4),
    band_row("theta", 4, 8),
    band_row("beta", 13, 30, fast=True),
    band_row("low_gamma", 30, 80, fast=True),
    replace(band_row("high_gamma", 80, 150, fast=True), state=1),
    Descriptor(
        name="rms",
        unit="µV",
        formula=r"\sqrt{\frac1N\sum_t x_t^2+\epsilon}",
        of="signal",
        compute=root_mean_square,
        words="amplitude (RMS)",
        log_level=True,
        state=3,
    ),
    Descriptor(
        name="variance",
        unit="µV²",
        formula=r"\frac1N\sum_t(x_t-\bar x)^2",
        of="signal",
        compute=variance,
        words="variance",
        log_level=True,
        state=4,
    ),
    Descriptor(
        name="line_length",
        unit="µV/s",
        formula=r"\frac{f_s}{N}\sum_{t=2}^{N}|x_t-x_{t-1}|",
        of="signal",
        compute=line_length,
        words="line length",
        fast=True,
        log_level=True,
        state=2,
    ),
    Descriptor(
        name="spectral_entropy",
        unit="1",
        formula=r"-\frac1{\log K}\sum_k\tilde P_k\log(\tilde P_k+\epsilon)",
        of="spectrum",
        compute=spectral_entropy,
        words="spectral entropy",
    ),
)
"""The paper's descriptors in its order: `epilens.evidence.fused` computes them together."""
ENTRIES = NINE
DESCRIPTORS: Registry[Descriptor] = Registry(
    ("epilens.evidence.descriptors", "epilens.evidence.released_descriptors"),
    "descriptor",
    "epilens.descriptors",
)
HIGH_GAMMA = "log_high_gamma_power"


def rows_of(names: Iterable[str]) -> list[Descriptor]:
    """Rows of a cube's descriptors; of those that no installed package has, only names."""
    return [DESCRIPTORS[name] if name in DESCRIPTORS else _unknown(name) for name in names]


def _unknown(name: str) -> Descriptor:
    def compute(*given: object) -> Array:
        return DESCRIPTORS[name].compute(*given)  # raises the error for an unknown name

    return Descriptor(name, "", "", "signal", compute, words=name.replace("_", " "))


def high_gamma_covered(fs: float) -> float:
    """Share of the high-gamma band that lies below Nyquist.

    Examples
    --------
    >>> high_gamma_covered(512), round(high_gamma_covered(256), 3)
    (1.0, 0.686)
    """
    return DESCRIPTORS[HIGH_GAMMA].covered(fs)


def descriptors(
    x: ArrayLike,
    fs: float,
    length_s: float = 2.0,
    stride_s: float = 1.0,
    threads: int | None = None,
    names: Sequence[str] = PAPER_NINE,
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
    names : sequence of str
        Rows of `epilens list descriptors`. Default: the paper's nine.

    Returns
    -------
    array, (..., window, channel, descriptor)
        In the order of `names`, in the units of their rows.

    Examples
    --------
    >>> descriptors(np.zeros((3, 1024)), fs=256).shape
    (3, 3, 9)
    >>> noise = np.random.default_rng(0).normal(0, 20, size=(3, 10 * 256))  # µV, 10 s at 256 Hz
    >>> descriptors(noise, fs=256.0).shape  # nine windows of 2 s, one each second
    (9, 3, 9)
    >>> descriptors(noise, 256.0, names=["line_length", "rms"]).shape
    (9, 3, 2)
    """
    x = np.asarray(x)
    length, stride = window_samples(fs, length_s, stride_s)
    _check(x, fs, length, stride)
    rows = [DESCRIPTORS[name] for name in names]
    flat = x.reshape(int(np.prod(x.shape[:-1])), x.shape[-1])
    windows = max(0, (x.shape[-1] - length) // stride + 1)
    out = np.zeros((len(flat), windows, len(rows)), np.float32)
    samples = WindowSamples(fs, stride * np.arange(windows), length)
    if windows and len(flat):
        in_blocks(lambda b: describe_block(flat[b], samples, rows, out[b]), len(flat), threads)
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


def describe_block(
    x: Array, samples: WindowSamples, rows: Sequence[Descriptor], out: NDArray[np.float32]
) -> None:
    """Descriptors of the windows of x (row, time), into `out` (row, window, descriptor)."""
    # The fused kernel has one FFT per window; a longer window has several Welch segments.
    fused = NINE if welch_samples(samples.length, samples.fs) == samples.length else ()
    own = [i for i, row in enumerate(rows) if row not in fused]
    if len(own) < len(rows):
        from epilens.evidence.fused import describe_nine  # it is only needed here

        all_nine = tuple(rows) == NINE
        nine = out if all_nine else np.zeros((*out.shape[:2], len(NINE)), np.float32)
        describe_nine(x, samples, nine)
        for i, row in enumerate(rows):
            if row in fused and not all_nine:
                out[..., i] = nine[..., NINE.index(row)]
    if own:
        _compute(x, samples, {i: rows[i] for i in own}, out)


_AT_ONCE = 1_000_000
"""Samples of windows that lie in memory together."""


def _compute(
    x: Array, samples: WindowSamples, rows: dict[int, Descriptor], out: NDArray[np.float32]
) -> None:
    """Compute descriptors that have a function of their own, a few windows at a time."""
    every = np.lib.stride_tricks.sliding_window_view(x, samples.length, axis=-1)
    step = max(1, _AT_ONCE // (len(x) * samples.length))
    for first in range(0, len(samples.start), step):
        part = slice(first, first + step)
        windows = every[:, samples.start[part]].astype(np.float64)
        given: dict[str, tuple[Any, ...]] = {"signal": (windows, samples.fs)}
        if any(row.of == "spectrum" for row in rows.values()):
            given["spectrum"] = power_spectrum(windows, samples.fs)
        for i, row in rows.items():
            values = np.asarray(row.compute(*given[row.of]))
            if values.shape != windows.shape[:-1]:
                raise EpilensError(
                    f"descriptor {row.name!r}: expected one number for each window, "
                    f"{windows.shape[:-1]}, found {values.shape}. Its function must reduce the "
                    "last axis."
                )
            out[:, part, i] = values
