"""Line length, fast and slow power of every contact in blocks of a quarter second, in one pass.

Filters are causal and keep their state from piece to piece, so the numbers do not depend on how a
recording is cut for reading, and memory does not grow with its length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
import scipy.signal
from numpy.typing import NDArray

from epilens.core.errors import DataError

Samples = NDArray[np.float32]

BLOCK_S = 0.25
_ENOUGH_HZ = 220.0
"""Faster recordings are decimated to at least this rate."""
_LEAST_HZ = 60.0
SLOW_HZ, FAST_HZ = (3.5, 12.4), (12.4, 97.0)
"""θ and α, β and γ, as in the Epileptogenicity Index."""
_MAINS_HZ = (50.0, 60.0)
_NOTCH_Q = 15.0


@dataclass(frozen=True)
class FrameGrid:
    """How a recording of a rate is cut into blocks."""

    fs: float

    def __post_init__(self) -> None:
        if not self.fs >= _LEAST_HZ:
            raise DataError(
                f"onset: expected at least {_LEAST_HZ:g} samples per second, found {self.fs:g}. "
                "Such a recording contains no fast activity. Use the original recording."
            )

    @property
    def keep_every(self) -> int:
        """Of so many samples one is kept."""
        return max(1, int(self.fs // _ENOUGH_HZ))

    @property
    def kept_hz(self) -> float:
        """Rate after that."""
        return self.fs / self.keep_every

    @property
    def kept_samples(self) -> int:
        """Samples of a block that are kept."""
        return max(2, round(BLOCK_S * self.kept_hz))

    @property
    def samples(self) -> int:
        """Samples of a block in the file."""
        return self.kept_samples * self.keep_every

    @property
    def block_s(self) -> float:
        """Exact length of a block."""
        return self.samples / self.fs


@dataclass(frozen=True)
class Features:
    """Per block and contact, (contact, block): line length in µV/s, powers in µV²."""

    line_length: Samples
    fast: Samples
    slow: Samples
    alive: NDArray[np.bool_]
    """False where a contact is constant or has samples that are not finite."""

    @classmethod
    def joined(cls, parts: Sequence[Features]) -> Features:
        """Consecutive stretches as one."""
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts], 1) for f in fields(cls)))

    def since(self, block: int) -> Features:
        """Without the blocks before this one."""
        return Features(*(getattr(self, f.name)[:, block:] for f in fields(self)))


class _Filter:
    """A causal filter over pieces; it starts as if the first sample had always been there."""

    def __init__(self, sos: NDArray[np.float64]):
        self._sos, self._start = sos, scipy.signal.sosfilt_zi(sos)
        self._state: NDArray[np.float64] | None = None

    def __call__(self, x: NDArray[np.floating]) -> NDArray[np.float64]:
        if self._state is None:
            self._state = self._start[:, None, :] * x[None, :, :1].astype(np.float64)
        y, self._state = scipy.signal.sosfilt(self._sos, x, axis=-1, zi=self._state)
        return y


def features_of(pieces: Iterable[Samples], grid: FrameGrid) -> Iterator[Features]:
    """Features of consecutive pieces (contact, time) in µV; each a whole number of blocks."""
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
    """The piece with 0 for what is not finite, and in which blocks something was recorded."""
    finite = np.isfinite(x)
    whole = bool(finite.all())
    x = x if whole else np.where(finite, x, np.float32(0))
    blocks = x.shape[1] // samples
    cut = x[:, : blocks * samples].reshape(len(x), blocks, samples)
    alive = cut.max(-1) > cut.min(-1)
    return x, alive if whole else alive & finite[:, : blocks * samples].reshape(cut.shape).all(-1)


def _block_means(x: NDArray[np.float64], samples: int) -> Samples:
    blocks = x.shape[1] // samples
    return x[:, : blocks * samples].reshape(len(x), blocks, samples).mean(-1).astype(np.float32)


def _low_pass(grid: FrameGrid) -> NDArray[np.float64]:
    return scipy.signal.cheby2(8, 40, 0.5 * grid.kept_hz, "low", fs=grid.fs, output="sos")


def _band(band: tuple[float, float], fs: float) -> NDArray[np.float64]:
    low, high = band[0], min(band[1], 0.45 * fs)
    return scipy.signal.butter(3, (low, high), "band", fs=fs, output="sos")


def _notches(fs: float) -> list[NDArray[np.float64]]:
    """At both mains: which one it is need not be known, and little is lost."""
    mains_hz = [hz for hz in _MAINS_HZ if hz < 0.45 * fs]
    return [scipy.signal.tf2sos(*scipy.signal.iirnotch(hz, _NOTCH_Q, fs)) for hz in mains_hz]
