"""A patient in any form → its cube, with signals beside it, and what became of its recordings."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from epilens.data.audit import AuditRow
from epilens.data.recording import Recording
from epilens.errors import DataError
from epilens.evidence.cube import check, joined
from epilens.evidence.describe import describe_patient
from epilens.evidence.signals import has_signals, make_signals
from epilens.localize.electrodes import place_contacts
from epilens.localize.files import from_paths
from epilens.localize.intake import Given, Intake
from epilens.localize.sources import Source, check_cube
from epilens.plan import Plan
from epilens.progress import Ticks

if TYPE_CHECKING:
    from mne.io import BaseRaw


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
        if set(stores) - {"cube"} and not has_signals(cube):
            raise DataError(
                f"{cube.attrs['patient']}: expected recordings, because the method reads signals, "
                "found a cube without them. Give the files."
            )
        tick("reading", 2)
        return Evidence(_tidy(cube), Intake(()), ())
    tick("reading", 0)
    intake = _take_in(patient, source.plan, given, tick)
    if given.electrodes is not None:
        placed, more = place_contacts(intake.recordings, given.electrodes, given.space)
        intake = replace(intake, recordings=placed, rows=intake.rows + tuple(more))
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
    return joined(cube, *beside), rows


def _take_in(patient: Any, plan: Plan, given: Given, tick: Ticks) -> Intake:
    if isinstance(patient, str | Path):
        return from_paths([patient], plan, given, tick)
    items = list(patient)
    if not items:
        raise DataError("localize: expected seizures of one patient, found none. Name the files.")
    if all(isinstance(item, str | Path) for item in items):
        return from_paths(items, plan, given, tick)
    if all(isinstance(item, Recording) for item in items):
        return Intake(tuple(items))
    from epilens.localize.raws import from_raws

    raws: list[BaseRaw] = []
    onsets_s = list(given.onsets_s)
    for item in items:
        raw, *onset = item if isinstance(item, tuple) else (item,)
        onsets_s += map(float, onset)
        raws.append(raw)
    if not all(hasattr(raw, "get_data") and hasattr(raw, "info") for raw in raws):
        raise DataError(
            "localize: expected paths, mne.io.Raw objects, recordings or a cube, found "
            f"{type(items[0]).__name__}. Read the files with mne.io.read_raw first."
        )
    return from_raws(raws, plan, replace(given, onsets_s=tuple(onsets_s)))


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
        patient = patient.isel(seizure=used)
    seen = np.flatnonzero(patient["valid"].any(["seizure", "window"]).values)
    if len(seen) < 2:
        raise DataError(
            f"{patient.attrs['patient']}: expected two or more contacts, found {len(seen)}. Scores "
            "are relative to the patient's other contacts: name recordings of all of them."
        )
    return patient.isel(channel=seen)
