"""Band limits, and the grid of windows around onset.

The grid starts at the plan's `start_s` and counts windows in seconds (59 by default), so every
seizure of every rate has the same windows; which of them lie inside a recording is a mask.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy.fft
import scipy.signal
from numpy.typing import NDArray

from epilens.data.recording import Recording
from epilens.plan import FilterPlan, WindowPlan

# Where the upper edge comes this close to Nyquist, only the lower one is applied.
_NEAR_NYQUIST = 0.9
MAINS_Q = 30
"""Quality factor of a notch."""
RINGS_S = 5.0
"""A zero-phase 1 Hz edge rings for about this long."""


def response(f: NDArray[np.float64], fs: float, plan: FilterPlan) -> NDArray[np.float64]:
    """Gain of the band limits at frequencies `f` (Hz): a Butterworth run forwards and backwards.

    Both runs together multiply by |H|², which for a digital Butterworth is 1/(1 + Ω^2n) with the
    prewarped frequency Ω, so the zero-phase filter needs no recursion.
    """
    with np.errstate(divide="ignore"):
        w, low = np.tan(np.pi * f / fs), np.tan(np.pi * plan.low_hz / fs)
        if plan.high_hz >= _NEAR_NYQUIST * fs / 2:
            Ω = low / w
        else:
            high = np.tan(np.pi * plan.high_hz / fs)
            Ω = (w * w - low * high) / ((high - low) * w)
        return 1 / (1 + Ω ** (2 * plan.order))


def notch_response(
    f: NDArray[np.float64], fs: float, mains_hz: float, harmonics: bool = True
) -> NDArray[np.float64]:
    """Gain of zero-phase notches (Q = 30) at mains and, by default, its harmonics.

    Those that lie above Nyquist are left out.
    """
    gain, notched = np.ones_like(f), np.arange(mains_hz, fs / 2 - 1, mains_hz)
    for hz in notched if harmonics else notched[:1]:
        b, a = scipy.signal.iirnotch(hz, MAINS_Q, fs)
        gain *= np.abs(scipy.signal.freqz(b, a, worN=f, fs=fs)[1]) ** 2
    return gain


@lru_cache(maxsize=32)
def _gain(n: int, fs: float, plan: FilterPlan, mains_hz: float | None) -> NDArray[np.float32]:
    f = scipy.fft.rfftfreq(n, 1 / fs)
    gain = np.ones_like(f) if plan.band == "none" else response(f, fs, plan)
    if plan.notch != "none" and mains_hz:
        gain *= notch_response(f, fs, mains_hz, harmonics=plan.notch == "auto")
    return gain.astype(np.float32)


def band_limit(
    x: NDArray[np.float32],
    fs: float,
    plan: FilterPlan,
    mains_hz: float | None = None,
    pad_s: float = RINGS_S,
) -> NDArray[np.float32]:
    """Zero-phase band limits along the last axis; `x` itself where the plan has none and no notch.

    Both ends are continued for `pad_s`; what still rings from there dies within `RINGS_S`.
    """
    if plan.band == "none" and not (plan.notch != "none" and mains_hz):
        return x
    return zero_phase(x, fs, lambda n: _gain(n, fs, plan, mains_hz), pad_s)


def zero_phase(
    x: NDArray[np.float32],
    fs: float,
    gain: Callable[[int], NDArray[np.float32]],
    pad_s: float,
) -> NDArray[np.float32]:
    """Multiply the spectrum along the last axis by the gain at the bins of an FFT of n samples.

    Both ends are continued for `pad_s` by reflection through the end points, as
    `scipy.signal.sosfiltfilt` does.
    """
    samples = x.shape[-1]
    pad = min(samples - 1, round(pad_s * fs))
    n = scipy.fft.next_fast_len(samples + 2 * pad, real=True)
    longer = np.empty((*x.shape[:-1], n), np.float32)
    longer[..., pad : pad + samples] = x
    first, last = x[..., :1], x[..., -1:]
    np.subtract(2 * first, x[..., pad:0:-1], out=longer[..., :pad])
    np.subtract(
        2 * last, x[..., -2 : -pad - 2 : -1], out=longer[..., pad + samples : samples + 2 * pad]
    )
    # What is left up to the fast length joins the two ends, so that there is no step.
    longer[..., samples + 2 * pad :] = longer[..., :1]
    spectrum = scipy.fft.rfft(longer)
    spectrum *= gain(n)
    return scipy.fft.irfft(spectrum, n)[..., pad : pad + samples]


@dataclass(frozen=True)
class WindowSamples:
    """Where windows lie in a signal: its rate in Hz, first sample of each, samples of a window."""

    fs: float
    start: NDArray[np.int64]
    length: int


@dataclass(frozen=True)
class Grid:
    """Windows of one recording: first sample of each, and which lie wholly inside."""

    start: NDArray[np.int64]
    length: int
    start_s: NDArray[np.float64]
    stop_s: NDArray[np.float64]
    inside: NDArray[np.bool_]


def window_samples(fs: float, length_s: float, stride_s: float) -> tuple[int, int]:
    """Samples of a window and of a stride; rates can be fractional."""
    return round(length_s * fs), round(stride_s * fs)


def window_count(plan: WindowPlan) -> int:
    """Windows of the planned interval."""
    return int((plan.stop_s - plan.start_s - plan.length_s) / plan.stride_s + 1e-9) + 1


def window_grid(recording: Recording, plan: WindowPlan) -> Grid:
    """The windows of a recording.

    The first window starts at or just before `start_s` (never after it), so that with whole rates a
    window that should end at onset does not reach beyond it.
    """
    fs = recording.fs
    length, stride = window_samples(fs, plan.length_s, plan.stride_s)
    first = int(np.floor((plan.start_s - recording.start_s) * fs + 1e-6))
    start = first + stride * np.arange(window_count(plan))
    inside = (start >= 0) & (start + length <= recording.signal.shape[1])
    start_s = recording.start_s + start / fs
    return Grid(start, length, start_s, start_s + length / fs, inside)
