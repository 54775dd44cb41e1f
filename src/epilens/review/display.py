"""An excerpt of a recording for the screen: montage, filters, and two values per column.

Filters run forwards and backwards (zero phase), with margins in which they settle. Where a column
contains many samples, its minimum and maximum are shown in their order, so that no spike is lost.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import scipy.signal
from numpy.typing import NDArray

from epilens.core.errors import DataError
from epilens.data.channels.contacts import short_names
from epilens.data.montage import neighbour_pairs
from epilens.review.signals import OpenFile

MONTAGES = ("recorded", "bipolar", "average")
_MAX_MARGIN_S = 5.0
_NOTCH_Q = 30.0
_OVERSAMPLED = 80
"""Rate of the block means, relative to the cut-off frequency of the high-pass."""
_HARMONICS = 3
_THREADS = min(4, os.cpu_count() or 1)

Signal = NDArray[np.float32]


@dataclass(frozen=True)
class MontageRows:
    """Rows of a montage: contacts, or differences of two contacts."""

    names: tuple[str, ...]
    """Full names, as in the file."""
    shown: tuple[str, ...]
    shafts: tuple[str, ...]
    contacts: tuple[tuple[str, ...], ...]
    """Contacts of each row."""
    first: NDArray[np.intp]
    second: NDArray[np.intp] | None
    """Contact that is subtracted from each row; None: none, or an average."""
    average: NDArray[np.intp] | None = None
    """Contacts whose mean is subtracted."""


@dataclass(frozen=True)
class DisplaySettings:
    """Montage and filters; None: no such filter."""

    montage: str = "recorded"
    high_hz: float | None = None
    low_hz: float | None = None
    notch_hz: float | None = None

    @property
    def margin_s(self) -> float:
        """Settling time of the filters."""
        times_s = (self.high_hz and 1.5 / self.high_hz, self.notch_hz and 0.7, self.low_hz and 0.2)
        return min(_MAX_MARGIN_S, max((time_s for time_s in times_s if time_s), default=0.0))


@dataclass(frozen=True)
class Screen:
    """Values of a screen, (row, column × `per_column`)."""

    values: Signal
    start_s: float
    seconds: float
    per_column: int
    """1: samples; 2: minimum and maximum of each column."""


def montage_rows(opened: OpenFile, montage: str, bad: Collection[str] = ()) -> MontageRows:
    """Return the rows of a montage; `bad` contacts are excluded from averages."""
    names, every = opened.contacts, np.arange(len(opened.contacts))
    shown = short_names(names)
    if montage == "bipolar":
        return _bipolar(opened, shown)
    if montage not in MONTAGES:
        raise DataError(f"montage: expected one of {', '.join(MONTAGES)}, found another word.")
    alone = tuple((name,) for name in names)
    usable = None
    if montage == "average":
        usable = np.array([i for i, name in enumerate(names) if name not in bad], np.intp)
        if len(usable) < 2:
            raise DataError(
                f"average: expected two or more contacts that are not bad, found {len(usable)}. "
                "Choose another montage."
            )
    return MontageRows(names, shown, opened.shafts, alone, every, None, usable)


def _bipolar(opened: OpenFile, shown: Sequence[str]) -> MontageRows:
    pairs = neighbour_pairs(opened.contacts, {})
    # In the order of the screen; pairs are grouped by shaft already.
    pairs.sort()
    if not pairs:
        raise DataError(
            "bipolar: expected neighbouring contacts (same shaft, consecutive numbers), found "
            "none. Choose another montage."
        )
    names = opened.contacts
    return MontageRows(
        names=tuple(f"{names[a]}-{names[b]}" for a, b in pairs),
        shown=tuple(f"{shown[a]}-{shown[b]}" for a, b in pairs),
        shafts=tuple(opened.shafts[a] for a, _ in pairs),
        contacts=tuple((names[a], names[b]) for a, b in pairs),
        first=np.array([a for a, _ in pairs]),
        second=np.array([b for _, b in pairs]),
    )


def render_screen(
    opened: OpenFile,
    rows: MontageRows,
    settings: DisplaySettings,
    interval_s: tuple[float, float],
    columns: int,
) -> Screen:
    """Read an interval (start, length) and reduce it to a number of columns."""
    fs, (start, stop) = opened.fs, _sample_range(opened, interval_s)
    margin = round(settings.margin_s * fs)
    read_from, read_to = max(0, start - margin), min(opened.samples, stop + margin)
    signal = opened.read(read_from, read_to)
    if not np.isfinite(signal.sum()):
        signal = np.nan_to_num(signal, copy=False, posinf=0.0, neginf=0.0)
    average = None if rows.average is None else signal[rows.average].mean(axis=0)
    block = _block(settings, fs)
    sections = _sections(settings, fs, high=not block)

    def part(index: slice) -> Signal:
        derived = _derive(signal, rows, average, index)
        if block:
            derived = subtract_slow(derived, settings.high_hz or 0.0, fs, block)
        inside = apply_filters(derived, sections)[:, start - read_from : stop - read_from]
        return decimate(inside, columns)

    with ThreadPoolExecutor(_THREADS) as threads:
        parts = list(threads.map(part, _slices(len(rows.first))))
    per_column = 1 if stop - start <= 2 * columns else 2
    return Screen(np.concatenate(parts), start / fs, (stop - start) / fs, per_column)


def _sample_range(opened: OpenFile, interval_s: tuple[float, float]) -> tuple[int, int]:
    """Return the first sample of an interval and the one after its last, within the recording."""
    start_s, seconds = interval_s
    start = min(max(0, round(start_s * opened.fs)), max(0, opened.samples - 1))
    return start, min(opened.samples, max(start + 1, round((start_s + seconds) * opened.fs)))


def _derive(signal: Signal, rows: MontageRows, average: Signal | None, index: slice) -> Signal:
    """Return some rows of a montage."""
    derived = signal[rows.first[index]]
    if rows.second is not None:
        derived -= signal[rows.second[index]]
    if average is not None:
        derived -= average
    return derived


def _slices(rows: int) -> Iterator[slice]:
    size = max(8, -(-rows // (2 * _THREADS)))
    return (slice(first, first + size) for first in range(0, rows, size))


def _block(settings: DisplaySettings, fs: float) -> int:
    """Return the block length for `subtract_slow`; 0: too short to be faster."""
    block = int(fs / (_OVERSAMPLED * settings.high_hz)) if settings.high_hz else 0
    return block if block >= 4 else 0


def subtract_slow(signal: Signal, high_hz: float, fs: float, block: int) -> Signal:
    """High-pass filter by subtracting the low-pass signal, computed from block means.

    The high-pass and low-pass Butterworth filters of the same cut-off frequency, run forwards and
    backwards, add up to the signal.
    """
    rows, samples = signal.shape
    whole = -(-samples // block) * block
    blocks = np.pad(signal, ((0, 0), (0, whole - samples)), mode="edge").reshape(rows, -1, block)
    low = scipy.signal.butter(2, high_hz, "low", fs=fs / block, output="sos")
    slow = apply_filters(blocks.mean(axis=2), low)
    edges = np.pad(slow, ((0, 0), (1, 1)), mode="edge")
    edges = (edges[:, 1:] + edges[:, :-1]) / 2
    ramp = ((np.arange(block) + 0.5) / block).astype(np.float32)
    fitted = np.diff(edges, axis=1)[:, :, None] * ramp
    fitted += edges[:, :-1, None]
    return np.subtract(blocks, fitted, out=fitted).reshape(rows, whole)[:, :samples]


def _sections(settings: DisplaySettings, fs: float, high: bool) -> NDArray[np.float64] | None:
    """Return the second-order sections of all filters below the Nyquist frequency."""
    parts = []
    if high and settings.high_hz and settings.high_hz < fs / 2:
        parts.append(scipy.signal.butter(2, settings.high_hz, "high", fs=fs, output="sos"))
    if settings.low_hz and settings.low_hz < fs / 2:
        parts.append(scipy.signal.butter(4, settings.low_hz, "low", fs=fs, output="sos"))
    for harmonic in range(1, _HARMONICS + 1) if settings.notch_hz else ():
        hz = harmonic * (settings.notch_hz or 0.0)
        if hz < fs / 2 and (not settings.low_hz or hz < 2 * settings.low_hz):
            parts.append(scipy.signal.tf2sos(*scipy.signal.iirnotch(hz, _NOTCH_Q, fs)))
    return np.concatenate(parts) if parts else None


def apply_filters(signal: Signal, sections: NDArray[np.float64] | None) -> Signal:
    """Filter forwards and backwards, each time from the steady state of the first sample."""
    if sections is None:
        return signal
    steady = scipy.signal.sosfilt_zi(sections)[:, None, :]
    for _ in range(2):
        state = steady * signal[None, :, :1].astype(np.float64)
        signal, _ = scipy.signal.sosfilt(sections, signal, zi=state)
        signal = signal[:, ::-1]
    return signal.astype(np.float32)


def decimate(signal: Signal, columns: int) -> Signal:
    """Return minimum and maximum of each column in their order; all samples, if they are few."""
    from tsdownsample import MinMaxDownsampler

    if signal.shape[1] <= 2 * columns:
        return np.ascontiguousarray(signal)
    downsample = MinMaxDownsampler().downsample
    values = np.empty((len(signal), 2 * columns), np.float32)
    for row, samples in enumerate(np.ascontiguousarray(signal)):
        values[row] = samples[downsample(samples, n_out=2 * columns)]
    return values
