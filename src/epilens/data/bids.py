"""Any iEEG-BIDS tree → patients and their seizure runs, from sidecars alone; then → Recordings.

Knows no dataset by name: what is particular to one is in its row of `data/datasets/`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from epilens.data.audit import AuditRow, audit_frame
from epilens.data.datasets import DATASETS, Dataset, recognise
from epilens.data.labels import LabelTable, PatientTables, Reader
from epilens.data.onset import Event, Onset, find_onset
from epilens.data.positions import Positions, read_positions
from epilens.data.recording import Recording, Run, annotations_of, read_run
from epilens.data.sidecars import (
    BidsFile,
    BidsTree,
    as_number,
    is_hidden,
    natural,
    read_table,
    with_prefix,
)
from epilens.errors import DataError, OnsetError
from epilens.plan import Plan

SIGNALS = (".edf", ".bdf", ".vhdr", ".fif", ".fif.gz", ".lay", ".mefd", ".eeg", ".set", ".nwb")
_RUN_SIDECARS = {("channels", ".tsv"), ("events", ".tsv"), ("ieeg", ".json")}
_CONTACTS = ("ECOG", "SEEG")
# Columns in which people write what an event is; the first that says something is taken.
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
class Patient:
    """One patient as the sidecars describe it: seizures, good channels, labels, positions."""

    name: str
    center: str
    participant: dict[str, str]
    runs: tuple[Run, ...]
    seizures_excluded: int
    channels: tuple[str, ...]
    ez: frozenset[str] | None
    positions: Positions


class Recordings:
    """The seizures of a BIDS tree: iterating reads the signals, one run at a time.

    `audit` tells what was left out and why; reading signals can add rows to it.
    """

    def __init__(
        self, title: str, patients: Iterable[Patient], rows: Iterable[AuditRow], plan: Plan
    ):
        self.title = title
        self.patients = tuple(patients)
        self.plan = plan
        self._rows = list(rows)

    @property
    def rows(self) -> tuple[AuditRow, ...]:
        """The audit as rows."""
        return tuple(self._rows)

    @property
    def audit(self) -> pd.DataFrame:
        """What was left out (effect `excluded`) or found strange (`noted`), where, and why."""
        return audit_frame(self._rows)

    @property
    def runs(self) -> tuple[Run, ...]:
        """Every usable seizure run."""
        return tuple(run for patient in self.patients for run in patient.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Recording]:
        for patient in self.patients:
            yield from self.read(patient)

    def read(self, patient: Patient) -> Iterator[Recording]:
        """Signals of one patient; a run that cannot be read is an audit row."""
        for run in patient.runs:
            try:
                recording, rows = read_run(run, self.plan)
            except DataError as error:
                self._note(AuditRow("seizure", str(error), run.patient, run.name))
                continue
            for row in rows:
                self._note(row)
            yield recording

    def _note(self, row: AuditRow) -> None:
        if row not in self._rows:
            self._rows.append(row)


def read_bids(
    root: str | Path, dataset: str | None = "local", plan: Plan | None = None
) -> Recordings:
    """Find every seizure run of a BIDS tree; signals are read when the result is iterated.

    Parameters
    ----------
    root : path
        Folder with dataset_description.json.
    dataset : str
        A row of `epilens list datasets`; None: whichever row recognises the tree, else `local`.
    plan : Plan
        Interval, montage, quality checks, label and onset tables. Default: the paper's.

    Returns
    -------
    Recordings
        Iterable of `Recording`; `.patients` and `.audit` need no signals.
    """
    tree, plan = BidsTree(root), plan or Plan()
    row = recognise(tree.description) if dataset is None else DATASETS[dataset]
    scan = _Scan(tree, row, plan)
    patients = scan.patients()
    return Recordings(str(tree.description.get("Name", tree.root.name)), patients, scan.rows, plan)


class _Scan:
    """One pass over the sidecars of a tree; collects the audit on its way."""

    def __init__(self, tree: BidsTree, dataset: Dataset, plan: Plan):
        self.tree, self.dataset, self.plan = tree, dataset, plan
        self.rows: list[AuditRow] = []

    def patients(self) -> list[Patient]:
        """Every included patient with at least one usable seizure, in natural order."""
        patients = []
        for name in sorted(self.tree.participants, key=natural):
            participant = self.tree.participants[name]
            why = self.dataset.reason_to_exclude(name, participant)
            if not why and name not in self.tree.folders:
                why = "is in participants.tsv but has no folder"
            patient = None if why else self._patient(name, participant)
            if patient is not None and not patient.runs:
                why = f"has no usable seizure ({patient.seizures_excluded} excluded)"
            if why:
                self.rows.append(AuditRow("patient", why, name))
            elif patient is not None:
                patients.append(patient)
        if not patients:
            raise DataError(
                f"{self.tree.root}: expected at least one patient with a usable seizure, found "
                f"none among {len(self.tree.participants)} ({_most_common(self.rows)}). Is "
                f"{self.dataset.name!r} the right dataset?"
            )
        if self.dataset.note:
            self.rows.append(AuditRow("dataset", self.dataset.note, effect="noted"))
        self._note_missing_labels(patients)
        self._note_unused_overrides(patients)
        return patients

    def _patient(self, name: str, participant: dict[str, str]) -> Patient:
        self._note_other_runs(name)
        usable = [draft for file in self._ictal_runs(name) if (draft := self._draft(name, file))]
        electrodes, positions = self._positions(name, usable)
        tables = PatientTables(name, tuple(draft.contacts for draft in usable), electrodes)
        ez = self._labels(tables) if usable else None
        channels = sorted({c for draft in usable for c in draft.good}, key=natural)
        if ez is not None:
            for lost in sorted(ez - set(channels), key=natural):
                why = "is labelled EZ but is in no seizure a good ECOG or SEEG channel"
                self.rows.append(AuditRow("label", why, name, channel=lost))
            ez &= set(channels)
        center = self._center(participant)
        runs = [draft.run(center, ez, positions) for draft in usable]
        excluded = len(self._ictal_runs(name)) - len(runs)
        return Patient(
            name, center, participant, tuple(runs), excluded, tuple(channels), ez, positions
        )

    def _note_other_runs(self, patient: str) -> None:
        for file in self._all_runs(patient):
            if not self.dataset.is_ictal(file.entity("task")):
                why = f"task is {file.entity('task')}, not a seizure"
                self.rows.append(AuditRow("run", why, patient, run_name(file)))

    def _center(self, participant: dict[str, str]) -> str:
        named = participant.get("center") or participant.get("site")
        return self.dataset.center or named or str(self.tree.description.get("Name", "unnamed"))

    def _ictal_runs(self, patient: str) -> list[BidsFile]:
        return [f for f in self._all_runs(patient) if self.dataset.is_ictal(f.entity("task"))]

    def _all_runs(self, patient: str) -> list[BidsFile]:
        """One file for each run: its signal, or where signals are missing one of its sidecars."""
        files = self.tree.subject_files(patient)
        headers = {f.path.stem for f in files if f.extension == ".vhdr"}
        signals = [
            f
            for f in files
            if f.suffix == "ieeg"
            and f.extension in SIGNALS
            # A .eeg beside its .vhdr is BrainVision's data; alone it is Nihon Kohden.
            and not (f.extension == ".eeg" and f.path.stem in headers)
        ]
        # The same run in two formats is one seizure: the first format of SIGNALS is taken.
        best: dict[Any, BidsFile] = {}
        for f in sorted(signals, key=lambda f: SIGNALS.index(f.extension)):
            if best.setdefault(f.entities, f) is not f:
                why = f"is there as {f.extension} too; {best[f.entities].extension} is read"
                row = AuditRow("run", why, patient, run_name(f), effect="noted")
                self.rows += [row] if row not in self.rows else []
        signals = list(best.values())
        keys = {f.entities for f in signals}
        lone: dict[Any, BidsFile] = {}
        for f in files:
            if (f.suffix, f.extension) in _RUN_SIDECARS and f.entity("task"):
                lone.setdefault(f.entities, f)
        # A sidecar with fewer entities than a run is inherited by it, and no run of its own.
        known = keys | set(lone)
        lone = {k: f for k, f in lone.items() if k not in keys and not any(k < o for o in known)}
        runs = sorted([*signals, *lone.values()], key=lambda f: natural(run_name(f)))
        return [f for f in runs if f.entity("task")]

    def _draft(self, patient: str, file: BidsFile) -> _Draft | None:
        """Sidecars of one ictal run, or None with an audit row."""
        try:
            return self._read_draft(patient, file)
        except DataError as error:
            self.rows.append(AuditRow("seizure", str(error), patient, run_name(file)))
            return None

    def _read_draft(self, patient: str, file: BidsFile) -> _Draft:
        table = self.tree.table(file, "channels")
        if table is None:
            raise DataError("expected a channels.tsv, found none. Add it.")
        for column in ("name", "type"):
            if column not in table:
                raise DataError(f"channels.tsv: expected a column {column}, found none. Add it.")
        fields = self.tree.fields(file, "ieeg")
        signal = file.path if file.suffix == "ieeg" and file.extension in SIGNALS else None
        duration_s = as_number(fields.get("RecordingDuration"))
        onset = self._onset(patient, file, signal, duration_s)
        good, rows = _good_channels(table, patient, run_name(file))
        if not good:
            raise DataError("expected good ECOG or SEEG channels in channels.tsv, found none.")
        self.rows += rows
        return _Draft(patient, run_name(file), file, signal, table, good, fields, onset, duration_s)

    def _onset(
        self, patient: str, file: BidsFile, signal: Path | None, duration_s: float | None
    ) -> Onset:
        onset_s = self._overrides.get((patient, run_name(file)))
        if onset_s is None:
            onset_s = self._overrides.get((patient, _run_entity(file)))
            same = [f for f in self._ictal_runs(patient) if _run_entity(f) == _run_entity(file)]
            if onset_s is not None and len(same) > 1:
                raise DataError(
                    f"expected an onset for one run, found {len(same)} runs of number "
                    f"{_run_entity(file)}. Give the full name in the onset table: {run_name(file)}."
                )
        if onset_s is not None:
            onset = Onset(onset_s, None, "", "given by the user")
        else:
            table = self.tree.table(file, "events")
            if table is None and signal is None:
                raise OnsetError(
                    "expected an events.tsv, found none. Add it, or give the onset with --onsets."
                )
            events = annotations_of(signal) if table is None and signal else _events(table)
            onset = find_onset(events, who="events")
        return _check_onset(onset, duration_s, self.plan)

    @cached_property
    def _overrides(self) -> dict[tuple[str, str], float]:
        if not self.plan.cohort.onsets:
            return {}
        return read_onsets(Path(self.plan.cohort.onsets))

    @cached_property
    def _readers(self) -> list[Reader]:
        """Opened label sources; what could not be opened is told once, if labels are missing."""
        if self.plan.cohort.labels:
            table = LabelTable(Path(self.plan.cohort.labels))
            for patient in sorted(table.patients() - set(self.tree.participants)):
                why = "is in the label table but not in this dataset"
                self.rows.append(AuditRow("label", why, patient, effect="noted"))
            return [table.open(self.tree.root)]
        readers = []
        for source in self.dataset.labels:
            try:
                readers.append(source.open(self.tree.root))
            except DataError as error:
                self._closed.append(str(error))
        return readers

    @cached_property
    def _closed(self) -> list[str]:
        return []

    def _labels(self, tables: PatientTables) -> frozenset[str] | None:
        for reader in self._readers:
            labels = reader(tables)
            if labels is None:
                continue
            self.rows += labels.rows
            if labels.ez is not None:
                return labels.ez
        return None

    def _note_missing_labels(self, patients: list[Patient]) -> None:
        unlabelled = [patient for patient in patients if patient.ez is None]
        if not unlabelled:
            return
        for why in self._closed:
            self.rows.append(AuditRow("dataset", why, effect="noted"))
        for patient in unlabelled:
            why = f"has no EZ label ({self.dataset.ez})"
            self.rows.append(AuditRow("label", why, patient.name, effect="noted"))

    def _note_unused_overrides(self, patients: list[Patient]) -> None:
        used = {
            (run.patient, key) for p in patients for run in p.runs for key in (run.name, run.entity)
        }
        for patient, run in (key for key in self._overrides if key not in used):
            why = "is in the onset table but is no usable seizure of this dataset"
            self.rows.append(AuditRow("run", why, patient, run, effect="noted"))

    def _positions(
        self, patient: str, drafts: list[_Draft]
    ) -> tuple[pd.DataFrame | None, Positions]:
        """Contacts of all electrodes.tsv of the patient (one per montage or session), merged."""
        tables, known = [], Positions.none()
        seen = set()
        for draft in drafts:
            paths = self.tree.sidecars(draft.file, "electrodes", ".tsv")
            if not paths or paths[-1] in seen:
                continue
            seen.add(paths[-1])
            try:
                table = read_table(paths[-1])
                fields = self.tree.fields(draft.file, "coordsystem")
            except DataError as error:
                why = f"{error} Its contacts have no positions."
                self.rows.append(AuditRow("patient", why, patient, effect="noted"))
                continue
            positions, rows = read_positions(table, fields, patient)
            self.rows += [row for row in rows if row not in self.rows]
            tables.append(table)
            known = known.merged(positions)
        return (pd.concat(tables) if tables else None), known


@dataclass(frozen=True)
class _Draft:
    """One ictal run before the patient's labels and positions are known."""

    patient: str
    name: str
    file: BidsFile
    signal: Path | None
    table: pd.DataFrame
    good: tuple[str, ...]
    fields: dict[str, Any]
    onset: Onset
    duration_s: float | None

    @property
    def contacts(self) -> pd.DataFrame:
        """Rows of ECOG and SEEG channels, good or bad."""
        return self.table[self.table["type"].str.upper().isin(_CONTACTS)]

    def run(self, center: str, ez: frozenset[str] | None, positions: Positions) -> Run:
        """The run with what is known about its patient."""
        rows = self.table.set_index("name").loc[list(self.good)]
        rates = rows.get("sampling_frequency", pd.Series(dtype=str)).map(as_number).dropna()
        fs = as_number(self.fields.get("SamplingFrequency"))
        return Run(
            patient=self.patient,
            center=center,
            name=self.name,
            entity=_run_entity(self.file),
            path=self.signal,
            onset=self.onset,
            channels=self.good,
            listed=frozenset(self.table["name"]),
            modality=Counter(rows["type"].str.upper()).most_common(1)[0][0],
            stated_units=tuple(rows["units"]) if "units" in rows else ("",) * len(rows),
            is_ez=None if ez is None else tuple(name in ez for name in self.good),
            positions=positions.of(self.good),
            stated_fs=fs or (float(rates.iloc[0]) if len(rates) else None),
            duration_s=self.duration_s,
            mains_hz=as_number(self.fields.get("PowerLineFrequency")),
        )


def run_name(file: BidsFile) -> str:
    """Entities of a run without the patient, in the order of its file name."""
    pairs = file.path.name.split("_")[:-1]
    return "_".join(pair for pair in pairs if not pair.startswith("sub-"))


def _run_entity(file: BidsFile) -> str:
    return file.entity("run").lstrip("0") or "0"


def _good_channels(
    table: pd.DataFrame, patient: str, run: str
) -> tuple[tuple[str, ...], list[AuditRow]]:
    """Names of good ECOG and SEEG channels, in file order; the others as audit rows."""
    good, rows = [], []
    repeated = set(table["name"][table["name"].duplicated()])
    for row in table.to_dict("records"):
        kind, status = row["type"].upper(), row.get("status", "").lower()
        if kind not in _CONTACTS:
            why = f"type is {row['type'] or 'not given'}, not ECOG or SEEG"
        elif status not in ("good", ""):
            why = f"status is {status}"
        elif row["name"] in repeated:
            why = "channels.tsv lists this name more than once"
        elif not row["name"]:
            why = "channels.tsv gives no name"
        else:
            good.append(row["name"])
            continue
        rows.append(AuditRow("channel", why, patient, run, row["name"]))
    return tuple(good), rows


def _events(table: pd.DataFrame | None) -> list[Event]:
    """Events with a time; the text is the first column that says something."""
    if table is None or "onset" not in table:
        raise OnsetError("events.tsv: expected a column onset, found none. Add it.")
    events = []
    for row in table.to_dict("records"):
        onset_s = as_number(row["onset"])
        texts = (row.get(column, "") for column in _EVENT_TEXT)
        text = next((text for text in texts if text and as_number(text) is None), "")
        if onset_s is not None and text:
            events.append(Event(onset_s, text, as_number(row.get("duration")) or 0.0))
    return events


def _check_onset(onset: Onset, duration_s: float | None, plan: Plan) -> Onset:
    """The onset must lie inside the recording, with enough reference windows before it."""
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
            f"for {available}: the onset is at {onset.onset_s:.3f} s. Cut the recording earlier."
        )
    return onset


def read_onsets(path: Path) -> dict[tuple[str, str], float]:
    """The user's onsets: (patient, run) → seconds. A run is `01`, `run-01` or its full name."""
    if is_hidden(path) or not path.exists():
        raise DataError(f"onsets {path}: expected a TSV, found nothing. Check the path.")
    table = read_table(path)
    missing = {"patient", "run", "onset_s"} - set(table.columns)
    if missing:
        raise DataError(
            f"onsets {path}: expected columns patient, run, onset_s, found "
            f"{', '.join(table.columns)}. Add {', '.join(sorted(missing))}."
        )
    onsets: dict[tuple[str, str], float] = {}
    for row in table.to_dict("records"):
        onset_s = as_number(row["onset_s"])
        # A pasted file name is as good as the run's name.
        run = (
            row["run"].partition("_ieeg")[0].removeprefix(with_prefix(row["patient"], "sub-") + "_")
        )
        run = run.removeprefix("run-")
        key = (
            with_prefix(row["patient"], "sub-"),
            run.lstrip("0") or "0" if run.isdigit() else run,
        )
        if onset_s is None or key in onsets:
            raise DataError(
                f"onsets {path}: expected one number for {row['patient']} {row['run']}, found "
                f"{'a second row' if key in onsets else repr(row['onset_s'])}. Mend this row."
            )
        onsets[key] = onset_s
    return onsets


def _most_common(rows: list[AuditRow]) -> str:
    reasons = Counter(row.why for row in rows if row.what in ("patient", "seizure"))
    return "; ".join(f"{n} × {why}" for why, n in reasons.most_common(2)) or "no ictal run"
