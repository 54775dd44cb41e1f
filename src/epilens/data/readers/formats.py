"""File formats of intracranial EEG, and how each of them is opened.

A format says what a user must know: which file to name, an additional package, and the source of
units and annotations. `docs/reference/formats.md` lists them, and the tests write a file of each.
Recordings of several files (BrainVision, Persyst, EEGLAB, Neuralynx) are opened by one of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from epilens.core.errors import DataError
from epilens.io.safe_read import check_regular, read_bytes, real_path

if TYPE_CHECKING:
    from mne.io import BaseRaw


@dataclass(frozen=True)
class FileFormat:
    """A file format and what a user must know about it."""

    name: str
    suffixes: tuple[str, ...]
    """Suffixes of the file that the user names, in lower case."""
    units: str
    """Where the unit of the samples comes from."""
    annotations: str
    """Which parts of the file become annotations."""
    package: str = ""
    """Additional package that the format needs; part of the extra `formats`."""
    tested: bool = True
    """Whether tests write a file of this format and compare every sample."""


FORMATS = (
    FileFormat("EDF, EDF+", (".edf",), "stated for each channel", "text of EDF+"),
    FileFormat("BDF, BDF+", (".bdf",), "stated for each channel", "text of BDF+"),
    FileFormat("GDF 1", (".gdf",), "µV; others from channels.tsv", "event codes"),
    FileFormat("BrainVision", (".vhdr", ".ahdr"), "stated for each channel", "text of .vmrk"),
    FileFormat("FIF", (".fif", ".fif.gz"), "volts by definition", "text"),
    FileFormat("EEGLAB", (".set",), "µV by convention", "text of events"),
    FileFormat("Persyst", (".lay",), "µV by definition", "text of comments"),
    FileFormat("Nihon Kohden", (".eeg",), "µV by definition", "text of .LOG, whole seconds"),
    FileFormat("Nicolet, EPILEPSIAE", (".data",), "µV by definition", "none"),
    FileFormat("Neuroscan", (".cnt",), "µV by definition", "event codes"),
    FileFormat(
        "Blackrock NSx",
        tuple(f".ns{number}" for number in range(1, 7)),
        "stated for each channel",
        "none",
    ),
    FileFormat("Curry", (".cdt",), "stated for each group", "text of .cef", "curryreader"),
    FileFormat("MEF3", (".mefd",), "stated for each channel", "text of records", "pymef"),
    FileFormat("Micromed", (".trc",), "stated for each channel", "text of notes", "neo"),
    FileFormat("Neuralynx", (".ncs",), "volts per bit, stated", "none", "neo"),
    FileFormat("ANT Neuro", (".cnt",), "stated for each channel", "text", "antio", tested=False),
)
"""Formats that are read; the first one with a suffix describes it."""

_NOT_READ = {
    ".nwb": "NWB",
    ".e": "Nicolet/Natus (.e)",
    ".erd": "Natus (.erd)",
    ".sig": "Stellate (.sig)",
    ".ez3": "Cadwell (.ez3)",
}


def format_of(path: Path) -> FileFormat | None:
    """The format of a file by its suffix; None for other formats, which MNE may read."""
    name = path.name.lower()
    return next((row for row in FORMATS if name.endswith(row.suffixes)), None)


def check_format(path: Path) -> None:
    """Refuse a format that cannot be read, or whose package is not installed."""
    if (name := _NOT_READ.get(path.suffix.lower())) is not None:
        raise DataError(
            f"expected a format that EpiLENS reads, found {name}. Export the recording as EDF+.",
            code="file-unreadable",
        )
    row = format_of(path)
    if row is not None and row.package and find_spec(row.package) is None:
        raise DataError(
            f"expected the package {row.package}, which reads {row.name} files, found it not "
            "installed. Install epilens[formats], or export the recording as EDF+.",
            code="file-unreadable",
        )


def open_raw(path: Path) -> BaseRaw:
    """Open a file with MNE's reader for it, or with neo's, without loading the signal."""
    import mne

    suffix = path.suffix.lower()
    if suffix == ".trc":
        from epilens.data.readers.micromed import MicromedRaw

        return MicromedRaw(path)
    if suffix == ".ncs":  # one file for each channel
        return mne.io.read_raw_neuralynx(path.parent, preload=False, verbose="WARNING")
    if suffix == ".data":
        return mne.io.read_raw_nicolet(path, "eeg", preload=False, verbose="WARNING")
    if re.fullmatch(r"\.ns[1-6]", suffix):
        return mne.io.read_raw_nsx(path, preload=False, verbose="WARNING")
    raw = mne.io.read_raw(path, preload=False, verbose="WARNING")
    correct = {".gdf": _mark_unknown_units, ".mefd": _remove_record_types}.get(suffix)
    return raw if correct is None else correct(raw)


def _mark_unknown_units(raw: BaseRaw) -> BaseRaw:
    """Mark channels of GDF whose unit MNE does not know, because it assumes volts."""
    factors = raw._raw_extras[0]["units"]
    raw._orig_units = {
        name: "V" if factor < 1 else "n/a"
        for name, factor in zip(raw.ch_names, factors, strict=True)
    }
    return raw


def _remove_record_types(raw: BaseRaw) -> BaseRaw:
    """Remove the type of a MEF3 record that MNE writes before its text: `Note: sz onset`."""
    import mne

    marks = raw.annotations
    texts = [re.sub(r"^(?:Note|EDFA): ", "", str(text)) for text in marks.description]
    return raw.set_annotations(mne.Annotations(marks.onset, marks.duration, texts, marks.orig_time))


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
    """All files of a recording, without sidecars, in the order of their names."""
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
