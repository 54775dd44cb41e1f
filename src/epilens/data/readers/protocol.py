"""The interface of readers: channels, rate, length, annotations, and any excerpt in µV."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from epilens.data.audit import Note
from epilens.data.onsets.onset import Event
from epilens.data.readers.breaks import Break

SECOND = Note(
    "is the same contact as an earlier channel of the file by its name; that one is used instead",
    "channel-name",
)
"""Reason to exclude a channel in `RecordingReader.repeated`."""


class RecordingReader(ABC):
    """An open recording, of which only the requested excerpts are read."""

    names: tuple[str, ...]
    """Channels in the order of the file, without spaces around their names."""
    kinds: tuple[str, ...]
    """MNE's type of each channel; `eeg` if the format has no types."""
    bad: frozenset[str]
    """Channels that the file itself marks as bad."""
    fs: float
    """Sampling rate in Hz."""
    samples: int
    """Length in samples."""
    repeated: Mapping[str, str] = MappingProxyType({})
    """The earlier channel with the same contact, by channel: `A1 (2)` or `A 01` → `A1`."""
    notes: tuple[Note, ...] = ()
    """Warnings about the file."""
    breaks: tuple[Break, ...] = ()
    """Interruptions, in the order of time."""

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return self.samples / self.fs

    @abstractmethod
    def annotations(self) -> list[Event]:
        """Annotations in the file, in seconds of recorded signal from its start."""

    @abstractmethod
    def read(self, start: int, stop: int, names: Sequence[str]) -> NDArray[np.float32]:
        """Samples `start` to `stop` of some channels in µV, (channel, time)."""


UV_PER_UNIT = {"uv": 1.0, "mv": 1e3, "v": 1e6, "nv": 1e-3}


def plain_unit(text: str) -> str:
    """A unit in lower case without its Greek letter.

    Examples
    --------
    >>> plain_unit(" µV"), plain_unit("μV"), plain_unit("mV")
    ('uv', 'uv', 'mv')
    """
    return text.strip().lower().replace("µ", "u").replace("μ", "u")


def is_voltage(text: str) -> bool:
    """Whether a text is a unit of voltage."""
    return plain_unit(text) in UV_PER_UNIT
