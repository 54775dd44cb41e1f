"""One patient's recordings → one cube."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from epilens.core.errors import DataError
from epilens.core.types import Bools
from epilens.data.audit import AuditRow, Note
from epilens.data.electrodes.positions import Positions
from epilens.data.recording import ZONES, Recording
from epilens.evidence.blocks import in_blocks
from epilens.evidence.cube import AXES, check, is_ictal, is_reference
from epilens.evidence.descriptors import DESCRIPTORS, HIGH_GAMMA, Descriptor, describe_block
from epilens.evidence.seizures import Seizures, Store, fill
from epilens.evidence.windows import RINGS_S, Grid, WindowSamples, band_limit, window_grid
from epilens.plan import Plan

Described = tuple[NDArray[np.float32], Bools, Grid]
"""Descriptors (window, channel, descriptor), validity (window, channel) and windows."""


def describe(recordings: Iterable[Recording], plan: Plan | None = None) -> xr.Dataset:
    """The cube of one patient.

    Parameters
    ----------
    recordings : iterable of Recording
        Seizures of one patient. Channels are matched by name; rates can differ.
    plan : Plan
        Band limits, windows and descriptors. Default: the paper's.

    Returns
    -------
    xarray.Dataset
        `x` (seizure, window, channel, descriptor) in the descriptors' units, `valid` (seizure,
        window, channel), `is_ez` (channel) where labels are known, `start_s` and `stop_s` of
        windows in seconds from onset.

    Examples
    --------
    >>> from epilens.testing import make_recording
    >>> cube = describe([make_recording(channels=4)])  # 70 s of noise; two channels have a seizure
    >>> dict(cube["x"].sizes)
    {'seizure': 1, 'window': 59, 'channel': 4, 'descriptor': 9}
    """
    return fill([CUBE], recordings, plan or Plan())["cube"]


def audit_of(store: xr.Dataset) -> list[AuditRow]:
    """What is masked or only partly covered in a cube or another store."""
    return [AuditRow(**row) for row in store.attrs["audit"]]


def _of_seizure(recording: Recording, plan: Plan, threads: int | None = None) -> Described:
    grid, rows = window_grid(recording, plan.windows), _rows(plan)
    inside = np.flatnonzero(grid.inside)
    channels = len(recording.channels)
    values = np.zeros((channels, len(grid.start), len(rows)), np.float32)
    if len(inside):
        used = slice(inside[0], inside[-1] + 1)
        pad_s = _pad_s(recording, grid, used)
        samples = WindowSamples(recording.fs, grid.start[used], grid.length)

        def work(block: slice) -> None:
            signal, fs = recording.signal[block], recording.fs
            y = band_limit(signal, fs, plan.filter, recording.mains_hz, pad_s)
            describe_block(y, samples, rows, values[block, used])

        in_blocks(work, channels, threads)
    valid = np.repeat(grid.inside[:, None], channels, axis=1) & ~_touched(recording, grid)
    values = np.moveaxis(values, 0, 1)
    return np.where(valid[..., None], values, 0), valid, grid


def _rows(plan: Plan) -> list[Descriptor]:
    return [DESCRIPTORS[name] for name in plan.descriptors]


def _pad_s(recording: Recording, grid: Grid, used: slice) -> float:
    """Seconds by which the filter must continue the ends: less, the more margin was read."""
    before = grid.start[used][0]
    after = recording.signal.shape[1] - grid.start[used][-1] - grid.length
    return max(0.5, RINGS_S - min(before, after) / recording.fs)


def _touched(recording: Recording, grid: Grid) -> Bools:
    """Windows (window, channel) that contain a sample which was missing in the file."""
    touched = np.zeros((len(grid.start), len(recording.channels)), bool)
    if recording.missing is not None:
        for w in np.flatnonzero(grid.inside):
            part = recording.missing[:, grid.start[w] : grid.start[w] + grid.length]
            touched[w] = part.any(axis=1)
    return touched


def _of_patient(seizures: Seizures, parts: Sequence[Described], plan: Plan) -> xr.Dataset:
    values, masks, grids = zip(*parts, strict=True)
    x, valid = seizures.stack(values), seizures.stack(masks)
    coords, attrs = _coords(seizures, grids, plan), _attrs(seizures, plan)
    cube = xr.Dataset(_on_channels(seizures), coords, attrs)
    finite = np.isfinite(x).all(axis=-1)
    rows = _not_finite(seizures, valid & ~finite)
    valid &= finite
    for required in _REQUIREMENTS:
        least = getattr(plan.windows, required.least)
        windows = required.windows(cube).values[:, :, None]
        few = (valid & windows).sum(axis=1) < least  # (seizure, channel)
        rows += _too_few(seizures, valid, few, f"{least} valid {required.words}")
        valid &= ~few[:, None, :]
        if not valid.any():
            raise DataError(
                f"expected a seizure with {least} or more valid {required.words}, found none. "
                f"{required.repair}",
                code="windows-too-few",
            )
    x[~valid] = 0
    rows += _coverage_rows(seizures, plan)
    cube = cube.assign(x=(AXES, x), valid=(AXES[:3], valid))
    return check(cube.assign_attrs(audit=[row.to_json() for row in rows]))


def _on_channels(seizures: Seizures) -> dict[str, Any]:
    """Variables of the channels: labels and positions, as far as they are known."""
    data, names = {}, seizures.channels
    for flag in ZONES:
        zone = _labels(seizures.about, flag)
        if zone is not None:
            data[flag] = ("channel", np.array([name in zone for name in names]))
    data |= _stated_seizures(seizures)
    mm = _positions(seizures).mm
    if mm:
        at = [mm.get(name, (0.0, 0.0, 0.0)) for name in names]
        data["position_mm"] = (("channel", "axis"), np.array(at))
        data["has_position"] = ("channel", np.array([name in mm for name in names]))
    return data


def _stated_seizures(seizures: Seizures) -> dict[str, Any]:
    """What events say about each seizure: where it began, its type and how long it lasted."""
    onsets, stated = [r.onset for r in seizures.about], [r.is_onset_contact for r in seizures.about]
    if not any(onset.kind for onset in onsets) and all(flags is None for flags in stated):
        return {}
    lasted = [max(0.0, o.offset_s - o.onset_s) if o.offset_s is not None else 0.0 for o in onsets]
    data: dict[str, Any] = {
        "seizure_duration_s": ("seizure", np.array(lasted)),
        "seizure_type": ("seizure", np.array([onset.kind for onset in onsets])),
    }
    if any(flags is not None for flags in stated):
        parts = [
            np.zeros((1, len(r.channels)), bool) if flags is None else np.array([flags])
            for r, flags in zip(seizures.about, stated, strict=True)
        ]
        data["is_onset_contact"] = (("seizure", "channel"), seizures.stack(parts)[:, 0])
        is_stated = np.array([flags is not None for flags in stated])
        data["onset_contacts_stated"] = ("seizure", is_stated)
    return data


def _labels(about: Sequence[Recording], flag: str) -> set[str] | None:
    """Channels of the patient that a label names, or None when some recording has no such label."""
    named: set[str] = set()
    for recording in about:
        flags = getattr(recording, flag)
        if flags is None:
            return None
        named |= {name for name, is_so in zip(recording.channels, flags, strict=True) if is_so}
    return named


def _positions(seizures: Seizures) -> Positions:
    positions = Positions()
    for recording in seizures.about:
        positions = positions.merged(recording.positions)
    return positions


def _coords(seizures: Seizures, grids: Sequence[Grid], plan: Plan) -> dict[str, Any]:
    rows, rates = _rows(plan), [r.fs for r in seizures.about]
    coords = seizures.coords | {
        "descriptor": [row.name for row in rows],
        "start_s": (AXES[:2], np.array([g.start_s for g in grids])),
        "stop_s": (AXES[:2], np.array([g.stop_s for g in grids])),
        "unit": ("descriptor", [row.unit for row in rows]),
        "words": ("descriptor", [row.words for row in rows]),
        "sampling_rate_hz": ("seizure", np.array(rates)),
    }
    for row in rows:
        if row.band_hz == DESCRIPTORS[HIGH_GAMMA].band_hz:
            covered = np.array([row.covered(fs) for fs in rates])
            coords["high_gamma_covered"] = ("seizure", covered)
    return coords


def _attrs(seizures: Seizures, plan: Plan) -> dict[str, Any]:
    about = seizures.about
    return {
        "patient": about[0].patient,
        "center": about[0].center,
        "simulated": any(r.simulated for r in about),
        "modality": "/".join(sorted({r.modality for r in about})),
        "space": _positions(seizures).space,
        "montage": plan.montage.scheme,
        "band": plan.filter.band,
        "reference": plan.windows.reference,
        "plan_digest": plan.digest,
        **({"reference_gap_s": gap_s} if (gap_s := plan.windows.reference_gap_s) else {}),
        **({"ez": plan.cohort.ez} if plan.cohort.ez else {}),
    }


def _not_finite(seizures: Seizures, lost: Bools) -> list[AuditRow]:
    """A row for every seizure-channel with windows in which some descriptor is not finite."""
    count = lost.sum(axis=1)  # (seizure, channel)
    text = "a descriptor is not finite in {} windows; they are not used"
    return [
        seizures.row(Note(text.format(count[s, c]), "descriptor-not-finite"), s, c)
        for s, c in np.argwhere(count)
    ]


class WindowRequirement(NamedTuple):
    """Windows of which a channel of a seizure must have some valid ones, or is not used."""

    windows: Callable[[xr.Dataset], xr.DataArray]
    """Function of a cube that selects them (seizure, window)."""
    least: str
    """Field of the plan's windows with the smallest number."""
    words: str
    repair: str


_REQUIREMENTS = (
    WindowRequirement(
        is_reference,
        "min_reference",
        "baseline windows before onset",
        "Use recordings that start earlier before onset.",
    ),
    WindowRequirement(  # without something ictal all contacts would be alike
        is_ictal,
        "min_ictal",
        "windows after onset",
        "Export recordings that end later.",
    ),
)


def _too_few(seizures: Seizures, valid: Bools, few: Bools, text: str) -> list[AuditRow]:
    """A row for every seizure, or channel of it, with too few windows of a kind.

    valid : (seizure, window, channel). few : (seizure, channel).
    """
    note, rows = Note(f"has fewer than {text}", "windows-too-few"), []
    for s, r in enumerate(seizures.about):
        used = valid[s].any(axis=0)
        lost = np.flatnonzero(used & few[s])
        if len(lost) and len(lost) == used.sum():
            rows.append(AuditRow.of("seizure", note, (r.patient, r.run)))
        else:
            rows += [seizures.row(note, s, c, "excluded") for c in lost]
    return rows


def _coverage_rows(seizures: Seizures, plan: Plan) -> list[AuditRow]:
    """Bands that a sampling rate does not reach, wholly or in part."""
    text = "sampled at {:g} Hz: {} ({:g}-{:g} Hz) is covered to {:.0%}"
    return [
        seizures.row(
            Note(
                text.format(r.fs, band.band, *band.band_hz, band.covered(r.fs)), "band-not-covered"
            ),
            s,
        )
        for s, r in enumerate(seizures.about)
        for band in _rows(plan)
        if band.band_hz and band.covered(r.fs) < 1
    ]


CUBE = Store("cube", _of_seizure, _of_patient, frozenset({"descriptors"}))
