"""A recording that is open for looking at: its contacts, and any stretch of them in µV.

Plain EDF and BrainVision are read directly, by seeking; whatever else MNE reads, through MNE.
Nothing is kept in memory but what a screen shows.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from epilens.core.errors import DataError
from epilens.data.bare_files import why_no_contact
from epilens.data.discovery import TraceFile
from epilens.data.montage import shafts_of
from epilens.data.onset import Event
from epilens.data.reader import annotations_of, open_raw, read_uv
from epilens.data.runs import events_of
from epilens.data.sidecars import natural
from epilens.review.brainvision import open_brainvision
from epilens.review.edf import EdfFile, NotPlainError, open_edf

if TYPE_CHECKING:
    from mne.io import BaseRaw

_CONTACTS = ("ECOG", "SEEG", "DBS")


class Stretches(Protocol):
    """What can be read by stretches."""

    @property
    def names(self) -> tuple[str, ...]:
        """Channels."""
        ...

    @property
    def fs(self) -> float:
        """Rate in Hz."""
        ...

    @property
    def samples(self) -> int:
        """Length."""
        ...

    def read(self, start: int, stop: int, index: NDArray[np.intp]) -> NDArray[np.float32]:
        """A stretch of some channels in µV, (channel, time)."""
        ...


class MneFile:
    """Whatever MNE reads; one stretch at a time, because its readers are not made for threads."""

    def __init__(self, raw: BaseRaw, stated: Mapping[str, str]):
        self.raw, self._lock = raw, threading.Lock()
        self.names = tuple(name.strip() for name in raw.ch_names)
        self.fs, self.samples = float(raw.info["sfreq"]), int(raw.n_times)
        self._stated = {name: stated.get(name, "") for name in self.names}

    def read(self, start: int, stop: int, index: NDArray[np.intp]) -> NDArray[np.float32]:
        """A stretch of some channels in µV, (channel, time)."""
        names = [self.names[i] for i in index]
        with self._lock:
            return read_uv(self.raw, names, (start, stop), self._stated)


@dataclass(frozen=True)
class OpenFile:
    """A recording with its contacts in the order in which they are shown: by shaft and number."""

    source: Stretches
    contacts: tuple[str, ...]
    index: NDArray[np.intp]
    """Where the contacts are in the file."""
    shafts: tuple[str, ...]
    """Shaft of each contact; empty where its name tells none."""
    bad: frozenset[str]
    """Contacts that the file or its sidecars call bad."""
    not_shown: int
    """Channels that are no contacts."""
    file: TraceFile

    @property
    def fs(self) -> float:
        """Rate in Hz."""
        return self.source.fs

    @property
    def samples(self) -> int:
        """Length in samples."""
        return self.source.samples

    @property
    def length_s(self) -> float:
        """Length in seconds."""
        return self.samples / self.fs

    @property
    def fingerprint(self) -> str:
        """Tells whether a file is still the one that was marked: names, rate and length."""
        text = repr((self.source.names, self.fs, self.samples))
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]

    def read(self, start: int, stop: int) -> NDArray[np.float32]:
        """A stretch of all contacts in µV, (contact, time); zeros where the file ends early."""
        start, stop = max(0, start), min(self.samples, stop)
        try:
            signal = self.source.read(start, stop, self.index)
        except OSError as error:
            raise DataError(
                f"{self.file.name}: expected samples {start} to {stop}, found: {error.strerror}. "
                "Is the disk still there?"
            ) from None
        if signal.shape[1] == stop - start:
            return signal
        return np.pad(signal, ((0, 0), (0, stop - start - signal.shape[1])))

    def events(self) -> list[Event]:
        """Annotations: those of events.tsv, else those of the file."""
        if self.file.tree is not None and self.file.file is not None:
            table = self.file.tree.table(self.file.file, "events")
            if table is not None:
                return events_of(table)
        if isinstance(self.source, EdfFile):
            return list(self.source.events())
        assert self.file.path is not None
        raw = self.source.raw if isinstance(self.source, MneFile) else self.file.path
        return annotations_of(raw)


def open_file(file: TraceFile) -> OpenFile:
    """Open a recording for looking at."""
    if file.path is None or not file.path.exists():
        raise DataError(
            f"{file.name}: expected the signal, found only its sidecars. Finish the download."
        )
    types, stated = _sidecar(file)
    source = _open(file.path, stated)
    if not source.samples:
        raise DataError(f"{file.name}: expected signal, found a recording of zero length.")
    why_not, bad = _judged(source, types)
    contacts = [name for name in source.names if name not in why_not] or list(source.names)
    order = _by_shaft(contacts)
    names = tuple(contacts[i] for i, _ in order)
    place = {name: i for i, name in enumerate(source.names)}
    return OpenFile(
        source=source,
        contacts=names,
        index=np.array([place[name] for name in names]),
        shafts=tuple(shaft for _, shaft in order),
        bad=frozenset(bad) & set(names),
        not_shown=len(source.names) - len(names),
        file=file,
    )


def _open(path: Path, stated: Mapping[str, str]) -> Stretches:
    try:
        if path.suffix.lower() == ".edf":
            return open_edf(path)
        if path.suffix.lower() == ".vhdr":
            return open_brainvision(path)
    except (NotPlainError, OSError):
        pass  # MNE reads it, or says what is wrong
    return MneFile(open_raw(path)[0], stated)


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


def _judged(source: Stretches, types: Mapping[str, tuple[str, str]]) -> tuple[set[str], set[str]]:
    """Channels that are no contacts, and those that are called bad."""
    if types:
        no_contact = {n for n in source.names if types.get(n, ("",))[0] not in _CONTACTS}
        return no_contact, {n for n, (_, status) in types.items() if status not in ("good", "")}
    if isinstance(source, MneFile):
        kinds, bad = source.raw.get_channel_types(), {n.strip() for n in source.raw.info["bads"]}
    else:
        kinds, bad = ["eeg"] * len(source.names), set()
    return set(why_no_contact(source.names, kinds)), bad


def _by_shaft(names: Sequence[str]) -> list[tuple[int, str]]:
    """Index and shaft of names, shafts in natural order, contacts by number, the others last."""
    shafts = shafts_of(names)
    told = sorted((shaft for shaft in shafts if shaft), key=natural)
    return [(i, shaft) for shaft in (*told, *([""] if "" in shafts else [])) for i in shafts[shaft]]
