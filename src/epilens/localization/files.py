"""Recordings that MNE reads, or places in a BIDS tree → seizures of one patient.

Seizures of plain files are numbered, because their names could name a person.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from epilens.data.audit import AuditRow
from epilens.data.positions import Positions
from epilens.data.recording import Run, annotations_of, open_raw, read_run
from epilens.errors import DataError, OnsetError
from epilens.localization.intake import (
    UNREADABLE,
    Given,
    Intake,
    OutsideError,
    annotated_onset,
    contacts_of,
    patient_code,
    typed_onset,
    with_onsets,
)
from epilens.localization.runs import bids_root, from_bids
from epilens.plan import Plan
from epilens.progress import Ticks


def from_paths(
    paths: Sequence[str | Path], plan: Plan, given: Given, tick: Ticks | None = None
) -> Intake:
    """Seizures of one patient from files, runs of a BIDS tree, or a BIDS folder."""
    files, tick = [Path(path) for path in paths], Ticks.of(tick)
    if not files:
        raise DataError("localize: expected recordings of one patient, found none. Name the files.")
    for file in files:
        if not file.exists():
            raise DataError(f"{file}: expected a recording, found nothing. Check the path.")
    roots = {bids_root(file) for file in files}
    if roots == {None}:
        folders = [file for file in files if file.is_dir() and file.suffix != ".mefd"]
        if folders:
            raise DataError(
                f"{folders[0]}: expected a recording or a BIDS dataset, found a folder without "
                "dataset_description.json above it. Name the files inside."
            )
        return _from_files(files, plan, given, tick)
    if len(roots) > 1:
        raise DataError(
            "localize: expected recordings of one dataset, found files of several. Give the files "
            "of one patient."
        )
    root = roots.pop()
    assert root is not None
    return from_bids(root, files, plan, given, tick)


def _from_files(files: list[Path], plan: Plan, given: Given, tick: Ticks) -> Intake:
    patient = patient_code(given.patient or "patient")
    pairs = with_onsets(files, given.onsets_s)
    recordings, rows, left_out, problems = [], [], [], []
    for number, (file, onset_s) in enumerate(pairs, start=1):
        name = f"seizure-{number}"
        tick(f"reading {name}", 0)
        try:
            run, lost = _run_of_file(file, onset_s, patient, name, given)
            recording, found = read_run(run, plan)
        except OutsideError:
            raise
        except DataError as error:
            why = str(error) if isinstance(error, OnsetError) else UNREADABLE
            left_out.append((name, why))
            problems.append(f"{name} ({file.name}) is left out: {error}")
            continue
        recordings.append(recording)
        rows += [*lost, *found]
    if not recordings:
        raise DataError(
            f"{patient}: expected a seizure that can be used, found none. {problems[0]}"
        )
    return Intake(tuple(recordings), tuple(rows), tuple(left_out), tuple(problems))


def _run_of_file(
    file: Path, onset_s: float | None, patient: str, name: str, given: Given
) -> tuple[Run, list[AuditRow]]:
    raw, _ = open_raw(file)
    if onset_s is None:
        onset = annotated_onset(annotations_of(file), "annotations")
    else:
        onset = typed_onset(onset_s, raw, file.name)
    names, rows = contacts_of(raw, given.exclude, patient, name)
    return Run(
        patient=patient,
        center="",
        name=name,
        entity=name.rpartition("-")[2],
        path=file,
        onset=onset,
        channels=tuple(names),
        listed=frozenset(channel.strip() for channel in raw.ch_names),
        modality="iEEG",
        stated_units=("",) * len(names),
        is_ez=None,
        positions=Positions.none(),
        stated_fs=None,
        duration_s=None,
        mains_hz=raw.info["line_freq"],
    ), rows
