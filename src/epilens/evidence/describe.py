"""One patient's recordings → one cube (and, on request, the traces of the raw methods)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from epilens.data.audit import AuditRow
from epilens.data.positions import Positions
from epilens.data.recording import Recording, align
from epilens.errors import DataError
from epilens.evidence.cube import check, is_reference
from epilens.evidence.descriptors import (
    DESCRIPTORS,
    HIGH_GAMMA_HZ,
    describe_block,
    high_gamma_covered,
    in_blocks,
)
from epilens.evidence.windows import RINGS_S, Grid, band_limit, window_grid
from epilens.plan import Plan


def describe(recordings: Iterable[Recording], plan: Plan | None = None) -> xr.Dataset:
    """The cube of one patient.

    Parameters
    ----------
    recordings : iterable of Recording
        Seizures of one patient. Channels are matched by name; rates can differ.
    plan : Plan
        Band limits and windows. Default: the paper's.

    Returns
    -------
    xarray.Dataset
        As `epilens.evidence.cube` says.
    """
    return describe_patient(recordings, plan or Plan())[0]


def describe_patient(
    recordings: Iterable[Recording], plan: Plan, threads: int | None = None
) -> tuple[xr.Dataset, list[AuditRow]]:
    """The cube of one patient, and audit rows for what is masked in it."""
    parts = [(_slim(r), *_describe_recording(r, plan, threads)) for r in recordings]
    if not parts:
        raise DataError("describe: expected recordings of one patient, found none.")
    about = [part[0] for part in parts]
    _check_patient(about)
    names, _ = align(about)
    column = {name: i for i, name in enumerate(names)}
    shape = (len(parts), len(parts[0][3].start), len(names))
    x, valid = np.zeros((*shape, len(DESCRIPTORS)), np.float32), np.zeros(shape, bool)
    for s, (recording, values, there, _) in enumerate(parts):
        columns = [column[name] for name in recording.channels]
        x[s][:, columns] = values
        valid[s][:, columns] = there
    cube = _assemble(x, valid, names, about, [grid for *_, grid in parts], plan)
    cube, rows = _require_reference(cube, plan.windows.min_reference)
    return check(cube), rows + _coverage_rows(about)


def _slim(recording: Recording) -> Recording:
    """The recording without its samples: seizures are described one at a time."""
    return replace(recording, signal=recording.signal[:, :0], missing=None)


def _check_patient(recordings: Sequence[Recording]) -> None:
    patients = sorted({r.patient for r in recordings})
    if len(patients) > 1:
        raise DataError(
            f"describe: expected recordings of one patient, found {', '.join(patients[:5])}. "
            "Describe each patient on its own."
        )
    runs = [r.run for r in recordings]
    if len(set(runs)) < len(runs):
        raise DataError(f"{patients[0]}: expected every run once, found one twice.")


def _describe_recording(
    recording: Recording, plan: Plan, threads: int | None
) -> tuple[NDArray[np.float32], NDArray[np.bool_], Grid]:
    """Descriptors (window, channel, 9) and validity (window, channel) of one seizure."""
    grid = window_grid(recording, plan.windows)
    inside = np.flatnonzero(grid.inside)
    channels = len(recording.channels)
    values = np.zeros((channels, len(grid.start), len(DESCRIPTORS)), np.float32)
    if len(inside):
        used = slice(inside[0], inside[-1] + 1)
        pad_s = _pad_s(recording, grid, used)

        def work(rows: slice) -> None:
            signal, fs = recording.signal[rows], recording.fs
            y = band_limit(signal, fs, plan.filter, recording.mains_hz, pad_s)
            describe_block(y, recording.fs, grid.start[used], grid.length, values[rows, used])

        in_blocks(work, channels, threads)
    valid = np.repeat(grid.inside[:, None], channels, axis=1) & ~_touched(recording, grid)
    values = np.moveaxis(values, 0, 1)
    return np.where(valid[..., None] & np.isfinite(values), values, 0), valid, grid


def _pad_s(recording: Recording, grid: Grid, used: slice) -> float:
    """Seconds by which the filter must continue the ends: less, the more margin was read."""
    before = grid.start[used][0]
    after = recording.signal.shape[1] - grid.start[used][-1] - grid.length
    return max(0.5, RINGS_S - min(before, after) / recording.fs)


def _touched(recording: Recording, grid: Grid) -> NDArray[np.bool_]:
    """Windows (window, channel) that hold a sample which was missing in the file."""
    touched = np.zeros((len(grid.start), len(recording.channels)), bool)
    if recording.missing is not None:
        for w in np.flatnonzero(grid.inside):
            part = recording.missing[:, grid.start[w] : grid.start[w] + grid.length]
            touched[w] = part.any(axis=1)
    return touched


def _assemble(
    x: NDArray[np.float32],
    valid: NDArray[np.bool_],
    names: Sequence[str],
    about: Sequence[Recording],
    grids: Sequence[Grid],
    plan: Plan,
) -> xr.Dataset:
    first = about[0]
    data: dict[str, Any] = {
        "x": (("seizure", "window", "channel", "descriptor"), x),
        "valid": (("seizure", "window", "channel"), valid),
    }
    ez = _labels(about)
    if ez is not None:
        data["is_ez"] = ("channel", np.array([name in ez for name in names]))
    positions = Positions.none()
    for recording in about:
        positions = positions.merged(recording.positions)
    if positions.mm:
        mm = [positions.mm.get(name, (0.0, 0.0, 0.0)) for name in names]
        data["position_mm"] = (("channel", "axis"), np.array(mm))
        data["has_position"] = ("channel", np.array([name in positions.mm for name in names]))
    rates = [r.fs for r in about]
    coords = {
        "seizure": [r.run for r in about],
        "channel": list(names),
        "descriptor": list(DESCRIPTORS),
        "start_s": (("seizure", "window"), np.array([g.start_s for g in grids])),
        "stop_s": (("seizure", "window"), np.array([g.stop_s for g in grids])),
        "unit": ("descriptor", [row.unit for row in DESCRIPTORS.values()]),
        "sampling_rate_hz": ("seizure", np.array(rates)),
        "high_gamma_covered": ("seizure", np.array([high_gamma_covered(fs) for fs in rates])),
    }
    attrs = {
        "patient": first.patient,
        "center": first.center,
        "simulated": any(r.simulated for r in about),
        "modality": "/".join(sorted({r.modality for r in about})),
        "space": positions.space,
        "montage": plan.montage.scheme,
        "reference": plan.windows.reference,
        "plan_digest": plan.digest,
    }
    return xr.Dataset(data, coords, attrs)


def _labels(about: Sequence[Recording]) -> set[str] | None:
    """EZ channels of the patient, or None when some recording has no labels."""
    ez: set[str] = set()
    for recording in about:
        if recording.is_ez is None:
            return None
        ez |= {name for name, flag in zip(recording.channels, recording.is_ez, strict=True) if flag}
    return ez


def _require_reference(cube: xr.Dataset, least: int) -> tuple[xr.Dataset, list[AuditRow]]:
    """Mask seizure-channels with too few valid reference windows, with a row for each."""
    valid = cube["valid"]
    count = (valid & is_reference(cube)).sum("window").values  # (seizure, channel)
    used = valid.any("window").values
    lacking = used & (count < least)
    rows = []
    patient = cube.attrs["patient"]
    for s, run in enumerate(cube.seizure.values.tolist()):
        lost = np.flatnonzero(lacking[s])
        if not len(lost):
            continue
        why = f"has fewer than {least} valid reference windows before onset"
        if len(lost) == used[s].sum():
            rows.append(AuditRow("seizure", why, patient, run))
            continue
        names = cube.channel.values[lost].tolist()
        rows += [AuditRow("channel", why, patient, run, name) for name in names]
    keep = valid.values & ~lacking[:, None, :]
    if not keep.any():
        raise DataError(
            f"expected a seizure with {least} or more valid reference windows, found none. "
            "Use recordings that start earlier before onset."
        )
    x = np.where(keep[..., None], cube["x"].values, 0)
    return cube.assign(x=cube["x"].copy(data=x), valid=valid.copy(data=keep)), rows


def _coverage_rows(about: Sequence[Recording]) -> list[AuditRow]:
    low, high = HIGH_GAMMA_HZ
    return [
        AuditRow(
            "run",
            f"sampled at {r.fs:g} Hz: high gamma ({low:g}-{high:g} Hz) is covered to "
            f"{high_gamma_covered(r.fs):.0%}",
            r.patient,
            r.run,
            effect="noted",
        )
        for r in about
        if high_gamma_covered(r.fs) < 1
    ]
