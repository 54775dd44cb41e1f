"""Hot loops of the descriptors, in blocks that fit the processor's cache."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_BLOCK = 16
"""Channels at a time: intermediate arrays of a block stay in the cache."""


def window_sums(y: Array, start: Array, length: int) -> NDArray[np.float64]:
    """Per row and window: Σy, Σy², Σ|y_t - y_(t-1)| over the steps inside the window.

    Overlapping windows share the sums of the pieces between their edges, so every sample is
    visited once.
    """
    edges = np.unique(np.concatenate([start, start + length]))
    first, last = np.searchsorted(edges, start), np.searchsorted(edges, start + length)
    pieces = np.zeros((len(y), len(edges), 3))  # the first is empty, for the cumulative sum
    for rows in range(0, len(y), _BLOCK):
        sums = pieces[rows : rows + _BLOCK]
        for piece, (begin, end) in enumerate(itertools.pairwise(edges), start=1):
            # One sample more in front, for the step into the piece.
            samples = y[rows : rows + _BLOCK, max(begin - 1, 0) : end].astype(np.float64)
            inside = samples[:, 1:] if begin else samples
            sums[:, piece, 0] = inside.sum(axis=1)
            sums[:, piece, 1] = np.einsum("rt,rt->r", inside, inside)
            steps = samples[:, 1:] - samples[:, :-1]
            sums[:, piece, 2] = np.abs(steps, out=steps).sum(axis=1)
    out = _sums_between(pieces, first, last)
    # The step into the first sample belongs to the window before.
    inner = start > 0
    out[:, inner, 2] -= np.abs(y[:, start[inner]] - y[:, start[inner] - 1], dtype=np.float64)
    return out


def _sums_between(pieces: Array, first: Array, last: Array) -> NDArray[np.float64]:
    """Sums of the pieces from edge `first` to edge `last` of each window.

    Added piece by piece: a difference of cumulative sums would lose the digits of a quiet window
    after a loud one.
    """
    out = np.zeros((len(pieces), len(first), 3))
    for step in range(int((last - first).max(initial=0))):
        inside = first + step < last
        out[:, inside] += pieces[:, (first + step + 1)[inside]]
    return out


def hann_power(spectrum: Array, bins: slice, even: bool) -> Array:
    """Squared modulus of some bins under a Hann window, (row, window, bin).

    spectrum : (row, window, bin), complex, of the windows without taper. Hann is a convolution of
    the spectrum with (-1/4, 1/2, -1/4), so the signal need not be multiplied. Beyond both ends the
    spectrum of a real signal mirrors itself. even : the last bin is at Nyquist.
    """
    real = spectrum.real.dtype.type
    power = np.empty((*spectrum.shape[:-1], bins.stop - bins.start), real)
    for row, windows in enumerate(spectrum):
        ends = windows[:, [1]].conj(), windows[:, [-2 if even else -1]].conj()
        x = np.concatenate([ends[0], windows, ends[1]], axis=1)[:, bins.start : bins.stop + 2]
        tapered = x[:, 1:-1] * real(0.5)
        tapered -= (x[:, :-2] + x[:, 2:]) * real(0.25)
        parts = tapered.view(real).reshape(*tapered.shape, 2)
        np.einsum("wkc,wkc->wk", parts, parts, out=power[row])
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
