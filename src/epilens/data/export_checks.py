"""Traces that an export left in a recording: copied channels, a low-pass filter, coarse steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from epilens.data.audit import AuditRow, Note
from epilens.data.contacts import short_names

if TYPE_CHECKING:
    from epilens.data.recording import Recording

_LISTED, _MOST = 4, 24
_STEP_DB = 25.0
"""A spectrum that falls by more within an octave was filtered; tissue's falls by 6 to 12 dB."""
_LOWEST_HZ, _HIGHEST_SHARE = 15.0, 0.17
"""Limits of the search; recorders themselves filter from about 0.4 of the rate on."""
_SLOW_HZ = ((1.5, 3.5), (15.0, 25.0))
"""Tissue is far larger in the first band; if it is smaller, the recording was filtered."""
_FEW_VALUES = 32
"""Distinct values of the median contact."""


def export_rows(recording: Recording) -> list[AuditRow]:
    """Rows about a recording as a whole; none for a plain export."""
    # A part of the contacts suffices for what an export does to all of them.
    some = recording.signal[:: max(1, len(recording.signal) // _MOST)]
    texts = [*_copies(recording), *_filtered(some, recording.fs), *_coarse(some)]
    who = (recording.patient, recording.run)
    return [AuditRow.of("run", Note(text, "signal-implausible"), who, "noted") for text in texts]


def _copies(recording: Recording) -> list[str]:
    """Contacts that show exactly the same changing signal."""
    groups: dict[bytes, list[str]] = {}
    for name, x in zip(recording.channels, recording.signal, strict=True):
        if (x != x[0]).any():
            groups.setdefault(x.tobytes(), []).append(name)
    copies = [names for names in groups.values() if len(names) > 1]
    return [
        f"{', '.join(short_names(names)[:_LISTED])}"
        f"{f' and {len(names) - _LISTED} more' if len(names) > _LISTED else ''} "
        "show the same signal, so at most one of them shows its own"
        for names in copies[:_LISTED]
    ]


def _filtered(signal: NDArray[np.float32], fs: float) -> list[str]:
    """Where the spectrum of the median contact ends, if a filter ended it."""
    length = round(2 * fs)
    pieces = signal[:, : signal.shape[1] // length * length].reshape(len(signal), -1, length)
    if not pieces.shape[1]:
        return []
    power = np.abs(scipy.fft.rfft(pieces * np.hanning(length), axis=-1)) ** 2
    level = np.log10(np.maximum(np.median(power.mean(axis=1), axis=0), 1e-12)) * 10
    step = length / fs  # bins per Hz
    slow, faster = (np.median(level[round(a * step) : round(b * step)]) for a, b in _SLOW_HZ)
    if slow < faster:
        return ["the recording contains almost nothing slow (1.5-3 Hz), as if it had been filtered"]
    for hz in np.arange(_LOWEST_HZ, _HIGHEST_SHARE * fs, 5.0):
        low = np.median(level[round(hz * step) : round(1.15 * hz * step)])
        high = np.median(level[round(2 * hz * step) : round(2.3 * hz * step)])
        if low - high > _STEP_DB:
            text = f"the recording contains almost nothing above {2 * hz:.0f} Hz"
            return [f"{text}, as if it had been filtered"]
    return []


def _coarse(signal: NDArray[np.float32]) -> list[str]:
    """Whether values are so coarse that small changes are lost."""
    count = int(np.median([len(np.unique(x)) for x in signal]))
    if not 1 < count < _FEW_VALUES:
        return []
    return [f"the median contact has only {count} different values, so small changes are lost"]
