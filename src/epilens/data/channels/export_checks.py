"""Signs of an export in a recording: copied channels, filters, coarse steps, filled gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from epilens.data.audit import AuditRow, noted_row
from epilens.data.channels.contacts import short_names

if TYPE_CHECKING:
    from epilens.data.recording import Recording


_LISTED, _MOST = 4, 24
_STEP_DB = 25.0
"""Largest plausible fall of a spectrum within an octave; that of tissue is 6 to 12 dB."""
_LOWEST_HZ, _HIGHEST_SHARE = 15.0, 0.17
"""Limits of the search: lowest frequency, and highest one as a fraction of the rate."""
_SLOW_HZ = ((1.5, 3.5), (15.0, 25.0))
_LESS_SLOW_DB = 3.0
"""If the slow band is smaller than the faster one by this, it was filtered."""
_GAIN_S, _GAIN_DB, _EVEN_DB, _GAIN_HZ = 15.0, 9.0, 6.0, 220.0
"""Seconds before and after onset that are compared, least rise, its range over bands, least rate.
Of 204 contacts of simulated seizures none is within the limits; of the same contacts with a gain of
8, two thirds."""
_GAIN_BANDS_HZ = ((4.0, 8.0), (8.0, 13.0), (13.0, 30.0), (30.0, 55.0), (65.0, 100.0))
_SILENT_S = 0.25
"""Least duration of equal samples; a shorter one can be chance."""
_DRIFT_S, _DRIFT_DB, _STEADY_DB = 8.0, 5.0, 4.0
"""Seconds at the beginning and end of the baseline, least rise beyond the median contact, its
range over bands."""
_BURST_S, _BURST_ROUGH, _BURST_SIZE, _BURSTS, _BURST_HZ = 0.1, 1.2, 5.0, 5, 400.0
"""Length of a piece, steps between samples relative to its size (white noise: √2), its size as a
multiple of the contact's own before onset and of the median contact's, least number, least rate."""
_FEW_VALUES = 32
"""With fewer distinct values in the median contact, small changes are lost."""


def export_rows(recording: Recording) -> list[AuditRow]:
    """Audit rows about signs of an export in a recording."""
    # A part of the contacts suffices for what an export does to all of them.
    subset = recording.signal[:: max(1, len(recording.signal) // _MOST)]
    texts = [*_copies(recording), *_gain_changes(recording)]
    texts += [*_gain_drifts(recording), *_noise_bursts(recording)]
    texts += [*_filtered(subset, recording.fs), *_coarse(subset)]
    silent = [noted_row("run", t, "signal-interrupted", recording.who) for t in _silent(recording)]
    return silent + [noted_row("run", t, "signal-implausible", recording.who) for t in texts]


def _copies(recording: Recording) -> list[str]:
    """Notes on contacts with exactly the same signal."""
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


def _gain_changes(recording: Recording) -> list[str]:
    """Notes on contacts that grow at onset by one factor in all bands, unlike tissue."""
    onset, width = (round(s * recording.fs) for s in (-recording.start_s, _GAIN_S))
    if onset < width or recording.signal.shape[1] < onset + width or recording.fs < _GAIN_HZ:
        return []
    before, after = (
        _band_levels(recording.signal[:, start : start + width], recording.fs)
        for start in (onset - width, onset)
    )
    rise = after - before
    changed = (rise.min(axis=1) > _GAIN_DB) & (np.ptp(rise, axis=1) < _EVEN_DB)
    names = short_names(recording.channels)
    return [
        f"{names[c]} becomes {10 ** (rise[c].mean() / 20):.0f} times as large at onset in all "
        "frequency bands, as if its gain had been changed"
        for c in np.flatnonzero(changed)[:_LISTED]
    ]


def _gain_drifts(recording: Recording) -> list[str]:
    """Notes on contacts that grow before onset by one factor in all bands, unlike others."""
    onset, width = (round(s * recording.fs) for s in (-recording.start_s, _DRIFT_S))
    if onset < 2 * width or recording.fs < _GAIN_HZ:
        return []
    first, last = (
        _band_levels(recording.signal[:, start : start + width], recording.fs)
        for start in (0, onset - width)
    )
    rise = last - first
    rise = rise - np.median(rise, axis=0)
    drifts = (rise.min(axis=1) > _DRIFT_DB) & (np.ptp(rise, axis=1) < _STEADY_DB)
    sizes, _ = _pieces_of(recording.signal[:, :width], round(_BURST_S * recording.fs))
    drifts &= np.median(sizes, axis=1) > 0  # coarse steps can hide the beginning
    names = short_names(recording.channels)
    return [
        f"{names[c]} becomes {10 ** (rise[c].mean() / 20):.1f} times as large before onset in all "
        "frequency bands, as if its gain or contact were changing"
        for c in np.flatnonzero(drifts)[:_LISTED]
    ]


def _noise_bursts(recording: Recording) -> list[str]:
    """Notes on contacts with short, large bursts of white noise or pulses after onset."""
    onset, length = (round(s * recording.fs) for s in (-recording.start_s, _BURST_S))
    if recording.fs < _BURST_HZ or onset < length or recording.signal.shape[1] < onset + length:
        return []
    before, _ = _pieces_of(recording.signal[:, :onset], length)
    size, rough = _pieces_of(recording.signal[:, onset:], length)
    own_size = np.median(before, axis=1, keepdims=True)  # 0: coarse steps hide it
    usual = np.maximum(own_size, np.median(size, axis=0))
    count = ((own_size > 0) & (rough > _BURST_ROUGH) & (size > _BURST_SIZE * usual)).sum(axis=1)
    names = short_names(recording.channels)
    return [
        f"{names[c]} has {count[c]} short bursts of noise or pulses after onset (0.1 s each), as "
        "if its contact were loose or stimulated"
        for c in np.flatnonzero(count >= _BURSTS)[:_LISTED]
    ]


def _pieces_of(
    part: NDArray[np.float32], length: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Size and roughness of pieces of each contact, (contact, piece)."""
    pieces = part[:, : part.shape[1] // length * length].reshape(len(part), -1, length)
    size = pieces.std(axis=-1)
    steps = np.sqrt((np.diff(pieces, axis=-1) ** 2).mean(axis=-1))
    return size, steps / np.maximum(size, 1e-9)


def _band_levels(part: NDArray[np.float32], fs: float) -> NDArray[np.float64]:
    """Mean logarithmic power of each contact in each band, in dB (contact, band)."""
    length = round(fs)
    pieces = part[:, : part.shape[1] // length * length].reshape(len(part), -1, length)
    power = np.abs(scipy.fft.rfft(pieces * np.hanning(length), axis=-1)) ** 2
    decibel = 10 * np.log10(np.maximum(power, 1e-12)).mean(axis=1)
    edges = ((round(low * length / fs), round(high * length / fs)) for low, high in _GAIN_BANDS_HZ)
    return np.stack([decibel[:, low:high].mean(axis=1) for low, high in edges], axis=1)


def _filtered(signal: NDArray[np.float32], fs: float) -> list[str]:
    """A note if the spectrum of the median contact shows a filter."""
    length = round(2 * fs)
    pieces = signal[:, : signal.shape[1] // length * length].reshape(len(signal), -1, length)
    if not pieces.shape[1]:
        return []
    power = np.abs(scipy.fft.rfft(pieces * np.hanning(length), axis=-1)) ** 2
    level = np.log10(np.maximum(np.median(power.mean(axis=1), axis=0), 1e-12)) * 10
    step = length / fs  # bins per Hz
    slow, faster = (np.median(level[round(a * step) : round(b * step)]) for a, b in _SLOW_HZ)
    if slow < faster - _LESS_SLOW_DB:
        return ["the recording contains almost nothing slow (1.5-3 Hz), as if it had been filtered"]
    for hz in np.arange(_LOWEST_HZ, _HIGHEST_SHARE * fs, 5.0):
        low = np.median(level[round(hz * step) : round(1.15 * hz * step)])
        high = np.median(level[round(2 * hz * step) : round(2.3 * hz * step)])
        if low - high > _STEP_DB:
            text = f"the recording contains almost nothing above {2 * hz:.0f} Hz"
            return [f"{text}, as if it had been filtered"]
    return []


def _coarse(signal: NDArray[np.float32]) -> list[str]:
    """A note if values are so coarse that small changes are lost."""
    count = int(np.median([len(np.unique(x)) for x in signal]))
    if not 1 < count < _FEW_VALUES:
        return []
    return [f"the median contact has only {count} different values, so small changes are lost"]


def _silent(recording: Recording) -> list[str]:
    """A note on stretches in which no contact changes, unless none ever does."""
    constant = (recording.signal[:, 1:] == recording.signal[:, :-1]).all(axis=0)
    if constant.all():
        return []
    edges = np.flatnonzero(np.diff(np.concatenate([[0], constant.astype(np.int8), [0]])))
    spans = edges.reshape(-1, 2) / recording.fs
    long = spans[spans[:, 1] - spans[:, 0] >= _SILENT_S] + recording.start_s
    if not len(long):
        return []
    where = ", ".join(f"{start_s:.1f} to {stop_s:.1f} s" for start_s, stop_s in long[:3])
    return [
        f"all contacts are constant from {where} from onset, as if the recording was interrupted. "
        "Export it without interruptions around the onset"
    ]
