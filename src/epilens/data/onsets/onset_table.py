"""The user's table of onsets (patient, run, onset_s, and perhaps uncertainty_s)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from epilens.core.errors import OnsetError
from epilens.data.bids_runs import seizure_name
from epilens.data.onsets.onset import APART_S, TABLED, Onset, too_close
from epilens.data.sidecars import read_user_table, with_prefix
from epilens.data.user_files import as_number


def read_onsets(path: Path) -> dict[tuple[str, str], Onset]:
    """Read the user's onsets by patient and run, which is `01`, `run-01` or its full name.

    Further rows of a run are further seizures, whose names end in `+2`, `+3`.
    """
    table = read_user_table(path, "onset", ("patient", "run", "onset_s"))
    by_run: dict[tuple[str, str], list[Onset]] = {}
    for row in table.to_dict("records"):
        onset = _onset_of(row, path)
        by_run.setdefault(onset_key(row["patient"], row["run"]), []).append(onset)
    for (patient, run), onsets in by_run.items():
        onsets.sort(key=lambda onset: onset.onset_s)
        if too_close(onset.onset_s for onset in onsets):
            raise OnsetError(
                f"onsets {path}: expected seizures {APART_S:g} s or more apart in one run, found a "
                f"second row for {patient} {run} that is closer. Remove one."
            )
    return {
        (patient, seizure_name(run, number)): onset
        for (patient, run), onsets in by_run.items()
        for number, onset in enumerate(onsets, start=1)
    }


def _onset_of(row: Mapping[Any, str], path: Path) -> Onset:
    onset_s, typed = as_number(row["onset_s"]), row.get("uncertainty_s", "")
    uncertainty_s = as_number(typed)
    if onset_s is None:
        raise OnsetError(
            f"onsets {path}: expected one number for {row['patient']} {row['run']}, found "
            f"{row['onset_s']!r}. Correct this row."
        )
    if typed and (uncertainty_s is None or uncertainty_s < 0):
        raise OnsetError(
            f"onsets {path}: expected an uncertainty of 0 s or more for {row['patient']} "
            f"{row['run']}, found {typed!r}. Correct this row."
        )
    return Onset.given(onset_s, TABLED, uncertainty_s)


def onset_key(patient: str, run: str) -> tuple[str, str]:
    """Patient and run in the form of a scan; the run may be given as a file name."""
    patient = with_prefix(patient, "sub-")
    run = run.partition("_ieeg")[0].removeprefix(patient + "_").removeprefix("run-")
    return patient, run.lstrip("0") or "0" if run.isdigit() else run
