"""The runs of a patient in a BIDS tree: which files are one, and what its own sidecars say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from epilens.core.errors import DataError, OnsetError
from epilens.data.audit import AuditRow, Note, known_word, noted_row, shown_label
from epilens.data.channels.contacts import Matches
from epilens.data.channels.non_contacts import BIDS_CONTACTS
from epilens.data.electrodes.positions import Positions
from epilens.data.labels.zones import Zones, stated_contacts
from epilens.data.onsets.onset import APART_S, TABLED, Event, Onset, too_close
from epilens.data.onsets.texts import means_onset
from epilens.data.readers.formats import header_of
from epilens.data.recording import SeizureRun
from epilens.data.sidecars import BidsFile, BidsTree, read_user_table, with_prefix
from epilens.data.tables import as_number, natural
from epilens.data.yes_no import bare_word, marked_bad
from epilens.plan import Plan

SIGNALS = (
    *(".edf", ".bdf", ".vhdr", ".fif", ".fif.gz", ".lay", ".mefd", ".eeg", ".set", ".nwb"),
    *(".gdf", ".cnt", ".cdt", ".trc", ".ns1", ".ns2", ".ns3", ".ns4", ".ns5", ".ns6"),
)
_RUN_SIDECARS = {("channels", ".tsv"), ("events", ".tsv"), ("ieeg", ".json")}
_TYPES = (
    *("EEG", "DBS", "MISC", "OTHER", "REF", "TRIG", "ECG", "EMG", "EOG", "VEOG", "HEOG", "ADC"),
    *("DAC", "AUDIO", "PD", "EYEGAZE", "PUPIL", "SYSCLOCK", "RESP", "TEMP", "GSR", "PPG"),
)
"""Other types of BIDS; what else stands there is somebody's own text."""
# Columns in which people write what an event is; the first that is not empty counts.
_EVENT_TEXT = (
    *("trial_type", "event_type", "eventtype", "event", "description", "annotation", "value"),
)
_ONSET_CONTACTS = (
    *("electrodes_involved_onset", "onset_contacts", "onset_electrodes", "onset_channels"),
    *("contacts_onset", "electrodes_onset", "channels_onset"),
)
_EVENT_KIND = ("sub_type", "subtype", "seizure_type", "type")
_KINDS = {
    **dict.fromkeys(("clin", "clinical", "electroclinical"), "clinical"),
    **dict.fromkeys(("subclin", "subclinical", "electrographic"), "subclinical"),
}


@dataclass(frozen=True)
class RunSidecars:
    """One run as its own sidecars describe it, before labels and positions are asked for."""

    patient: str
    file: BidsFile
    table: pd.DataFrame
    """channels.tsv."""
    good: tuple[str, ...]
    fields: dict[str, Any]
    """ieeg.json."""
    onsets: dict[int, Onset]
    """Usable seizures by their number in the run, from 1; none where the run is only surveyed."""

    @property
    def contacts(self) -> pd.DataFrame:
        """Rows of ECOG and SEEG channels, good or bad."""
        return self.table[self.table["type"].str.upper().isin(BIDS_CONTACTS)]

    @cached_property
    def _good_rows(self) -> pd.DataFrame:
        return self.table.set_index("name").loc[list(self.good)]

    @property
    def modality(self) -> str:
        """The type that most good channels have."""
        return Counter(self._good_rows["type"].str.upper()).most_common(1)[0][0]

    @property
    def stated_fs(self) -> float | None:
        """Sampling rate in Hz that ieeg.json states, else the good channels' first; or None."""
        if fs := as_number(self.fields.get("SamplingFrequency")):
            return fs
        texts = self._good_rows.get("sampling_frequency", ())
        return next((rate for text in texts if (rate := as_number(text)) is not None), None)

    @cached_property
    def onset_contacts(self) -> dict[int, Matches]:
        """Contacts in which each seizure began, where its event names them."""
        names = set(self.contacts["name"])
        texts = {number: onset.contacts for number, onset in self.onsets.items()}
        return {n: stated_contacts(text, names) for n, text in texts.items() if text}

    def seizures(
        self, center: str, simulated: bool, zones: Zones, positions: Positions
    ) -> list[SeizureRun]:
        """The run's seizures with what is known about their patient."""
        units = self._good_rows.get("units", [""] * len(self.good))
        began_in = {n: stated.channels or None for n, stated in self.onset_contacts.items()}
        return [
            SeizureRun(
                patient=self.patient,
                center=center,
                run=seizure_name(run_name(self.file), number),
                entity=seizure_name(run_number(self.file), number),
                source=signal_file(self.file),
                onset=onset,
                channels=self.good,
                listed=frozenset(self.table["name"]),
                modality=self.modality,
                stated_units=tuple(units),
                is_ez=self._in(zones.ez),
                is_soz=self._in(zones.soz),
                is_resected=self._in(zones.resected),
                is_onset_contact=self._in(began_in.get(number)),
                positions=positions.of(self.good),
                stated_fs=self.stated_fs,
                duration_s=as_number(self.fields.get("RecordingDuration")),
                mains_hz=as_number(self.fields.get("PowerLineFrequency")),
                simulated=simulated,
                discontinuous=_recording_type(self.fields) == "discontinuous",
            )
            for number, onset in self.onsets.items()
        ]

    def _in(self, zone: frozenset[str] | None) -> tuple[bool, ...] | None:
        """Which good channels are in a zone; None where it is not known."""
        return None if zone is None else tuple(name in zone for name in self.good)


def _recording_type(fields: Mapping[str, Any]) -> str:
    return str(fields.get("RecordingType", "")).strip().lower()


def check_continuous(fields: Mapping[str, Any]) -> None:
    """Refuse a recording that is epoched by its ieeg.json: its samples are not consecutive."""
    if _recording_type(fields) == "epoched":
        raise DataError(
            "expected a continuous recording of the seizure, found RecordingType epoched in "
            "ieeg.json. Use the recording from which the epochs were cut.",
            code="signal-interrupted",
        )


def runs_among(files: Iterable[BidsFile], patient: str) -> tuple[list[BidsFile], list[AuditRow]]:
    """One file for each run of a patient: its signal, or where that is missing one sidecar."""
    files = list(files)
    signals, rows = _signals_among(files, patient)
    lone: dict[Any, BidsFile] = {}
    for f in files:
        kind = (f.suffix, f.extension.removesuffix(".gz"))
        # Without a task, other tables may be of a session or a patient.
        if kind in _RUN_SIDECARS and (f.entity("task") or kind == ("ieeg", ".json")):
            lone.setdefault(f.entities, f)
    # A sidecar with fewer entities than a run is inherited by it, and no run of its own.
    runs = signals | {
        k: f
        for k, f in lone.items()
        if k not in signals and not any(k < other for other in [*signals, *lone])
    }
    return sorted(runs.values(), key=lambda f: natural(run_name(f))), rows


def runs_of(tree: BidsTree, patient: str) -> list[BidsFile]:
    """One file for each run of a patient, in natural order."""
    return runs_among(tree.subject_files(patient), patient)[0]


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
            text = f"is there as {f.extension} too; {best[f.entities].extension} is read"
            rows.append(noted_row("run", text, "format-twice", (patient, run_name(f))))
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
    table: pd.DataFrame, patient: str, run: str, marked: Mapping[str, Note] | None = None
) -> tuple[tuple[str, ...], list[AuditRow]]:
    """Names of good ECOG and SEEG channels, in file order; the others as audit rows.

    `marked` are reasons for channels that other columns mark; None: those of the table itself.
    """
    good, rows = [], []
    marked = marked_bad(table, {}, "channels.tsv")[0] if marked is None else marked
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
        elif row["name"] in marked:
            note = marked[row["name"]]
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
    """Events with a time; the text is the first column that means a seizure, or says anything."""
    if "onset" not in table:
        raise OnsetError(
            "events.tsv: expected a column onset, found none. Add it.", code="sidecar-malformed"
        )
    events = []
    for row in table.to_dict("records"):
        onset_s = as_number(row["onset"])
        values = (row.get(column, "") for column in _EVENT_TEXT)
        texts = [text for text in values if text and as_number(text) is None]
        if onset_s is None or not texts:
            continue
        text = next(filter(means_onset, texts), texts[0]) if len(texts) > 1 else texts[0]
        contacts = next((row[column] for column in _ONSET_CONTACTS if row.get(column)), "")
        kinds = (_KINDS.get(bare_word(row.get(column, "")), "") for column in _EVENT_KIND)
        kind = next(filter(None, kinds), "")
        events.append(Event(onset_s, text, _duration_s(row, onset_s), kind, contacts))
    return events


def _duration_s(row: Mapping[Any, str], onset_s: float) -> float:
    """The duration of an event; without one, the time until its `offset`; else 0."""
    duration_s, end_s = as_number(row.get("duration")), as_number(row.get("offset"))
    if not duration_s and end_s is not None:
        return max(0.0, end_s - onset_s)
    return duration_s or 0.0


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
    before_s = min(onset.onset_s, -windows.start_s) - windows.reference_gap_s
    ends = before_s - windows.length_s if windows.reference == "ends-before" else before_s - 1e-9
    available = int(ends // windows.stride_s) + 1 if ends >= 0 else 0
    if available < windows.min_reference:
        raise OnsetError(
            f"expected at least {windows.min_reference} baseline windows before onset, found room "
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
            f"the recording ends {after_s:.3f} s after it. Export a recording that ends later.",
            code="windows-too-few",
        )
    return onset


def read_onsets(path: Path) -> dict[tuple[str, str], Onset]:
    """The user's onsets by patient and run. A run is `01`, `run-01` or its full name.

    Further rows of a run are its further seizures, whose names end in `+2`, `+3`.
    """
    table = read_user_table(path, "onset", ("patient", "run", "onset_s"))
    by_run: dict[tuple[str, str], list[float]] = {}
    for row in table.to_dict("records"):
        onset_s = as_number(row["onset_s"])
        if onset_s is None:
            raise OnsetError(
                f"onsets {path}: expected one number for {row['patient']} {row['run']}, found "
                f"{row['onset_s']!r}. Correct this row."
            )
        by_run.setdefault(onset_key(row["patient"], row["run"]), []).append(onset_s)
    for (patient, run), onsets_s in by_run.items():
        onsets_s.sort()
        if too_close(onsets_s):
            raise OnsetError(
                f"onsets {path}: expected seizures {APART_S:g} s or more apart in one run, found a "
                f"second row for {patient} {run} that is closer. Remove one."
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
