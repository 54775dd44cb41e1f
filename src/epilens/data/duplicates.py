"""The same recording twice: two runs of a patient with one signal are one seizure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from epilens.core.errors import DataError
from epilens.data.audit import AuditRow, Note
from epilens.data.envelopes import SAME, Envelopes
from epilens.data.readers.mne_reader import open_mne
from epilens.data.recording import Recording, SeizureRun
from epilens.data.scan import Patient
from epilens.plan import Plan

AROUND_S = 2.0
"""Recordings whose samples are equal this long on both sides of the onset are the same."""


class DuplicateFilter:
    """Recordings that were met so far, by patient; asked for each of them, in their order.

    Signals are compared, not files: a copy with another header or start date is a repetition.
    One file with two onsets is two seizures.
    """

    def __init__(self, plan: Plan):
        self._count_once = plan.cohort.duplicates == "once"
        self._met: dict[str, list[_Fingerprint]] = {}

    def admit(self, recording: Recording, rows: list[AuditRow]) -> bool:
        """Whether the recording counts; that it repeats another becomes a row."""
        this = _Fingerprint.of(recording)
        before = self._met.setdefault(recording.patient, [])
        repeats = next(filter(None, (other.repeated_by(this) for other in before)), "")
        shares = next(filter(None, (other.shared_with(this) for other in before)), "")
        before.append(this)
        who = (recording.patient, recording.run)
        if repeats:
            effect = "excluded" if self._count_once else "noted"
            rows.append(AuditRow.of("seizure", Note(repeats, "signal-repeated"), who, effect))
        elif shares:
            rows.append(AuditRow.of("run", Note(shares, "signal-repeated"), who, "noted"))
        return not (repeats and self._count_once)


@dataclass(frozen=True)
class _Fingerprint:
    """What is remembered of a recording: enough to recognise it, without its samples."""

    run: str
    source: object
    content: str
    fs: float
    onset_s: float
    read_s: tuple[float, float]
    """Interval that was read, in seconds of the file."""
    around: Mapping[str, bytes]
    """Digest of the samples around the onset, of each channel that is not flat there."""
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
        """Why the other is this seizure again, or empty text."""
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
        """That the other is another stretch of the same recording, or empty text."""
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
    then are the files opened, as far as they are there.
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
            note = Note(f"repeats the signal of {first.run}", "signal-repeated")
            rows.append(AuditRow.of("seizure", note, (run.patient, run.run)))
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
    """Digest of the run's file; empty where it is absent or cannot be read."""
    try:
        return open_mne(run.source).content_digest()
    except DataError:
        return ""
