"""Hot loops of the descriptors, in blocks that fit the processor's cache."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_BLOCK = 16
"""Channels at a time: intermediate arrays of a block stay in the cache."""


def window_sums(y: Array, start: Array, length: int) -> NDArray[np.float64]:
    """Per row and window: Σy, Σy², Σ|y_t - y_(t-1)| over the steps inside the window.

    start : evenly spaced. Overlapping windows share the sums of the pieces between their starts,
    so every sample is visited once. Pieces are added one by one: a difference of cumulative sums
    would lose the digits of a quiet window after a loud one.
    """
    stride = int(start[1] - start[0]) if len(start) > 1 else length
    whole, rest = divmod(length, stride)
    samples = int(start[-1] - start[0]) + length
    pieces = -(-samples // stride)
    out = np.empty((len(y), len(start), 3))
    x, steps = np.zeros((2, pieces, stride))
    flat, step = x.reshape(-1)[:samples], steps.reshape(-1)[:samples]
    for row, sums in zip(y[:, start[0] : start[0] + samples], out, strict=True):
        flat[:] = row
        np.abs(np.subtract(flat[1:], flat[:-1], out=step[1:]), out=step[1:])
        for column, (a, b) in enumerate(((x, None), (x, x), (steps, None))):
            full, head = _row_sums(a, b), _row_sums(a, b, rest)
            windows = len(start)
            parts = [full[k : k + windows] for k in range(whole)]
            sums[:, column] = sum(parts) + (head[whole : whole + windows] if rest else 0)
    # The step into the first sample belongs to the window before.
    later = start[1:]
    out[:, 1:, 2] -= np.abs(y[:, later] - y[:, later - 1], dtype=np.float64)
    return out


def _row_sums(a: Array, b: Array | None, columns: int | None = None) -> Array:
    """Σ a or Σ a·b over the first columns of each row."""
    if b is None:
        return a[:, :columns].sum(axis=1)
    return np.einsum("pt,pt->p", a[:, :columns], b[:, :columns])


def hann_power(spectrum: Array, bins: slice, even: bool) -> Array:
    """Squared modulus of some bins under a Hann window, (row, window, bin).

    spectrum : (row, window, bin), complex, of the windows without taper. Hann is a convolution of
    the spectrum with (-1/4, 1/2, -1/4), so the signal need not be multiplied. Beyond both ends the
    spectrum of a real signal mirrors itself. even : the last bin is at Nyquist.
    """
    if bins.start == 0 or bins.stop == spectrum.shape[-1]:
        ends = spectrum[..., [1]].conj(), spectrum[..., [-2 if even else -1]].conj()
        spectrum = np.concatenate([ends[0], spectrum, ends[1]], axis=-1)
        bins = slice(bins.start + 1, bins.stop + 1)
    real = spectrum.real.dtype.type
    power = np.empty((*spectrum.shape[:-1], bins.stop - bins.start), real)
    first, stop = 2 * bins.start, 2 * bins.stop
    tapered, sides = np.empty((2, spectrum.shape[1], stop - first), real)  # stay in the cache
    for parts, out in zip(spectrum.view(real), power, strict=True):  # real, imaginary in turn
        np.multiply(parts[:, first:stop], 2, out=tapered)
        np.add(parts[:, first - 2 : stop - 2], parts[:, first + 2 : stop + 2], out=sides)
        np.subtract(tapered, sides, out=tapered)
        np.square(tapered, out=tapered)
        np.add(tapered[:, ::2], tapered[:, 1::2], out=out)
    power *= real(1 / 16)  # (1/4)², exact
    return power


def welch_power(spectrum: Array, even: bool) -> NDArray[np.float64]:
    """Mean over segments of `hann_power` without each segment's mean, one-sided.

    spectrum : (row, window, segment, bin). Returns (row, window, bin).
    """
    bins = spectrum.shape[-1]
    spectrum[..., 0] = 0  # a segment's mean
    power = hann_power(spectrum.reshape(len(spectrum), -1, bins), slice(0, bins), even)
    mean = power.reshape(spectrum.shape).mean(axis=2, dtype=np.float64)
    mean[..., 1 : bins - 1 if even else bins] *= 2
    return mean


def window_moments(y: Array, start: Array, length: int) -> NDArray[np.float64]:
    """Per row and window: variance, skewness, excess kurtosis, line length, (row, window, 4).

    Moments are population values; a constant window has 0 for all of them. The line length is the
    mean of |y_t - y_(t-1)| over the steps inside the window.
    """
    out = np.zeros((len(y), len(start), 4))
    for rows in range(0, len(y), _BLOCK):
        for window, begin in enumerate(start):
            x = y[rows : rows + _BLOCK, begin : begin + length].astype(np.float64)
            cell = out[rows : rows + _BLOCK, window]
            cell[:, 3] = np.abs(np.diff(x, axis=1)).mean(axis=1)
            mean = x.mean(axis=1, keepdims=True)
            x -= mean
            square = x * x
            m2, m3, m4 = (
                square.mean(axis=1),
                np.einsum("rt,rt->r", square, x) / length,
                np.einsum("rt,rt->r", square, square) / length,
            )
            varies = (m2 > 1e-13 * mean[:, 0] ** 2) & (m2 > 0)
            safe = np.where(varies, m2, 1)
            moments = np.stack([m2, m3 / safe**1.5, m4 / safe**2 - 3], axis=1)
            cell[:, :3] = np.where(varies[:, None], moments, 0)
    return out


def band_integrals(power: Array, bands: Array, step_hz: float) -> NDArray[np.float64]:
    """Trapezoid integral over each band, (row, window, band); 0 for a band of one bin."""
    out = np.zeros((*power.shape[:-1], len(bands)))
    for band, (low, high) in enumerate(bands):
        if high > low:
            inside = power[..., low : high + 1]
            ends = (inside[..., 0].astype(np.float64) + inside[..., -1]) / 2
            out[..., band] = (inside.sum(axis=-1, dtype=np.float64) - ends) * step_hz
    return out
