"""Any iEEG-BIDS tree → patients with their seizure runs, from sidecars alone.

Knows no dataset by name: what is particular to one is in its row of `data/datasets/`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pandas as pd

from epilens.core.errors import DataError, OnsetError, Reason
from epilens.data.audit import AuditRow, Note, shown_run
from epilens.data.datasets import Dataset, recognise
from epilens.data.labels import Choice, LabelTable, PatientTables, Reader, Zones
from epilens.data.onset import Onset, find_onset
from epilens.data.positions import Positions, read_positions
from epilens.data.readers.mne_reader import open_mne
from epilens.data.recording import SeizureRun
from epilens.data.runs import (
    RunSidecars,
    check_onset,
    events_of,
    good_channels,
    read_onsets,
    run_name,
    run_number,
    runs_among,
    seizure_name,
    signal_file,
)
from epilens.data.sidecars import BidsFile, BidsTree, as_number, natural, read_table
from epilens.plan import Plan

Onsets = Mapping[tuple[str, str], Onset]
"""By patient, and name or number of a run."""


@dataclass(frozen=True)
class Patient:
    """One patient as the sidecars describe it: seizures, good channels, labels, positions."""

    name: str
    center: str
    participant: dict[str, str]
    runs: tuple[SeizureRun, ...]
    seizures_excluded: int
    channels: tuple[str, ...]
    ez: frozenset[str] | None
    positions: Positions
    simulated: bool = False
    soz: frozenset[str] | None = None
    resected: frozenset[str] | None = None
    """The zones from which the EZ was chosen; None: unknown."""


class Scan:
    """One pass over the sidecars of a tree; `rows` is the audit that it collects on its way.

    Parameters
    ----------
    onsets : mapping
        Replace those of the files; None: what the plan's onset table says.
    everyone : bool
        A new patient and not a cohort: nobody is left out for an outcome or for not being in a
        study, and labels that cannot be read are only noted. All other rules are the dataset's.
    """

    def __init__(
        self,
        tree: BidsTree,
        dataset: Dataset,
        plan: Plan,
        onsets: Onsets | None = None,
        everyone: bool = False,
    ):
        self.tree, self.dataset, self.plan, self.everyone = tree, dataset, plan, everyone
        self.rows: list[AuditRow] = []
        self._simulated = dataset.simulated or recognise(tree.description).simulated
        self._given_onsets = onsets
        self._labels_not_read: list[Reason] = []

    def patients(self, names: Collection[str] | None = None) -> list[Patient]:
        """Every included patient with at least one usable seizure, in natural order."""
        names = self.tree.participants if names is None else names
        scanned = (self._included(name) for name in sorted(names, key=natural))
        patients = [patient for patient in scanned if patient is not None]
        if strays := len(self.tree.strays):
            text = f"{strays} links that lead out of the dataset are not followed"
            self.rows.append(AuditRow.of("dataset", Note(text, "link-out"), effect="noted"))
        if patients and (note := self.dataset.note):
            note = Note(note) if isinstance(note, str) else note
            self.rows.append(AuditRow.of("dataset", note, effect="noted"))
        self._note_missing_labels(patients)
        self._note_unused_onsets(patients)
        return patients

    def _included(self, name: str) -> Patient | None:
        """A patient, or None with an audit row."""
        participant, patient, why = self.tree.participants[name], None, None
        if not self.everyone:
            why = self.dataset.why_not(name, participant, self.plan.cohort.outcomes)
        if not why and name not in self.tree.folders:
            why = Note("is in participants.tsv but has no folder", "no-folder")
        if not why:
            patient = self._patient(name, participant)
            if not patient.runs:
                text = f"has no usable seizure ({patient.seizures_excluded} excluded)"
                why = Note(text, "no-seizure")
        if not why:
            return patient
        self.rows.append(AuditRow.of("patient", why, (name,)))
        return None

    def _patient(self, name: str, participant: dict[str, str]) -> Patient:
        ictal = self._ictal_runs(name)
        usable = [run for file in ictal if (run := self._sidecars(name, file, ictal))]
        electrodes, positions = self._positions(name, usable)
        tables = PatientTables(name, tuple(run.contacts for run in usable), electrodes)
        zones = self._zones(tables) if usable else Zones()
        channels = sorted({channel for run in usable for channel in run.good}, key=natural)
        for lost in sorted((zones.ez or frozenset()) - set(channels), key=natural):
            note = Note("is labelled EZ but is in no seizure a good ECOG or SEEG channel", "label")
            self.rows.append(AuditRow.of("label", note, (name, "", lost)))
        zones = Zones(*(None if zone is None else zone & set(channels) for zone in zones))
        center = self._center(participant)
        return Patient(
            name,
            center,
            participant,
            tuple(
                seizure
                for run in usable
                for seizure in self._seizures(
                    run.seizure(center, self._simulated, zones, positions)
                )
            ),
            len(ictal) - len(usable),
            tuple(channels),
            zones.ez,
            positions,
            self._simulated,
            zones.soz,
            zones.resected,
        )

    def _seizures(self, run: SeizureRun) -> list[SeizureRun]:
        """A run, and its further seizures where the onset table has several of it."""
        key = run.run if (run.patient, run.run) in self._onsets else run.entity
        seizures, number = [run], 2
        while (onset := self._onsets.get((run.patient, f"{key}+{number}"))) is not None:
            name = seizure_name(run.run, number)
            try:
                check_onset(onset, run.duration_s, self.plan)
                entity = seizure_name(run.entity, number)
                seizures.append(replace(run, run=name, entity=entity, onset=onset))
            except DataError as error:
                self.rows.append(AuditRow.of("seizure", error, (run.patient, name)))
            number += 1
        return seizures

    def _center(self, participant: dict[str, str]) -> str:
        named = participant.get("center") or participant.get("site")
        return self.dataset.center or named or str(self.tree.description.get("Name", "unnamed"))

    def _ictal_runs(self, patient: str) -> list[BidsFile]:
        """Runs whose task is a seizure; the others as rows."""
        runs, rows = runs_among(self.tree.subject_files(patient), patient)
        self.rows += rows
        ictal = [file for file in runs if self.dataset.is_ictal(file.entity("task"))]
        for file in runs:
            if file not in ictal:
                note = Note("task is {found}, not a seizure", "task", found=file.entity("task"))
                self.rows.append(AuditRow.of("run", note, (patient, run_name(file))))
        return ictal

    def _sidecars(self, patient: str, file: BidsFile, ictal: list[BidsFile]) -> RunSidecars | None:
        """Sidecars of one ictal run, or None with an audit row."""
        try:
            return self._read_sidecars(patient, file, ictal)
        except DataError as error:
            self.rows.append(AuditRow.of("seizure", error, (patient, run_name(file))))
            return None

    def _read_sidecars(self, patient: str, file: BidsFile, ictal: list[BidsFile]) -> RunSidecars:
        if any(stray.entities == file.entities for stray in self.tree.strays):
            raise DataError(
                "expected the files of the run in the dataset, found a link that leads out of it. "
                "Copy what it leads to into the dataset.",
                code="link-out",
            )
        table = self.tree.table(file, "channels")
        if table is None:
            raise DataError(
                "expected a channels.tsv, found none. Add it.", code="sidecar-malformed"
            )
        for column in ("name", "type"):
            if column not in table:
                raise DataError(
                    f"channels.tsv: expected a column {column}, found none. Add it.",
                    code="sidecar-malformed",
                )
        fields = self.tree.fields(file, "ieeg")
        onset = self._onset(patient, file, ictal)
        onset = check_onset(onset, as_number(fields.get("RecordingDuration")), self.plan)
        good, rows = good_channels(table, patient, run_name(file))
        self.rows += rows
        return RunSidecars(patient, file, table, good, fields, onset)

    def _onset(self, patient: str, file: BidsFile, ictal: list[BidsFile]) -> Onset:
        if (given := self._given_onset(patient, file, ictal)) is not None:
            return given
        table, signal = self.tree.table(file, "events"), signal_file(file)
        if table is not None:
            return find_onset(events_of(table), who="events")
        if signal is None:
            raise OnsetError(
                "expected an events.tsv, found none. Add it, or give the onset with --onsets.",
                code="events-missing",
            )
        return find_onset(open_mne(signal).annotations(), who="events")

    def _given_onset(self, patient: str, file: BidsFile, ictal: list[BidsFile]) -> Onset | None:
        if (patient, run_name(file)) in self._onsets:
            return self._onsets[patient, run_name(file)]
        number = run_number(file)
        if (patient, number) not in self._onsets:
            return None
        same = [other for other in ictal if run_number(other) == number]
        if len(same) > 1:
            raise DataError(
                f"expected an onset for one run, found {len(same)} runs of number {number}. Give "
                f"the full name in the onset table: {run_name(file)}.",
                code="onset",
            )
        return self._onsets[patient, number]

    @cached_property
    def _onsets(self) -> Onsets:
        if self._given_onsets is not None:
            return self._given_onsets
        table = self.plan.cohort.onsets
        return read_onsets(Path(table)) if table else {}

    @cached_property
    def _readers(self) -> list[Reader]:
        """Opened label sources; one that cannot be opened is noted if labels are missing."""
        table = [LabelTable(Path(path))] if (path := self.plan.cohort.labels) else []
        if table and not self.everyone:
            self._note_strangers(table[0])
            return [table[0].open(self.tree.root)]
        readers = []
        for source in [*table, *self.dataset.labels]:
            try:
                readers.append(source.open(self.tree.root))
            except DataError as error:
                # Where a table of the user lies is not for others to know.
                own = isinstance(source, LabelTable)
                unread = Note("the label table could not be read", "file-unreadable")
                self._labels_not_read.append(unread if own else error.reason)
        return readers

    def _zones(self, tables: PatientTables) -> Zones:
        """Onset zone and resection as far as they are known, and the EZ that was chosen of them.

        The sources are asked in their order. By the dataset's own rule the first that can tell the
        EZ decides; a choice of the plan is made from all of them, each zone from the first source
        that knows it.
        """
        every, ez = Zones(), None
        choice = "" if self.plan.cohort.labels else self.plan.cohort.ez
        for reader in self._readers:
            decided = ez is not None
            try:
                labels = reader(tables)
            except DataError as error:
                if not self.everyone and not decided:
                    raise
                self._labels_not_read.append(error.reason)
                continue
            if labels is None:
                continue
            every = every.completed(labels.zones)
            if not decided:
                self.rows += labels.rows
                ez = None if choice else labels.zones.chosen(self._rule)
        if choice:
            ez = every.chosen(choice)
            self._note_choice(tables.patient, every, ez)
        return replace(every, ez=ez)

    @property
    def _rule(self) -> Choice:
        """The dataset's own choice; a table of the user says itself what is EZ."""
        return "either" if self.plan.cohort.labels else self.dataset.zone

    def _note_choice(self, patient: str, known: Zones, ez: frozenset[str] | None) -> None:
        if ez is None and known.chosen("either") is not None:
            has = [name for name in ("soz", "resected", "ez") if getattr(known, name) is not None]
            text = (
                f"cohort.ez is {self.plan.cohort.ez!r}, but its labels state only {', '.join(has)}"
            )
            self.rows.append(AuditRow.of("label", Note(text, "label"), (patient,), "noted"))

    def _note_strangers(self, table: LabelTable) -> None:
        strangers = table.patients() - set(self.tree.participants)
        if strangers:
            text = f"{len(strangers)} patients of the label table are not in this dataset"
            self.rows.append(AuditRow.of("label", Note(text, "label"), effect="noted"))

    def _note_missing_labels(self, patients: list[Patient]) -> None:
        unlabelled = [patient for patient in patients if patient.ez is None]
        if not unlabelled:
            return
        for reason in self._labels_not_read:
            self.rows.append(AuditRow.of("dataset", reason, effect="noted"))
        note = Note(f"has no EZ label ({self.dataset.ez})", "label")
        for patient in unlabelled:
            self.rows.append(AuditRow.of("label", note, (patient.name,), "noted"))

    def _note_unused_onsets(self, patients: list[Patient]) -> None:
        used = {(p.name, key) for p in patients for run in p.runs for key in (run.run, run.entity)}
        for place, (patient, run) in enumerate(self._onsets, start=1):
            if (patient, run) not in used:
                note = Note(
                    "is in the onset table but is not a usable seizure of this dataset", "onset"
                )
                shown = patient if patient in self.tree.participants else ""
                who = (shown, shown_run(run, place))
                self.rows.append(AuditRow.of("run", note, who, "noted"))

    def _positions(
        self, patient: str, runs: list[RunSidecars]
    ) -> tuple[pd.DataFrame | None, Positions]:
        """Contacts of all electrodes.tsv of the patient (one per montage or session), merged."""
        tables, merged = [], Positions.none()
        read = set()
        for run in runs:
            paths = self.tree.sidecars(run.file, "electrodes", ".tsv")
            if not paths or paths[-1] in read:
                continue
            read.add(paths[-1])
            try:
                table = read_table(paths[-1])
                fields = self.tree.fields(run.file, "coordsystem")
            except DataError as error:
                note = Reason(f"{error} Its contacts have no positions.", error.code)
                self.rows.append(AuditRow.of("patient", note, (patient,), "noted"))
                continue
            positions, rows = read_positions(table, fields, patient)
            self.rows += [row for row in rows if row not in self.rows]
            tables.append(table)
            merged = merged.merged(positions)
        return (pd.concat(tables) if tables else None), merged
