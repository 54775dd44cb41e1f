"""Hot loops of the descriptors, compiled by numba; they release the interpreter's lock."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def window_sums(y: Array, start: Array, length: int) -> NDArray[np.float64]:
    """Per row and window: Σy, Σy², Σ|y_t - y_(t-1)| over the steps inside the window.

    Overlapping windows share the sums of the pieces between their edges, so every sample is
    visited once.
    """
    edges = np.unique(np.concatenate([start, start + length]))
    out = np.empty((len(y), len(start), 3))
    _window_sums(
        y, edges, np.searchsorted(edges, start), np.searchsorted(edges, start + length), out
    )
    return out


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _window_sums(y, edges, first, last, out):
    """`first` and `last` say which edges a window begins and ends at."""
    pieces = np.empty((len(edges) - 1, 3))
    for row in range(y.shape[0]):
        signal = y[row]
        for piece in range(len(edges) - 1):
            # Slices, because numba cannot vectorise over indices that could be negative.
            here = signal[edges[piece] : edges[piece + 1]]
            a = square = steps = 0.0
            for t in range(len(here)):
                value = np.float64(here[t])
                a += value
                square += value * value
            from_edge = signal[max(1, edges[piece]) : edges[piece + 1]]
            before = signal[max(1, edges[piece]) - 1 : edges[piece + 1] - 1]
            for t in range(len(from_edge)):
                steps += np.float64(abs(from_edge[t] - before[t]))
            pieces[piece, 0], pieces[piece, 1], pieces[piece, 2] = a, square, steps
        for window in range(len(first)):
            for kind in range(3):
                total = 0.0
                for piece in range(first[window], last[window]):
                    total += pieces[piece, kind]
                out[row, window, kind] = total
            begin = edges[first[window]]
            if begin > 0:
                # The step into the first sample belongs to the window before.
                out[row, window, 2] -= abs(
                    np.float64(signal[begin]) - np.float64(signal[begin - 1])
                )


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def hann_power(spectrum, first, even, coefficients, scale, bands, step_hz, power, out):
    """Power of the retained bins under a Hann window, and its trapezoid integral over each band.

    spectrum : (row, window, 2 × bin), real and imaginary parts side by side, without taper.

    Hann is a convolution with (-1/4, 1/2, -1/4) of the spectrum, so the signal need not be
    multiplied. `coefficients` are 1/2 and 1/4 in the precision of the spectrum; `even`: the window
    has a bin at Nyquist.
    """
    n, half, quarter = len(scale), coefficients[0], coefficients[1]
    for row in range(spectrum.shape[0]):
        for window in range(spectrum.shape[1]):
            p = power[row, window]
            inner = min(n, spectrum.shape[2] // 2 - 1 - first)
            here = spectrum[row, window, 2 * first : 2 * (first + inner)]
            below = spectrum[row, window, 2 * first - 2 : 2 * (first + inner) - 2]
            above = spectrum[row, window, 2 * first + 2 : 2 * (first + inner) + 2]
            for k in range(inner):
                re = half * here[2 * k] - quarter * (below[2 * k] + above[2 * k])
                im = half * here[2 * k + 1] - quarter * (below[2 * k + 1] + above[2 * k + 1])
                p[k] = (re * re + im * im) * scale[k]
            if inner < n:
                # The topmost bin: beyond it the spectrum of a real signal mirrors itself.
                top = spectrum[row, window, 2 * (first + n - 1) - 2 :]
                mirror = top[0:2] if even else top[2:4]
                re = half * top[2] - quarter * (top[0] + mirror[0])
                im = half * top[3] - quarter * (top[1] - mirror[1])
                p[n - 1] = (re * re + im * im) * scale[n - 1]
            for band in range(len(bands)):
                low, high = bands[band]
                total = -0.5 * (np.float64(p[low]) + np.float64(p[high]))
                for k in range(low, high + 1):
                    total += p[k]
                out[row, window, band] = total * step_hz if high > low else 0.0
