"""Recognise a recording that is given twice: two runs with one signal are one seizure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from epilens.core.errors import DataError
from epilens.data.audit import AuditRow, excluded_row, noted_row
from epilens.data.bids_scan import Patient
from epilens.data.onsets.onset import APART_S
from epilens.data.readers.mne_reader import open_mne
from epilens.data.recording import Recording, SeizureRun
from epilens.plan import Plan

AROUND_S = 2.0
"""Recordings are the same if their samples are equal for so long before and after onset."""


class DuplicateFilter:
    """Decides for each recording of a patient, in their order, whether it repeats an earlier one.

    Signals are compared, not files: a copy with another header or start date is a repetition.
    One file with two onsets is two seizures.
    """

    def __init__(self, plan: Plan):
        self._count_once = plan.cohort.duplicates == "once"
        self._earlier: dict[str, list[_Fingerprint]] = {}

    def admit(self, recording: Recording, rows: list[AuditRow]) -> bool:
        """Whether the recording counts; adds a row if it repeats an earlier one."""
        fingerprint = _Fingerprint.of(recording)
        earlier = self._earlier.setdefault(recording.patient, [])
        repeats = next(filter(None, (other.repeated_by(fingerprint) for other in earlier)), "")
        shares = next(filter(None, (other.shared_with(fingerprint) for other in earlier)), "")
        earlier.append(fingerprint)
        if repeats:
            row = excluded_row if self._count_once else noted_row
            rows.append(row("seizure", repeats, "signal-repeated", recording.who))
        elif shares:
            rows.append(noted_row("run", shares, "signal-repeated", recording.who))
        return not (repeats and self._count_once)


@dataclass(frozen=True)
class _Fingerprint:
    """Enough of a recording to recognise it again, without its samples."""

    run: str
    source: object
    content: str
    fs: float
    onset_s: float
    read_s: tuple[float, float]
    """Interval that was read, in seconds from the start of the file."""
    around: Mapping[str, bytes]
    """Digest of the samples around the onset for each channel that is not flat there."""
    envelopes: Envelopes

    @classmethod
    def of(cls, recording: Recording) -> _Fingerprint:
        onset = round(-recording.start_s * recording.fs)
        width = round(AROUND_S * recording.fs)
        part = recording.signal[:, max(0, onset - width) : onset + width]
        onset_s = recording.onset.onset_s
        return cls(
            recording.run,
            recording.source,
            recording.content,
            recording.fs,
            onset_s,
            (onset_s + recording.start_s, onset_s + recording.stop_s),
            {
                name: hashlib.sha256(samples.tobytes()).digest()
                for name, samples in zip(recording.channels, part, strict=True)
                if samples.size and (samples != samples[0]).any()
            },
            Envelopes.of(recording),
        )

    def repeated_by(self, other: _Fingerprint) -> str:
        """The reason if `other` is the same seizure; else empty text."""
        common = self.around.keys() & other.around.keys()
        same = all(self.around[name] == other.around[name] for name in common)
        if common and same and self.fs == other.fs:
            return f"repeats the signal of {self.run}"
        if self._same_content(other) and self._overlaps(other):
            return f"repeats the signal of {self.run}, {self._onsets(other)}"
        if (r := self.envelopes.correlation(other.envelopes)) >= SAME:
            return f"is the seizure of {self.run} exported again (envelopes correlate {r:.2f})"
        return ""

    def shared_with(self, other: _Fingerprint) -> str:
        """A note if `other` is another seizure of the same recording; else empty text."""
        if not self._same_content(other):
            return ""
        return f"contains the same recording as {self.run}, {self._onsets(other)}: another seizure"

    def _same_content(self, other: _Fingerprint) -> bool:
        # Whoever gives one file two onsets means two seizures.
        two_files = None not in (self.source, other.source) and self.source != other.source
        return two_files and bool(self.content) and self.content == other.content

    def _overlaps(self, other: _Fingerprint) -> bool:
        return self.read_s[0] < other.read_s[1] and other.read_s[0] < self.read_s[1]

    def _onsets(self, other: _Fingerprint) -> str:
        return f"with its onset at {other.onset_s:.3f} s instead of {self.onset_s:.3f} s"


def without_copies(patient: Patient, plan: Plan) -> tuple[Patient, list[AuditRow]]:
    """The patient without runs that are stored twice, and an audit row for each of them.

    A run can be a copy of an earlier one if sidecars state the same rate and length for both. Only
    then are the files opened, if they exist.
    """
    if plan.cohort.duplicates != "once":
        return patient, []
    kept: list[SeizureRun] = []
    rows = []
    for run in patient.runs:
        first = next((other for other in kept if _is_copy(run, other, plan)), None)
        if first is None:
            kept.append(run)
        else:
            text = f"repeats the signal of {first.run}"
            rows.append(excluded_row("seizure", text, "signal-repeated", run.who))
    excluded = patient.seizures_excluded + len(rows)
    return replace(patient, runs=tuple(kept), seizures_excluded=excluded), rows


def _is_copy(run: SeizureRun, other: SeizureRun, plan: Plan) -> bool:
    stated = [(r.stated_fs, r.duration_s, len(r.listed)) for r in (run, other)]
    apart_s = abs(run.onset.onset_s - other.onset.onset_s)
    overlap = apart_s < plan.windows.stop_s - plan.windows.start_s
    if None in stated[0] or stated[0] != stated[1] or run.source == other.source or not overlap:
        return False
    digest = _content(run)
    return bool(digest) and digest == _content(other)


def _content(run: SeizureRun) -> str:
    """Digest of the content of the run's file; empty if it is absent or unreadable."""
    try:
        return open_mne(run.source).content_digest()
    except DataError:
        return ""


HOP_S, WIDTH_S, LEVEL_S = 0.05, 0.2, 1.0
LEAST_OVERLAP_S = 10.0
SAME = 0.8
"""Correlation in the median contact from which two recordings show the same seizure."""
_MOST_CONTACTS, _LEAST_CONTACTS = 16, 3


@dataclass(frozen=True)
class Envelopes:
    """Changes of the log envelope of each contact, on a grid of time from onset.

    They show whether two exports contain the same seizure. Another resolution, rate or start of an
    export changes every sample but hardly the envelope, while two seizures always differ in it.
    """

    channels: tuple[str, ...]
    first: int
    """Index of the first value on the grid; 0 is the onset."""
    changes: NDArray[np.float32]
    """(contact, time)"""

    @classmethod
    def of(cls, recording: Recording) -> Envelopes:
        """Compute the envelopes of a recording."""
        fs, x = recording.fs, recording.signal.astype(np.float32)
        x = x - uniform_filter1d(x, max(1, round(LEVEL_S * fs)), axis=1)
        power = uniform_filter1d(x**2, max(1, round(WIDTH_S * fs)), axis=1)
        first = int(np.ceil(recording.start_s / HOP_S))
        times = np.arange(first, int(recording.stop_s / HOP_S)) * HOP_S
        samples = np.round((times - recording.start_s) * fs).astype(int)
        log = np.log(power[:, samples[samples < x.shape[1]]].clip(0) + 1e-6)
        return cls(recording.channels, first, np.diff(log, axis=1))

    def correlation(self, other: Envelopes) -> float:
        """Largest median correlation over common contacts, for shifts of less than 10 s."""
        common = [name for name in self.channels if name in set(other.channels)]
        if len(common) < _LEAST_CONTACTS:
            return 0.0
        step = -(-len(common) // _MOST_CONTACTS)
        a, b = (part.rows(common[::step]) for part in (self, other))
        most = round(APART_S / HOP_S) - 1
        lags = range(self.first - other.first - most, self.first - other.first + most + 1)
        return max(_at_lag(a, b, lag) for lag in lags)

    def rows(self, names: Sequence[str]) -> NDArray[np.float32]:
        """Changes of the contacts with these names, (contact, time)."""
        return self.changes[[self.channels.index(name) for name in names]]


def _at_lag(a: NDArray[np.float32], b: NDArray[np.float32], lag: int) -> float:
    """Median correlation of the rows where column i of `a` belongs to column i + lag of `b`."""
    start, stop = max(0, -lag), min(a.shape[1], b.shape[1] - lag)
    if (stop - start) * HOP_S < LEAST_OVERLAP_S:
        return 0.0
    a, b = a[:, start:stop], b[:, start + lag : stop + lag]
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    norm = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    r = np.divide((a * b).sum(axis=1), norm, out=np.zeros_like(norm), where=norm > 0)
    return float(np.median(r))
