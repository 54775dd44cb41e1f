"""The onsets that the analysis of a patient will use, or why not; no signal is read.

The functions are those of the analysis: sidecars by `bids_scan`, annotations by `bare_files`,
interruptions and the planned interval by `recording`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from epilens.core.errors import DataError
from epilens.data.bare_files import annotated_onset
from epilens.data.bids_runs import run_name, seizure_name
from epilens.data.bids_scan import Scan
from epilens.data.datasets import recognise
from epilens.data.discovery import Case, TraceFile
from epilens.data.onsets.bids_onsets import check_onset
from epilens.data.onsets.onset import Onset
from epilens.data.readers import open_reader
from epilens.data.recording import locate
from epilens.plan import Plan


@dataclass(frozen=True)
class UsedOnsets:
    """The onsets of one recording."""

    onsets_s: tuple[float, ...] = ()
    """Seconds of recorded signal from the start of the file."""
    reasons: tuple[str, ...] = ()
    """Why seizures of the recording are excluded."""


def used_onsets(
    case: Case, marked: Mapping[str, tuple[Onset, ...]], plan: Plan
) -> dict[str, UsedOnsets]:
    """The onsets of every recording that is analysed, by its name; `marked` replace others."""
    files = case.analysed_files(marked)
    in_dataset = [(file, onsets) for file, _, onsets in files if file.tree is not None]
    stated = _stated_in_dataset(in_dataset, plan)
    return {
        file.name: _checked(path, onsets, stated.get(file.name), plan)
        for file, path, onsets in files
    }


_Stated = tuple[list[Onset], list[str]]
"""Onsets, and reasons for what is excluded."""


def _stated_in_dataset(
    files: Sequence[tuple[TraceFile, Sequence[Onset]]], plan: Plan
) -> dict[str, _Stated]:
    """Onsets of the runs of one patient, by the sidecars, with those that are marked."""
    if not files:
        return {}
    runs = {name.name: name.file for name, _ in files if name.file is not None}
    tree, patient = files[0][0].tree, f"sub-{next(iter(runs.values())).entity('sub')}"
    assert tree is not None
    marked = {
        (patient, seizure_name(run_name(runs[file.name]), number)): onset
        for file, onsets in files
        for number, onset in enumerate(onsets, start=1)
    }
    scan = Scan(tree, recognise(tree.description), plan, marked or None, everyone=True)
    seizures = [seizure for one in scan.patients([patient]) for seizure in one.runs]
    excluded = [row for row in scan.rows if row.effect == "excluded" and row.what != "channel"]
    return {
        name: (
            [seizure.onset for seizure in seizures if seizure.source == run.path],
            [row.why for row in excluded if row.run.partition("+")[0] == run_name(run)],
        )
        for name, run in runs.items()
    }


def _checked(path: Path, marked: Sequence[Onset], stated: _Stated | None, plan: Plan) -> UsedOnsets:
    """The onsets of a recording that lie in its signal with enough of it before and after."""
    try:
        reader = open_reader(path)
        if stated is None:
            stated = list(marked) or [annotated_onset(reader, "annotations")], []
    except DataError as error:
        return UsedOnsets((), (str(error),))
    onsets_s, reasons = [], list(stated[1])
    for onset in stated[0]:
        try:
            located = locate(onset, reader, plan).onset
            onsets_s.append(check_onset(located, reader.duration_s, plan).onset_s)
        except DataError as error:
            reasons.append(str(error))
    return UsedOnsets(tuple(onsets_s), tuple(reasons))
