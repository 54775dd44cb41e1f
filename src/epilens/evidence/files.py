"""Patients on disk: the cube and the stores next to it, one zip file each.

CUBES/sub-01.zarr.zip, CUBES/{features,traces,signals}/sub-01.zarr.zip: zarr stores that
any reader of zarr opens, e.g. `xarray.open_zarr(zarr.storage.ZipStore(path, mode="r"))`. A file is
written atomically, every chunk has a CRC-32 and a faster checksum (its comment in the zip file),
and the same content gives the same bytes.
"""

from __future__ import annotations

import json
import math
import os
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr
import zarr
from zarr.storage import MemoryStore, ZipStore

from epilens.core.errors import CubeError, DamagedError, DataError, did_you_mean
from epilens.core.html_repr import RESEARCH, SIMULATED, bars, card
from epilens.data.sidecars import natural
from epilens.evidence.cube import check, joined
from epilens.io.atomic import load_json
from epilens.io.outputs import check_own_file, replace_file
from epilens.io.remote import ON_DEMAND as SUFFIX
from epilens.io.remote import download, local_file, names_on_demand, remove_file

if TYPE_CHECKING:
    from zarr.abc.buffer import Buffer, BufferPrototype
    from zarr.abc.store import ByteRequest

_ATTRIBUTES, _METADATA = ".zattrs", ".zmetadata"
"""The first file in the zip file of a store, and the one that describes all others."""
_BLOCK = 4096
"""Number of 8-byte words per partial sum of the checksum."""


def save(cube: xr.Dataset, path: str | Path) -> Path:
    """Write a cube atomically."""
    return save_store(check(cube), path)


def save_store(dataset: xr.Dataset, path: str | Path) -> Path:
    """Write any dataset atomically, as a zarr store (format 2) in a zip file.

    An array is one chunk, unless its encoding asks for `chunks`. Nothing is compressed, because
    noise compresses badly.
    """
    chunks: dict[str, Buffer] = {}
    store, attributes = MemoryStore(chunks), dict(dataset.attrs)
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
            config={"write_empty_chunks": True},  # a missing chunk is an error
        )
    zarr.consolidate_metadata(store, zarr_format=2)
    with (
        replace_file(check_own_file(path, _ATTRIBUTES)) as hidden,
        zipfile.ZipFile(hidden, "w") as file,
    ):
        for name in sorted(chunks):
            info, content = zipfile.ZipInfo(name), chunks.pop(name).to_bytes()
            info.comment = _fast_checksum(content)
            file.writestr(info, content)
    return Path(path)


def _fast_checksum(content: bytes) -> bytes:
    """A checksum of eight hexadecimal digits, twenty times faster than CRC-32.

    It is the CRC-32 of the sums of blocks of 8-byte words, and of the remaining bytes.
    """
    words = np.frombuffer(content, "<u8", len(content) // 8)
    whole = len(words) // _BLOCK * _BLOCK
    sums = words[:whole].reshape(-1, _BLOCK).sum(axis=1, dtype=np.uint64)
    return b"%08x" % zlib.crc32(content[8 * whole :], zlib.crc32(sums.astype("<u8").tobytes()))


class _CheckedZipStore(ZipStore):
    """A zip store in which a damaged or missing chunk is an error that names the file."""

    def __init__(self, path: Path):
        _check_file(path)
        super().__init__(path, mode="r")
        with suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(path) as file:
            self._infos = {info.filename: info for info in file.infolist()}
            _check_arrays(path, file, self._infos)

    def _read_checked(self, key: str) -> bytes | None:
        """A chunk, checked by the fast checksum; None for one without, which CRC-32 checks."""
        info = getattr(self, "_infos", {}).get(key)
        if info is None or info.compress_type or len(info.comment) != 8:
            return None
        with Path(self.path).open("rb") as file:
            file.seek(info.header_offset)
            name_length, extra_length = struct.unpack("<26x2H", file.read(30))
            file.seek(name_length + extra_length, os.SEEK_CUR)
            content = file.read(info.file_size)
        if len(content) != info.file_size or _fast_checksum(content) != info.comment:
            raise ValueError("not as it was written")
        return content

    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """The chunk; None for absent metadata, which zarr looks for in many places."""
        try:
            content = None if byte_range else self._read_checked(key)
            if content is not None:
                return prototype.buffer.from_bytes(content)
            piece = await super().get(key, prototype, byte_range)
        except Exception as error:  # zipfile raises many kinds
            raise _damaged_error(self.path, f"{key}: {error}") from error
        if piece is None and not key.rpartition("/")[2].startswith((".z", "zarr.json")):
            raise _damaged_error(self.path, f"{key} is missing")
        return piece


def _check_file(path: Path) -> None:
    """Refuse a pipe or a device, whose opening would block; download a file of a remote store."""
    if local_file(path).exists() and not path.is_file():
        raise _damaged_error(path, "not a file")


def _check_arrays(path: Path, file: zipfile.ZipFile, infos: Mapping[str, Any]) -> None:
    """Refuse, before anything is decoded, a store that would be unpacked by a filter.

    Stores of EpiLENS are not compressed: a chunk has exactly the bytes of its array. Whatever is
    larger when it is unpacked, or needs a filter, was not written by `save_store`.
    """
    packed = next((name for name, info in infos.items() if info.compress_type), "")
    if packed:
        raise _damaged_error(path, f"{packed} is compressed")
    try:
        metadata = json.loads(file.read(_METADATA))["metadata"]
        arrays = {
            name.removesuffix(".zarray"): about
            for name, about in metadata.items()
            if name.endswith("/.zarray")
        }
        filtered = [name for name, a in arrays.items() if a["compressor"] or a["filters"]]
        sizes = {
            name: np.dtype(about["dtype"]).itemsize * math.prod(about["chunks"])
            for name, about in arrays.items()
        }
    except Exception as error:  # anything can be written there
        raise _damaged_error(path, f"{_METADATA}: {type(error).__name__}") from error
    if filtered:
        raise _damaged_error(path, f"{filtered[0]} needs a filter")
    for name, info in infos.items():
        array, _, chunk = name.rpartition("/")
        if not chunk.startswith(".") and info.file_size != sizes.get(f"{array}/", -1):
            raise _damaged_error(path, f"{name} does not have the size of its array")


def _damaged_error(path: Path, why: str) -> DamagedError:
    return DamagedError(
        f"{path}: expected a store that is whole, found a damaged one ({why}). Heal it: run "
        "`epilens describe` again."
    )


def open_store(path: str | Path) -> xr.Dataset:
    """Open a dataset lazily: arrays are read on access and not cached."""
    chunks = _CheckedZipStore(Path(path))
    store = xr.open_dataset(chunks, engine="zarr", consolidated=True, cache=False)  # ty: ignore
    store.set_close(chunks.close)
    return store


def is_own_store(path: str | Path) -> bool:
    """Whether a file is a store that EpiLENS wrote, intact or damaged."""
    try:
        check_own_file(path, _ATTRIBUTES)
    except DataError:
        return False
    return True


def first_corrupt_chunk(path: str | Path) -> str:
    """The first chunk of a store that is missing or changed; '' if there is none."""
    local_file(Path(path))
    try:
        _check_file(Path(path))
        with zipfile.ZipFile(path) as file:
            missing = sorted(_expected(file) - set(file.namelist()))
            if missing:
                return f"{missing[0]} is missing"
            broken = file.testzip()
            return f"{broken} is not as it was written" if broken else ""
    except Exception as error:  # zipfile raises many kinds
        return type(error).__name__


def _expected(file: zipfile.ZipFile) -> set[str]:
    """Names of all chunks that a store must have, according to its metadata."""
    metadata = json.loads(file.read(_METADATA))["metadata"]
    names = {*metadata, _METADATA}
    for name, about in metadata.items():
        if name.endswith("/.zarray"):
            counts = [
                math.ceil(n / c) for n, c in zip(about["shape"], about["chunks"], strict=True)
            ]
            array = name.removesuffix(".zarray")
            indices = product(*map(range, counts))
            names |= {array + (".".join(map(str, index)) or "0") for index in indices}
    return names


def attributes_of(path: str | Path) -> dict[str, Any]:
    """Attributes of a cube or of a store next to it; arrays are not read."""
    path = Path(path)
    _check_file(path)
    try:
        with zipfile.ZipFile(path) as file:
            info = file.getinfo(_ATTRIBUTES)
            if info.compress_type:
                raise ValueError
            content, checksum = file.read(_ATTRIBUTES), info.comment
        attributes = json.loads(content)
    except FileNotFoundError as error:
        raise CubeError(
            f"{path}: expected the store of a patient, found none. Write it with `epilens "
            "describe`."
        ) from error
    except Exception as error:  # zipfile raises many kinds
        raise _damaged_error(path, f"{_ATTRIBUTES}: {type(error).__name__}") from error
    is_changed = len(checksum) == 8 and checksum != _fast_checksum(content)
    if is_changed or not isinstance(attributes, dict):
        raise _damaged_error(path, f"{_ATTRIBUTES}: not as it was written")
    attributes.pop("coordinates", None)  # of the format, not of the dataset
    return attributes


def open_cube(path: str | Path) -> xr.Dataset:
    """Read a cube into memory."""
    local_file(Path(path))
    try:
        with open_store(path) as store:
            cube = store.load()
    except DamagedError:
        raise
    except Exception as error:  # zarr raises many kinds for a damaged store
        raise CubeError(
            f"{path}: expected a cube, found a store that cannot be read ({type(error).__name__}). "
            "Heal it: run `epilens describe` again."
        ) from error
    return check(cube)


def store_path(path: str | Path, beside: str) -> Path:
    """The file of a patient's cube, or of a store next to it."""
    path = Path(path)
    return path if beside == "cube" else path.parent / beside / path.name


def key_of(path: str | Path, beside: str = "cube") -> str:
    """Digest of all that a method reads: the cube, and the store next to it if it reads one.

    A method that reads traces or signals reads the cube's masks and labels too.
    """
    if beside == "cube":
        return _key(path)
    place = store_path(path, beside)
    if not local_file(place).exists():
        raise _missing_error(place, beside, "none")
    return f"{_key(path)}-{_key(place)}"


def _key(path: str | Path) -> str:
    key = attributes_of(path).get("key")
    if not isinstance(key, str):
        raise CubeError(
            f"{path}: expected a key of what it was made from, found none. Write it with `epilens "
            "describe`."
        )
    return key


def open_patient(path: str | Path, beside: str = "cube") -> xr.Dataset:
    """Open a cube; with `features`, `traces` or `signals`, add the variables of that store.

    The arrays of the store are read on access and not cached.
    """
    cube = open_cube(path)
    if beside == "cube":
        return cube
    place = store_path(path, beside)
    try:
        store = open_store(place)
    except DamagedError:
        raise
    except Exception as error:  # zarr raises many kinds for a damaged store
        why = f"none that can be read ({type(error).__name__})"
        raise _missing_error(place, beside, why) from error
    for axis in ("seizure", "channel"):
        if store[axis].values.tolist() != cube[axis].values.tolist():
            raise _missing_error(place, beside, f"those of other {axis}s")
    if cube.attrs.get("recordings") != store.attrs.get("recordings"):
        raise _missing_error(place, beside, "those of other recordings, or of other settings")
    return joined(cube, store)


def _missing_error(place: Path, beside: str, what: str) -> CubeError:
    return CubeError(
        f"{place}: expected the {beside} of a patient, found {what}. Write them with `epilens "
        f"describe --plan PLAN`, where the plan has a method that reads {beside}."
    )


class Cohort(Mapping[str, xr.Dataset]):
    """Patients of a folder of cubes, in natural order; a cube is read on access.

    Examples
    --------
    >>> from epilens.testing import make_run
    >>> cohort = make_run().cohort
    >>> len(cohort), cohort.table["center"].tolist()[:2]
    (8, ['Center 1', 'Center 2'])
    """

    def __init__(self, paths: Mapping[str, Path], summary: Mapping[str, Any] | None = None):
        self._paths = dict(paths)
        self.summary = dict(summary or {})

    def __getitem__(self, patient: str | int) -> xr.Dataset:
        """The cube of a patient by name, or by position."""
        patient = list(self._paths)[patient] if isinstance(patient, int) else patient
        if patient not in self._paths:
            raise CubeError(
                f"cohort: expected one of {len(self)} patients, found {patient!r}. "
                f"{did_you_mean(patient, self._paths)}"
            )
        cube = open_cube(self._paths[patient])
        self._check_patient(patient, cube.attrs)
        return cube

    def __contains__(self, patient: object) -> bool:
        return patient in self._paths

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def path(self, patient: str) -> Path:
        """The file of a patient's cube."""
        return self._paths[patient]

    def attributes(self, patient: str) -> dict[str, Any]:
        """Attributes of a patient's cube, checked to be this patient's; arrays are not read."""
        about = attributes_of(self._paths[patient])
        self._check_patient(patient, about)
        return about

    def _check_patient(self, patient: str, about: Mapping[str, Any]) -> None:
        if (other := about.get("patient", patient)) != patient:
            raise _damaged_error(self._paths[patient], f"it is the cube of {str(other)[:40]!r}")

    @property
    def table(self) -> pd.DataFrame:
        """A row per patient: center, seizures, channels, EZ channels; no array is read."""
        names = ["center", "seizures", "channels", "ez_channels", "simulated"]
        rows = []
        for patient in self:
            about = self.attributes(patient)
            rows.append({"patient": patient} | {name: about.get(name) for name in names})
        return pd.DataFrame(rows, columns=["patient", *names])

    def __repr__(self) -> str:
        first = next(iter(self._paths), "nobody")
        return f"Cohort({len(self)} patients, the first {first!r})"

    def _repr_html_(self) -> str:
        table = self.table
        facts = {"patients": len(self), "centers": table["center"].nunique()}
        simulated = bool(table["simulated"].fillna(False).any())
        known = table.drop(columns="simulated").dropna(axis="columns", how="all")
        counts = pd.to_numeric(table["channels"]).tolist()  # NaN of cubes that do not say
        picture = bars(counts, "channels by patient") if "channels" in known else ""
        return card("Cohort", facts, known, picture, [SIMULATED] * simulated + [RESEARCH])


def cubes_in(folder: str | Path) -> dict[str, Path]:
    """Files of the cubes in a folder by patient, in natural order; some may be remote still."""
    folder = Path(folder)
    remote = [name for name in names_on_demand(folder) if "/" not in name]
    names = [path.name for path in folder.glob(f"*{SUFFIX}")]
    names += [name for name in remote if name.endswith(SUFFIX)]
    patients = sorted((name.removesuffix(SUFFIX) for name in names), key=natural)
    return {patient: folder / f"{patient}{SUFFIX}" for patient in patients}


def remove_stores(cube: str | Path, names: Iterable[str]) -> None:
    """Remove the cube of a patient, and the stores next to it, if they exist."""
    for name in names:
        remove_file(store_path(cube, name))


def open_cohort(path: str | Path) -> Cohort:
    """The cubes of a folder, or of a store with a URL, that `epilens describe` wrote.

    Parameters
    ----------
    path : path or str
        Folder, or the URL of a store.

    Returns
    -------
    Cohort
        Patients by name or position, each a cube (`xarray.Dataset`) that is read on access;
        `.table` has a row per patient.

    Examples
    --------
    >>> from epilens.testing import make_run
    >>> cohort = open_cohort(make_run().cubes)
    >>> cohort
    Cohort(8 patients, the first 'sub-01')
    >>> cohort["sub-02"].attrs["center"], cohort[1].attrs["patient"]
    ('Center 2', 'sub-02')
    """
    path = download(path)
    cubes = cubes_in(path)
    if not cubes:
        raise CubeError(
            f"{path}: expected a folder with cubes (*{SUFFIX}), found none. Write them with "
            "`epilens describe`."
        )
    return Cohort(cubes, _summary_in(path))


def _summary_in(folder: Path) -> dict[str, Any]:
    """The content of `cohort.json`; empty if it is missing or damaged, as cubes contain it too."""
    try:
        about = load_json(folder / "cohort.json")
    except (OSError, ValueError):
        return {}
    return about if isinstance(about, dict) else {}
