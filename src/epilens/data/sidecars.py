"""The files of a BIDS dataset: an index by name, and the sidecars that apply to a recording."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from epilens.core.errors import DataError
from epilens.data.user_files import read_json, read_table
from epilens.io.safe_read import real_path

_NOT_RAW = {"derivatives", "sourcedata", "code", "stimuli", "phenotype"}
# Folders that are one recording: MEF3 sessions.
_FOLDER_FORMATS = {".mefd"}


@dataclass(frozen=True)
class BidsFile:
    """A file with a BIDS name and the parts of its name: entities, suffix, extension."""

    path: Path
    entities: frozenset[tuple[str, str]]
    suffix: str
    extension: str

    @classmethod
    def of(cls, path: Path) -> BidsFile | None:
        """Parse the name of a file; None if it is not a BIDS name."""
        stem, dot, extension = path.name.partition(".")
        *pairs, suffix = stem.split("_")
        entities = [tuple(pair.split("-", 1)) for pair in pairs]
        if not dot or any(len(pair) != 2 for pair in entities):
            return None
        return cls(path, frozenset(entities), suffix, "." + extension.lower())  # ty: ignore

    def entity(self, key: str) -> str:
        """Value of an entity such as `task`, or empty text."""
        return dict(self.entities).get(key, "")


class BidsTree:
    """An index of the files of one BIDS dataset, without derived ones."""

    def __init__(self, root: str | Path):
        self.root = Path(root)
        _check_root(self.root)
        self._real_root = real_path(self.root)

    @cached_property
    def description(self) -> dict[str, Any]:
        """Fields of dataset_description.json."""
        return read_json(inside(self.root / "dataset_description.json", self.root))

    @cached_property
    def folders(self) -> frozenset[str]:
        """Names of the patients' folders."""
        folders = (p for p in self.root.glob("sub-*") if p.is_dir())
        return frozenset(p.name for p in folders if not self._leads_out(p))

    @cached_property
    def participants(self) -> dict[str, dict[str, str]]:
        """Row of participants.tsv by patient (`sub-…`); empty for folders without a row."""
        folders: dict[str, dict[str, str]] = {name: {} for name in sorted(self.folders)}
        path = self._at_top("participants.tsv")
        if path is None:
            return folders
        table = read_table(path)
        if "participant_id" not in table:
            raise DataError(
                f"{path}: expected a column participant_id, found {len(table.columns)} others. Add "
                "it."
            )
        rows: dict[str, dict[str, str]] = {}
        for row in table.to_dict("records"):
            name = with_prefix(row["participant_id"], "sub-")
            row = {str(key): value for key, value in row.items()}
            if name in rows and not {"session", "session_id"} & set(row):
                raise DataError(f"{path}: expected {name} once, found it twice. Remove one row.")
            # A row per session: the first that says something counts.
            rows[name] = row | {k: v for k, v in rows.get(name, {}).items() if v}
        return folders | rows

    @cached_property
    def participant_fields(self) -> dict[str, Any]:
        """Fields of participants.json, which explain columns; empty if it cannot be read."""
        try:
            path = self._at_top("participants.json")
            return {} if path is None else read_json(path)
        except DataError:
            return {}

    def _at_top(self, name: str) -> Path | None:
        """A file at the top of the dataset, compressed or not, or None."""
        paths = (self.root / name, self.root / f"{name}.gz")
        return next((inside(path, self.root) for path in paths if path.exists()), None)

    @cached_property
    def files(self) -> tuple[BidsFile, ...]:
        """All files with BIDS names, in the order of their paths."""
        strays = set(self.strays)
        return tuple(file for file in self._named if file not in strays)

    @cached_property
    def strays(self) -> tuple[BidsFile, ...]:
        """Links with BIDS names that lead out of the dataset; they are not followed."""
        return tuple(file for file in self._named if self._leads_out(file.path))

    @cached_property
    def _named(self) -> list[BidsFile]:
        return [file for path in sorted(self._walk()) if (file := BidsFile.of(path)) is not None]

    def _leads_out(self, path: Path) -> bool:
        return path.is_symlink() and not real_path(path).is_relative_to(self._real_root)

    def _walk(self) -> Iterator[Path]:
        visited = set()
        for folder, folders, names in os.walk(self.root, onerror=_cannot_list, followlinks=True):
            path = Path(folder)
            # Links are followed, but none that leads back, or out.
            real = real_path(path)
            if real in visited or not real.is_relative_to(self._real_root):
                folders[:] = []
                continue
            visited.add(real)
            yield from (path / name for name in names)
            recordings = [name for name in folders if Path(name).suffix in _FOLDER_FORMATS]
            yield from (path / name for name in recordings)
            skip = set(recordings) | (_NOT_RAW if path == self.root else {"derivatives"})
            folders[:] = [name for name in folders if name not in skip and name[0] != "."]

    def subject_files(self, patient: str) -> list[BidsFile]:
        """Files in the patient's folder and its subfolders."""
        return self._by_patient.get(patient, [])

    @cached_property
    def _by_patient(self) -> dict[str, list[BidsFile]]:
        groups: dict[str, list[BidsFile]] = {}
        for file in self.files:
            groups.setdefault(file.path.relative_to(self.root).parts[0], []).append(file)
        return groups

    def sidecars(self, run: BidsFile, suffix: str, extension: str) -> list[Path]:
        """Files that apply to a run, farthest first (the inheritance principle).

        A file applies when it lies in a folder above the run and names no entity that the run
        does not have. `space` is allowed: electrodes.tsv has it, recordings do not.
        """
        above = set(run.path.parents)
        candidates = [*self.subject_files(run.path.relative_to(self.root).parts[0]), *self._at_root]
        fitting = [
            file
            for file in candidates
            if file.suffix == suffix
            and file.extension.removesuffix(".gz") == extension
            and file.path.parent in above
            and {e for e in file.entities if e[0] != "space"} <= run.entities
        ]
        fitting.sort(key=lambda f: (len(f.path.parts), len(f.entities), f.path.name))
        return [file.path for file in fitting]

    @cached_property
    def _at_root(self) -> list[BidsFile]:
        return [file for file in self.files if file.path.parent == self.root]

    def table(self, run: BidsFile, suffix: str) -> pd.DataFrame | None:
        """The table nearest to a run among those that apply to it, or None."""
        paths = self.sidecars(run, suffix, ".tsv")
        return read_table(paths[-1]) if paths else None

    def fields(self, run: BidsFile, suffix: str, space: str | None = None) -> dict[str, Any]:
        """JSON fields that apply to a run; the nearest file wins, field by field.

        With a `space` (of coordsystem.json), files of other spaces do not apply.
        """
        merged: dict[str, Any] = {}
        for path in self.sidecars(run, suffix, ".json"):
            if space is None or space_of(path) in ("", space):
                merged |= read_json(path)
        return merged


def space_of(path: Path) -> str:
    """The entity `space` of a file's name, or empty text."""
    file = BidsFile.of(path)
    return "" if file is None else file.entity("space")


def _cannot_list(error: OSError) -> None:
    raise DataError(
        f"{error.filename}: expected a folder that can be read, found: {error.strerror}. "
        "Check its permissions."
    ) from None


def inside(path: Path, root: Path) -> Path:
    """Return the path, but refuse a link that leads out of the dataset."""
    if path.is_symlink() and not real_path(path).is_relative_to(real_path(root)):
        raise DataError(
            f"{path.name}: expected a file in the dataset, found a link that leads out of it. "
            "Copy the file into the dataset.",
            code="link-out",
        )
    return path


def with_prefix(name: str, prefix: str) -> str:
    """The name with its prefix: `sub-01` for `01` and for `sub-01`."""
    return name if name.startswith(prefix) else prefix + name


def is_hidden(path: Path) -> bool:
    """Whether permissions prevent us from finding out if the path exists."""
    try:
        path.exists()
    except PermissionError:
        return True
    return False


def read_user_table(path: Path, kind: str, columns: tuple[str, ...]) -> pd.DataFrame:
    """Read a user's TSV or CSV of onsets or labels, which must have these columns."""
    if is_hidden(path) or not path.exists():
        raise DataError(
            f"{kind}s {path}: expected a table, found nothing. Check the path.", code=kind
        )
    table = read_table(path, sep=None)
    if missing := set(columns) - set(table.columns):
        raise DataError(
            f"{kind}s {path}: expected columns {', '.join(columns)}, found "
            f"{', '.join(table.columns)}. Add {', '.join(sorted(missing))}.",
            code=kind,
        )
    return table


def datasets_in(root: Path) -> list[Path]:
    """The dataset at a path, or those in its folders; refuses a path without any.

    Derived datasets are ignored, because they contain results and not recordings.
    """
    if not is_hidden(root) and root.is_dir() and os.access(root, os.R_OK | os.X_OK):
        below = [] if _describes(root) else sorted(root.iterdir())
        inside = [folder for folder in below if folder.name[0] != "." and _describes(folder)]
        raw = [folder for folder in inside if not _is_derived(folder)]
        if raw:
            return raw
        if inside:
            raise DataError(
                f"{root}: expected BIDS datasets with recordings, found derived ones only "
                f"({', '.join(folder.name for folder in inside[:4])}). Check the path."
            )
    _check_root(root)
    return [root]


def _describes(folder: Path) -> bool:
    description = folder / "dataset_description.json"
    return not is_hidden(description) and description.is_file()


def _is_derived(folder: Path) -> bool:
    try:
        kind = read_json(folder / "dataset_description.json").get("DatasetType")
    except DataError:
        return False  # reading the dataset says what is wrong with it
    return kind == "derivative"


def _check_root(root: Path) -> None:
    if found := _instead_of_dataset(root):
        expected = "a BIDS dataset (a folder with dataset_description.json)"
        raise DataError(f"{root}: expected {expected}, found {found}")


def _instead_of_dataset(root: Path) -> str:
    """What was found instead of a dataset and what to do; empty text for a dataset."""
    if is_hidden(root):
        return "a folder that cannot be entered. Check its permissions."
    if not root.exists():
        return "nothing at this path. Check the path."
    if not root.is_dir():
        return "a file. Give the folder that contains it."
    if not os.access(root, os.R_OK | os.X_OK):
        return "a folder that cannot be read. Check its permissions."
    if not any(root.iterdir()):
        return "an empty folder. Check the path, or finish the download."
    if (root / "dataset_description.json").exists():
        return ""
    if below := sorted(p.parent.name for p in root.glob("*/dataset_description.json")):
        named = f"{len(below)} datasets inside it ({', '.join(below[:4])})"
        return f"{named}. Give these folders, or read them all with read_cohort."
    return "none. Check the path, or add the file (see the BIDS pages)."
