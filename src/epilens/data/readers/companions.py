"""Recordings of several files: which file to open, and which files belong to it.

BrainVision has a header (.vhdr), data (.eeg, .dat, .avg) and markers (.vmrk); Persyst a header
(.lay) and data (.dat); EEGLAB a header (.set) and data (.fdt); Neuralynx a file per channel (.ncs).
"""

from __future__ import annotations

import re
from pathlib import Path

from epilens.core.errors import DataError
from epilens.io.safe_read import check_regular, read_bytes, real_path

_COMPANIONS = {
    ".vhdr": (".eeg", ".dat", ".avg", ".vmrk"),
    ".ahdr": (".avg", ".amrk"),
    ".lay": (".dat",),
    ".set": (".fdt",),
    ".data": (".head",),
}
"""Suffixes of the files that belong to a header of each suffix."""
_SIDECARS = (".json", ".tsv")
_NAMED_FILES = re.compile(rb"^\s*(?:DataFile|MarkerFile|File)\s*=\s*(.*?)\s*$", re.MULTILINE)
_MOST_HEADER_BYTES = 8 * 1024**2


def header_of(path: Path) -> Path:
    """The file to open for a recording of which any file is given.

    A `.eeg` without a header next to it stays as it is: that is Nihon Kohden.
    """
    headers = (
        path.with_suffix(header)
        for header, companions in _COMPANIONS.items()
        if path.suffix.lower() in companions
    )
    return next((header for header in headers if header.exists()), path)


def files_of(path: Path) -> list[Path]:
    """All files of a recording, in the order of their names; sidecars are not among them."""
    stem = path.name.partition(".")[0]
    if path.suffix.lower() == ".ncs":
        return sorted(file for file in path.parent.iterdir() if file.suffix.lower() == ".ncs")
    return sorted(
        file
        for file in path.parent.iterdir()
        if file.name.partition(".")[0] == stem and file.suffix not in _SIDECARS and file.is_file()
    )


def check_files(path: Path) -> None:
    """Refuse pipes and devices, and a header that names files in other folders."""
    if path.is_dir():
        for part in path.rglob("*"):
            if not part.is_dir():
                check_regular(part, "a file of the recording")
        return
    check_regular(path, "the recording")
    if path.suffix.lower() not in (".vhdr", ".ahdr", ".lay"):
        return
    for name in _NAMED_FILES.findall(read_bytes(path, "the header", most=_MOST_HEADER_BYTES)):
        companion = path.parent / name.decode("utf-8", "replace").replace("\0", "")
        try:
            same_folder = real_path(companion.parent) == real_path(path.parent)
            exists = companion.exists()
        except OSError:  # a name that is too long
            same_folder = exists = False
        if not same_folder:
            raise DataError(
                "expected the files of the recording next to its header, found a header that names "
                "one elsewhere. Correct the header."
            )
        if exists:
            check_regular(companion, "a file of the recording")
