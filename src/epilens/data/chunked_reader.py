"""Read the contacts of a whole recording in chunks, so that memory does not grow with length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from epilens.core.errors import DataError
from epilens.data.audit import AuditRow
from epilens.data.bare_files import contacts_in
from epilens.data.channels.contacts import meant_channels
from epilens.data.discovery import bids_root
from epilens.data.readers.formats import header_of
from epilens.data.readers.mne_reader import open_mne
from epilens.data.readers.protocol import RecordingReader
from epilens.data.recording import Recording
from epilens.data.run_contacts import used_contacts
from epilens.data.sidecars import BidsFile, BidsTree
from epilens.io.safe_read import real_path, what_is_missing

if TYPE_CHECKING:
    from mne.io import BaseRaw

_MOST_SAMPLES = 1_000_000
"""Number of samples in one chunk, over all contacts: 4 megabytes."""


@dataclass(frozen=True)
class ContactSignals:
    """An open recording, of which only the contacts are read."""

    name: str
    """Name of the recording in messages: that of its file, or `recording`."""
    channels: tuple[str, ...]
    fs: float
    samples: int
    starts_s: float
    """Time of the first sample, in seconds from the start of the file."""
    read: Callable[[int, int], NDArray[np.float32]]
    """Function of first and last sample, which returns (contact, time) in µV."""
    rows: tuple[AuditRow, ...] = ()
    """Audit of channels that are not contacts."""
    notes: tuple[str, ...] = ()
    """Warnings of the reader."""

    @property
    def duration_s(self) -> float:
        """Length of the signal in seconds."""
        return self.samples / self.fs

    def chunks(self, unit: int) -> Iterator[NDArray[np.float32]]:
        """Consecutive chunks of whole units of samples; an incomplete last unit is omitted."""
        last = self.samples // unit * unit
        for first in self._starts(unit):
            try:
                yield self.read(first, min(last, first + self._starts(unit).step))
            except DataError as error:
                raise error.about(self.name) from error

    def count(self, unit: int) -> int:
        """Number of chunks that `chunks` yields."""
        return len(self._starts(unit))

    def _starts(self, unit: int) -> range:
        units = max(1, _MOST_SAMPLES // (len(self.channels) * unit))
        return range(0, self.samples // unit * unit, units * unit)


def open_contacts(
    source: str | Path | BaseRaw | Recording, exclude: Sequence[str] = ()
) -> ContactSignals:
    """Open the contacts of a recording for reading in chunks.

    source : a file that MNE reads (one of a BIDS tree with its channels.tsv), a Raw or a Recording.
    exclude : channels that do not count.
    """
    if isinstance(source, Recording):
        return _of_recording(source, exclude)
    if isinstance(source, str | Path):
        path = _signal_at(Path(source))
        try:
            return _of_file(path, exclude)
        except DataError as error:
            raise error.about(path.name) from error
    if not hasattr(source, "get_data"):
        raise DataError(
            "recording: expected a path, an mne.io.Raw or a Recording, found "
            f"{type(source).__name__}. Give one recording."
        )
    return _of_reader("recording", open_mne(source), exclude)


def _signal_at(path: Path) -> Path:
    """The file to open for a recording of which any file may be given."""
    path = header_of(path)
    if not path.exists():
        raise DataError(
            f"{path}: expected a recording, found {what_is_missing(path)}. Check the path."
        )
    if path.is_dir() and path.suffix != ".mefd":
        raise DataError(f"{path}: expected a recording, found a folder. Name the files inside.")
    if not path.is_dir() and not path.is_file():
        raise DataError(f"{path}: expected a file, found a device or pipe. Give a file.")
    return path


def _of_recording(recording: Recording, exclude: Sequence[str]) -> ContactSignals:
    excluded = meant_channels(exclude, recording.channels)
    index = [i for i, name in enumerate(recording.channels) if name not in excluded]
    missing = recording.missing

    def read(start: int, stop: int) -> NDArray[np.float32]:
        part = recording.signal[index, start:stop].astype(np.float32)
        if missing is not None:
            part[missing[index, start:stop]] = np.nan
        return part

    return ContactSignals(
        "recording",
        tuple(recording.channels[i] for i in index),
        recording.fs,
        recording.signal.shape[1],
        recording.onset.onset_s + recording.start_s,
        read,
    )


def _of_file(path: Path, exclude: Sequence[str]) -> ContactSignals:
    """The contacts of a file; in a BIDS dataset, those that channels.tsv lists as good."""
    listed = _listed(path)
    if listed is None:
        return _of_reader(path.name, open_mne(path), exclude)
    units, rows = listed
    reader = open_mne(path, units)
    in_file = set(reader.names) - meant_channels(exclude, reader.names)
    names = [name for name in units if name in in_file]
    if not names:
        raise DataError(
            f"expected the channels of channels.tsv in the file, found none of {len(units)}. "
            "Do the two belong together?",
            code="channels-none",
        )
    return _of_reader(path.name, reader, exclude, (names, rows))


def _of_reader(
    name: str,
    reader: RecordingReader,
    exclude: Sequence[str],
    listed: tuple[Sequence[str], Sequence[AuditRow]] | None = None,
) -> ContactSignals:
    """The listed contacts; without a list, those that are contacts by type and name."""
    names, rows = listed or contacts_in(reader, dict.fromkeys(exclude, ""), ("", ""))
    return ContactSignals(
        name,
        tuple(names),
        reader.fs,
        reader.samples,
        0.0,
        partial(reader.read, names=names),
        tuple(rows),
        tuple(map(str, reader.notes)),
    )


def _listed(path: Path) -> tuple[dict[str, str], list[AuditRow]] | None:
    """Good contacts of channels.tsv with their units; None without such a table."""
    root, file = bids_root(path), BidsFile.of(path)
    if root is None or file is None:
        return None
    # The tree is walked by its real place; so must the run's own path be.
    file = BidsFile.of(real_path(path.parent) / path.name) or file
    tree = BidsTree(root)
    table = tree.table(file, "channels")
    if table is None or not {"name", "type"} <= set(table.columns):
        return None
    good, rows = used_contacts(tree, file, table)
    stated = dict(zip(table["name"], table["units"], strict=True)) if "units" in table else {}
    return {name: stated.get(name, "") for name in good}, rows
