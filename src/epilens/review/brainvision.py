"""BrainVision by hand: the header, and any stretch of a multiplexed signal.

Only the plain case is taken (16 bit or float, multiplexed, units that are voltages); everything
else is `NotPlainError`, and MNE reads it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from epilens.data.sidecars import as_number
from epilens.review.edf import UV_PER, NotPlainError, plain_unit

_FORMATS = {"INT_16": "<i2", "IEEE_FLOAT_32": "<f4"}


@dataclass(frozen=True)
class BrainVisionFile:
    """A multiplexed BrainVision recording."""

    path: Path
    names: tuple[str, ...]
    fs: float
    samples: int
    kind: str
    gains: NDArray[np.float32]

    def read(self, start: int, stop: int, index: NDArray[np.intp]) -> NDArray[np.float32]:
        """A stretch of some channels in µV, (channel, time); fewer samples where the file ends."""
        frame = np.dtype(self.kind).itemsize * len(self.names)
        with self.path.open("rb", buffering=0) as file:
            file.seek(start * frame)
            content = file.read((stop - start) * frame)
        whole = len(content) // frame
        values = np.frombuffer(content, self.kind, whole * len(self.names))
        part = values.reshape(whole, len(self.names)).T[index]
        return np.multiply(part, self.gains[index, None], dtype=np.float32, casting="unsafe")


def open_brainvision(path: Path) -> BrainVisionFile:
    """The header of a plain BrainVision recording."""
    sections = _sections(_text(path))
    common = sections.get("common infos", {})
    kind = _FORMATS.get(sections.get("binary infos", {}).get("binaryformat", ""))
    channels = [row.split(",") for row in sections.get("channel infos", {}).values()]
    step_us = as_number(common.get("samplinginterval"))
    plain = common.get("dataformat", "BINARY") == "BINARY"
    if not plain or common.get("dataorientation") != "MULTIPLEXED" or not kind or not step_us:
        raise NotPlainError
    names = tuple(row[0].replace("\\1", ",").strip() for row in channels)
    place = _data_file(path, common.get("datafile", ""))
    if not names or len(set(names)) != len(names) or str(len(names)) != common["numberofchannels"]:
        raise NotPlainError
    size = place.stat().st_size // (np.dtype(kind).itemsize * len(names))
    gains = np.array([_gain(row) for row in channels], np.float32)
    return BrainVisionFile(place, names, 1e6 / step_us, size, kind, gains)


def _data_file(header: Path, named: str) -> Path:
    """The data beside the header; a header that points elsewhere is not followed here."""
    name = named.replace("$b", header.stem)
    place = header.parent / name
    if not name or Path(name).name != name or not place.is_file():
        raise NotPlainError
    return place


def _gain(row: list[str]) -> float:
    unit = plain_unit(row[3]) if len(row) > 3 and row[3].strip() else "uv"
    resolution = as_number(row[2]) if len(row) > 2 and row[2].strip() else 1.0
    if unit not in UV_PER or not resolution:
        raise NotPlainError
    return resolution * UV_PER[unit]


def _text(path: Path) -> str:
    content = path.read_bytes()[:2_000_000]
    if b"Header File" not in content[:100]:
        raise NotPlainError
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _sections(text: str) -> dict[str, dict[str, str]]:
    """`[section]` and `key=value`; comments begin with a semicolon."""
    sections: dict[str, dict[str, str]] = {}
    here: dict[str, str] = {}
    for line in text.splitlines():
        if match := re.fullmatch(r"\[(.+)\]\s*", line):
            here = sections.setdefault(match[1].lower(), {})
            if match[1].lower() == "comment":
                break
        elif "=" in line and not line.startswith(";"):
            key, _, value = line.partition("=")
            here[key.strip().lower()] = value.strip()
    return sections
