"""Which runs of a patient contain seizures, and when each seizure begins.

A run of a seizure task (`ictal`) is a seizure. Any other run counts where an event or annotation
names a seizure: its task is a hint, not a filter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from epilens.core.errors import DataError, OnsetError
from epilens.data.audit import AuditRow, excluded_row, noted_row
from epilens.data.bids_runs import (
    check_onset,
    events_of,
    read_onsets,
    run_name,
    run_number,
    runs_among,
    seizure_name,
    signal_file,
)
from epilens.data.datasets import Dataset
from epilens.data.onsets.onset import Event, Onset, find_onset, find_seizures
from epilens.data.readers.mne_reader import open_mne
from epilens.data.sidecars import BidsFile, BidsTree
from epilens.plan import Plan

Onsets = Mapping[tuple[str, str], Onset]
"""By patient, and name or number of a run."""

STIMULATION = re.compile(r"stim|spes|ccep|chocs|(?<![a-z])esm(?![a-z])")
"""Tasks and events of electrical stimulation, in lower case."""


def events_in(tree: BidsTree, file: BidsFile) -> list[Event] | None:
    """Events of a run: those of events.tsv, else the file's annotations; None without both."""
    table, signal = tree.table(file, "events"), signal_file(file)
    if table is not None:
        return events_of(table)
    return None if signal is None else open_mne(signal).annotations()


def states_seizure(tree: BidsTree, dataset: Dataset, file: BidsFile) -> bool:
    """Whether a run is of a seizure task, or its events or annotations name a seizure."""
    try:
        return dataset.is_ictal(file.entity("task")) or bool(_stated(tree, file))
    except DataError:
        return False


def _stated(tree: BidsTree, file: BidsFile) -> list[Onset]:
    """Seizures that the events of a run name; a file named interictal is not opened for it."""
    if "interictal" in run_name(file).lower() and tree.table(file, "events") is None:
        return []
    return find_seizures(events_in(tree, file) or [])


class RunOnsets:
    """The seizure runs of a tree's patients, and their onsets; notes go to the audit's `rows`.

    `given` are onsets that replace those of the files; None: what the plan's onset table says.
    """

    def __init__(
        self,
        tree: BidsTree,
        dataset: Dataset,
        plan: Plan,
        given: Onsets | None,
        rows: list[AuditRow],
    ):
        self._tree, self._dataset, self._plan, self.rows = tree, dataset, plan, rows
        table = plan.cohort.onsets if given is None else None
        self.given: Onsets = read_onsets(Path(table)) if table else given or {}

    def runs(self, patient: str) -> list[BidsFile]:
        """Runs with seizures; the others as rows."""
        runs, rows = runs_among(self._tree.subject_files(patient), patient)
        self.rows += rows
        return [file for file in runs if self._has_seizure(patient, file)]

    def _has_seizure(self, patient: str, file: BidsFile) -> bool:
        who = (patient, run_name(file))
        is_given = bool({who, (patient, run_number(file))} & set(self.given))
        task = file.entity("task")
        if is_given or self._dataset.is_ictal(task):
            return True
        try:
            seizures = _stated(self._tree, file)
        except DataError as error:
            self.rows.append(AuditRow.of("run", error, who))
            return False
        about = "task is {found}" if task else "has no task"
        if not seizures:
            text = f"{about}, not a seizure; no event names one"
            self.rows.append(excluded_row("run", text, "task", who, task))
            return False
        text = f"{about}; seizures that its events name: {len(seizures)}, which are used"
        if self._stimulated(file):
            text += ". Electrical stimulation in this recording may have induced them"
        self.rows.append(noted_row("run", text, "task", who, task))
        return True

    def _stimulated(self, file: BidsFile) -> bool:
        texts = {file.entity("task"), *(e.text for e in events_in(self._tree, file) or [])}
        return any(STIMULATION.search(text.lower()) for text in texts)

    def usable(
        self, patient: str, file: BidsFile, runs: Sequence[BidsFile], duration_s: float | None
    ) -> tuple[dict[int, Onset], int]:
        """Onsets of a run by their number, and how many seizures are excluded, each with a row.

        `runs` are all seizure runs of the patient, `duration_s` of the recording where it is known.
        """
        onsets, excluded = {}, 0
        for number, onset in enumerate(self._of_run(patient, file, runs), start=1):
            try:
                onsets[number] = check_onset(onset, duration_s, self._plan)
            except DataError as error:
                excluded += 1
                who = (patient, seizure_name(run_name(file), number))
                self.rows.append(AuditRow.of("seizure", error, who))
        return onsets, excluded

    def _of_run(self, patient: str, file: BidsFile, runs: Sequence[BidsFile]) -> list[Onset]:
        if given := self._given_onsets(patient, file, runs):
            return given
        # Annotations of the file were converted when they were read; events.tsv was not.
        by_clock = self._tree.table(file, "events") is not None
        return [replace(onset, by_clock=by_clock) for onset in self._annotated(file)]

    def _annotated(self, file: BidsFile) -> list[Onset]:
        """Onsets by the events or annotations of a run."""
        if not self._dataset.is_ictal(file.entity("task")):
            return _stated(self._tree, file)
        events = events_in(self._tree, file)
        if events is None:
            raise OnsetError(
                "expected an events.tsv, found none. Add it, or give the onset with --onsets.",
                code="events-missing",
            )
        seizures = find_seizures([event for event in events if event.duration_s > 0])
        # Events with a duration say where one seizure ends and the next begins.
        return seizures if len(seizures) > 1 else [find_onset(events, who="events")]

    def _given_onsets(self, patient: str, file: BidsFile, runs: Sequence[BidsFile]) -> list[Onset]:
        """The user's onsets of a run; its further seizures are named `…+2`."""
        key, number = run_name(file), run_number(file)
        if (patient, key) not in self.given:
            key = number
            same = [other for other in runs if run_number(other) == number]
            if (patient, key) in self.given and len(same) > 1:
                raise OnsetError(
                    f"expected an onset for one run, found {len(same)} runs of number {number}. "
                    f"Give the full name in the onset table: {run_name(file)}."
                )
        onsets: list[Onset] = []
        while (onset := self.given.get((patient, seizure_name(key, len(onsets) + 1)))) is not None:
            onsets.append(onset)
        return onsets
