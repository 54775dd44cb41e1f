"""Combine the label sources of a dataset into onset zone, resection and EZ of a patient."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from epilens.core.errors import DataError, Reason
from epilens.data.audit import AuditRow, Note, noted_row, shown_patients
from epilens.data.datasets import Dataset
from epilens.data.labels.sources import LabelError, LabelTable
from epilens.data.labels.zones import Choice, LabelReader, PatientTables, Zones
from epilens.data.sidecars import BidsTree
from epilens.data.user_files import natural
from epilens.plan import Plan


class PatientZones:
    """The label sources of a dataset, opened once; adds notes to the audit's `rows`.

    everyone : labels that cannot be read are noted and do not exclude the patient.
    """

    def __init__(
        self, tree: BidsTree, dataset: Dataset, plan: Plan, everyone: bool, rows: list[AuditRow]
    ):
        self._tree, self._dataset, self._plan, self._everyone = tree, dataset, plan, everyone
        self.rows = rows
        self._unread: list[Reason] = []

    @cached_property
    def _readers(self) -> list[LabelReader]:
        """Opened label sources; unreadable ones are reported only if labels are missing."""
        table = [LabelTable(Path(path))] if (path := self._plan.cohort.labels) else []
        if table and not self._everyone:
            return [table[0].open(self._tree.root)]
        readers = []
        for source in [*table, *self._dataset.labels]:
            try:
                readers.append(source.open(self._tree.root))
            except DataError as error:
                # The message about a table of the user contains its path, which is private.
                private = isinstance(source, LabelTable)
                unread = Note("the label table could not be read", "file-unreadable")
                self._unread.append(unread if private else error.reason)
        return readers

    def of(self, tables: PatientTables, onset: frozenset[str] | None) -> Zones:
        """Onset zone and resection if they are known, and the EZ that was chosen from them.

        Each zone comes from the first source that states it. The EZ is chosen from the zones by
        the plan, else by the dataset. If a source labels channels as EZ itself, that decides, and
        later sources do not change it. `onset` are contacts in which the seizures began, by their
        events.
        """
        zones, ez = Zones(), None
        choice = "" if self._plan.cohort.labels else self._plan.cohort.ez
        for reader in self._readers:
            try:
                labels = reader(tables)
            except DataError as error:
                if not self._everyone and ez is None:
                    raise
                self._unread.append(error.reason)
                continue
            if labels is None:
                continue
            outright = zones.ez is not None
            zones = zones.completed(labels.zones)
            if not outright:
                self.rows += labels.rows
                ez = None if choice else zones.chosen(self._dataset_choice)
        zones = replace(zones, onset=onset)
        if onset and not zones.soz:
            zones = self._with_onset_contacts(tables.patient, zones)
            if zones.ez is None and not self._plan.cohort.labels:
                chosen = zones.chosen(self._dataset_choice)
                ez = chosen if ez is None else ez | (chosen or ez)
        if choice:
            ez = zones.chosen(choice)
            self._note_choice(tables.patient, zones, ez)
        return replace(zones, ez=ez)

    def _with_onset_contacts(self, patient: str, zones: Zones) -> Zones:
        """Use the contacts that events name as the onset zone, because no label states one."""
        stated = "no label states" if zones.soz is None else "no channel is labelled as"
        text = (
            f"{stated} the onset zone; the {len(zones.onset or ())} contacts in which its seizures "
            "began, by their events, are used"
        )
        self.rows.append(noted_row("label", text, "label", (patient,)))
        return replace(zones, soz=zones.onset)

    @property
    def _dataset_choice(self) -> Choice:
        """The dataset's choice of the EZ; a table of the user needs none."""
        return "either" if self._plan.cohort.labels else self._dataset.zone

    def _note_choice(self, patient: str, zones: Zones, ez: frozenset[str] | None) -> None:
        if ez is None and zones.chosen("either") is not None:
            known = [name for name in ("soz", "resected", "ez") if getattr(zones, name) is not None]
            wanted = self._plan.cohort.ez
            text = f"cohort.ez is {wanted!r}, but its labels state only {', '.join(known)}"
            self.rows.append(noted_row("label", text, "label", (patient,)))

    def note_unlabelled(self, patients: Collection[str]) -> None:
        """Add rows for patients without an EZ label and for unreadable label sources."""
        if not patients:
            return
        for reason in dict.fromkeys(self._unread):
            self.rows.append(AuditRow.of("dataset", reason, effect="noted"))
        text = f"has no EZ label ({self._dataset.ez})"
        self.rows += [noted_row("label", text, "label", (patient,)) for patient in patients]


def check_label_table(path: Path, patients: Collection[str]) -> list[AuditRow]:
    """A row that names patients of the user's label table who are in none of the datasets.

    A table that names no patient of the datasets is refused.
    """
    named = LabelTable(path).patients()
    unmatched = sorted(named - set(patients), key=natural)
    if not unmatched:
        return []
    listed = shown_patients(unmatched)
    if len(unmatched) == len(named):
        raise LabelError(
            f"labels {path}: expected patients of the dataset, found none among its {len(named)}"
            f"{f' ({listed})' if listed else ''}. Correct the column patient, e.g. "
            f"{min(patients, key=natural, default='sub-01')}."
        )
    noun, verb = ("patient", "is") if len(unmatched) == 1 else ("patients", "are")
    text = f"{len(unmatched)} {noun} of the label table {verb} in no dataset that was given"
    text = f"{text}: {listed}" if listed else text
    return [noted_row("label", text, "label")]
