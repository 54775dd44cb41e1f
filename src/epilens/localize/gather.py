"""A patient in any form → its cube, with signals beside it, and what became of its recordings."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from epilens.data.audit import AuditRow
from epilens.data.intake import Given, Intake, take_in
from epilens.data.recording import Recording
from epilens.errors import DataError
from epilens.evidence.cube import check
from epilens.evidence.describe import describe_patient
from epilens.evidence.signals import make_signals
from epilens.localize.sources import Source, check_cube, pick_seizures
from epilens.plan import Plan
from epilens.progress import Ticks


@dataclass(frozen=True)
class Evidence:
    """A patient's cube (with signals, if there are any) and what became of its recordings."""

    patient: xr.Dataset
    intake: Intake
    rows: tuple[AuditRow, ...]


def gather(
    patient: Any, source: Source, given: Given, stores: Collection[str], tick: Ticks
) -> Evidence:
    """Read and describe a patient; `stores` are wanted beside the cube."""
    if isinstance(patient, xr.Dataset):
        cube = check(patient)
        check_cube(cube, source)
        if set(stores) - {"cube"} and "signal_0" not in cube:
            raise DataError(
                f"{cube.attrs['patient']}: expected recordings, because the method reads signals, "
                "found a cube without them. Give the files."
            )
        tick("reading", 2)
        return Evidence(_tidy(cube), Intake(()), ())
    tick("reading", 0)
    intake = take_in(patient, source.plan, given, tick)
    tick("describing", 1)
    _check_common(intake.recordings)
    whole, rows = _describe(intake.recordings, source.plan, stores)
    tick("described", 1)
    return Evidence(_tidy(whole), intake, (*intake.rows, *rows))


def _describe(
    recordings: Sequence[Recording], plan: Plan, stores: Collection[str]
) -> tuple[xr.Dataset, list[AuditRow]]:
    who = recordings[0].patient
    try:
        cube, rows = describe_patient(recordings, plan)
    except DataError as error:
        raise DataError(f"{who}: {str(error).removeprefix(who + ': ')}") from None
    beside = [make_signals(recordings, plan)]
    if "traces" in stores:
        from epilens.evidence.traces import make_traces

        beside.append(make_traces(recordings, plan))
    for store in beside:
        cube = cube.assign_coords(store.coords).assign(store.data_vars)
    return cube, rows


def _check_common(recordings: Sequence[Recording]) -> None:
    """Seizures of one implantation share contacts; those that share none are not one patient's."""
    common = set(recordings[0].channels).intersection(*(r.channels for r in recordings))
    if not common:
        names = "; ".join(f"{r.run}: {', '.join(r.channels[:3])}, …" for r in recordings[:2])
        raise DataError(
            f"{recordings[0].patient}: expected channels that all seizures share, found none "
            f"({names}). Are they of one patient and one implantation, with the same spelling?"
        )


def _tidy(patient: xr.Dataset) -> xr.Dataset:
    """Without seizures and channels in which nothing is valid."""
    valid = patient["valid"]
    used = np.flatnonzero(valid.any(["window", "channel"]).values)
    if len(used) < patient.sizes["seizure"]:
        patient = pick_seizures(patient, used.tolist())
    seen = np.flatnonzero(patient["valid"].any(["seizure", "window"]).values)
    if len(seen) < 2:
        raise DataError(
            f"{patient.attrs['patient']}: expected two or more contacts, found {len(seen)}. Scores "
            "are relative to the patient's other contacts: name recordings of all of them."
        )
    return patient.isel(channel=seen)
