"""Readers open a recording of any format and read excerpts of it in µV (`RecordingReader`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from epilens.data.readers.edf_reader import open_edf
from epilens.data.readers.formats import check_files
from epilens.data.readers.mne_reader import open_mne
from epilens.data.readers.protocol import RecordingReader

if TYPE_CHECKING:
    from mne.io import BaseRaw


def open_reader(
    source: Path | BaseRaw | None, units: Mapping[str, str] | None = None
) -> RecordingReader:
    """Open a recording quickly, however long it is: EDF with edfio, other formats with MNE.

    units : units in sidecars by channel, for channels without a unit in the file.
    """
    if isinstance(source, Path) and source.suffix.lower() == ".edf" and source.exists():
        check_files(source)
        reader = open_edf(source)
        if reader is not None:
            return reader
    return open_mne(source, units)
