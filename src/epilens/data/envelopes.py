"""Envelopes of a seizure's contacts, by which it is recognised in another export.

Another resolution, sampling rate or cut changes every sample, but hardly the envelope. Its changes
from one twentieth of a second to the next are compared: they differ between two seizures, however
alike the seizures are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from epilens.data.onset import APART_S
from epilens.data.recording import Recording

HOP_S, WIDTH_S, LEVEL_S = 0.05, 0.2, 1.0
LEAST_OVERLAP_S = 10.0
SAME = 0.8
"""Correlation in the median contact from which two recordings show the same seizure."""
_MOST_CONTACTS, _LEAST_CONTACTS = 16, 3


@dataclass(frozen=True)
class Envelopes:
    """Changes of the log envelope of each contact, on a grid of time from onset."""

    channels: tuple[str, ...]
    first: int
    """Place of the first value on the grid; 0 is the onset."""
    changes: NDArray[np.float32]
    """(contact, time)"""

    @classmethod
    def of(cls, recording: Recording) -> Envelopes:
        """Those of a recording."""
        fs, x = recording.fs, recording.signal.astype(np.float32)
        x = x - uniform_filter1d(x, max(1, round(LEVEL_S * fs)), axis=1)
        power = uniform_filter1d(x**2, max(1, round(WIDTH_S * fs)), axis=1)
        first = int(np.ceil(recording.start_s / HOP_S))
        times = np.arange(first, int(recording.stop_s / HOP_S)) * HOP_S
        samples = np.round((times - recording.start_s) * fs).astype(int)
        log = np.log(power[:, samples[samples < x.shape[1]]].clip(0) + 1e-6)
        return cls(recording.channels, first, np.diff(log, axis=1))

    def correlation(self, other: Envelopes) -> float:
        """Largest median correlation over the contacts of both, shifted by less than 10 s."""
        common = [name for name in self.channels if name in set(other.channels)]
        if len(common) < _LEAST_CONTACTS:
            return 0.0
        step = -(-len(common) // _MOST_CONTACTS)
        a, b = (part.rows(common[::step]) for part in (self, other))
        most = round(APART_S / HOP_S) - 1
        lags = range(self.first - other.first - most, self.first - other.first + most + 1)
        return max(_at_lag(a, b, lag) for lag in lags)

    def rows(self, names: Sequence[str]) -> NDArray[np.float32]:
        """The contacts with these names."""
        return self.changes[[self.channels.index(name) for name in names]]


def _at_lag(a: NDArray[np.float32], b: NDArray[np.float32], lag: int) -> float:
    """Median correlation of the rows where column i of `a` belongs to column i + lag of `b`."""
    start, stop = max(0, -lag), min(a.shape[1], b.shape[1] - lag)
    if (stop - start) * HOP_S < LEAST_OVERLAP_S:
        return 0.0
    a, b = a[:, start:stop], b[:, start + lag : stop + lag]
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    norm = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    r = np.divide((a * b).sum(axis=1), norm, out=np.zeros_like(norm), where=norm > 0)
    return float(np.median(r))
