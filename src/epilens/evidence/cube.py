"""The cube: one `xarray.Dataset` per patient, its rules, and its store on disk.

| variable | axes | |
|---|---|---|
| `x` | seizure, window, channel, descriptor | float32, 0 where not valid |
| `valid` | seizure, window, channel | the window lies inside the recording, the channel is there |
| `is_ez` | channel | absent when unknown |
| `position_mm`, `has_position` | channel, axis; channel | absent when no contact has a position |
| `start_s`, `stop_s` | seizure, window | seconds from onset |
| `sampling_rate_hz`, `high_gamma_covered` | seizure | share of 80-150 Hz below Nyquist |
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from epilens.data.sidecars import natural
from epilens.errors import CubeError, did_you_mean
from epilens.evidence.descriptors import DESCRIPTORS
from epilens.storage import replace_folder

AXES = ("seizure", "window", "channel", "descriptor")
_REQUIRED = {
    "x": AXES,
    "valid": AXES[:3],
    "start_s": AXES[:2],
    "stop_s": AXES[:2],
}
_LABELS = ("is_ez",)
# What a method may know beside the numbers; a list of what is allowed cannot forget a leak.
_NEUTRAL = ("patient", "montage", "reference", "plan_digest", "key")


def is_reference(cube: xr.Dataset) -> xr.DataArray:
    """Which windows are the pre-onset reference (seizure, window): decided here and nowhere else.

    By default they end at or before onset, so no ictal sample is in them.
    """
    if cube.attrs.get("reference", "ends-before") == "starts-before":
        return cube["start_s"] < 0
    return cube["stop_s"] <= 0


def check(cube: xr.Dataset) -> xr.Dataset:
    """The cube itself, if it keeps the rules; else one clear sentence."""
    who = cube.attrs.get("patient", "cube")
    for name, axes in _REQUIRED.items():
        if name not in cube.variables:
            raise CubeError(f"{who}: expected a variable {name!r}, found none. Describe it anew.")
        if cube[name].dims != axes:
            raise CubeError(f"{who}: expected {name!r} over {axes}, found {cube[name].dims}.")
    found = tuple(cube["descriptor"].values.tolist())
    if found != tuple(DESCRIPTORS):
        raise CubeError(
            f"{who}: expected descriptors {', '.join(DESCRIPTORS)}, found {', '.join(found)}."
        )
    for axis in ("seizure", "channel"):
        names = cube[axis].values.tolist()
        if len(set(names)) != len(names):
            raise CubeError(f"{who}: expected unique names of {axis}s, found a repetition.")
    if not bool(np.isfinite(cube["x"]).all()):
        raise CubeError(f"{who}: expected finite numbers, found others. Masks say what is missing.")
    if bool((cube["x"] != 0).where(~cube["valid"], False).any()):
        raise CubeError(f"{who}: expected 0 wherever a window is not valid, found other numbers.")
    _check_reference(cube, who)
    return cube


def _check_reference(cube: xr.Dataset, who: str) -> None:
    """Every used seizure-channel needs a valid reference window (Eq. of the reference mean)."""
    used = cube["valid"].any("window")
    orphan = used & ~(cube["valid"] & is_reference(cube)).any("window")
    if not bool(orphan.any()):
        return
    seizure, channel = (int(i[0]) for i in np.nonzero(orphan.values))
    where = f"seizure {str(cube.seizure.values[seizure])!r} channel "
    where += repr(str(cube.channel.values[channel]))
    raise CubeError(
        f"{who}: {int(orphan.sum())} of {int(used.sum())} seizure-channels have no valid window "
        f"before onset, e.g. {where}. The views need a pre-onset reference: start windows earlier "
        "(plan: windows.start_s) or mark these channels invalid."
    )


def blind(cube: xr.Dataset) -> xr.Dataset:
    """The cube without label, outcome and center: what `predict` is given."""
    bare = cube.drop_vars([name for name in _LABELS if name in cube.variables])
    bare.attrs = {key: cube.attrs[key] for key in _NEUTRAL if key in cube.attrs}
    return bare


def save(cube: xr.Dataset, path: str | Path) -> Path:
    """Write a cube as a zarr store; a kill leaves the old store, the new one, or none."""
    return save_store(check(cube), path)


def save_store(dataset: xr.Dataset, path: str | Path) -> Path:
    """Write any dataset as a zarr store (format 2), whole or not at all.

    An array is a JSON file and its bytes. Written so, a store of a dozen small arrays takes a tenth
    of the time that xarray's general writer needs for it; xarray reads it like any other.
    """
    metadata: dict[str, Any] = {".zgroup": {"zarr_format": 2}, ".zattrs": dataset.attrs}
    chunks: dict[str, bytes] = {}
    on_axes = [name for name in dataset.coords if name not in dataset.dims]
    if on_axes:
        metadata[".zattrs"] = dataset.attrs | {"coordinates": " ".join(map(str, on_axes))}
    for name, variable in dataset.variables.items():
        values = np.ascontiguousarray(variable.values)
        metadata[f"{name}/.zarray"] = {
            "zarr_format": 2,
            "shape": values.shape,
            "chunks": [max(1, n) for n in values.shape],
            "dtype": values.dtype.str,
            "order": "C",
            "fill_value": None,
            "filters": None,
            "compressor": None,
        }
        metadata[f"{name}/.zattrs"] = {"_ARRAY_DIMENSIONS": variable.dims}
        chunks[f"{name}/{'.'.join('0' * max(1, values.ndim))}"] = values.tobytes()
    together = {"zarr_consolidated_format": 1, "metadata": metadata}
    with replace_folder(path, "a store") as folder:
        for name in dataset.variables:
            (folder / str(name)).mkdir()
        for name, tree in (metadata | {".zmetadata": together}).items():
            (folder / name).write_text(json.dumps(tree), encoding="utf-8")
        for name, content in chunks.items():
            (folder / name).write_bytes(content)
    return Path(path)


def open_cube(path: str | Path) -> xr.Dataset:
    """A cube from its store, in memory."""
    try:
        cube = xr.open_zarr(path, consolidated=True, chunks=None).load()
    except Exception as error:  # zarr raises many kinds for a damaged store
        raise CubeError(
            f"{path}: expected a cube, found a store that cannot be read ({type(error).__name__}). "
            "Describe the patient anew."
        ) from error
    return check(cube)


def open_patient(path: str | Path, beside: str = "cube") -> xr.Dataset:
    """A cube, and with `traces` or `signals` the variables of that store beside it.

    The arrays of the store are read when they are asked for, and not kept.
    """
    path, cube = Path(path), open_cube(path)
    if beside == "cube":
        return cube
    place = path.parent / beside / path.name
    try:
        store = xr.open_dataset(place, engine="zarr", consolidated=True, cache=False)
    except (OSError, KeyError, ValueError) as error:
        raise CubeError(
            f"{place}: expected the {beside} of a patient, found none that can be read "
            f"({type(error).__name__}). Write them with `epilens describe --plan PLAN`, where the "
            f"plan has a method that reads {beside}."
        ) from error
    for axis in ("seizure", "channel"):
        if store[axis].values.tolist() != cube[axis].values.tolist():
            raise CubeError(f"{place}: expected the {axis}s of its cube, found others.")
    return cube.assign_coords(store.coords).assign(store.data_vars)


class Cohort(Mapping[str, xr.Dataset]):
    """Patients of a folder of cubes, in natural order; a cube is read when it is asked for."""

    def __init__(self, paths: Mapping[str, Path], summary: Mapping[str, Any] | None = None):
        self._paths = dict(paths)
        self.summary = dict(summary or {})

    def __getitem__(self, patient: str) -> xr.Dataset:
        if patient not in self._paths:
            raise CubeError(
                f"cohort: expected one of {len(self)} patients, found {patient!r}. "
                f"{did_you_mean(patient, self._paths)}"
            )
        return open_cube(self._paths[patient])

    def __contains__(self, patient: object) -> bool:
        return patient in self._paths

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def path(self, patient: str) -> Path:
        """Where a patient's cube is."""
        return self._paths[patient]


def open_cohort(path: str | Path) -> Cohort:
    """The cubes of a folder that `epilens describe` wrote."""
    path = Path(path)
    cubes = {p.name.removesuffix(".zarr"): p for p in path.glob("*.zarr")} if path.is_dir() else {}
    if not cubes:
        raise CubeError(
            f"{path}: expected a folder with cubes (*.zarr), found none. Write them with `epilens "
            "describe`."
        )
    summary = path / "cohort.json"
    known = json.loads(summary.read_text(encoding="utf-8")) if summary.exists() else {}
    return Cohort({name: cubes[name] for name in sorted(cubes, key=natural)}, known)
