"""A recording that is read piece by piece: a file, a BIDS run, an open Raw, or a Recording."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from epilens.core.errors import DataError
from epilens.data.audit import AuditRow
from epilens.data.bare_files import contacts_of_raw
from epilens.data.load_patient import bids_root
from epilens.data.reader import open_raw, read_uv
from epilens.data.recording import Recording
from epilens.data.runs import good_channels, run_name
from epilens.data.sidecars import BidsFile, BidsTree

if TYPE_CHECKING:
    from mne.io import BaseRaw

_MOST_SAMPLES = 4_000_000
"""Of all contacts in one piece: 16 megabytes."""


@dataclass(frozen=True)
class Source:
    """The contacts of an open recording."""

    name: str
    """As it is called in messages: a file's name, or `recording`."""
    channels: tuple[str, ...]
    fs: float
    samples: int
    starts_s: float
    """Of its first sample, from the start of the file."""
    read: Callable[[int, int], NDArray[np.float32]]
    """First and last sample → (contact, time) in µV."""
    rows: tuple[AuditRow, ...] = ()
    """Channels that are no contacts, and why."""
    notes: tuple[str, ...] = ()
    """What the reader warns of."""

    @property
    def duration_s(self) -> float:
        """Length of the signal."""
        return self.samples / self.fs

    def pieces(self, unit: int) -> Iterator[NDArray[np.float32]]:
        """Consecutive pieces of whole units of samples; an incomplete unit at the end is left."""
        units = max(1, _MOST_SAMPLES // (len(self.channels) * unit))
        last = self.samples // unit * unit
        for first in range(0, last, units * unit):
            try:
                yield self.read(first, min(last, first + units * unit))
            except DataError as error:
                raise DataError(f"{self.name}: {error}") from error

    def count(self, unit: int) -> int:
        """How many pieces there will be."""
        units = max(1, _MOST_SAMPLES // (len(self.channels) * unit))
        return -(-(self.samples // unit) // units)


def open_source(given: str | Path | BaseRaw | Recording, exclude: Sequence[str] = ()) -> Source:
    """Open a recording for reading in pieces.

    Parameters
    ----------
    given : path, Raw or Recording
        A file that MNE reads; one of a BIDS tree is read with its channels.tsv.
    exclude : sequence of str
        Channels that do not count.
    """
    if isinstance(given, Recording):
        return _of_recording(given, exclude)
    if isinstance(given, str | Path):
        path = _signal_at(Path(given))
        try:
            raw, notes = open_raw(path)
            return _of_raw(raw, path, tuple(map(str, notes)), exclude)
        except DataError as error:
            raise DataError(f"{path.name}: {error}") from error
    if not hasattr(given, "get_data"):
        raise DataError(
            "recording: expected a path, an mne.io.Raw or a Recording, found "
            f"{type(given).__name__}. Give one recording."
        )
    return _of_raw(given, None, (), exclude)


def _signal_at(path: Path) -> Path:
    """The file to open; of BrainVision's three files any may be given."""
    header = path.with_suffix(".vhdr")
    if path.suffix.lower() in (".eeg", ".vmrk") and header.exists():
        path = header
    if not path.exists():
        raise DataError(f"{path}: expected a recording, found nothing. Check the path.")
    if path.is_dir() and path.suffix != ".mefd":
        raise DataError(f"{path}: expected a recording, found a folder. Name the files inside.")
    if not path.is_dir() and not path.is_file():
        raise DataError(f"{path}: expected a file, found a device or pipe. Give a file.")
    return path


def _of_recording(recording: Recording, exclude: Sequence[str]) -> Source:
    unwanted = {name.strip().upper() for name in exclude}
    index = [i for i, name in enumerate(recording.channels) if name.upper() not in unwanted]
    missing = recording.missing

    def read(start: int, stop: int) -> NDArray[np.float32]:
        part = recording.signal[index, start:stop].astype(np.float32)
        if missing is not None:
            part[missing[index, start:stop]] = np.nan
        return part

    return Source(
        "recording",
        tuple(recording.channels[i] for i in index),
        recording.fs,
        recording.signal.shape[1],
        recording.onset.onset_s + recording.start_s,
        read,
    )


def _of_raw(
    raw: BaseRaw, path: Path | None, notes: tuple[str, ...], exclude: Sequence[str]
) -> Source:
    names, units, rows = _contacts(raw, path, exclude)

    def read(start: int, stop: int) -> NDArray[np.float32]:
        return read_uv(raw, names, (start, stop), units)

    return Source(
        "recording" if path is None else path.name,
        tuple(names),
        float(raw.info["sfreq"]),
        raw.n_times,
        0.0,
        read,
        tuple(rows),
        notes,
    )


def _contacts(
    raw: BaseRaw, path: Path | None, exclude: Sequence[str]
) -> tuple[list[str], dict[str, str], list[AuditRow]]:
    """Contacts of a recording with the units that sidecars state, and the others as rows."""
    listed = None if path is None else _listed(path)
    if listed is None:
        names, rows = contacts_of_raw(raw, exclude, ("", ""))
        return names, dict.fromkeys(names, ""), rows
    units, rows = listed
    unwanted = {name.strip().upper() for name in exclude}
    there = {name.strip() for name in raw.ch_names}
    names = [name for name in units if name in there and name.upper() not in unwanted]
    if not names:
        raise DataError(
            f"expected the channels of channels.tsv in the file, found none of {len(units)}. "
            "Do the two belong together?"
        )
    return names, units, rows


def _listed(path: Path) -> tuple[dict[str, str], list[AuditRow]] | None:
    """Good contacts of channels.tsv with their units; None where no sidecar is there."""
    root, file = bids_root(path), BidsFile.of(path)
    if root is None or file is None:
        return None
    # The tree is walked by its real place; so must the run's own path be.
    file = BidsFile.of(path.parent.resolve() / path.name) or file
    table = BidsTree(root).table(file, "channels")
    if table is None or not {"name", "type"} <= set(table.columns):
        return None
    patient = "sub-" + file.entity("sub")
    good, rows = good_channels(table, patient, run_name(file))
    stated = dict(zip(table["name"], table["units"], strict=True)) if "units" in table else {}
    return {name: stated.get(name, "") for name in good}, rows
