"""One seizure run → `Recording`: µV around onset, checked, in the plan's montage."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from epilens.core.errors import DataError, OnsetError
from epilens.data.audit import AuditRow, Note, excluded_row, noted_row, shown_label
from epilens.data.channels.broken_contacts import check_contacts, repair_impossible
from epilens.data.channels.export_checks import export_rows
from epilens.data.channels.measures import mains_of, quality_flags
from epilens.data.electrodes.positions import Positions
from epilens.data.montage import apply_montage
from epilens.data.onsets.onset import Onset
from epilens.data.readers.breaks import onset_in_signal, unbroken
from epilens.data.readers.mne_reader import MneReader, beyond_the_end, open_mne
from epilens.data.readers.protocol import SECOND, RecordingReader
from epilens.plan import Flag, Plan

if TYPE_CHECKING:
    from mne.io import BaseRaw


@dataclass(frozen=True, kw_only=True)
class RunInfo:
    """What is known about one seizure, before and after its signal is read."""

    patient: str
    center: str
    run: str
    """Name of the run; a second seizure of a run ends in `+2`."""
    channels: tuple[str, ...]
    onset: Onset
    is_ez: tuple[bool, ...] | None
    positions: Positions
    modality: str
    mains_hz: float | None
    source: Path | None
    """The signal file, or None."""
    is_soz: tuple[bool, ...] | None = None
    """Labels of the onset zone, or None; the plan decides which zone is `is_ez`."""
    is_resected: tuple[bool, ...] | None = None
    """Labels of the resection, or None."""
    is_onset_contact: tuple[bool, ...] | None = None
    """Contacts in which this seizure began, or None if its event does not name them."""
    simulated: bool = False

    @property
    def who(self) -> tuple[str, str]:
        """Patient and run, which identify a seizure in the audit."""
        return self.patient, self.run

    def labels_at(self, index: Iterable[int]) -> dict[str, Any]:
        """Labels of the channels with these indices, by field; None if they are unknown."""
        index, labels = list(index), {name: getattr(self, name) for name in LABEL_FIELDS}
        return {
            name: None if flags is None else tuple(flags[i] for i in index)
            for name, flags in labels.items()
        }


@dataclass(frozen=True, kw_only=True)
class SeizureRun(RunInfo):
    """One usable seizure before its signal is read, as sidecars or a header describe it.

    `channels` are the contacts to be read, in the order of channels.tsv.
    """

    entity: str
    """Number of the run without leading zeros."""
    listed: frozenset[str]
    """Every channel name in channels.tsv."""
    stated_units: tuple[str, ...]
    stated_fs: float | None
    duration_s: float | None
    discontinuous: bool = False
    """Whether sidecars say that the recording was interrupted."""
    raw: BaseRaw | None = None
    """The open recording, if there is one; else `source` is opened."""

    @property
    def units(self) -> dict[str, str]:
        """Unit in channels.tsv by channel; empty text if it is not stated."""
        return dict(zip(self.channels, self.stated_units, strict=True))

    def pick(self, keep: Sequence[bool]) -> SeizureRun:
        """The run with those channels for which `keep` is true."""
        index = np.flatnonzero(keep)
        return replace(
            self,
            channels=tuple(self.channels[i] for i in index),
            stated_units=tuple(self.stated_units[i] for i in index),
            **self.labels_at(index),
        )


@dataclass(frozen=True, kw_only=True)
class Recording(RunInfo):
    """The signal of one seizure around its onset.

    `signal` is (channel, time) in µV; its first sample lies `start_s` seconds from onset.
    `missing` marks samples that were not finite in the file and are 0 in `signal`, or is None.
    """

    signal: NDArray[np.float32]
    fs: float
    start_s: float
    missing: NDArray[np.bool_] | None = None
    content: str = ""
    """Digest of the content of the file, by which `duplicates` finds copies; empty if unknown."""

    @property
    def stop_s(self) -> float:
        """End of the signal in seconds from onset."""
        return self.start_s + self.signal.shape[1] / self.fs

    def __repr__(self) -> str:
        """Patient, seizure and interval; not the samples."""
        return (
            f"Recording({self.patient} {self.run}: {len(self.channels)} channels at {self.fs:g} "
            f"Hz, {self.start_s:g} to {self.stop_s:g} s from onset)"
        )


LEAST_HZ = 60.0
"""With fewer samples per second, fast activity is missing or the header is wrong."""
ZONES = ("is_ez", "is_soz", "is_resected")
"""Fields with labels that are the same in all seizures of a patient."""
LABEL_FIELDS = (*ZONES, "is_onset_contact")
"""Fields with labels of channels, including those of one seizure."""


def align(recordings: Sequence[Recording]) -> tuple[tuple[str, ...], NDArray[np.bool_]]:
    """All channel names of a patient, and whether each recording has them, (recording, channel).

    Channels are matched by name. Order: that of the first recording, then what later ones add.
    """
    names = tuple(dict.fromkeys(name for r in recordings for name in r.channels))
    present = np.array(
        [[name in set(r.channels) for name in names] for r in recordings], dtype=bool
    )
    return names, present.reshape(len(recordings), len(names))


def read_run(
    run: SeizureRun, plan: Plan, keep_names: Collection[str] = ()
) -> tuple[Recording, list[AuditRow]]:
    """Read the planned interval of a run, check the channels, apply the montage.

    `keep_names` are channels that the user keeps, whatever the checks of their signal say.
    """
    reader = open_mne(run.source if run.raw is None else run.raw, run.units)
    located = locate(run.onset, reader, plan)
    run = replace(run, onset=located.onset)
    names, rows = _channels_in_file(run, reader)
    recording, repaired = repair(_read(run, reader, names, located.interval))
    rows += [*repaired, *export_rows(recording)]
    notes = [*reader.notes, *reader.unit_notes(names), *_header_notes(reader, run), *located.notes]
    if not run.mains_hz and plan.filter.notch != "none":
        mains_hz, note = _estimated_mains(recording)
        recording = replace(recording, mains_hz=mains_hz)
        notes.append(note)
    noted = [AuditRow.of("run", note, run.who, "noted") for note in notes]
    flags = quality_flags(recording.signal, recording.missing, plan.quality)
    keep = [not set(channel) & set(plan.quality.drop) for channel in flags]
    trusted, broken = check_contacts(recording, plan.quality, keep_names)
    rows += [row for row in _flag_rows(recording, flags, keep) if row.channel not in broken]
    rows += broken.values()
    keep = [kept and sound for kept, sound in zip(keep, trusted, strict=True)]
    trusted = np.array([not channel for channel, kept in zip(flags, keep, strict=True) if kept])
    recording, lost = apply_montage(pick(recording, keep), plan.montage.scheme, trusted)
    return recording, noted + rows + lost


def repair(recording: Recording) -> tuple[Recording, list[AuditRow]]:
    """Interpolate impossible samples; a row for every channel that had some."""
    signal, replaced = repair_impossible(recording.signal)
    rows = []
    for i, count in replaced.items():
        text = f"signal has {{found}} ({count} samples of more than 1 V); they were interpolated"
        who = (*recording.who, recording.channels[i])
        rows.append(noted_row("channel", text, "channel-quality", who, "impossible values"))
    return replace(recording, signal=signal), rows


def _estimated_mains(recording: Recording) -> tuple[float | None, Note]:
    """The mains frequency by the spectrum (None: not found), and a note about it."""
    hz = mains_of(recording.signal, recording.fs)
    text = "no mains frequency is stated and none stands out of the spectrum; nothing is notched"
    if hz is not None:
        text = f"no mains frequency is stated; {hz:g} Hz by the spectrum"
    return hz, Note(text, "mains-not-stated")


def _read(
    run: SeizureRun, reader: MneReader, names: Sequence[str], interval: tuple[int, int]
) -> Recording:
    """Read the interval in µV, without checks of the channels."""
    signal, fs = reader.read(*interval, names), reader.fs
    missing = None if np.isfinite(signal).all() else ~np.isfinite(signal)
    if missing is not None:
        signal[missing] = 0
    row = {name: i for i, name in enumerate(run.channels)}
    info = {field.name: getattr(run, field.name) for field in fields(RunInfo)}
    info |= {"channels": tuple(names), "positions": run.positions.of(names)}
    return Recording(
        **(info | run.labels_at(row[name] for name in names)),
        signal=signal,
        fs=fs,
        start_s=interval[0] / fs - run.onset.onset_s,
        missing=missing,
        content=reader.content_digest(),
    )


def pick(recording: Recording, keep: Sequence[bool]) -> Recording:
    """The recording with those channels for which `keep` is true."""
    if all(keep):
        return recording
    index = np.flatnonzero(keep)
    if not len(index):
        raise DataError(
            "expected at least one channel that passes the signal checks, found none. Look "
            "at the traces with `epilens review`.",
            code="channels-none",
        )
    names = tuple(recording.channels[i] for i in index)
    return replace(
        recording,
        signal=recording.signal[index],
        channels=names,
        positions=recording.positions.of(names),
        missing=None if recording.missing is None else recording.missing[index],
        **recording.labels_at(index),
    )


@dataclass(frozen=True)
class LocatedOnset:
    """An onset in seconds of recorded signal, and what is read around it."""

    onset: Onset
    interval: tuple[int, int]
    """First and last sample: all windows with the margins of the filter, in the file."""
    notes: tuple[Note, ...]
    """What an interruption before the onset changes."""


def locate(onset: Onset, reader: RecordingReader, plan: Plan) -> LocatedOnset:
    """Find an onset in an open recording; refuses one that is outside or has gaps around it."""
    onset, notes = onset_in_signal(onset, reader.breaks)
    return LocatedOnset(onset, _interval(onset.onset_s, reader, plan), tuple(notes))


def _interval(onset_s: float, reader: RecordingReader, plan: Plan) -> tuple[int, int]:
    fs = reader.fs
    if fs < LEAST_HZ:
        raise DataError(
            f"expected at least {LEAST_HZ:g} samples per second, found {fs:g} in the header of the "
            "file. Check its record duration and rate, or export the recording again.",
            code="band-not-covered",
        )
    if onset_s >= reader.duration_s:
        raise OnsetError(beyond_the_end(onset_s, reader))
    needed_s = (onset_s + plan.windows.start_s, onset_s + plan.windows.stop_s)
    start_s, stop_s = unbroken(reader.breaks, needed_s, plan.filter.margin_s)
    return max(0, round(start_s * fs)), min(reader.samples, round(stop_s * fs))


def _channels_in_file(run: SeizureRun, reader: MneReader) -> tuple[list[str], list[AuditRow]]:
    """Channels of channels.tsv that the file has, in its order, and rows about all others."""
    in_file = dict.fromkeys(reader.names)
    names = [name for name in run.channels if name in in_file]
    note = Note("is in channels.tsv but not in the file", "channel-not-in-file")
    lost = [name for name in run.channels if name not in in_file]
    rows = [AuditRow.of("channel", note, (*run.who, name)) for name in lost]
    for number, name in enumerate(in_file, start=1):
        if name not in run.listed:
            note = Note("is in the file but not in channels.tsv", "channel-not-listed")
            note = SECOND if name in reader.repeated else note
            rows.append(AuditRow.of("channel", note, (*run.who, shown_label(name, number))))
    if not names:
        raise DataError(
            f"expected the {len(run.channels)} channels of channels.tsv in the file, found none of "
            f"them among its {len(in_file)}. Do the two belong together?",
            code="channels-none",
        )
    return names, rows


def _flag_rows(
    recording: Recording, flags: Sequence[tuple[Flag, ...]], keep: Sequence[bool]
) -> list[AuditRow]:
    return [
        (noted_row if kept else excluded_row)(
            "channel", "signal is {found}", "channel-quality", (*recording.who, name), flag
        )
        for name, channel, kept in zip(recording.channels, flags, keep, strict=True)
        for flag in channel
    ]


def _header_notes(reader: MneReader, run: SeizureRun) -> list[Note]:
    """Notes on differences between the file and its sidecars."""
    texts, fs, length_s = [], reader.fs, reader.duration_s
    if run.discontinuous and not reader.breaks:
        texts = ["sidecars say that the recording is discontinuous, the file does not say where"]
    if run.stated_fs and abs(run.stated_fs - fs) > 1e-3 * fs:
        text = f"sidecars say {run.stated_fs:g} Hz, the file {fs:g} Hz; the file's rate is used"
        texts.append(text)
    if run.duration_s and abs(run.duration_s - length_s) > 1.0 + 1 / fs:
        text = f"sidecars say {run.duration_s:.1f} s of signal, the file has {length_s:.1f} s"
        texts.append(text)
    return [Note(text, "header-differs") for text in texts]
