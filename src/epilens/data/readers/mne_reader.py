"""Read excerpts in µV of any recording that MNE opens."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from epilens.core.errors import DataError
from epilens.data.audit import Note
from epilens.data.channels.contacts import (
    Contact,
    contacts_of_channel,
    parse_contact,
    typed_contact,
)
from epilens.data.onsets.onset import Event
from epilens.data.quiet import quiet
from epilens.data.readers.breaks import (
    Break,
    breaks_in_annotations,
    breaks_in_header,
    to_signal_s,
)
from epilens.data.readers.edf_header import header_notes
from epilens.data.readers.formats import check_files, check_format, open_raw
from epilens.data.readers.protocol import UV_PER_UNIT, RecordingReader, is_voltage, plain_unit
from epilens.io.safe_read import what_is_missing

if TYPE_CHECKING:
    from mne.io import BaseRaw

# Eight megabytes of float64: fits a processor's cache.
_BLOCK_SAMPLES = 1_000_000


class MneReader(RecordingReader):
    """An open `mne.io.Raw`; one excerpt at a time, because MNE's readers are not thread-safe."""

    def __init__(self, raw: BaseRaw, notes: Iterable[Note], units: Mapping[str, str]):
        self.raw, self.notes, self._lock = raw, tuple(notes), threading.Lock()
        written = [name.strip() for name in raw.ch_names]
        original = _without_running_numbers(written, units)
        self.names = tuple(original.get(name, name) for name in written)
        self.repeated = _repeated(self.names, units)
        self.bad = frozenset(original.get(name.strip(), name.strip()) for name in raw.info["bads"])
        self.fs, self.samples = float(raw.info["sfreq"]), int(raw.n_times)
        self.kinds = tuple(raw.get_channel_types())
        self._stated = units
        self._timed_breaks = _breaks_in_time_stamps(raw)
        stated = breaks_in_annotations(self._clock_annotations())
        self.breaks = tuple(sorted((*self._timed_breaks, *stated), key=lambda gap: gap.at_s))

    def annotations(self) -> list[Event]:
        """Annotations in the file, in seconds of recorded signal from its start."""
        return [
            replace(event, onset_s=to_signal_s(event.onset_s, self._timed_breaks))
            for event in self._clock_annotations()
        ]

    def _clock_annotations(self) -> list[Event]:
        """Annotations in seconds by the clock, as in the file, including interruptions."""
        marks = self.raw.annotations
        onsets = marks.onset - self.raw.first_time
        return [
            Event(float(onset), str(text), float(duration))
            for onset, duration, text in zip(onsets, marks.duration, marks.description, strict=True)
        ]

    def read(self, start: int, stop: int, names: Sequence[str]) -> NDArray[np.float32]:
        """Samples of some channels in µV, (channel, time).

        They are read in blocks, so that no float64 copy is large. All channels are read before some
        are selected, because MNE is slower when it selects them while reading.
        """
        in_file = {name: i for i, name in enumerate(self.names)}
        index = np.array([in_file[name] for name in names])
        signal = np.empty((len(names), stop - start), np.float32)
        scale = np.array([self._uv_per_value(name) for name in names])
        block = max(1, _BLOCK_SAMPLES // len(self.names))
        try:
            with self._lock:
                for first in range(start, stop, block):
                    last = min(stop, first + block)
                    part = self.raw.get_data(start=first, stop=last, verbose="ERROR")[index]
                    np.multiply(part, scale[:, None], out=signal[:, first - start : last - start])
        except Exception as error:  # a file that ends early fails here, in many ways
            raise DataError(
                f"expected samples {start} to {stop}, found {_in_our_words(error)}. Is the file "
                "complete?",
                code="file-unreadable",
            ) from error
        return signal

    def content_digest(self) -> str:
        """Digest of names, rate, length and the second in the middle; headers do not matter.

        Two files with the same digest contain the same recording. It is empty if the middle cannot
        be read or every channel is constant there.
        """
        raw, fs, middle = self.raw, self.fs, self.samples // 2
        try:
            stop = min(self.samples, middle + round(fs))
            part = np.asarray(raw.get_data(start=middle, stop=stop, verbose="ERROR"))
        except Exception:  # the interval around onset may still be readable
            return ""
        if (part == part[:, :1]).all():
            return ""
        digest = hashlib.sha256(repr((raw.ch_names, fs, raw.n_times)).encode())
        digest.update(part.tobytes())
        return digest.hexdigest()

    def unit_notes(self, names: Sequence[str]) -> list[Note]:
        """Notes about channels without a unit in the file."""
        unstated = self._unitless & set(names)
        from_sidecar = sum(is_voltage(self._stated.get(name, "")) for name in unstated)
        texts = {
            "the file states no unit for {} channels; those of channels.tsv are used": from_sidecar,
            "no unit is stated for {} channels; values are used as the reader gives them": (
                len(unstated) - from_sidecar
            ),
        }
        return [Note(text.format(n), "unit-not-stated") for text, n in texts.items() if n]

    def _uv_per_value(self, name: str) -> float:
        """Factor from what MNE gives to µV.

        MNE returns volts if the file states a unit. If it does not, MNE assumes volts; the unit in
        channels.tsv is used instead, if there is one.
        """
        unit = plain_unit(self._stated.get(name, ""))
        return UV_PER_UNIT.get(unit, 1e6) if name in self._unitless else 1e6

    @cached_property
    def _unitless(self) -> set[str]:
        """Channels without a unit of voltage in the file.

        Formats that need no units (FIF is in volts by definition) have no entry here.
        """
        units = {str(name).strip(): str(u) for name, u in (self.raw._orig_units or {}).items()}
        names = dict(zip((name.strip() for name in self.raw.ch_names), self.names, strict=True))
        return {names.get(name, name) for name, unit in units.items() if not is_voltage(unit)}


def _without_running_numbers(names: Sequence[str], listed: Collection[str]) -> dict[str, str]:
    """The original names of channels that MNE numbered because the file has them twice.

    `RA 03-0` and `RA 03-1` become `RA 03` and `RA 03 (2)`. Names in sidecars do not change.
    """
    groups: dict[str, list[str]] = {}
    for name in names:
        base, _, number = name.rpartition("-")
        if number == str(len(groups.get(base, []))) and parse_contact(base) is not None:
            groups.setdefault(base, []).append(name)
    return {
        name: base if i == 0 else f"{base} ({i + 1})"
        for base, numbered in groups.items()
        if len(numbered) > 1 and base not in names and not set(numbered) & set(listed)
        for i, name in enumerate(numbered)
    }


def _repeated(names: Sequence[str], listed: Collection[str]) -> dict[str, str]:
    """Channels that are the same contact as an earlier channel, by electrode and number.

    Names in sidecars always mean different contacts.
    """
    first: dict[tuple[Contact, ...], str] = {}
    repeated = {}
    for name in names:
        contacts = contacts_of_channel(name, typed_contact)
        if contacts and name not in listed and contacts in first:
            repeated[name] = first[contacts]
        elif contacts:
            first.setdefault(contacts, name)
    return repeated


def _breaks_in_time_stamps(raw: BaseRaw) -> tuple[Break, ...]:
    """Interruptions in the time stamps of the file of an open recording."""
    files = [Path(file) for file in raw.filenames if file is not None]
    # After a crop, nobody knows which records are left.
    if len(files) != 1 or raw.first_samp or not files[0].is_file():
        return ()
    return breaks_in_header(files[0])


def open_mne(source: Path | BaseRaw | None, units: Mapping[str, str] | None = None) -> MneReader:
    """A reader of a file, which MNE opens without loading the signal, or of an open recording.

    units : units in sidecars by channel, for channels without a unit in the file.
    """
    if source is None or (isinstance(source, Path) and not source.exists()):
        is_link = source is not None and source.is_symlink()
        raise DataError(
            "expected the signal file, found "
            f"{what_is_missing(source) if is_link else 'only its sidecars'}. Finish the download.",
            code="signal-missing",
        )
    raw, notes = _read_header(source) if isinstance(source, Path) else (source, [])
    if raw.n_times == 0:
        raise DataError("expected signal, found a recording of zero length.")
    return MneReader(raw, notes, units or {})


def _read_header(path: Path) -> tuple[BaseRaw, list[Note]]:
    check_files(path)
    check_format(path)
    with quiet() as caught:
        try:
            raw = open_raw(path)
        except Exception as error:  # readers raise many kinds for damaged files
            raise DataError(
                f"expected a recording that MNE can read, found {_in_our_words(error)}. Check that "
                "the file is complete, or export the recording as EDF+.",
                code="file-unreadable",
            ) from error
    warned = [str(w.message) for w in caught if w.category is RuntimeWarning]
    return raw, list(dict.fromkeys([*map(_warning_in_our_words, warned), *header_notes(path)]))


WRONG_LENGTH = "the length of the file does not match its header"
"""Warning about a file that was cut off or is still being written."""


def is_cut_off(notes: Iterable[Note]) -> bool:
    """Whether the reader warned that the file ends before its stated length."""
    return any(note.found == WRONG_LENGTH for note in notes)


def beyond_the_end(onset_s: float, reader: RecordingReader) -> str:
    """The message for an onset after the end of the signal, which says if the file is cut off."""
    length_s = reader.duration_s
    if is_cut_off(reader.notes):
        return (
            f"expected signal at the onset, {onset_s:.3f} s, found a file that is cut off before "
            f"it, after {length_s:.3f} s: its header promises more. Copy the file again."
        )
    return (
        f"expected an onset inside the recording of {length_s:.3f} s, found {onset_s:.3f} s. "
        "Count seconds from the start of the file."
    )


_WARNINGS = (
    ("does not match the file size", WRONG_LENGTH),
    ("physical range", "a channel's physical range is not stated or makes no sense"),
    ("highpass", "the filters that the header states make no sense"),
    ("lowpass", "the filters that the header states make no sense"),
    ("channel names", "two channels had one name, or a name had to be changed"),
    ("annotation", "some annotations could not be read, or lie outside the recording"),
    ("meas date", "the date of the recording makes no sense"),
    ("unit", "the unit of some channels is not known"),
)


def _warning_in_our_words(text: str) -> Note:
    """A reader's warning in our own words, because its text quotes labels and paths."""
    matches = (words for phrase, words in _WARNINGS if phrase in text.lower())
    words = next(matches, "something in this file is unusual")
    return Note("the reader warned: {found}", "reader-warning", found=words)


def _in_our_words(error: Exception) -> str:
    """A reader's error in our own words, because its text quotes labels and paths."""
    kinds = (
        (FileNotFoundError, "that a file which belongs to it is missing"),
        (PermissionError, "one that may not be read (its permissions)"),
        (UnicodeError, "text in another encoding than it says"),
        (MemoryError, "one that asks for more memory than there is"),
        (NotImplementedError, "a kind of recording that it does not know"),
    )
    words = next((text for kind, text in kinds if isinstance(error, kind)), "one that it cannot")
    return f"{words} ({type(error).__name__})"
