"""The runs of a patient in a BIDS tree: which files are one, and what its own sidecars say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd

from epilens.core.errors import DataError, OnsetError
from epilens.data.audit import AuditRow, Note, known_word, shown_label
from epilens.data.labels import Zones
from epilens.data.non_contacts import BIDS_CONTACTS
from epilens.data.onset import APART_S, TABLED, Event, Onset
from epilens.data.positions import Positions
from epilens.data.readers.companions import header_of
from epilens.data.recording import SeizureRun
from epilens.data.sidecars import BidsFile, as_number, is_hidden, natural, read_table, with_prefix
from epilens.plan import Plan

SIGNALS = (".edf", ".bdf", ".vhdr", ".fif", ".fif.gz", ".lay", ".mefd", ".eeg", ".set", ".nwb")
_RUN_SIDECARS = {("channels", ".tsv"), ("events", ".tsv"), ("ieeg", ".json")}
_TYPES = (
    *("EEG", "DBS", "MISC", "OTHER", "REF", "TRIG", "ECG", "EMG", "EOG", "VEOG", "HEOG", "ADC"),
    *("DAC", "AUDIO", "PD", "EYEGAZE", "PUPIL", "SYSCLOCK", "RESP", "TEMP", "GSR", "PPG"),
)
"""Other types of BIDS; what else stands there is somebody's own text."""
# Columns in which people write what an event is; the first that is not empty counts.
_EVENT_TEXT = (
    "trial_type",
    "event_type",
    "eventtype",
    "event",
    "description",
    "annotation",
    "value",
)


@dataclass(frozen=True)
class RunSidecars:
    """One ictal run as its own sidecars describe it, before labels and positions are asked for."""

    patient: str
    file: BidsFile
    table: pd.DataFrame
    """channels.tsv."""
    good: tuple[str, ...]
    fields: dict[str, Any]
    """ieeg.json."""
    onset: Onset

    @property
    def contacts(self) -> pd.DataFrame:
        """Rows of ECOG and SEEG channels, good or bad."""
        return self.table[self.table["type"].str.upper().isin(BIDS_CONTACTS)]

    def seizure(
        self, center: str, simulated: bool, zones: Zones, positions: Positions
    ) -> SeizureRun:
        """The run with what is known about its patient; `zones.ez` are those that count."""
        rows = self.table.set_index("name").loc[list(self.good)]
        rates = rows.get("sampling_frequency", pd.Series(dtype=str)).map(as_number).dropna()
        fs = as_number(self.fields.get("SamplingFrequency"))
        return SeizureRun(
            patient=self.patient,
            center=center,
            run=run_name(self.file),
            entity=run_number(self.file),
            source=signal_file(self.file),
            onset=self.onset,
            channels=self.good,
            listed=frozenset(self.table["name"]),
            modality=Counter(rows["type"].str.upper()).most_common(1)[0][0],
            stated_units=tuple(rows["units"]) if "units" in rows else ("",) * len(rows),
            is_ez=self._in(zones.ez),
            is_soz=self._in(zones.soz),
            is_resected=self._in(zones.resected),
            positions=positions.of(self.good),
            stated_fs=fs or (float(rates.iloc[0]) if len(rates) else None),
            duration_s=as_number(self.fields.get("RecordingDuration")),
            mains_hz=as_number(self.fields.get("PowerLineFrequency")),
            simulated=simulated,
        )

    def _in(self, zone: frozenset[str] | None) -> tuple[bool, ...] | None:
        """Which good channels are in a zone; None where it is not known."""
        return None if zone is None else tuple(name in zone for name in self.good)


def runs_among(files: Iterable[BidsFile], patient: str) -> tuple[list[BidsFile], list[AuditRow]]:
    """One file for each run of a patient: its signal, or where that is missing one sidecar."""
    files = list(files)
    signals, rows = _signals_among(files, patient)
    lone: dict[Any, BidsFile] = {}
    for f in files:
        if (f.suffix, f.extension) in _RUN_SIDECARS and f.entity("task"):
            lone.setdefault(f.entities, f)
    # A sidecar with fewer entities than a run is inherited by it, and no run of its own.
    runs = signals | {
        k: f
        for k, f in lone.items()
        if k not in signals and not any(k < other for other in [*signals, *lone])
    }
    in_order = sorted(runs.values(), key=lambda f: natural(run_name(f)))
    return [f for f in in_order if f.entity("task")], rows


def _signals_among(
    files: list[BidsFile], patient: str
) -> tuple[dict[Any, BidsFile], list[AuditRow]]:
    """Signal files by their entities; the same run in two formats is one seizure."""
    signals = [
        f
        for f in files
        if f.suffix == "ieeg" and f.extension in SIGNALS and header_of(f.path) == f.path
    ]
    best: dict[Any, BidsFile] = {}
    rows = []
    for f in sorted(signals, key=lambda f: SIGNALS.index(f.extension)):
        if best.setdefault(f.entities, f) is not f:
            note = Note(
                f"is there as {f.extension} too; {best[f.entities].extension} is read",
                "format-twice",
            )
            rows.append(AuditRow.of("run", note, (patient, run_name(f)), "noted"))
    return best, rows


def signal_file(file: BidsFile) -> Path | None:
    """The file itself, if it is a signal and not a sidecar."""
    return file.path if file.suffix == "ieeg" and file.extension in SIGNALS else None


def run_name(file: BidsFile) -> str:
    """Entities of a run without the patient, in the order of its file name."""
    pairs = file.path.name.split("_")[:-1]
    return "_".join(pair for pair in pairs if not pair.startswith("sub-"))


def run_number(file: BidsFile) -> str:
    """The entity `run` without leading zeros."""
    return file.entity("run").lstrip("0") or "0"


def good_channels(
    table: pd.DataFrame, patient: str, run: str
) -> tuple[tuple[str, ...], list[AuditRow]]:
    """Names of good ECOG and SEEG channels, in file order; the others as audit rows."""
    good, rows = [], []
    repeated = set(table["name"][table["name"].duplicated()])
    for place, row in enumerate(table.to_dict("records"), start=1):
        kind, status, name = row["type"].upper(), row.get("status", "").lower(), row["name"]
        if kind not in BIDS_CONTACTS:
            shown = known_word(kind, _TYPES, "another one") if kind else "not given"
            note = Note("type is {found}, not ECOG or SEEG", "channel-type", found=shown)
            name = shown_label(name, place)
        elif status not in ("good", ""):
            shown = known_word(status, ("bad",), "neither good nor bad")
            note = Note("status is {found}", "channel-status", found=shown)
        elif row["name"] in repeated:
            note = Note("channels.tsv lists this name more than once", "channel-name")
        elif not row["name"]:
            note = Note("channels.tsv gives no name", "channel-name")
        else:
            good.append(row["name"])
            continue
        rows.append(AuditRow.of("channel", note, (patient, run, name)))
    if not good:
        raise DataError(
            "expected good ECOG or SEEG channels in channels.tsv, found none.",
            code="channels-none",
        )
    return tuple(good), rows


def events_of(table: pd.DataFrame) -> list[Event]:
    """Events with a time; the text is the first column that says something."""
    if "onset" not in table:
        raise OnsetError(
            "events.tsv: expected a column onset, found none. Add it.", code="sidecar-malformed"
        )
    events = []
    for row in table.to_dict("records"):
        onset_s = as_number(row["onset"])
        texts = (row.get(column, "") for column in _EVENT_TEXT)
        text = next((text for text in texts if text and as_number(text) is None), "")
        if onset_s is not None and text:
            events.append(Event(onset_s, text, as_number(row.get("duration")) or 0.0))
    return events


def check_onset(onset: Onset, duration_s: float | None, plan: Plan) -> Onset:
    """The onset must lie inside the recording, with enough windows before and after it."""
    windows = plan.windows
    if onset.onset_s < 0:
        raise OnsetError(
            f"expected an onset after the start of the recording, found {onset.onset_s:.3f} s. "
            "Correct events.tsv, or give the onset with --onsets."
        )
    if duration_s is not None and onset.onset_s >= duration_s:
        raise OnsetError(
            f"expected an onset inside the recording of {duration_s:.3f} s, found "
            f"{onset.onset_s:.3f} s. Correct events.tsv, or give the onset with --onsets."
        )
    before_s = min(onset.onset_s, -windows.start_s)
    ends = before_s - windows.length_s if windows.reference == "ends-before" else before_s - 1e-9
    available = int(ends // windows.stride_s) + 1 if ends >= 0 else 0
    if available < windows.min_reference:
        raise OnsetError(
            f"expected at least {windows.min_reference} reference windows before onset, found room "
            f"for {available}: the onset is at {onset.onset_s:.3f} s. Export a recording that "
            "starts earlier.",
            code="windows-too-few",
        )
    after_s = windows.stop_s if duration_s is None else duration_s - onset.onset_s
    room = (min(after_s, windows.stop_s) - windows.length_s) / windows.stride_s
    ictal = int(room + 1e-9) + 1 if room >= 0 else 0
    if ictal < windows.min_ictal:
        raise OnsetError(
            f"expected at least {windows.min_ictal} windows after onset, found room for {ictal}: "
            f"the recording ends {after_s:.3f} s after it, and contains nothing ictal. "
            "Use a recording that goes on longer.",
            code="windows-too-few",
        )
    return onset


def read_onsets(path: Path) -> dict[tuple[str, str], Onset]:
    """The user's onsets by patient and run. A run is `01`, `run-01` or its full name.

    Further rows of a run are its further seizures, whose names end in `+2`, `+3`.
    """
    if is_hidden(path) or not path.exists():
        raise DataError(
            f"onsets {path}: expected a TSV, found nothing. Check the path.", code="onset"
        )
    table = read_table(path)
    missing = {"patient", "run", "onset_s"} - set(table.columns)
    if missing:
        raise DataError(
            f"onsets {path}: expected columns patient, run, onset_s, found "
            f"{', '.join(table.columns)}. Add {', '.join(sorted(missing))}.",
            code="onset",
        )
    by_run: dict[tuple[str, str], list[float]] = {}
    for row in table.to_dict("records"):
        onset_s = as_number(row["onset_s"])
        if onset_s is None:
            raise DataError(
                f"onsets {path}: expected one number for {row['patient']} {row['run']}, found "
                f"{row['onset_s']!r}. Mend this row.",
                code="onset",
            )
        by_run.setdefault(onset_key(row["patient"], row["run"]), []).append(onset_s)
    for (patient, run), onsets_s in by_run.items():
        onsets_s.sort()
        if any(after - before < APART_S for before, after in pairwise(onsets_s)):
            raise DataError(
                f"onsets {path}: expected seizures {APART_S:g} s or more apart in one run, found a "
                f"second row for {patient} {run} that is closer. Remove one.",
                code="onset",
            )
    return {
        (patient, seizure_name(run, number)): Onset.given(onset_s, TABLED)
        for (patient, run), onsets_s in by_run.items()
        for number, onset_s in enumerate(onsets_s, start=1)
    }


def seizure_name(run: str, number: int) -> str:
    """A run's name for its first seizure; `…+2` for the second."""
    return run if number == 1 else f"{run}+{number}"


def onset_key(patient: str, run: str) -> tuple[str, str]:
    """Patient and run as the scan asks for them; a pasted file name is as good as a run's name."""
    patient = with_prefix(patient, "sub-")
    run = run.partition("_ieeg")[0].removeprefix(patient + "_").removeprefix("run-")
    return patient, run.lstrip("0") or "0" if run.isdigit() else run
