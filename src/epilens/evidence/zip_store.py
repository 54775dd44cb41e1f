"""A dataset as a zarr store in one zip file: written atomically, checked when it is read.

Any reader of zarr opens it, e.g. `xarray.open_zarr(zarr.storage.ZipStore(path, mode="r"))`. Every
chunk has a CRC-32 and a faster checksum (its comment in the zip file), and the same content gives
the same bytes.
"""

from __future__ import annotations

import json
import math
import zipfile
import zlib
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from epilens.core.errors import CubeError, DamagedError, DataError
from epilens.io.atomic import check_own_file, replace_file
from epilens.io.remote import local_file

_ATTRIBUTES, _METADATA = ".zattrs", ".zmetadata"
"""The first file in the zip file of a store, and the one that describes all others."""
_BLOCK = 4096
"""Number of 8-byte words per partial sum of the checksum."""


def save_store(dataset: xr.Dataset, path: str | Path) -> Path:
    """Write any dataset atomically, as a zarr store (format 2) in a zip file.

    An array is one chunk, unless its encoding asks for `chunks`. Nothing is compressed, because
    noise compresses badly.
    """
    from epilens.evidence.zarr_store import chunks_of  # zarr is large

    chunks = chunks_of(dataset)
    with (
        replace_file(check_own_file(path, _ATTRIBUTES)) as hidden,
        zipfile.ZipFile(hidden, "w") as file,
    ):
        for name in sorted(chunks):
            info, content = zipfile.ZipInfo(name), chunks.pop(name).to_bytes()
            info.comment = fast_checksum(content)
            file.writestr(info, content)
    return Path(path)


def fast_checksum(content: bytes) -> bytes:
    """A checksum of eight hexadecimal digits, twenty times faster than CRC-32.

    The content is first reduced to the sum of every block of 8-byte words, and the bytes that
    remain; their CRC-32 is the checksum.
    """
    words = np.frombuffer(content, "<u8", len(content) // 8)
    whole = len(words) // _BLOCK * _BLOCK
    sums = words[:whole].reshape(-1, _BLOCK).sum(axis=1, dtype=np.uint64)
    return b"%08x" % zlib.crc32(content[8 * whole :], zlib.crc32(sums.astype("<u8").tobytes()))


def check_file(path: Path) -> None:
    """Refuse a pipe or a device, whose opening would block; download a file of a remote store."""
    if local_file(path).exists() and not path.is_file():
        raise damaged_error(path, "not a file")


def check_arrays(path: Path, file: zipfile.ZipFile, infos: Mapping[str, Any]) -> None:
    """Refuse, before anything is decoded, a store with compressed or filtered arrays.

    `save_store` writes neither: a chunk has exactly the bytes of its array. A small file of another
    origin could fill the memory when it is decompressed.
    """
    packed = next((name for name, info in infos.items() if info.compress_type), "")
    if packed:
        raise damaged_error(path, f"{packed} is compressed")
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
        raise damaged_error(path, f"{_METADATA}: {type(error).__name__}") from error
    if filtered:
        raise damaged_error(path, f"{filtered[0]} needs a filter")
    for name, info in infos.items():
        array, _, chunk = name.rpartition("/")
        if not chunk.startswith(".") and info.file_size != sizes.get(f"{array}/", -1):
            raise damaged_error(path, f"{name} does not have the size of its array")


def damaged_error(path: Path, why: str) -> DamagedError:
    """The error for a store whose content has changed since it was written."""
    return DamagedError(
        f"{path}: expected an intact store, found a damaged one ({why}). Repair it: run "
        "`epilens describe` again."
    )


def open_store(path: str | Path) -> xr.Dataset:
    """Open a dataset lazily: arrays are read on access and not cached."""
    from epilens.evidence.zarr_store import CheckedZipStore

    chunks = CheckedZipStore(Path(path))
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
        check_file(Path(path))
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
    check_file(path)
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
        raise damaged_error(path, f"{_ATTRIBUTES}: {type(error).__name__}") from error
    is_changed = len(checksum) == 8 and checksum != fast_checksum(content)
    if is_changed or not isinstance(attributes, dict):
        raise damaged_error(path, f"{_ATTRIBUTES}: not as it was written")
    attributes.pop("coordinates", None)  # of the format, not of the dataset
    return attributes
