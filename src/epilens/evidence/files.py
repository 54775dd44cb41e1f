"""Patients on disk: the cube, and what lies beside it, one zip file each.

CUBES/sub-01.zarr.zip, CUBES/traces/sub-01.zarr.zip, CUBES/signals/sub-01.zarr.zip: zarr stores that
any reader of zarr opens, e.g. `xarray.open_zarr(zarr.storage.ZipStore(path, mode="r"))`. One rename
makes a file whole, every piece in it carries a CRC-32, and the same content gives the same bytes.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
import zarr
from zarr.storage import MemoryStore, ZipStore

from epilens.data.sidecars import natural
from epilens.errors import CubeError, did_you_mean
from epilens.evidence.cube import check, joined
from epilens.storage import own_file, replace_file

if TYPE_CHECKING:
    from zarr.abc.buffer import Buffer, BufferPrototype
    from zarr.abc.store import ByteRequest

SUFFIX = ".zarr.zip"
_ATTRIBUTES = ".zattrs"
"""The first piece of every file of ours."""


def save(cube: xr.Dataset, path: str | Path) -> Path:
    """Write a cube; a kill leaves the old one, the new one, or none."""
    return save_store(check(cube), path)


def save_store(dataset: xr.Dataset, path: str | Path) -> Path:
    """Write any dataset as a zarr store (format 2) in a zip file, whole or not at all.

    An array is one piece, unless its encoding asks for `chunks`. Nothing is compressed: noise is
    not worth it.
    """
    pieces: dict[str, Buffer] = {}
    store, attributes = MemoryStore(pieces), dict(dataset.attrs)
    if on_axes := [str(name) for name in dataset.coords if name not in dataset.dims]:
        attributes["coordinates"] = " ".join(on_axes)
    group = zarr.create_group(store, zarr_format=2, attributes=attributes)
    for name, variable in dataset.variables.items():
        wanted = variable.encoding.get("chunks", variable.shape)
        group.create_array(
            str(name),
            data=np.ascontiguousarray(variable.values),
            chunks=tuple(max(1, n) for n in wanted),
            compressors=None,
            filters=None,
            fill_value=None,
            attributes={"_ARRAY_DIMENSIONS": [str(axis) for axis in variable.dims]},
            config={"write_empty_chunks": True},  # a piece that is not there is a damage
        )
    zarr.consolidate_metadata(store, zarr_format=2)
    with replace_file(own_file(path, _ATTRIBUTES)) as place, zipfile.ZipFile(place, "w") as file:
        for name in sorted(pieces):
            file.writestr(zipfile.ZipInfo(name), pieces.pop(name).to_bytes())
    return Path(path)


class _Pieces(ZipStore):
    """A zip file in which a piece that is damaged or gone is an error that names the file."""

    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """The piece; None for metadata that is not there, which zarr looks for in many places."""
        try:
            piece = await super().get(key, prototype, byte_range)
        except Exception as error:  # zipfile raises many kinds
            raise _damaged(self.path, f"{key}: {error}") from error
        if piece is None and not key.rpartition("/")[2].startswith((".z", "zarr.json")):
            raise _damaged(self.path, f"{key} is missing")
        return piece


def _damaged(path: Path, why: str) -> CubeError:
    return CubeError(
        f"{path}: expected a store that is whole, found a damaged one ({why}). Describe the "
        "patient anew."
    )


def open_store(path: str | Path) -> xr.Dataset:
    """A dataset whose arrays are read when they are asked for, and not kept."""
    pieces = _Pieces(Path(path), mode="r")
    store = xr.open_dataset(pieces, engine="zarr", consolidated=True, cache=False)  # ty: ignore
    store.set_close(pieces.close)
    return store


def is_whole(path: str | Path) -> bool:
    """Whether every piece of a store is as it was written."""
    try:
        with zipfile.ZipFile(path) as file:
            return file.testzip() is None
    except Exception:  # zipfile raises many kinds
        return False


def attributes_of(path: str | Path) -> dict[str, Any]:
    """Attributes of a cube or of a store beside it; its arrays are not read."""
    try:
        with zipfile.ZipFile(path) as file:
            attributes = json.loads(file.read(_ATTRIBUTES))
    except Exception as error:  # zipfile raises many kinds
        raise CubeError(
            f"{path}: expected the store of a patient, found none that can be read "
            f"({type(error).__name__}). Write it with `epilens describe`."
        ) from error
    attributes.pop("coordinates", None)  # of the format, not of the dataset
    return attributes


def open_cube(path: str | Path) -> xr.Dataset:
    """A cube from its file, in memory."""
    try:
        with open_store(path) as store:
            cube = store.load()
    except Exception as error:  # zarr raises many kinds for a damaged store
        raise CubeError(
            f"{path}: expected a cube, found a store that cannot be read ({type(error).__name__}). "
            "Describe the patient anew."
        ) from error
    return check(cube)


def place_of(path: str | Path, beside: str) -> Path:
    """Where a store of the patient lies: its cube, or what is beside it."""
    path = Path(path)
    return path if beside == "cube" else path.parent / beside / path.name


def key_of(path: str | Path, beside: str = "cube") -> str:
    """Digest of all that a method reads: of the cube, and of the store beside it if it reads one.

    A method that reads traces or signals reads the cube's masks and labels too.
    """
    if beside == "cube":
        return attributes_of(path)["key"]
    place = place_of(path, beside)
    if not place.exists():
        raise _nothing(place, beside, "none")
    return f"{attributes_of(path)['key']}-{attributes_of(place)['key']}"


def open_patient(path: str | Path, beside: str = "cube") -> xr.Dataset:
    """A cube, and with `traces` or `signals` the variables of that store beside it.

    The arrays of the store are read when they are asked for, and not kept.
    """
    cube = open_cube(path)
    if beside == "cube":
        return cube
    place = place_of(path, beside)
    try:
        store = open_store(place)
    except Exception as error:  # zarr raises many kinds for a damaged store
        why = f"none that can be read ({type(error).__name__})"
        raise _nothing(place, beside, why) from error
    for axis in ("seizure", "channel"):
        if store[axis].values.tolist() != cube[axis].values.tolist():
            raise CubeError(f"{place}: expected the {axis}s of its cube, found others.")
    if cube.attrs.get("recordings") != store.attrs.get("recordings"):
        raise _nothing(place, beside, "those of other recordings, or of other settings")
    return joined(cube, store)


def _nothing(place: Path, beside: str, what: str) -> CubeError:
    return CubeError(
        f"{place}: expected the {beside} of a patient, found {what}. Write them with `epilens "
        f"describe --plan PLAN`, where the plan has a method that reads {beside}."
    )


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


def cubes_in(folder: str | Path) -> dict[str, Path]:
    """Files of the cubes in a folder by patient, in natural order."""
    paths = {path.name.removesuffix(SUFFIX): path for path in Path(folder).glob(f"*{SUFFIX}")}
    return {name: paths[name] for name in sorted(paths, key=natural)}


def open_cohort(path: str | Path) -> Cohort:
    """The cubes of a folder that `epilens describe` wrote."""
    path = Path(path)
    cubes = cubes_in(path)
    if not cubes:
        raise CubeError(
            f"{path}: expected a folder with cubes (*{SUFFIX}), found none. Write them with "
            "`epilens describe`."
        )
    summary = path / "cohort.json"
    about = json.loads(summary.read_text(encoding="utf-8")) if summary.exists() else {}
    return Cohort(cubes, about)
