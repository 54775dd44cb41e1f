"""Stores of patients as zarr sees them; imported only where one is written or read."""

from __future__ import annotations

import os
import struct
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
import zarr
from zarr.storage import MemoryStore, ZipStore

from epilens.evidence.zip_store import check_arrays, check_file, damaged_error, fast_checksum

if TYPE_CHECKING:
    from zarr.abc.buffer import Buffer, BufferPrototype
    from zarr.abc.store import ByteRequest


def chunks_of(dataset: xr.Dataset) -> dict[str, Buffer]:
    """Chunks of a dataset in zarr's format 2, by name."""
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
    return chunks


class CheckedZipStore(ZipStore):
    """A zip store in which a damaged or missing chunk is an error that names the file."""

    def __init__(self, path: Path):
        check_file(path)
        super().__init__(path, mode="r")
        with suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(path) as file:
            self._infos = {info.filename: info for info in file.infolist()}
            check_arrays(path, file, self._infos)

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
        if len(content) != info.file_size or fast_checksum(content) != info.comment:
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
            raise damaged_error(self.path, f"{key}: {error}") from error
        if piece is None and not key.rpartition("/")[2].startswith((".z", "zarr.json")):
            raise damaged_error(self.path, f"{key} is missing")
        return piece
