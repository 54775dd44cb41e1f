"""Find the recordings in what the user gave: files, folders, BIDS datasets, runs or MNE objects.

Our outputs name a patient by a code and a recording by the name of its BIDS run. Any other file is
named by a digest, because its own name can be that of a person; only the screen shows that name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epilens.core.errors import DataError, OnsetError
from epilens.data.bids_runs import SIGNALS, run_name, runs_of, signal_file
from epilens.data.onsets.onset import APART_S, CLOCK, ClockTime, Onset, too_close
from epilens.data.readers.breaks import to_signal_s
from epilens.data.readers.formats import header_of
from epilens.data.readers.mne_reader import open_mne
from epilens.data.sidecars import BidsFile, BidsTree, datasets_in
from epilens.data.user_files import natural
from epilens.io.safe_read import real_path, what_is_missing

if TYPE_CHECKING:
    from mne.io import BaseRaw

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,150}")


SourceOnset = tuple["Path | BaseRaw", Onset | None]
"""A recording and its onset; an onset of None is looked for in the file or its dataset."""


@dataclass(frozen=True)
class TraceFile:
    """A recording of a patient, as the review lists it."""

    name: str
    """Name in tables and addresses: the run of a BIDS dataset, else `file-` and a digest."""
    shown: str
    """Name of the file itself, which only the screen may show."""
    path: Path | None
    """The signal file; None if only its sidecars exist."""
    tree: BidsTree | None = None
    file: BidsFile | None = None
    """The file as a part of `tree`; None for a file without sidecars."""

    @cached_property
    def ictal(self) -> bool:
        """Whether task or events name a seizure; True for a file without sidecars."""
        from epilens.data.datasets import recognise
        from epilens.data.onsets.bids_events import states_seizure

        if self.tree is None or self.file is None:
            return True
        return states_seizure(self.tree, recognise(self.tree.description), self.file)


@dataclass(frozen=True)
class Case:
    """A patient under review, with its recordings."""

    code: str
    files: tuple[TraceFile, ...]

    def analysed_files(
        self, marked: Mapping[str, tuple[Onset, ...]]
    ) -> list[tuple[TraceFile, Path, tuple[Onset, ...]]]:
        """Return the files to analyse, each with its path and its onsets in `marked`.

        A file that is not a seizure by its name is analysed only if an onset is marked in it.
        """
        return [
            (file, file.path, onsets)
            for file in self.files
            if file.path is not None and ((onsets := marked.get(file.name, ())) or file.ictal)
        ]


def cases_of(given: Sequence[str | Path], code: str = "") -> tuple[Case, ...]:
    """The patients of files, patients' folders and datasets, in natural order.

    given : recordings, folders of recordings, BIDS runs, patients or datasets, folders of datasets.
    code : names the patient of recordings without sidecars; else a digest of their folder does.
    """
    files: dict[str, dict[str, TraceFile]] = {}
    roots: dict[str, Path] = {}
    for path in map(Path, given):
        for patient, root, file in _files_of(path, code):
            if roots.setdefault(patient, root) != root:
                raise DataError(
                    f"{patient}: expected one patient of this code, found one in "
                    f"{roots[patient].name} and one in {root.name}. Review them into folders of "
                    "their own."
                )
            files.setdefault(patient, {})[file.name] = file
    if not files:
        raise DataError(
            f"{Path(given[0]).name}: expected recordings, found none. Name files or a BIDS dataset."
        )
    return tuple(
        Case(patient, tuple(sorted(by_name.values(), key=lambda file: natural(file.shown))))
        for patient, by_name in sorted(files.items(), key=lambda item: natural(item[0]))
    )


def recordings_in(given: Sequence[Path]) -> list[Path]:
    """The given files, and in place of each folder its recordings (in BIDS, only ictal ones)."""
    recordings: list[Path] = []
    for path in given:
        if not path.is_dir() or path.suffix == ".mefd":
            recordings.append(header_of(path))
            continue
        files = [file for case in cases_of([path]) for file in case.files if file.ictal]
        # A linked file keeps its own name: that is what the user knows.
        plain = [path / file.shown for file in files if file.tree is None]
        of_folder = plain or [file.path for file in files if file.path is not None]
        if not of_folder:
            raise DataError(
                f"{path}: expected recordings of seizures, found "
                f"{'only their sidecars' if files else 'none'}. Name the files."
            )
        recordings += of_folder
    return list(dict.fromkeys(recordings))


def _files_of(path: Path, code: str) -> list[tuple[str, Path, TraceFile]]:
    """Patient, its folder or dataset, and recording, for every recording that a path means."""
    if not path.exists():
        raise DataError(
            f"{path}: expected a recording or a BIDS dataset, found {what_is_missing(path)} there. "
            "Check the path."
        )
    root = bids_root(path)
    if root is not None:
        return _runs_in_tree(BidsTree(root), path)
    if path.is_dir() and any(path.glob("*/dataset_description.json")):
        return [row for tree in datasets_in(path) for row in _runs_in_tree(BidsTree(tree), tree)]
    plain = _signals_in(path) if path.is_dir() and path.suffix != ".mefd" else [header_of(path)]
    if not plain:
        raise DataError(
            f"{path}: expected recordings or a BIDS dataset, found neither. Name the files."
        )
    return [
        (patient_code(code or _digest(file.parent)), file.parent, bare_file(file)) for file in plain
    ]


def _runs_in_tree(tree: BidsTree, path: Path) -> list[tuple[str, Path, TraceFile]]:
    """The runs that a path in a dataset means: all, those of one patient, or one."""
    parts = path_in_tree(path).relative_to(real_path(tree.root)).parts
    patients = [parts[0]] if parts else sorted(tree.folders, key=natural)
    stem = path.name.partition(".")[0] if not path.is_dir() or path.suffix == ".mefd" else ""
    rows = []
    for patient in patients:
        for file in runs_of(tree, patient):
            if not stem or file.path.name.partition(".")[0] == stem:
                rows.append((patient_code(patient), tree.root, _bids_file(tree, file)))
    return rows


def _bids_file(tree: BidsTree, file: BidsFile) -> TraceFile:
    name = run_name(file)
    name = name if _NAME.fullmatch(name) else f"file-{_digest(file.path)}"
    return TraceFile(name, file.path.name, signal_file(file), tree, file)


def bare_file(path: Path) -> TraceFile:
    """A recording without sidecars; its digest depends on the name of the file alone."""
    return TraceFile(f"file-{_digest(Path(path.name))}", path.name, real_path(path))


def _signals_in(folder: Path) -> list[Path]:
    files = (path for path in folder.iterdir() if path.name[0] != ".")
    return sorted({header_of(path) for path in files if path.name.lower().endswith(SIGNALS)})


def _digest(path: Path) -> str:
    text = str(real_path(path)) if path.is_absolute() or len(path.parts) != 1 else str(path)
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:10]


def patient_code(text: str) -> str:
    """The patient's code as `sub-…`, with letters and digits only: it becomes a file name."""
    code = text.removeprefix("sub-")
    if not re.fullmatch(r"[A-Za-z0-9]{1,40}", code):
        raise DataError(
            f"patient {text!r}: expected a code of letters and digits, found other characters. "
            "Give one with --patient, and no name of a person."
        )
    return f"sub-{code}"


def bids_root(path: Path) -> Path | None:
    """The BIDS dataset that a path belongs to, or None."""
    path = path_in_tree(path)
    if path.is_dir() and (path / "dataset_description.json").exists():
        return path
    if not path.name.startswith("sub-"):
        return None
    return next((p for p in path.parents if (p / "dataset_description.json").exists()), None)


def path_in_tree(path: Path) -> Path:
    """The path with links resolved, but not that of the file itself: datalad links to digests."""
    return real_path(path.parent) / path.name if path.is_symlink() else real_path(path)


def common_root(sources: Sequence[SourceOnset]) -> Path | None:
    """The BIDS dataset that contains all sources; None for bare files and open recordings."""
    roots = {bids_root(source) if isinstance(source, Path) else None for source, _ in sources}
    if len(roots) > 1:
        raise DataError(
            "recordings: expected recordings of one dataset, found files of several. Give the "
            "files of one patient."
        )
    return roots.pop()


def sources_of(
    items: Sequence[Any], onsets_s: Sequence[float | str | None] = ()
) -> list[SourceOnset]:
    """Files and open recordings of one patient, each with its onset.

    items : paths, `mne.io.Raw` objects, or pairs of one of them and its onset.
    onsets_s : in the order of the items; one file can have several. A text is a clock time.
    """
    from mne.io import BaseRaw

    sources: list[Path | BaseRaw] = []
    onsets = [_as_onset(onset_s) for onset_s in onsets_s]
    for item in items:
        source, *item_onsets = item if isinstance(item, tuple) else (item,)
        if not isinstance(source, str | Path | BaseRaw):
            raise DataError(
                "recordings: expected paths, mne.io.Raw objects, recordings or a cube, found "
                f"{type(source).__name__}. Read the files with mne.io.read_raw first."
            )
        onsets += map(_as_onset, item_onsets)
        sources.append(source if isinstance(source, BaseRaw) else header_of(Path(source)))
        if isinstance(sources[-1], Path) and not sources[-1].exists():
            raise DataError(
                f"{source}: expected a recording, found {what_is_missing(sources[-1])}. Check the "
                "path."
            )
    return _with_onsets(sources, onsets)


def _as_onset(onset: Onset | float | str | None) -> Onset | ClockTime | None:
    if isinstance(onset, str) and (clock := ClockTime.parse(onset)) is not None:
        return clock
    if onset is None or isinstance(onset, Onset):
        return onset
    try:
        return Onset.given(float(onset))
    except ValueError:
        raise OnsetError(
            f"recordings: expected an onset in seconds or a clock time, found {onset!r}. Give a "
            "number such as 61.5."
        ) from None


def _in_seconds(source: Path | BaseRaw, onset: Onset | ClockTime | None) -> Onset | None:
    """The onset in seconds; a clock time needs the start time in the file's header."""
    if not isinstance(onset, ClockTime):
        return onset
    reader = open_mne(source)
    who = source.name if isinstance(source, Path) else "recording"
    start, missing_s = reader.raw.info["meas_date"], sum(b.missing_s or 0 for b in reader.breaks)
    clock_s = onset.seconds_from(start, reader.duration_s + missing_s, who)
    return Onset.given(to_signal_s(clock_s, reader.breaks), CLOCK)


def _with_onsets(
    sources: Sequence[Path | BaseRaw], onsets: Sequence[Onset | ClockTime | None]
) -> list[SourceOnset]:
    """Each recording with its onset; one file can have several seizures."""
    if not onsets:
        return [(source, None) for source in sources]
    files = all(isinstance(source, Path) for source in sources)
    if files and len(sources) == 1:
        sources = [sources[0]] * len(onsets)
    if len(sources) != len(onsets):
        raise OnsetError(
            f"recordings: expected one onset for each of {len(sources)} "
            f"{'files' if files else 'recordings'}, found {len(onsets)}. "
            + ("Give --onset once for every file, in their order." if files else "Give as many.")
        )
    pairs = list(zip(sources, map(_in_seconds, sources, onsets), strict=True))
    for file in dict.fromkeys(source for source in sources if isinstance(source, Path)):
        onsets_s = [onset.onset_s for source, onset in pairs if onset and source == file]
        if close := too_close(onsets_s):
            raise OnsetError(
                f"{file.name}: expected seizures {APART_S:g} s or more apart in one file, found "
                f"onsets at {close[0]:g} and {close[1]:g} s. Give one onset for each seizure, with "
                "a decimal point."
            )
    return pairs
