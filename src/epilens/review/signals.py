"""A recording that is open in the review: its contacts, and any excerpt of them in µV.

Nothing is kept in memory but what a screen shows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epilens.core.errors import DataError
from epilens.data.channels.non_contacts import BIDS_CONTACTS, why_no_contact
from epilens.data.discovery import TraceFile
from epilens.data.montage import shafts_of
from epilens.data.onsets.bids_events import events_of
from epilens.data.onsets.onset import Event
from epilens.data.readers import open_reader
from epilens.data.readers.breaks import to_signal_s
from epilens.data.readers.protocol import RecordingReader
from epilens.data.user_files import natural


@dataclass(frozen=True)
class OpenFile:
    """A recording with its contacts in the order in which they are shown: by shaft and number."""

    reader: RecordingReader
    contacts: tuple[str, ...]
    shafts: tuple[str, ...]
    """Shaft of each contact; empty where its name has none."""
    bad: frozenset[str]
    """Contacts that the file or its sidecars mark as bad."""
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
    types, units = _sidecar(file)
    try:
        reader = open_reader(file.path, units)
    except DataError as error:
        raise error.about(file.name) from error
    if not reader.samples:
        raise DataError(f"{file.name}: expected signal, found a recording of zero length.")
    not_contacts, bad = _judged(reader, types)
    contacts = [name for name in reader.names if name not in not_contacts] or list(reader.names)
    order = _by_shaft(contacts)
    names = tuple(contacts[i] for i, _ in order)
    return OpenFile(
        reader=reader,
        contacts=names,
        shafts=tuple(shaft for _, shaft in order),
        bad=frozenset(bad) & set(names),
        not_shown=len(reader.names) - len(names),
        file=file,
    )


def _sidecar(file: TraceFile) -> tuple[dict[str, tuple[str, str]], dict[str, str]]:
    """Type and status, and unit, of the channels that channels.tsv lists."""
    if file.tree is None or file.file is None:
        return {}, {}
    table = file.tree.table(file.file, "channels")
    if table is None or not {"name", "type"} <= set(table.columns):
        return {}, {}
    rows: Sequence[dict[Any, str]] = table.to_dict("records")
    types = {row["name"]: (row["type"].upper(), row.get("status", "").lower()) for row in rows}
    return types, {row["name"]: row.get("units", "") for row in rows}


def _judged(
    reader: RecordingReader, types: Mapping[str, tuple[str, str]]
) -> tuple[set[str], Collection[str]]:
    """Channels that are not contacts, and those that are marked as bad."""
    if types:
        other = {n for n in reader.names if types.get(n, ("",))[0] not in BIDS_CONTACTS}
        return other, {n for n, (_, status) in types.items() if status not in ("good", "")}
    return set(why_no_contact(reader.names, reader.kinds)), reader.bad


def _by_shaft(names: Sequence[str]) -> list[tuple[int, str]]:
    """Index and shaft of names, shafts in natural order, contacts by number, the others last."""
    shafts = shafts_of(names)
    named = sorted((shaft for shaft in shafts if shaft), key=natural)
    in_order = (*named, *([""] if "" in shafts else []))
    return [(i, shaft) for shaft in in_order for i in shafts[shaft]]
