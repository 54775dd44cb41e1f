"""A stretch of a recording as a screen shows it: montage, filters, and two values for a column.

Filters run forwards and backwards, so that they move nothing in time; the stretch is read with
margins in which they settle. Where a column of the screen holds many samples, its least and its
greatest one are kept, in their order, so that no spike is lost.
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
from epilens.data.contacts import short_names
from epilens.data.montage import neighbour_pairs
from epilens.review.signals import OpenFile

MONTAGES = ("recorded", "bipolar", "average")
_LONGEST_MARGIN_S = 5.0
_NOTCH_Q = 30.0
_OVERSAMPLED = 80
"""Rate of the means of blocks, in times of the corner of a high-pass."""
_HARMONICS = 3
_THREADS = min(4, os.cpu_count() or 1)

Signal = NDArray[np.float32]


@dataclass(frozen=True)
class MontageRows:
    """What is shown, row by row: contacts, or differences of two."""

    names: tuple[str, ...]
    """In full, as the file has them."""
    shown: tuple[str, ...]
    shafts: tuple[str, ...]
    contacts: tuple[tuple[str, ...], ...]
    """The contacts of each row."""
    first: NDArray[np.intp]
    second: NDArray[np.intp] | None
    """What is taken away from each row: another contact; None: none, or an average."""
    average: NDArray[np.intp] | None = None
    """The contacts whose mean is taken away."""


@dataclass(frozen=True)
class DisplaySettings:
    """How a screen looks; None: no such filter."""

    montage: str = "recorded"
    high_hz: float | None = None
    low_hz: float | None = None
    notch_hz: float | None = None

    @property
    def margin_s(self) -> float:
        """Time in which the filters settle."""
        waits = (self.high_hz and 1.5 / self.high_hz, self.notch_hz and 0.7, self.low_hz and 0.2)
        return min(_LONGEST_MARGIN_S, max((wait for wait in waits if wait), default=0.0))


@dataclass(frozen=True)
class Screen:
    """What a screen shows: `values` is (row, column × `per_column`)."""

    values: Signal
    start_s: float
    seconds: float
    per_column: int
    """1: these are the samples themselves; 2: the least and greatest of each column."""


def rows_of(opened: OpenFile, montage: str, bad: Collection[str] = ()) -> MontageRows:
    """The rows of a montage; contacts that are `bad` do not enter an average."""
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
    # In the order of the screen; pairs come shaft by shaft already.
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


def screen(
    opened: OpenFile,
    rows: MontageRows,
    look: DisplaySettings,
    interval_s: tuple[float, float],
    columns: int,
) -> Screen:
    """Read an interval (start, length) and make it ready for so many columns."""
    fs, (start_s, seconds) = opened.fs, interval_s
    start = min(max(0, round(start_s * fs)), max(0, opened.samples - 1))
    stop = min(opened.samples, max(start + 1, round((start_s + seconds) * fs)))
    margin = round(look.margin_s * fs)
    read_from, read_to = max(0, start - margin), min(opened.samples, stop + margin)
    signal = opened.read(read_from, read_to)
    if not np.isfinite(signal.sum()):
        signal = np.nan_to_num(signal, copy=False, posinf=0.0, neginf=0.0)
    average = None if rows.average is None else signal[rows.average].mean(axis=0)
    block = _block(look, fs)
    sections = _sections(look, fs, high=not block)
    inside = slice(start - read_from, stop - read_from)

    def part(of: slice) -> Signal:
        derived = signal[rows.first[of]]
        if rows.second is not None:
            derived -= signal[rows.second[of]]
        if average is not None:
            derived -= average
        if block:
            derived = without_slow(derived, look.high_hz or 0.0, fs, block)
        return decimated(filtered(derived, sections)[:, inside], columns)

    with ThreadPoolExecutor(_THREADS) as threads:
        parts = list(threads.map(part, _slices(len(rows.first))))
    per_column = 1 if stop - start <= 2 * columns else 2
    return Screen(np.concatenate(parts), start / fs, (stop - start) / fs, per_column)


def _slices(rows: int) -> Iterator[slice]:
    size = max(8, -(-rows // (2 * _THREADS)))
    return (slice(first, first + size) for first in range(0, rows, size))


def _block(look: DisplaySettings, fs: float) -> int:
    """Samples whose mean shows what a high-pass takes away; 0: too few for that to be faster."""
    block = int(fs / (_OVERSAMPLED * look.high_hz)) if look.high_hz else 0
    return block if block >= 4 else 0


def without_slow(signal: Signal, high_hz: float, fs: float, block: int) -> Signal:
    """High-pass by taking away its complement, which needs only the means of blocks.

    For a Butterworth filter that runs forwards and backwards, what a high-pass leaves and what a
    low-pass of the same corner leaves add up to the signal.
    """
    rows, samples = signal.shape
    whole = -(-samples // block) * block
    blocks = np.pad(signal, ((0, 0), (0, whole - samples)), mode="edge").reshape(rows, -1, block)
    low = scipy.signal.butter(2, high_hz, "low", fs=fs / block, output="sos")
    slow = filtered(blocks.mean(axis=2), low)
    edges = np.pad(slow, ((0, 0), (1, 1)), mode="edge")
    edges = (edges[:, 1:] + edges[:, :-1]) / 2
    ramp = ((np.arange(block) + 0.5) / block).astype(np.float32)
    fitted = np.diff(edges, axis=1)[:, :, None] * ramp
    fitted += edges[:, :-1, None]
    return np.subtract(blocks, fitted, out=fitted).reshape(rows, whole)[:, :samples]


def _sections(look: DisplaySettings, fs: float, high: bool) -> NDArray[np.float64] | None:
    """Second-order sections of all filters that the rate allows, one after the other."""
    parts = []
    if high and look.high_hz and look.high_hz < fs / 2:
        parts.append(scipy.signal.butter(2, look.high_hz, "high", fs=fs, output="sos"))
    if look.low_hz and look.low_hz < fs / 2:
        parts.append(scipy.signal.butter(4, look.low_hz, "low", fs=fs, output="sos"))
    for harmonic in range(1, _HARMONICS + 1) if look.notch_hz else ():
        hz = harmonic * (look.notch_hz or 0.0)
        if hz < fs / 2 and (not look.low_hz or hz < 2 * look.low_hz):
            parts.append(scipy.signal.tf2sos(*scipy.signal.iirnotch(hz, _NOTCH_Q, fs)))
    return np.concatenate(parts) if parts else None


def filtered(signal: Signal, sections: NDArray[np.float64] | None) -> Signal:
    """Forwards and backwards, each time as if the first sample had always been there."""
    if sections is None:
        return signal
    steady = scipy.signal.sosfilt_zi(sections)[:, None, :]
    for _ in range(2):
        state = steady * signal[None, :, :1].astype(np.float64)
        signal, _ = scipy.signal.sosfilt(sections, signal, zi=state)
        signal = signal[:, ::-1]
    return signal.astype(np.float32)


def decimated(signal: Signal, columns: int) -> Signal:
    """The least and the greatest sample of each column, in their order; or all, if they are few."""
    from tsdownsample import MinMaxDownsampler

    if signal.shape[1] <= 2 * columns:
        return np.ascontiguousarray(signal)
    downsample = MinMaxDownsampler().downsample
    values = np.empty((len(signal), 2 * columns), np.float32)
    for row, samples in enumerate(np.ascontiguousarray(signal)):
        values[row] = samples[downsample(samples, n_out=2 * columns)]
    return values
