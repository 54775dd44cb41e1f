"""Find the times at which several contacts change and stay changed, and which change first.

Features are line length, fast and slow power of every contact in blocks of a quarter second. They
are computed in one pass with causal filters that keep their state, so that numbers do not depend on
the chunks in which a recording is read, and memory does not grow with its length. All values are
relative to a contact's own level before, so gains do not matter. Each contact is limited and the
strongest is ignored, so that one bad contact cannot cause an onset.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
import scipy.ndimage
import scipy.signal
from numpy.typing import NDArray

from epilens.core.errors import DataError
from epilens.core.types import Floats

Samples = NDArray[np.float32]

BLOCK_S = 0.25
_ENOUGH_HZ = 220.0
"""Faster recordings are decimated to at least this rate."""
_LEAST_HZ = 60.0
SLOW_HZ, FAST_HZ = (3.5, 12.4), (12.4, 97.0)
"""Bands of slow (θ, α) and fast (β, γ) power, as in the Epileptogenicity Index."""
_MAINS_HZ = (50.0, 60.0)
_NOTCH_Q = 15.0
BEFORE_S, GAP_S, AFTER_S = 30.0, 1.0, 10.0
"""A change compares the interval after a time with that before it, up to a gap."""
_LEAST_BEFORE_S, _LEAST_AFTER_S = 6.0, 4.0
_SMOOTH_S, _LASTING_S = 1.25, 3.0
"""Durations of the mean for levels, and of the running median that removes spikes."""
_NOISE = 0.15
"""Negligible change of a log level, added to a contact's own variation."""
_MOST_Z = 8.0
_SHARE, _LEAST_CONTACTS, _MOST_CONTACTS = 0.1, 2, 6
"""Fraction and limits of the number of contacts that make a change, after the strongest."""
LEAST_CHANGE = 1.15
"""Least size of a change; larger than any in 4.7 h of simulated background."""
CHANGES_APART_S = 30.0
"""Of two changes that are closer than this, only the larger counts."""
_LEADING = 0.2
"""Fraction of the strongest contacts whose mean determines the onset."""
_RATIO_WEIGHT = 0.5


class FrameGrid:
    """Blocks of a recording with a rate of `fs` Hz; faster recordings are decimated first."""

    def __init__(self, fs: float):
        if not fs >= _LEAST_HZ:
            raise DataError(
                f"onset: expected at least {_LEAST_HZ:g} samples per second, found {fs:g}. "
                "Such a recording contains no fast activity. Use the original recording."
            )
        self.fs = fs
        self.keep_every = max(1, int(fs // _ENOUGH_HZ))
        """Decimation: one of so many samples is kept."""
        self.kept_hz = fs / self.keep_every
        self.kept_samples = max(2, round(BLOCK_S * self.kept_hz))
        """Samples of a block after decimation."""
        self.samples = self.kept_samples * self.keep_every
        """Samples of a block in the file."""
        self.block_s = self.samples / fs
        """Exact length of a block in seconds."""


@dataclass(frozen=True)
class Features:
    """Features (contact, block): line length in µV/s, fast and slow power in µV²."""

    line_length: Samples
    fast: Samples
    slow: Samples
    alive: NDArray[np.bool_]
    """False for blocks that are constant or have samples that are not finite."""

    @classmethod
    def joined(cls, parts: Sequence[Features]) -> Features:
        """Join consecutive stretches."""
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts], 1) for f in fields(cls)))

    def since(self, block: int) -> Features:
        """The features from this block on."""
        return Features(*(getattr(self, f.name)[:, block:] for f in fields(self)))


class _Filter:
    """A causal filter that keeps its state between pieces and starts without a transient."""

    def __init__(self, sos: NDArray[np.float64]):
        self._sos, self._start = sos, scipy.signal.sosfilt_zi(sos)
        self._state: NDArray[np.float64] | None = None

    def __call__(self, x: NDArray[np.floating]) -> NDArray[np.float64]:
        if self._state is None:
            self._state = self._start[:, None, :] * x[None, :, :1].astype(np.float64)
        y, self._state = scipy.signal.sosfilt(self._sos, x, axis=-1, zi=self._state)
        return y


def features_of(pieces: Iterable[Samples], grid: FrameGrid) -> Iterator[Features]:
    """Features of consecutive pieces (contact, time) in µV, each of whole blocks."""
    decimate = _Filter(_low_pass(grid)) if grid.keep_every > 1 else None
    mains = [_Filter(sos) for sos in _notches(grid.kept_hz)]
    slow, fast = (_Filter(_band(band, grid.kept_hz)) for band in (SLOW_HZ, FAST_HZ))
    for x in pieces:
        x, alive = _alive(x, grid.samples)
        kept = x if decimate is None else decimate(x)[:, :: grid.keep_every]
        for notch in mains:
            kept = notch(kept)
        low, high = slow(kept), fast(kept)
        steps = np.abs(np.diff(low + high, axis=1, prepend=(low + high)[:, :1]))
        n = grid.kept_samples
        yield Features(
            _block_means(steps, n) * np.float32(grid.kept_hz),
            _block_means(high**2, n),
            _block_means(low**2, n),
            alive,
        )


def _alive(x: Samples, samples: int) -> tuple[Samples, NDArray[np.bool_]]:
    """The piece with 0 for samples that are not finite, and which blocks are alive."""
    finite = np.isfinite(x)
    all_finite = bool(finite.all())
    x = x if all_finite else np.where(finite, x, np.float32(0))
    blocks = x.shape[1] // samples
    cut = x[:, : blocks * samples].reshape(len(x), blocks, samples)
    alive = cut.max(-1) > cut.min(-1)
    if not all_finite:
        alive &= finite[:, : blocks * samples].reshape(cut.shape).all(-1)
    return x, alive


def _block_means(x: NDArray[np.float64], samples: int) -> Samples:
    blocks = x.shape[1] // samples
    return x[:, : blocks * samples].reshape(len(x), blocks, samples).mean(-1).astype(np.float32)


def _low_pass(grid: FrameGrid) -> NDArray[np.float64]:
    return scipy.signal.cheby2(8, 40, 0.5 * grid.kept_hz, "low", fs=grid.fs, output="sos")


def _band(band: tuple[float, float], fs: float) -> NDArray[np.float64]:
    low, high = band[0], min(band[1], 0.45 * fs)
    return scipy.signal.butter(3, (low, high), "band", fs=fs, output="sos")


def _notches(fs: float) -> list[NDArray[np.float64]]:
    """Notch filters at 50 and 60 Hz, so that the mains frequency need not be known."""
    mains_hz = [hz for hz in _MAINS_HZ if hz < 0.45 * fs]
    return [scipy.signal.tf2sos(*scipy.signal.iirnotch(hz, _NOTCH_Q, fs)) for hz in mains_hz]


@dataclass(frozen=True)
class Change:
    """A time at which contacts change."""

    block: float
    """Block at which the change begins."""
    size: float
    """Size of the change in units of the contacts' own variation."""
    first: tuple[int, ...]
    """Indices of the contacts that change at the beginning, in their order."""
    apart_s: float = 0.0
    """Time between early and late contacts (20th and 80th percentile); short in artefacts."""
    stays: float = 0.0
    """Fraction of the 20 s after it in which leading contacts keep half of their height."""


@dataclass(frozen=True)
class Levels:
    """Logarithms of line length and energy ratio, (contact, block)."""

    line_length: Floats
    ratio: Floats
    block_s: float

    @classmethod
    def of(cls, features: Features, block_s: float) -> Levels:
        """Smoothed levels; a dead stretch and two seconds after it get the contact's median."""
        wide = 2 * round(2.0 / block_s) + 1
        late = np.zeros(wide, bool)
        late[wide // 2 - 1 :] = True
        dead = scipy.ndimage.binary_dilation(~features.alive, late[None])
        length, fast, slow = (
            _log_mean(x, _blocks(_SMOOTH_S, block_s))
            for x in (features.line_length, features.fast, features.slow)
        )
        ratio = 0.5 * (fast - slow)
        return cls(_filled(length, dead), _filled(ratio, dead), block_s)


def _blocks(seconds: float, block_s: float) -> int:
    return max(1, round(seconds / block_s))


def _log_mean(x: NDArray[np.float32], blocks: int) -> Floats:
    mean = scipy.ndimage.uniform_filter1d(x.astype(np.float64), blocks, axis=1, mode="nearest")
    return np.log(np.maximum(mean, np.finfo(np.float64).tiny))


def _filled(level: Floats, dead: NDArray[np.bool_]) -> Floats:
    if not dead.any():
        return level
    out = level.copy()
    for row, gone in zip(out, dead, strict=True):
        row[gone] = np.median(row[~gone]) if not gone.all() else 0.0
    return out


def lasting(level: Floats, block_s: float, seconds: float = _LASTING_S) -> Floats:
    """Running median over time, which keeps steps and removes spikes."""
    width = 2 * int(seconds / block_s / 2) + 1
    return scipy.ndimage.median_filter(level, size=(1, width), mode="nearest")


def contact_changes(level: Floats, block_s: float) -> Floats:
    """Mean after each block minus mean before it, over the variation before; 0 near the ends."""
    n = level.shape[1]
    at = np.arange(n)
    stop = np.minimum(at + _blocks(AFTER_S, block_s), n)
    end = np.maximum(at - _blocks(GAP_S, block_s), 0)
    start = np.maximum(end - _blocks(BEFORE_S, block_s), 0)
    level = level - np.median(level, axis=1, keepdims=True)
    total, squares = (_running_sum(x) for x in (level, level**2))
    count, room = np.maximum(end - start, 1), np.maximum(stop - at, 1)
    before = (total[:, end] - total[:, start]) / count
    after = (total[:, stop] - total[:, at]) / room
    variance = np.maximum((squares[:, end] - squares[:, start]) / count - before**2, 0)
    z = (after - before) / np.sqrt(variance + _NOISE**2)
    enough = end - start >= _blocks(_LEAST_BEFORE_S, block_s)
    enough &= stop - at >= _blocks(_LEAST_AFTER_S, block_s)
    return np.where(enough, z, 0.0)


def _running_sum(x: Floats) -> Floats:
    return np.concatenate([np.zeros((len(x), 1)), np.cumsum(x, axis=1)], axis=1)


def array_change(z: Floats) -> Floats:
    """Size of the change at each block: mean of the strongest contacts without the first."""
    if len(z) < 2:
        return np.zeros(z.shape[1])
    count = int(np.clip(math.ceil(_SHARE * len(z)), _LEAST_CONTACTS, _MOST_CONTACTS))
    ordered = np.sort(np.clip(z, -_MOST_Z, _MOST_Z), axis=0)[::-1]
    return ordered[1 : 1 + count].mean(axis=0)


def find_changes(levels: Levels) -> list[Change]:
    """Changes in a stretch, in the order of time."""
    block_s = levels.block_s
    z = contact_changes(lasting(levels.line_length, block_s), block_s)
    sizes = array_change(z)
    both = levels.line_length + _RATIO_WEIGHT * levels.ratio
    steady = lasting(both, block_s, 1.0)
    return [
        _change(steady, z[:, peak], peak, float(sizes[peak]), block_s)
        for peak in _peaks(sizes, block_s)
    ]


def _peaks(sizes: Floats, block_s: float) -> list[int]:
    """Blocks of the largest changes, none too close to a larger one."""
    apart, remaining, changes = _blocks(CHANGES_APART_S, block_s), sizes.copy(), []
    while len(remaining) and remaining[peak := int(remaining.argmax())] > LEAST_CHANGE:
        changes.append(peak)
        remaining[max(0, peak - apart) : peak + apart] = 0
    # A change on the shoulder of a larger one does not count by itself.
    return sorted(p for p in changes if sizes[p] >= sizes[max(0, p - apart) : p + apart].max())


def _change(steady: Floats, z: Floats, peak: int, size: float, block_s: float) -> Change:
    end = max(peak - _blocks(6.0, block_s), 1)
    base = steady[:, max(end - _blocks(BEFORE_S, block_s), 0) : end]
    usual = np.median(base, axis=1, keepdims=True)
    deviation = 1.4826 * np.median(np.abs(base - usual), axis=1, keepdims=True)
    risen = np.clip((steady - usual) / np.hypot(deviation, 0.1), -4 * _MOST_Z, 4 * _MOST_Z)
    order = np.argsort(-z, kind="stable")
    leading = order[: max(min(3, len(z)), math.ceil(_LEADING * len(z)))]
    curve = risen[leading].mean(axis=0)
    begin = hinge(curve, peak, block_s)
    starts = {int(contact): _start(risen[contact], peak, block_s) for contact in order}
    part = [float(at) for c, at in starts.items() if z[c] > 1.0 and at is not None]
    early, late = np.quantile(part, [0.2, 0.8]) if part else (0.0, 0.0)
    latest = begin + 5.0 / block_s
    first = [(at, c) for c, at in starts.items() if at is not None and at <= latest]
    ten = sorted(first, key=lambda pair: pair[0])[:10]
    after = curve[int(begin) : int(begin) + _blocks(20.0, block_s)]
    height = curve[int(begin) : peak + _blocks(6.0, block_s)].max()
    return Change(
        begin,
        size,
        tuple(c for _, c in ten),
        float(late - early) * block_s,
        float((after > 0.5 * height).mean()),
    )


def hinge(u: Floats, peak: int, block_s: float) -> float:
    """Block at which a curve leaves zero: the corner of the best fit of zero, then a ramp.

    The curve is fitted up to the block at which it has 80 % of its height.
    """
    low = max(0, peak - _blocks(14.0, block_s))
    top = min(len(u) - 1, peak + _blocks(6.0, block_s))
    summit = peak + int(u[peak : top + 1].argmax())
    below = np.flatnonzero(u[low : summit + 1] <= 0.8 * u[summit])
    last = min(low + (int(below[-1]) if len(below) else 0) + 2, top)
    y = u[low : last + 1]
    if len(y) < 4 or u[summit] <= 0:
        return float(peak)
    ramps = np.maximum(np.arange(len(y))[None] - np.arange(len(y) - 2)[:, None], 0.0)
    fit = ramps @ y / (ramps**2).sum(axis=1)
    residual = ((y - fit[:, None] * ramps) ** 2).sum(axis=1)
    return float(low + np.where(fit > 0, residual, np.inf).argmin())


def _start(u: Floats, peak: int, block_s: float) -> int | None:
    """Block from which a contact stays above two of its variations and a fifth of its height.

    None if it does not reach them.
    """
    top = min(len(u) - 1, peak + _blocks(6.0, block_s))
    summit = peak + int(u[peak : top + 1].argmax())
    below = np.flatnonzero(u[: summit + 1] <= max(2.0, 0.2 * u[summit]))
    start = int(below[-1]) + 1 if len(below) else 0
    return start if start <= summit else None
