"""Readers: one protocol for a whole recording and for an excerpt of it."""

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
    """A reader that opens fast, however long the recording is: edfio for EDF, else MNE.

    units : those that sidecars state, by channel; used where the file states none.
    """
    if isinstance(source, Path) and source.suffix.lower() == ".edf" and source.exists():
        check_files(source)
        reader = open_edf(source)
        if reader is not None:
            return reader
    return open_mne(source, units)
