"""Marks that a review wrote, as arguments of `localize`: --onsets and --exclude."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from epilens.core.errors import DataError
from epilens.data.discovery import Case, TraceFile, cases_of, patient_code
from epilens.data.onset import Onset
from epilens.data.runs import onset_key, read_onsets
from epilens.data.tables import read_table
from epilens.io.delimited import plain

MarkedRecording = tuple[Path, Onset | None]


def marked_recordings(
    path: Path, recordings: Sequence[Path], code: str = ""
) -> list[MarkedRecording]:
    """Recordings with the onsets of a table (patient, run, onset_s); None: as the file says.

    A run is the name of a BIDS run, or the name of a plain file in the review. Recordings of a
    dataset that are not seizures by their name are used only if the table has an onset of them.
    """
    table, case = read_onsets(path), _one_case(recordings, code)
    onsets = {file.name: _onsets_of(table, case, file, bool(code)) for file in case.files}
    if not any(onsets.values()):
        raise DataError(
            f"onsets {path}: expected onsets of these recordings, found only those of others. "
            "Give the patient's code with --patient as in the review, or check the column run."
        )
    return [
        (file.path, onset)
        for file in case.files
        if file.path is not None and (onsets[file.name] or file.ictal)
        for onset in onsets[file.name] or (None,)
    ]


def _one_case(recordings: Sequence[Path], code: str) -> Case:
    cases = cases_of(recordings, code)
    if len(cases) > 1:
        raise DataError(
            f"recordings: expected those of one patient, found {len(cases)} patients. Give the "
            "files or the folder of one."
        )
    return cases[0]


def _onsets_of(
    table: Mapping[tuple[str, str], Onset], case: Case, file: TraceFile, is_coded: bool
) -> tuple[Onset, ...]:
    """Onsets of a recording, in order of time.

    Plain files without --patient have no code: the only patient with such a file is meant.
    """
    patients = {case.code}
    if file.tree is None and not is_coded:
        owners = {patient for patient, run in table if _is_of(file, patient, run)}
        patients = owners if len(owners) == 1 else patients & owners
    own = [
        onset
        for (patient, run), onset in table.items()
        if patient in patients and _is_of(file, patient, run)
    ]
    return tuple(sorted(own, key=lambda onset: onset.onset_s))


def _is_of(file: TraceFile, patient: str, run: str) -> bool:
    """Whether a run of the table is this recording; `…+2` is its second seizure."""
    names = {onset_key(patient, file.name)[1], onset_key(patient, file.shown.partition(".")[0])[1]}
    return run.partition("+")[0] in names


def split_names(given: Sequence[str], code: str = "") -> dict[str, str]:
    """Names that were given one by one or with commas; a table of channels gives its bad ones.

    Values are the reasons of the table; empty where there is none.
    """
    pieces = [name.strip() for text in given for name in text.split(",") if name.strip()]
    tables = {piece for piece in pieces if Path(piece).suffix.lower() == ".tsv"}
    names: dict[str, str] = {}
    for piece in pieces:
        names |= _bad_channels(Path(piece), code) if piece in tables else {piece: ""}
    return names


def _bad_channels(path: Path, code: str) -> dict[str, str]:
    """Channels whose status is bad in a table (name, status), and why; all, without a status."""
    if not path.is_file():
        return _of_review(path, code)
    table = read_table(path)
    if "name" not in table:
        raise DataError(
            f"{path}: expected a column name, found {', '.join(table.columns)}. Is it the right "
            "table?"
        )
    rows = table if "status" not in table else table[table["status"].str.lower() == "bad"]
    reasons = rows.get("status_description", rows["name"].map(lambda _: ""))
    missing = ("", "n/a")
    return {
        plain(name): "" if why.strip().lower() in missing else why
        for name, why in zip(rows["name"], reasons, strict=True)
        if name
    }


def _of_review(path: Path, code: str) -> dict[str, str]:
    """Bad channels in the folder of a review, which has a table for each patient.

    A patient without bad channels has no table.
    """
    reviewed = sorted(file.parent for file in path.parent.glob("sub-*/review.json"))
    own = [folder for folder in reviewed if code and folder.name == patient_code(code)]
    if not reviewed:
        raise DataError(f"{path}: expected a table of channels, found nothing. Check the path.")
    if len(own or reviewed) > 1:
        raise DataError(
            f"{path}: expected the table of one patient, found a review of {len(reviewed)}. Give "
            f"--patient CODE, or the patient's own table, e.g. {reviewed[0] / path.name}."
        )
    table = (own or reviewed)[0] / path.name
    return _bad_channels(table, code) if table.is_file() else {}
