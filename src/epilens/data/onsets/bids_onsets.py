"""Which BIDS runs of a patient contain seizures, and when each seizure begins.

A run of a seizure task (`ictal`) contains a seizure. Any other run does if an event or annotation
names one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from epilens.core.errors import DataError, OnsetError
from epilens.data.audit import AuditRow, excluded_row, noted_row
from epilens.data.bids_runs import (
    run_name,
    run_number,
    runs_among,
    seizure_name,
)
from epilens.data.datasets import Dataset
from epilens.data.onsets.annotated import find_onset, find_seizures
from epilens.data.onsets.bids_events import STIMULATION, events_in, seizures_stated
from epilens.data.onsets.onset import Onset
from epilens.data.onsets.onset_table import read_onsets
from epilens.data.sidecars import BidsFile, BidsTree
from epilens.plan import Plan

Onsets = Mapping[tuple[str, str], Onset]
"""Onsets by patient, and name or number of a run."""


class RunOnsets:
    """Finds the seizure runs of a dataset and their onsets; adds notes to the audit's `rows`.

    given : the user's onsets, which replace those of the files; None: those of the plan's table.
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
        """Runs of a patient with seizures; adds a row for every other run."""
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
            seizures = seizures_stated(self._tree, file)
        except DataError as error:
            self.rows.append(AuditRow.of("run", error, who))
            return False
        task_text = "task is {found}" if task else "has no task"
        if not seizures:
            text = f"{task_text}, not a seizure; no event names one"
            self.rows.append(excluded_row("run", text, "task", who, task))
            return False
        text = f"{task_text}; seizures that its events name: {len(seizures)}, which are used"
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

        runs : all seizure runs of the patient.
        duration_s : length of the recording, or None.
        """
        onsets, excluded = {}, 0
        for number, onset in enumerate(self._onsets_of_run(patient, file, runs), start=1):
            try:
                onsets[number] = check_onset(onset, duration_s, self._plan)
            except DataError as error:
                excluded += 1
                who = (patient, seizure_name(run_name(file), number))
                self.rows.append(AuditRow.of("seizure", error, who))
        return onsets, excluded

    def _onsets_of_run(self, patient: str, file: BidsFile, runs: Sequence[BidsFile]) -> list[Onset]:
        if onsets := self._given_onsets(patient, file, runs):
            return onsets
        # Annotations of the file were converted when they were read; events.tsv was not.
        by_clock = self._tree.table(file, "events") is not None
        return [replace(onset, by_clock=by_clock) for onset in self._annotated(file)]

    def _annotated(self, file: BidsFile) -> list[Onset]:
        """Onsets that the events or annotations of a run state."""
        if not self._dataset.is_ictal(file.entity("task")):
            return seizures_stated(self._tree, file)
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
        """The user's onsets of a run; a second seizure is named `…+2`."""
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


def check_onset(onset: Onset, duration_s: float | None, plan: Plan) -> Onset:
    """Refuse an onset outside of the recording, or with too few windows before or after it."""
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
