"""Read excerpts of EDF and EDF+ files with edfio, which opens a file of any length at once.

MNE reads all annotations when it opens a file, which takes seconds for a recording of a day. Here,
the file is mapped again for each excerpt, so that memory stays bounded and a file that shrinks or
disappears is noticed. Only continuous files with one rate, units of voltage and unique names are
read here; MNE reads all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from epilens.data.onsets.onset import Event
from epilens.data.readers.breaks import Break, breaks_in_header, read_edfio, to_signal_s
from epilens.data.readers.mne_reader import open_mne
from epilens.data.readers.protocol import UV_PER_UNIT, RecordingReader, is_voltage, plain_unit
from epilens.io.safe_read import check_regular

if TYPE_CHECKING:
    from edfio import Edf, EdfSignal


class EdfReader(RecordingReader):
    """A continuous EDF file of one rate."""

    def __init__(self, path: Path, edf: Edf):
        self.path = path
        self.names = tuple(label.strip() for label in edf.labels)
        self.kinds, self.bad = ("eeg",) * len(self.names), frozenset()
        self.fs = edf.signals[0].sampling_frequency
        self.samples = _samples(edf)
        self._scales = {
            name: _scale(signal) for name, signal in zip(self.names, edf.signals, strict=True)
        }

    @cached_property
    def breaks(self) -> tuple[Break, ...]:
        """Interruptions in the time stamps, even if the header states none."""
        return breaks_in_header(self.path)

    def annotations(self) -> list[Event]:
        """Annotations in the file, in seconds of recorded signal from its start."""
        try:
            annotations = _open(self.path).annotations
        except OSError:
            raise
        except Exception:  # one that is not as EDF+ says: MNE is more lenient
            return open_mne(self.path).annotations()
        return [
            Event(to_signal_s(a.onset, self.breaks), a.text, a.duration or 0.0)
            for a in annotations
            if a.text
        ]

    def read(self, start: int, stop: int, names: Sequence[str]) -> NDArray[np.float32]:
        """Samples in µV, (channel, time); fewer samples if the file ends early."""
        edf = _open(self.path)
        stop = min(stop, _samples(edf))
        if stop <= start:
            return np.empty((len(names), 0), np.float32)
        signals = dict(zip(self.names, edf.signals, strict=True))
        excerpt = np.empty((len(names), stop - start), np.float32)
        for row, name in zip(excerpt, names, strict=True):
            gain, zero = self._scales[name]
            part = signals[name].get_digital_slice(start / self.fs, stop / self.fs)
            np.multiply(part, gain, out=row)
            row += zero
        return excerpt


def open_edf(path: Path) -> EdfReader | None:
    """Open an EDF file; None for a file that MNE must read."""
    try:
        edf = _open(path)
        return EdfReader(path, edf) if _is_plain(edf) else None
    except Exception:  # a damaged header fails in many ways; MNE says what is wrong
        return None


def _open(path: Path) -> Edf:
    check_regular(path, "the recording")
    return read_edfio(path)


def _samples(edf: Edf) -> int:
    return edf.num_data_records * edf.signals[0].samples_per_data_record


def _is_plain(edf: Edf) -> bool:
    names = [label.strip() for label in edf.labels]
    return (
        edf.version == 0
        and not edf.reserved.startswith("EDF+D")
        and edf.data_record_duration > 0
        and edf.bytes_in_header_record % 256 == 0
        and len(set(names)) == len(names)
        and len({signal.sampling_frequency for signal in edf.signals}) == 1
        and all(is_voltage(signal.physical_dimension) for signal in edf.signals)
        and all(np.isfinite(signal.physical_range).all() for signal in edf.signals)
        and all(signal.physical_min != signal.physical_max for signal in edf.signals)
        and all(signal.digital_min < signal.digital_max for signal in edf.signals)
    )


def _scale(signal: EdfSignal) -> tuple[np.float32, np.float32]:
    """Gain and offset in µV: the value of one digital step, and of digital zero."""
    steps = signal.digital_max - signal.digital_min
    gain = (signal.physical_max - signal.physical_min) / steps
    zero = signal.physical_min - gain * signal.digital_min
    uv = UV_PER_UNIT[plain_unit(signal.physical_dimension)]
    return np.float32(gain * uv), np.float32(zero * uv)
