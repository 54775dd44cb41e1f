"""EDF and EDF+ by hand: the header, any stretch of the signal, the annotations.

MNE reads a whole record for each channel and, on opening, all annotations of the file; here a
stretch is one read and one multiplication, whatever the length of the file. Only the plain case is
taken: 16 bit, one rate, continuous, units that are voltages, no name twice. Everything else is
`NotPlainError`, and MNE reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from epilens.data.onset import Event
from epilens.data.sidecars import as_number

_ANNOTATIONS = "EDF Annotations"
UV_PER = {"uv": 1.0, "mv": 1e3, "v": 1e6, "nv": 1e-3}
_WIDTHS = (16, 80, 8, 8, 8, 8, 8, 80, 8, 32)
"""Label, transducer, unit, physical and digital range, filters, samples, reserved."""
_MOST_SIGNALS = 4096


class NotPlainError(Exception):
    """A file that is to be read by MNE."""


def plain_unit(text: str) -> str:
    """`uv` for every spelling of µV."""
    return text.strip().lower().replace("µ", "u").replace("μ", "u")


@dataclass(frozen=True)
class EdfFile:
    """A continuous EDF file of one rate."""

    path: Path
    names: tuple[str, ...]
    """Channels of the one rate; annotations are no channel."""
    fs: float
    records: int
    first_byte: int
    record_values: int
    offsets: tuple[int, ...]
    """Where each channel begins in a record, in values."""
    per_record: int
    gains: NDArray[np.float32]
    zeros: NDArray[np.float32]
    notes: tuple[tuple[int, int], ...]
    """Offset and size of the annotations in a record, in values."""

    @property
    def samples(self) -> int:
        """Length in samples."""
        return self.records * self.per_record

    def read(self, start: int, stop: int, index: NDArray[np.intp]) -> NDArray[np.float32]:
        """A stretch of some channels in µV, (channel, time); fewer samples where the file ends."""
        first, last = start // self.per_record, -(-stop // self.per_record)
        values = self._records(first, last)
        signal = np.empty((len(index), len(values), self.per_record), np.float32)
        for row, channel in enumerate(index):
            at = self.offsets[channel]
            np.multiply(values[:, at : at + self.per_record], self.gains[channel], out=signal[row])
        signal += self.zeros[index, None, None]
        cut = start - first * self.per_record
        return signal.reshape(len(index), -1)[:, cut : cut + stop - start]

    def _records(self, first: int, last: int) -> NDArray[np.int16]:
        size = 2 * self.record_values
        with self.path.open("rb", buffering=0) as file:
            file.seek(self.first_byte + first * size)
            content = file.read((last - first) * size)
        whole = len(content) // size
        return np.frombuffer(content, "<i2", whole * self.record_values).reshape(
            whole, self.record_values
        )

    def events(self) -> Iterator[Event]:
        """Annotations, record by record; the time of the record itself is none."""
        if not self.notes:
            return
        with self.path.open("rb", buffering=0) as file:
            origin_s: float | None = None  # the file may begin within a second
            for record in range(self.records):
                for at, values in self.notes:
                    file.seek(self.first_byte + 2 * (record * self.record_values + at))
                    for event in _annotations(file.read(2 * values)):
                        origin_s = event.onset_s if origin_s is None else origin_s
                        if event.text:
                            yield replace(event, onset_s=event.onset_s - origin_s)


def open_edf(path: Path) -> EdfFile:
    """The header of a plain EDF file."""
    size = path.stat().st_size
    with path.open("rb") as file:
        fixed = file.read(256)
        n = _whole(fixed[252:256])
        if fixed[:8].strip() != b"0" or not 0 < n <= _MOST_SIGNALS:
            raise NotPlainError
        columns = [[file.read(width) for _ in range(n)] for width in _WIDTHS]
    if fixed[192:197] == b"EDF+D":
        raise NotPlainError
    duration_s, first_byte = _number(fixed[244:252]), _whole(fixed[184:192])
    samples = [_whole(text) for text in columns[8]]
    labels = [text.decode("latin-1").strip() for text in columns[0]]
    if duration_s <= 0 or first_byte != 256 * (n + 1) or min(samples) < 1:
        raise NotPlainError
    channels = [i for i, label in enumerate(labels) if label != _ANNOTATIONS]
    rates = {samples[i] for i in channels}
    names = tuple(labels[i] for i in channels)
    if len(rates) != 1 or len(set(names)) != len(names):
        raise NotPlainError
    starts = np.concatenate([[0], np.cumsum(samples)])
    gains, zeros = _scales(columns, channels)
    per_record, whole = rates.pop(), (size - first_byte) // (2 * int(starts[-1]))
    stated = _whole(fixed[236:244])
    return EdfFile(
        path=path,
        names=names,
        fs=per_record / duration_s,
        records=whole if stated < 0 else min(stated, whole),
        first_byte=first_byte,
        record_values=int(starts[-1]),
        offsets=tuple(int(starts[i]) for i in channels),
        per_record=per_record,
        gains=gains,
        zeros=zeros,
        notes=tuple((int(starts[i]), samples[i]) for i in range(n) if i not in set(channels)),
    )


def _scales(
    columns: list[list[bytes]], channels: list[int]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """µV of a step and of zero, for each channel."""
    gains, zeros = [], []
    for i in channels:
        unit = plain_unit(columns[2][i].decode("latin-1"))
        low, high, bottom, top = (_number(columns[k][i]) for k in (3, 4, 5, 6))
        if unit not in UV_PER or top <= bottom or high == low:
            raise NotPlainError
        gain = (high - low) / (top - bottom)
        gains.append(gain * UV_PER[unit])
        zeros.append((low - gain * bottom) * UV_PER[unit])
    return np.array(gains, np.float32), np.array(zeros, np.float32)


def _number(text: bytes) -> float:
    number = as_number(text.decode("latin-1").strip())
    if number is None:
        raise NotPlainError
    return number


def _whole(text: bytes) -> int:
    number = _number(text)
    if number != int(number):
        raise NotPlainError
    return int(number)


def _annotations(content: bytes) -> Iterator[Event]:
    r"""Events of one record: `+onset[\x15duration]\x14text\x14`, ended by zeros."""
    for piece in content.split(b"\x00"):
        time, *texts = piece.split(b"\x14")
        onset, _, duration = time.decode("latin-1").partition("\x15")
        onset_s = as_number(onset)
        for text in texts[:1] + [text for text in texts[1:] if text]:
            if onset_s is not None:
                words = text.decode("utf-8", errors="replace")
                yield Event(onset_s, words, as_number(duration) or 0.0)
