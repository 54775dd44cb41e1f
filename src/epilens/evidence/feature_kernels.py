"""Hot loops of the contact features, compiled by numba; they release the interpreter's lock."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
_FAST = {"reassoc", "contract", "nsz"}


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def window_moments(y, start, length, out):
    """Per row and window of y (row, time): variance, skewness, excess kurtosis, line length.

    Moments are population values; a constant window has 0 for all of them. The line length is the
    mean of |y_t - y_(t-1)| over the steps inside the window. out : (row, window, 4).
    """
    for row in range(y.shape[0]):
        for window in range(len(start)):
            here = y[row, start[window] : start[window] + length]
            before, after = here[:-1], here[1:]
            total = steps = 0.0
            for t in range(len(after)):
                steps += np.float64(abs(after[t] - before[t]))
            for t in range(length):
                total += here[t]
            mean = total / length
            m2 = m3 = m4 = 0.0
            for t in range(length):
                gap = here[t] - mean
                square = gap * gap
                m2 += square
                m3 += square * gap
                m4 += square * square
            m2, m3, m4 = m2 / length, m3 / length, m4 / length
            varies = m2 > 1e-13 * mean * mean and m2 > 0
            out[row, window, 0] = m2 if varies else 0.0
            out[row, window, 1] = m3 / m2**1.5 if varies else 0.0
            out[row, window, 2] = m4 / (m2 * m2) - 3 if varies else 0.0
            out[row, window, 3] = steps / (length - 1)


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def welch_power(spectrum, even, scale, power):
    """Mean over segments of the power under a Hann window, one-sided, without each segment's mean.

    spectrum : (row, window, segment, 2 × bin), real and imaginary parts side by side, of segments
    without taper. Hann is a convolution of the spectrum with (-1/4, 1/2, -1/4), and a segment's
    mean is bin 0, so neither touches the samples. `even`: the topmost bin is Nyquist. power : (row,
    window, bin).
    """
    bins = power.shape[2]
    half, quarter = spectrum.dtype.type(0.5), spectrum.dtype.type(0.25)
    for row in range(spectrum.shape[0]):
        for window in range(spectrum.shape[1]):
            p = power[row, window]
            p[:] = 0
            for segment in range(spectrum.shape[2]):
                x = spectrum[row, window, segment]
                x[0] = 0
                x[1] = 0
                here, below, above = x[2 : 2 * bins - 2], x[: 2 * bins - 4], x[4 : 2 * bins]
                inner = p[1 : bins - 1]
                for k in range(bins - 2):
                    re = half * here[2 * k] - quarter * (below[2 * k] + above[2 * k])
                    im = half * here[2 * k + 1] - quarter * (below[2 * k + 1] + above[2 * k + 1])
                    inner[k] += re * re + im * im
                # Beyond both ends the spectrum of a real signal mirrors itself.
                p[0] += (half * x[2]) ** 2
                top = x[2 * bins - 4 :]
                mirror_re = top[0] if even else top[2]
                mirror_im = -top[1] if even else -top[3]
                re = half * top[2] - quarter * (top[0] + mirror_re)
                im = half * top[3] - quarter * (top[1] + mirror_im)
                p[bins - 1] += re * re + im * im
            for k in range(bins):
                p[k] *= 2 * scale
            p[0] /= 2
            if even:
                p[bins - 1] /= 2
