"""A recording that is open in the review: its contacts, and any excerpt of them in µV.

Nothing is kept in memory but what a screen shows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from epilens.core.errors import DataError
from epilens.data.bare_files import contacts_in
from epilens.data.channels.non_contacts import BIDS_CONTACTS, why_no_contact
from epilens.data.discovery import TraceFile
from epilens.data.montage import shafts_of
from epilens.data.onsets.bids_events import events_of
from epilens.data.onsets.onset import Event
from epilens.data.readers import open_reader
from epilens.data.readers.breaks import to_signal_s
from epilens.data.readers.protocol import RecordingReader
from epilens.data.run_contacts import used_contacts
from epilens.data.user_files import natural


@dataclass(frozen=True)
class OpenFile:
    """A recording with its contacts in the order in which they are shown: by shaft and number."""

    reader: RecordingReader
    contacts: tuple[str, ...]
    shafts: tuple[str, ...]
    """Shaft of each contact; empty where its name has none."""
    bad: frozenset[str]
    """Contacts that the analysis excludes, because the file or its sidecars mark them as bad."""
    not_shown: int
    """Number of channels that are not contacts."""
    file: TraceFile

    @property
    def fs(self) -> float:
        """Rate in Hz."""
        return self.reader.fs

    @property
    def samples(self) -> int:
        """Length in samples."""
        return self.reader.samples

    @property
    def length_s(self) -> float:
        """Length in seconds."""
        return self.reader.duration_s

    @property
    def fingerprint(self) -> str:
        """Digest of names, rate and length: the same while the file is the one that was marked."""
        text = repr((self.reader.names, self.fs, self.samples))
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]

    def read(self, start: int, stop: int) -> NDArray[np.float32]:
        """An excerpt of all contacts in µV, (contact, time); zeros where the file ends early."""
        start, stop = max(0, start), min(self.samples, stop)
        try:
            signal = self.reader.read(start, stop, self.contacts)
        except OSError as error:
            raise DataError(
                f"{self.file.name}: expected samples {start} to {stop}, found: {error.strerror}. "
                "Is the disk still connected?"
            ) from None
        if signal.shape[1] == stop - start:
            return signal
        return np.pad(signal, ((0, 0), (0, stop - start - signal.shape[1])))

    def events(self) -> list[Event]:
        """Annotations: those of events.tsv, else those of the file."""
        if self.file.tree is not None and self.file.file is not None:
            table = self.file.tree.table(self.file.file, "events")
            if table is not None:
                return [
                    replace(event, onset_s=to_signal_s(event.onset_s, self.reader.breaks))
                    for event in events_of(table)
                ]
        return self.reader.annotations()


def open_file(file: TraceFile) -> OpenFile:
    """Open a recording for the review."""
    if file.path is None or not file.path.exists():
        raise DataError(
            f"{file.name}: expected the signal, found only its sidecars. Finish the download."
        )
    table = _channel_table(file)
    units = {}
    if table is not None and "units" in table:
        units = dict(zip(table["name"], table["units"], strict=True))
    try:
        reader = open_reader(file.path, units)
    except DataError as error:
        raise error.about(file.name) from error
    if not reader.samples:
        raise DataError(f"{file.name}: expected signal, found a recording of zero length.")
    contacts, used = _of_file(reader) if table is None else _of_run(file, table)
    contacts = [name for name in reader.names if name in contacts] or list(reader.names)
    order = _by_shaft(contacts)
    names = tuple(contacts[i] for i, _ in order)
    return OpenFile(
        reader=reader,
        contacts=names,
        shafts=tuple(shaft for _, shaft in order),
        bad=frozenset(names) - used if used else frozenset(),
        not_shown=len(reader.names) - len(names),
        file=file,
    )


def _channel_table(file: TraceFile) -> pd.DataFrame | None:
    """channels.tsv of a run; None without one that lists types."""
    if file.tree is None or file.file is None:
        return None
    table = file.tree.table(file.file, "channels")
    return None if table is None or not {"name", "type"} <= set(table.columns) else table


def _of_run(file: TraceFile, table: pd.DataFrame) -> tuple[set[str], set[str]]:
    """Contacts of a run, and those that the analysis uses; none of them if it refuses the run."""
    assert file.tree is not None
    assert file.file is not None
    contacts = set(table["name"][table["type"].str.upper().isin(BIDS_CONTACTS)])
    try:
        return contacts, set(used_contacts(file.tree, file.file, table)[0])
    except DataError:
        return contacts, set()


def _of_file(reader: RecordingReader) -> tuple[set[str], set[str]]:
    """Contacts of a file without sidecars, and those that the analysis uses."""
    contacts = set(reader.names) - set(why_no_contact(reader.names, reader.kinds))
    try:
        return contacts, set(contacts_in(reader, {}, ("", ""))[0])
    except DataError:
        return contacts, set()


def _by_shaft(names: Sequence[str]) -> list[tuple[int, str]]:
    """Index and shaft of names, shafts in natural order, contacts by number, the others last."""
    shafts = shafts_of(names)
    named = sorted((shaft for shaft in shafts if shaft), key=natural)
    in_order = (*named, *([""] if "" in shafts else []))
    return [(i, shaft) for shaft in in_order for i in shafts[shaft]]
