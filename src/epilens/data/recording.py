"""One seizure run → `Recording`: µV around onset, checked, in the plan's montage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from epilens.core.errors import DataError, OnsetError
from epilens.data.audit import AuditRow, Note, shown_label
from epilens.data.mains import mains_of
from epilens.data.montage import apply_montage
from epilens.data.onset import Onset
from epilens.data.positions import Positions
from epilens.data.quality import quality_flags
from epilens.data.readers.mne_reader import MneReader, beyond_the_end, open_mne
from epilens.plan import Flag, Plan

if TYPE_CHECKING:
    from mne.io import BaseRaw


@dataclass(frozen=True)
class SeizureRun:
    """One usable seizure before its signal is read, as sidecars or a header describe it."""

    patient: str
    center: str
    name: str
    entity: str
    """The run's number without zeros, as people call it."""
    path: Path | None
    onset: Onset
    channels: tuple[str, ...]
    """Contacts to be read, in the order of channels.tsv."""
    listed: frozenset[str]
    """Every name of channels.tsv."""
    modality: str
    stated_units: tuple[str, ...]
    is_ez: tuple[bool, ...] | None
    positions: Positions
    stated_fs: float | None
    duration_s: float | None
    mains_hz: float | None
    is_soz: tuple[bool, ...] | None = None
    is_resected: tuple[bool, ...] | None = None
    simulated: bool = False
    raw: BaseRaw | None = None
    """The recording, where it is open already; it is not opened again then."""

    @property
    def source(self) -> Path | BaseRaw | None:
        """What is read: the open recording, else the file."""
        return self.path if self.raw is None else self.raw

    @property
    def units(self) -> dict[str, str]:
        """Unit that channels.tsv states for each channel, or empty text."""
        return dict(zip(self.channels, self.stated_units, strict=True))

    def pick(self, keep: Sequence[bool]) -> SeizureRun:
        """The run with some of its channels."""
        index = np.flatnonzero(keep)
        return replace(
            self,
            channels=tuple(self.channels[i] for i in index),
            stated_units=tuple(self.stated_units[i] for i in index),
            **flags_at(self, index),
        )


@dataclass(frozen=True)
class Recording:
    """The signal of one seizure around its onset.

    `signal` is (channel, time) in µV; its first sample lies `start_s` seconds from onset.
    `missing` marks samples that were not finite in the file (0 in `signal`); None: there are none.
    """

    patient: str
    center: str
    run: str
    signal: NDArray[np.float32]
    fs: float
    channels: tuple[str, ...]
    start_s: float
    onset: Onset
    is_ez: tuple[bool, ...] | None
    positions: Positions
    modality: str
    mains_hz: float | None
    source: Path | None
    missing: NDArray[np.bool_] | None = None
    is_soz: tuple[bool, ...] | None = None
    """Onset zone and resection where they are known; `is_ez` is what the plan makes of them."""
    is_resected: tuple[bool, ...] | None = None
    simulated: bool = False
    content: str = ""
    """Digest of the whole file's content; empty where it is not known (see `data.repeats`)."""

    @property
    def stop_s(self) -> float:
        """End of the signal in seconds from onset."""
        return self.start_s + self.signal.shape[1] / self.fs

    def __repr__(self) -> str:
        """Who, which seizure, and how much of it; not the samples."""
        return (
            f"Recording({self.patient} {self.run}: {len(self.channels)} channels at {self.fs:g} "
            f"Hz, {self.start_s:g} to {self.stop_s:g} s from onset)"
        )


FLAGS = ("is_ez", "is_soz", "is_resected")
"""What labels say about the channels of a run or recording."""


def flags_at(source: SeizureRun | Recording, index: Iterable[int]) -> dict[str, Any]:
    """The labels of some channels, by field; None where nothing is known."""
    index = list(index)
    known = ((name, getattr(source, name)) for name in FLAGS)
    return {
        name: None if flags is None else tuple(flags[i] for i in index) for name, flags in known
    }


def align(recordings: Sequence[Recording]) -> tuple[tuple[str, ...], NDArray[np.bool_]]:
    """Channel names of a patient and, per recording, which of them it has: (recording, channel).

    Channels are matched by name. Order: that of the first recording, then what later ones add.
    """
    names = tuple(dict.fromkeys(name for r in recordings for name in r.channels))
    present = np.array(
        [[name in set(r.channels) for name in names] for r in recordings], dtype=bool
    )
    return names, present.reshape(len(recordings), len(names))


def read_run(run: SeizureRun, plan: Plan) -> tuple[Recording, list[AuditRow]]:
    """Read the planned interval of a run, check the channels, apply the montage.

    Raises
    ------
    DataError
        When the file is missing, cannot be read, or does not hold enough signal before onset.
    """
    reader = open_mne(run.source, run.units)
    interval = _interval(run, reader, plan)
    names, rows = _channels_in_file(run, reader)
    recording = _read(run, reader, names, interval)
    notes = [*reader.notes, *reader.unit_notes(names), *_header_notes(reader, run)]
    if not run.mains_hz and plan.filter.notch != "none":
        mains_hz, note = _estimated_mains(recording)
        recording = replace(recording, mains_hz=mains_hz)
        notes.append(note)
    noted = [AuditRow.of("run", note, (run.patient, run.name), "noted") for note in notes]
    flags = quality_flags(recording.signal, recording.missing, plan.quality)
    keep = [not set(channel) & set(plan.quality.drop) for channel in flags]
    rows += _flag_rows(run, names, flags, keep)
    trusted = np.array([not channel for channel, kept in zip(flags, keep, strict=True) if kept])
    recording, lost = apply_montage(pick(recording, keep), plan.montage.scheme, trusted)
    return recording, noted + rows + lost


def _estimated_mains(recording: Recording) -> tuple[float | None, Note]:
    """Mains by the spectrum, in words as well: a notch is asked for, and nothing says where."""
    hz = mains_of(recording.signal, recording.fs)
    if hz is None:
        text = (
            "no mains frequency is stated and none stands out of the spectrum; nothing is notched"
        )
    else:
        text = f"no mains frequency is stated; {hz:g} Hz by the spectrum"
    return hz, Note(text, "mains-not-stated")


def _read(
    run: SeizureRun, reader: MneReader, names: Sequence[str], interval: tuple[int, int]
) -> Recording:
    """The interval in µV, with what is known about the run; no channel is judged yet."""
    signal, fs = reader.read(*interval, names), reader.fs
    missing = None if np.isfinite(signal).all() else ~np.isfinite(signal)
    if missing is not None:
        signal[missing] = 0
    row = {name: i for i, name in enumerate(run.channels)}
    return Recording(
        patient=run.patient,
        center=run.center,
        run=run.name,
        signal=signal,
        fs=fs,
        channels=tuple(names),
        start_s=interval[0] / fs - run.onset.onset_s,
        onset=run.onset,
        positions=run.positions.of(names),
        modality=run.modality,
        mains_hz=run.mains_hz,
        source=run.path,
        missing=missing,
        simulated=run.simulated,
        content=reader.content_digest(),
        **flags_at(run, (row[name] for name in names)),
    )


def pick(recording: Recording, keep: Sequence[bool]) -> Recording:
    """The recording with some of its channels."""
    if all(keep):
        return recording
    index = np.flatnonzero(keep)
    if not len(index):
        raise DataError(
            "expected at least one channel that passes the checks, found none.",
            code="channels-none",
        )
    names = tuple(recording.channels[i] for i in index)
    return replace(
        recording,
        signal=recording.signal[index],
        channels=names,
        positions=recording.positions.of(names),
        missing=None if recording.missing is None else recording.missing[index],
        **flags_at(recording, index),
    )


def _interval(run: SeizureRun, reader: MneReader, plan: Plan) -> tuple[int, int]:
    """First and last sample to read: the windows and the filter's margins, clipped to the file."""
    fs, onset_s = reader.fs, run.onset.onset_s
    if onset_s >= reader.duration_s:
        raise OnsetError(beyond_the_end(onset_s, reader))
    windows, margin_s = plan.windows, plan.filter.margin_s
    start = max(0, round((onset_s + windows.start_s - margin_s) * fs))
    stop = min(reader.samples, round((onset_s + windows.stop_s + margin_s) * fs))
    return start, stop


def _channels_in_file(run: SeizureRun, reader: MneReader) -> tuple[list[str], list[AuditRow]]:
    """Planned channels that the file has, in the order of channels.tsv; the others as rows."""
    in_file = dict.fromkeys(reader.names)
    names = [name for name in run.channels if name in in_file]
    note = Note("is in channels.tsv but not in the file", "channel-not-in-file")
    rows = [
        AuditRow.of("channel", note, (run.patient, run.name, name))
        for name in run.channels
        if name not in in_file
    ]
    note = Note("is in the file but not in channels.tsv", "channel-not-listed")
    rows += [
        AuditRow.of("channel", note, (run.patient, run.name, shown_label(name, place)))
        for place, name in enumerate(in_file, start=1)
        if name not in run.listed
    ]
    if not names:
        raise DataError(
            f"expected the {len(run.channels)} channels of channels.tsv in the file, found none of "
            f"them among its {len(in_file)}. Do the two belong together?",
            code="channels-none",
        )
    return names, rows


def _flag_rows(
    run: SeizureRun,
    names: Sequence[str],
    flags: Sequence[tuple[Flag, ...]],
    keep: Sequence[bool],
) -> list[AuditRow]:
    return [
        AuditRow.of(
            "channel",
            Note("signal is {found}", "channel-quality", found=flag),
            (run.patient, run.name, name),
            "noted" if kept else "excluded",
        )
        for name, channel, kept in zip(names, flags, keep, strict=True)
        for flag in channel
    ]


def _header_notes(reader: MneReader, run: SeizureRun) -> list[Note]:
    """Disagreements between the file and its sidecars that do not stop the reading."""
    texts, fs = [], reader.fs
    if run.stated_fs and abs(run.stated_fs - fs) > 1e-3 * fs:
        texts.append(f"sidecars say {run.stated_fs:g} Hz, the file {fs:g} Hz; taken")
    length_s = reader.duration_s
    if run.duration_s and abs(run.duration_s - length_s) > 1.0 + 1 / fs:
        texts.append(
            f"sidecars say {run.duration_s:.1f} s of signal, the file has {length_s:.1f} s"
        )
    return [Note(text, "header-differs") for text in texts]
