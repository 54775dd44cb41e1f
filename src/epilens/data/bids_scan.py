"""Any iEEG-BIDS dataset → patients with their seizure runs, from sidecars alone.

Rules that apply to one dataset only are in its file in `datasets/`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from epilens.core.errors import DataError
from epilens.data.audit import AuditRow, Note, add_new, excluded_row, noted_row, shown_run
from epilens.data.bids_runs import RunSidecars, check_continuous, run_name, runs_of, seizure_name
from epilens.data.channels.bids_channels import good_channels
from epilens.data.datasets import Dataset, recognise
from epilens.data.electrodes.bids_electrodes import BidsElectrodes, RunElectrodes
from epilens.data.electrodes.positions import Positions
from epilens.data.labels.patient_zones import PatientZones
from epilens.data.labels.sources import is_code
from epilens.data.labels.zones import PatientTables, Zones
from epilens.data.onsets.bids_onsets import Onsets, RunOnsets
from epilens.data.participants import explained
from epilens.data.recording import SeizureRun
from epilens.data.run_contacts import channel_fields, marked_contacts
from epilens.data.sidecars import BidsFile, BidsTree
from epilens.data.user_files import MalformedError, as_number, natural
from epilens.plan import Plan

MOST_EZ = 0.7
"""A larger fraction of EZ channels than this is not plausible in any implantation."""


@dataclass(frozen=True)
class Patient:
    """A patient as the sidecars describe it: seizures, good channels, labels, positions."""

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
    """Onset zone and resection, from which the EZ was chosen; None if unknown."""
    onset_contacts: frozenset[str] | None = None
    """Contacts in which seizures began, if events name them."""
    modalities: frozenset[str] = frozenset()
    """Channel types of the good channels: ECOG, SEEG."""
    rates_hz: frozenset[float] = frozenset()
    """Sampling rates (Hz) that sidecars state."""


class Scan:
    """One pass over the sidecars of a dataset, which collects the audit in `rows`.

    onsets : the user's onsets, which replace those of the files; None: those of the plan's table.
    everyone : for a new patient instead of a cohort. Nobody is excluded for an outcome or for not
    being in a study, and unreadable labels are only noted. All other rules apply.
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
        self._onsets = RunOnsets(tree, dataset, plan, onsets, self.rows)
        self._zones = PatientZones(tree, dataset, plan, everyone, self.rows)
        self._electrodes = BidsElectrodes(tree, self.rows)
        self._without_seizure: dict[str, int] = {}
        """Number of excluded seizures, by patient."""

    def patients(self, names: Collection[str] | None = None) -> list[Patient]:
        """Every included patient with a usable seizure, in natural order of their names."""
        names = self.tree.participants if names is None else names
        scanned = (self._included(name) for name in sorted(names, key=natural))
        patients = [patient for patient in scanned if patient is not None]
        if strays := len(self.tree.strays):
            text = f"{strays} links that lead out of the dataset are not followed"
            self.rows.append(noted_row("dataset", text, "link-out"))
        self._note_dataset(patients)
        self._note_unused_onsets(patients)
        return patients

    def without_seizure(self) -> list[Patient]:
        """Included patients in which `patients` found no usable seizure, from all of their runs."""
        rows = set(self.rows)
        patients = [self._surveyed(*patient) for patient in self._without_seizure.items()]
        self._note_dataset(patients)
        # A run that was tried as a seizure is not listed again.
        fresh = [row for row in self.rows if row not in rows]
        self.rows[:] = [row for row in self.rows if row in rows] + list(dict.fromkeys(fresh))
        return patients

    def _note_dataset(self, patients: Sequence[Patient]) -> None:
        """Add rows about the dataset as a whole and about patients without labels."""
        if patients and (note := self.dataset.note):
            note = Note(note) if isinstance(note, str) else note
            add_new(self.rows, [AuditRow.of("dataset", note, effect="noted")])
        self._zones.note_unlabelled([patient.name for patient in patients if patient.ez is None])

    def _included(self, name: str) -> Patient | None:
        """A patient with a usable seizure; None, with an audit row, if it is excluded."""
        why = None
        if not self.everyone:
            outcomes = self.plan.cohort.outcomes
            why = self.dataset.why_not(name, self._participant(name), outcomes)
        if not why and name not in self.tree.folders:
            why = Note("is in participants.tsv but has no folder", "no-folder")
        if not why:
            patient = self._patient(name)
            if patient.runs:
                return patient
            self._without_seizure[name] = patient.seizures_excluded
            text = f"has no usable seizure ({patient.seizures_excluded} excluded)"
            why = Note(text, "no-seizure")
        self.rows.append(AuditRow.of("patient", why, (name,)))
        return None

    def _patient(self, name: str) -> Patient:
        """A patient as its seizure runs describe it."""
        runs = self._onsets.runs(name)
        usable, excluded = [], 0
        for file in runs:
            try:
                sidecars, lost = self._seizure_sidecars(name, file, runs)
                usable += [sidecars] if sidecars else []
                excluded += lost
            except DataError as error:
                excluded += 1
                self.rows.append(AuditRow.of("seizure", error, (name, run_name(file))))
        return self._assembled(name, usable, excluded)

    def _surveyed(self, name: str, excluded: int) -> Patient:
        """A patient without a usable seizure, as all of its runs describe it."""
        usable = []
        for file in runs_of(self.tree, name):
            try:
                table, fields = self._channel_table(file), self.tree.fields(file, "ieeg")
                good = self._good(name, file, table)
                usable.append(RunSidecars(name, file, table, good, fields, {}))
            except DataError as error:
                self.rows.append(AuditRow.of("run", error, (name, run_name(file))))
        return self._assembled(name, usable, excluded)

    def _assembled(self, name: str, runs: Sequence[RunSidecars], excluded: int) -> Patient:
        """Combine the usable runs of a patient with its labels and positions."""
        participant = self._participant(name)
        electrodes = self._electrodes_of(runs)
        positions = Positions()
        for table in electrodes:
            positions = positions.merged(table.positions)
        channels = sorted({channel for run in runs for channel in run.good}, key=natural)
        zones = self._zones_of(name, runs, electrodes) if runs else Zones()
        for lost in sorted((zones.ez or frozenset()) - set(channels), key=natural):
            where = "seizure" if any(run.onsets for run in runs) else "recording"
            text = f"is labelled EZ but is in no {where} a good ECOG or SEEG channel"
            self.rows.append(excluded_row("label", text, "label", (name, "", lost)))
        zones = Zones(*(None if zone is None else zone & set(channels) for zone in zones))
        self._note_inverted(name, zones.ez, channels)
        center = self._center(name, participant)
        patient_facts = (center, self._simulated, zones, positions)
        return Patient(
            name=name,
            center=center,
            participant=participant,
            runs=tuple(seizure for run in runs for seizure in run.seizures(*patient_facts)),
            seizures_excluded=excluded,
            channels=tuple(channels),
            ez=zones.ez,
            positions=positions,
            simulated=self._simulated,
            soz=zones.soz,
            resected=zones.resected,
            onset_contacts=zones.onset,
            modalities=frozenset(run.modality for run in runs),
            rates_hz=frozenset(rate for run in runs if (rate := run.stated_fs)),
        )

    def _note_inverted(self, name: str, ez: frozenset[str] | None, channels: Sequence[str]) -> None:
        """Add a row if so many channels are EZ that the labels may mean the opposite."""
        if ez and len(ez) > MOST_EZ * len(channels):
            share = f"{len(ez)} of {len(channels)} channels ({len(ez) / len(channels):.0%})"
            text = f"{share} are labelled EZ. Check whether the labels are inverted"
            self.rows.append(noted_row("label", text, "label", (name,)))

    def _participant(self, name: str) -> dict[str, str]:
        return explained(self.tree.participants[name], self.tree.participant_fields)

    def _center(self, name: str, participant: Mapping[str, str]) -> str:
        named = participant.get("center") or participant.get("site")
        of_row = self.dataset.center_of(name)
        return of_row or named or str(self.tree.description.get("Name", "unnamed"))

    def _seizure_sidecars(
        self, patient: str, file: BidsFile, runs: Sequence[BidsFile]
    ) -> tuple[RunSidecars | None, int]:
        """Sidecars of a run with usable seizures, else None; and how many seizures are excluded."""
        table, fields = self._channel_table(file), self.tree.fields(file, "ieeg")
        check_continuous(fields)
        duration_s = as_number(fields.get("RecordingDuration"))
        onsets, excluded = self._onsets.usable(patient, file, runs, duration_s)
        if not onsets:
            return None, excluded
        good = self._good(patient, file, table)
        return RunSidecars(patient, file, table, good, fields, onsets), excluded

    def _channel_table(self, file: BidsFile) -> pd.DataFrame:
        if any(stray.entities == file.entities for stray in self.tree.strays):
            raise DataError(
                "expected the files of the run in the dataset, found a link that leads out of it. "
                "Copy what it leads to into the dataset.",
                code="link-out",
            )
        table = self.tree.table(file, "channels")
        if table is None:
            raise MalformedError("expected a channels.tsv, found none. Add it.")
        for column in ("name", "type"):
            if column not in table:
                raise MalformedError(
                    f"channels.tsv: expected a column {column}, found none. Add it."
                )
        return table

    def _good(self, patient: str, file: BidsFile, table: pd.DataFrame) -> tuple[str, ...]:
        """Channels of a run that neither channels.tsv nor electrodes.tsv marks as bad."""
        marked, notes = marked_contacts(self.tree, file, table, self._electrodes)
        add_new(self.rows, [AuditRow.of("patient", note, (patient,), "noted") for note in notes])
        good, rows = good_channels(table, patient, run_name(file), marked)
        self.rows += rows
        return good

    def _electrodes_of(self, runs: Sequence[RunSidecars]) -> list[RunElectrodes]:
        """The different electrodes.tsv files of the runs, for instance one per session."""
        tables = (
            self._electrodes.of_run(run.file, run.patient, set(run.table["name"])) for run in runs
        )
        return list({id(table): table for table in tables if table is not None}.values())

    def _zones_of(
        self, name: str, runs: Sequence[RunSidecars], electrodes: Sequence[RunElectrodes]
    ) -> Zones:
        good = {channel for run in runs for channel in run.good}
        tables = PatientTables(
            name,
            tuple(run.contacts for run in runs),
            pd.concat([part.table for part in electrodes]).fillna("") if electrodes else None,
            channel_fields(self.tree, runs[0].file),
            electrodes[0].fields if electrodes else {},
            {channel for run in runs for channel in run.contacts["name"]} - good,
        )
        return self._zones.of(tables, self._onset_contacts(runs, tables))

    def _onset_contacts(
        self, runs: Sequence[RunSidecars], tables: PatientTables
    ) -> frozenset[str] | None:
        """Contacts in which seizures began, by their events; adds rows about unmatched names."""
        named: set[str] = set()
        for run in runs:
            for number, stated in run.onset_contacts.items():
                seizure = seizure_name(run_name(run.file), number)
                named |= stated.channels
                if not stated.channels:
                    text = "its event names no recorded contact in which it began"
                    add_new(self.rows, [noted_row("label", text, "label", (run.patient, seizure))])
                text = "is an onset contact by the event, but was not recorded"
                contacts = [str(c) for c in stated.unmatched if is_code(c, tables)]
                who = (run.patient, seizure)
                add_new(
                    self.rows, [excluded_row("label", text, "label", (*who, c)) for c in contacts]
                )
        return frozenset(named) or None

    def _note_unused_onsets(self, patients: list[Patient]) -> None:
        used = {(p.name, key) for p in patients for run in p.runs for key in (run.run, run.entity)}
        text = "is in the onset table but is not a usable seizure of this dataset"
        for number, (patient, run) in enumerate(self._onsets.given, start=1):
            if (patient, run) not in used:
                shown = patient if patient in self.tree.participants else ""
                self.rows.append(noted_row("run", text, "onset", (shown, shown_run(run, number))))
