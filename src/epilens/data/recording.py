"""One seizure run → `Recording`: µV around onset, by MNE's readers, never the whole file."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from epilens.data.audit import AuditRow
from epilens.data.montage import apply_montage
from epilens.data.onset import Event, Onset
from epilens.data.positions import Positions
from epilens.data.quality import quality_flags
from epilens.errors import DataError
from epilens.plan import Plan

if TYPE_CHECKING:
    from mne.io import BaseRaw


@dataclass(frozen=True)
class Run:
    """One usable seizure run as its sidecars describe it; the signal is not read yet."""

    patient: str
    center: str
    name: str
    entity: str
    """The run's number without zeros, as people call it."""
    path: Path | None
    onset: Onset
    channels: tuple[str, ...]
    """Good ECOG and SEEG channels, in the order of channels.tsv."""
    listed: frozenset[str]
    """Every name of channels.tsv."""
    modality: str
    stated_units: tuple[str, ...]
    is_ez: tuple[bool, ...] | None
    positions: Positions
    stated_fs: float | None
    duration_s: float | None
    mains_hz: float | None


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

    @property
    def stop_s(self) -> float:
        """End of the signal in seconds from onset."""
        return self.start_s + self.signal.shape[1] / self.fs


def align(recordings: Sequence[Recording]) -> tuple[tuple[str, ...], NDArray[np.bool_]]:
    """Channel names of a patient and, per recording, which of them it has: (recording, channel).

    Channels are matched by name. Order: that of the first recording, then what later ones add.
    """
    names = tuple(dict.fromkeys(name for r in recordings for name in r.channels))
    present = np.array(
        [[name in set(r.channels) for name in names] for r in recordings], dtype=bool
    )
    return names, present.reshape(len(recordings), len(names))


def read_run(run: Run, plan: Plan) -> tuple[Recording, list[AuditRow]]:
    """Read the planned interval of a run, check the channels, apply the montage.

    Raises
    ------
    DataError
        When the file is missing, cannot be read, or does not hold enough signal before onset.
    """
    raw, reader_warnings = open_raw(run.path)
    rows = [_noted(run, why) for why in reader_warnings]
    fs = float(raw.info["sfreq"])
    start, stop = _interval(run, raw, plan)
    names, more = _channels_in_file(run, raw)
    rows += more
    signal = _read_uv(raw, names, start, stop, run)
    rows += _check_units(raw, names, run)
    rows += _check_header(raw, fs, run)
    missing = None if np.isfinite(signal).all() else ~np.isfinite(signal)
    if missing is not None:
        signal[missing] = 0
    flags = quality_flags(signal, missing, plan.quality)
    keep = [not set(flags[i]) & set(plan.quality.drop) for i in range(len(names))]
    for name, found, kept in zip(names, flags, keep, strict=True):
        for flag in found:
            effect = "noted" if kept else "excluded"
            rows.append(
                AuditRow("channel", f"signal is {flag}", run.patient, run.name, name, effect)
            )
    recording = Recording(
        patient=run.patient,
        center=run.center,
        run=run.name,
        signal=signal,
        fs=fs,
        channels=tuple(names),
        start_s=start / fs - run.onset.onset_s,
        onset=run.onset,
        is_ez=_ez_of(run, names),
        positions=run.positions.of(names),
        modality=run.modality,
        mains_hz=run.mains_hz,
        source=run.path,
        missing=missing,
    )
    recording = pick(recording, keep)
    trusted = np.array([not found for found, kept in zip(flags, keep, strict=True) if kept])
    recording, lost = apply_montage(recording, plan.montage.scheme, trusted)
    return recording, rows + lost


def pick(recording: Recording, keep: Sequence[bool]) -> Recording:
    """The recording with some of its channels."""
    if all(keep):
        return recording
    index = np.flatnonzero(keep)
    if not len(index):
        raise DataError("expected at least one channel that passes the checks, found none.")
    names = tuple(recording.channels[i] for i in index)
    return replace(
        recording,
        signal=recording.signal[index],
        channels=names,
        is_ez=None if recording.is_ez is None else tuple(recording.is_ez[i] for i in index),
        positions=recording.positions.of(names),
        missing=None if recording.missing is None else recording.missing[index],
    )


def open_raw(path: Path | None) -> tuple[BaseRaw, list[str]]:
    """Open a file with MNE's reader for it, without loading the signal; warnings as texts."""
    if path is None or not path.exists():
        raise DataError("expected the signal file, found only its sidecars. Finish the download.")
    import mne

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            raw = mne.io.read_raw(path, preload=False, verbose="WARNING")
        except Exception as error:  # readers raise many kinds for damaged files
            raise DataError(
                f"{path.name}: expected a recording that MNE can read, found: {_first_line(error)} "
                "Check that the file is complete."
            ) from error
    if raw.n_times == 0:
        raise DataError(f"{path.name}: expected signal, found a recording of zero length.")
    return raw, [_first_line(w.message) for w in caught if w.category is RuntimeWarning]


def annotations_of(path: Path) -> list[Event]:
    """Annotations inside a signal file, where there is no events.tsv."""
    raw, _ = open_raw(path)
    notes = raw.annotations
    return [
        Event(float(onset), str(text), float(duration))
        for onset, duration, text in zip(
            notes.onset - raw.first_time, notes.duration, notes.description, strict=True
        )
    ]


def _first_line(error: object) -> str:
    text = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
    return text if text.endswith(".") else text + "."


def _noted(run: Run, why: str) -> AuditRow:
    return AuditRow("run", why, run.patient, run.name, effect="noted")


def _interval(run: Run, raw: BaseRaw, plan: Plan) -> tuple[int, int]:
    """First and last sample to read: the windows and the filter's margins, clipped to the file."""
    fs, onset_s = float(raw.info["sfreq"]), run.onset.onset_s
    length_s = raw.n_times / fs
    if onset_s >= length_s:
        raise DataError(
            f"expected signal around the onset at {onset_s:.3f} s, found a file of {length_s:.3f} "
            "s. Check that the file is complete."
        )
    windows, margin_s = plan.windows, plan.filter.margin_s
    start = max(0, round((onset_s + windows.start_s - margin_s) * fs))
    stop = min(raw.n_times, round((onset_s + windows.stop_s + margin_s) * fs))
    return start, stop


def _channels_in_file(run: Run, raw: BaseRaw) -> tuple[list[str], list[AuditRow]]:
    """Planned channels that the file has, in the order of channels.tsv; the others as rows."""
    in_file = {name.strip(): name for name in raw.ch_names}
    names = [name for name in run.channels if name in in_file]
    rows = [
        AuditRow("channel", "is in channels.tsv but not in the file", run.patient, run.name, name)
        for name in run.channels
        if name not in in_file
    ]
    rows += [
        AuditRow("channel", "is in the file but not in channels.tsv", run.patient, run.name, name)
        for name in in_file
        if name not in run.listed
    ]
    if not names:
        raise DataError(
            f"expected the {len(run.channels)} channels of channels.tsv in the file, found none of "
            f"them among its {len(in_file)}. Do the two belong together?"
        )
    return names, rows


def _read_uv(
    raw: BaseRaw, names: list[str], start: int, stop: int, run: Run
) -> NDArray[np.float32]:
    """Signal in µV, float32, read in blocks so that no float64 copy is large.

    All channels are read and ours are taken: MNE is slower when it picks them itself, because every
    format that is read here keeps the channels of a stretch of time together.
    """
    in_file = {name.strip(): i for i, name in enumerate(raw.ch_names)}
    index = np.array([in_file[name] for name in names])
    signal = np.empty((len(names), stop - start), np.float32)
    units = dict(zip(run.channels, run.stated_units, strict=True))
    unstated = _without_unit(raw)
    scale = np.array([_uv_per_reader_unit(name not in unstated, units[name]) for name in names])
    block = max(1, _BLOCK_SAMPLES // len(raw.ch_names))
    try:
        for first in range(start, stop, block):
            last = min(stop, first + block)
            part = raw.get_data(start=first, stop=last, verbose="ERROR")[index]
            np.multiply(part, scale[:, None], out=signal[:, first - start : last - start])
    except Exception as error:  # a file that ends early fails here, in many ways
        raise DataError(
            f"expected samples {start} to {stop}, found: {_first_line(error)} Is the file complete?"
        ) from error
    return signal


# Eight megabytes of float64: fits a processor's cache.
_BLOCK_SAMPLES = 1_000_000
_PER_VOLT = {"v": 1.0, "mv": 1e3, "uv": 1e6, "nv": 1e9}


def _unit(text: str) -> str:
    """`uv` for every spelling of µV."""
    return text.strip().lower().replace("µ", "u").replace("μ", "u")


def _uv_per_reader_unit(file_states: bool, stated: str) -> float:
    """Factor from what MNE gives to µV.

    MNE gives volts where the file states a unit. Where it states none, MNE takes the bare numbers
    for volts; if channels.tsv states the unit of these numbers, that is the better source.
    """
    if file_states or _unit(stated) not in _PER_VOLT:
        return 1e6
    return 1e6 / _PER_VOLT[_unit(stated)]


def _without_unit(raw: BaseRaw) -> set[str]:
    """Channels for which the file states no unit that is a voltage.

    Formats that need no units (FIF is in volts by definition) have no entry here.
    """
    units = raw._orig_units or {}
    return {str(name).strip() for name, unit in units.items() if _unit(str(unit)) not in _PER_VOLT}


def _check_units(raw: BaseRaw, names: list[str], run: Run) -> list[AuditRow]:
    units = dict(zip(run.channels, run.stated_units, strict=True))
    unstated = _without_unit(raw) & set(names)
    from_sidecar = [name for name in unstated if _unit(units[name]) in _PER_VOLT]
    rows = []
    if from_sidecar:
        why = f"the file states no unit for {len(from_sidecar)} channels; taken from channels.tsv"
        rows.append(_noted(run, why))
    if n := len(unstated) - len(from_sidecar):
        rows.append(
            _noted(run, f"no unit is stated for {n} channels; taken as the reader gives it")
        )
    return rows


def _check_header(raw: BaseRaw, fs: float, run: Run) -> list[AuditRow]:
    """Disagreements between the file and its sidecars that do not stop the reading."""
    rows = []
    if run.stated_fs and abs(run.stated_fs - fs) > 1e-3 * fs:
        rows.append(_noted(run, f"sidecars say {run.stated_fs:g} Hz, the file {fs:g} Hz; taken"))
    length_s = raw.n_times / fs
    if run.duration_s and abs(run.duration_s - length_s) > 1.0 + 1 / fs:
        why = f"sidecars say {run.duration_s:.1f} s of signal, the file has {length_s:.1f} s"
        rows.append(_noted(run, why))
    return rows


def _ez_of(run: Run, names: list[str]) -> tuple[bool, ...] | None:
    if run.is_ez is None:
        return None
    is_ez = dict(zip(run.channels, run.is_ez, strict=True))
    return tuple(is_ez[name] for name in names)
