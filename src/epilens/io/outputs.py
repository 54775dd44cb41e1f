"""Output folders: complete or absent, and only folders that EpiLENS wrote are changed.

Every folder that a command writes contains a marker: a hidden file with the kind of output and, for
a folder written in one piece, the names of its files. A folder without a marker, or with a file
that EpiLENS did not write, is never replaced or added to.

What a kill leaves behind has a hidden name. The next command that works in the same folder, or
writes the same name, removes it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from epilens.core.errors import DataError, StorageError
from epilens.io.atomic import (
    PARTIAL,
    TOGETHER,
    finish_together,
    fsync_folder,
    fsync_tree,
    load_json,
    write_atomically,
)
from epilens.io.locks import lock_folder, lock_path, remove_unlocked
from epilens.io.os_errors import as_storage_error, not_writable_error
from epilens.io.urls import check_local_path

MARKER = ".epilens"
"""The hidden file that identifies a folder written by EpiLENS."""
OLD, LOCK = ".epilens-old", ".epilens-lock"
"""Ends of the hidden names of a folder that is being replaced, and of a lock file."""


@contextmanager
def locked_output(
    path: str | Path, kind: str, recognise_globs: Sequence[str] = (), wait_s: float = 0.0
) -> Generator[Path]:
    """Claim and lock a folder for output of this kind, without the leftovers of a kill."""
    check_folder(path, kind, recognise_globs)
    with lock_folder(path, wait_s):
        path = claim_output(path, kind, recognise_globs)
        remove_leftovers(path)
        yield path


def claim_output(path: str | Path, kind: str, recognise_globs: Sequence[str] = ()) -> Path:
    """Make a folder for output of this kind: new, empty, or of the same kind.

    Anything else is refused, because something in it could be overwritten.

    recognise_globs : patterns of all names in such a folder. The first must match. They identify
    a folder whose marker was lost or damaged.
    """
    path = Path(path)
    check_folder(path, kind, recognise_globs)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise not_writable_error(path, error) from None
    if _read_marker(path) is None:
        write_atomically(path / MARKER, json.dumps({"kind": kind}) + "\n")
    return path


def check_folder(path: str | Path, kind: str, recognise_globs: Sequence[str] = ()) -> None:
    """Refuse a folder that is not absent, empty, or output of this kind."""
    check_local_path(path)
    path = Path(path)
    try:
        content = _describe_content(path)
    except OSError as error:
        raise not_writable_error(path, error) from None
    if content not in ("", kind) and not (
        recognise_globs and _is_recognised(path, recognise_globs)
    ):
        raise DataError(
            f"{path}: expected a new or empty folder, or one with {kind} of EpiLENS, found "
            f"{content}. Nothing is written there: give another folder."
        )


def check_distinct_names(names: Iterable[str], existing: Iterable[str] = ()) -> None:
    """Refuse names of files or folders that macOS and Windows would store as one.

    existing : names that are there already; only their conflicts with `names` are refused.
    """
    spelling = {name.casefold(): name for name in existing}
    for name in names:
        other = spelling.setdefault(name.casefold(), name)
        if other != name:
            raise DataError(
                f"{name}: expected a name that differs from others in more than upper and lower "
                f"case, found {other!r}. Some systems store both in one place: rename one of them, "
                "or give another output folder."
            )


def folder_names(path: str | Path) -> list[str]:
    """Names of the folders in a folder; none where it does not exist."""
    path = Path(path)
    return [child.name for child in path.iterdir() if child.is_dir()] if path.is_dir() else []


def is_output(path: str | Path, kind: str) -> bool:
    """Whether a folder is output of this kind."""
    return _describe_content(Path(path)) == kind


def _describe_content(path: Path) -> str:
    """The kind in a folder's marker; '' for an absent or empty folder, else what is there."""
    if not path.exists() and not path.is_symlink():
        return ""
    if not path.is_dir():
        return "a file" if path.exists() else "a broken link"
    names = [
        entry.name for entry in path.iterdir()
    ]  # before the marker is read: somebody may be writing it
    marker = _read_marker(path)
    if marker is not None:
        return marker["kind"]
    first = next((name for name in names if not _is_claiming(name)), None)
    return "" if first is None else f"a folder with other things in it ({first})"


def _is_claiming(name: str) -> bool:
    """Whether a name is of a lock, or of a marker that is being written."""
    return name.endswith(LOCK) or (name.startswith(f".{MARKER}.") and name.endswith(PARTIAL))


def _read_marker(folder: Path) -> dict[str, Any] | None:
    """The marker of a folder; None if it is absent or damaged."""
    try:
        marker = {"files": None} | load_json(folder / MARKER)
        is_valid = all(isinstance(text, str) for text in (marker["kind"], *(marker["files"] or ())))
    except (ValueError, KeyError, TypeError):
        return None
    return marker if is_valid else None


def _is_recognised(path: Path, recognise_globs: Sequence[str]) -> bool:
    """Whether a folder without a marker contains the files of such output, and nothing else."""
    if not path.is_dir() or _read_marker(path) is not None:
        return False
    names = [entry.name for entry in path.iterdir()]
    names = [name for name in names if name != MARKER and not is_leftover(name)]
    all_match = all(any(fnmatch(name, pattern) for pattern in recognise_globs) for name in names)
    return all_match and any(fnmatch(name, recognise_globs[0]) for name in names)


def is_leftover(name: str) -> bool:
    """Whether a name is hidden and of an unfinished, replaced or lock file: not output."""
    return name.startswith(".") and name.endswith((PARTIAL, OLD, LOCK, TOGETHER))


@contextmanager
def replace_folder(
    path: str | Path, kind: str, recognise_globs: Sequence[str] = (), sealed: bool = False
) -> Generator[Path]:
    """Yield a hidden folder to fill; it is renamed to `path` once it is on the disk.

    A kill leaves the old folder or the new one, under its name or hidden next to it, and perhaps an
    unfinished one, which the next attempt removes. An old folder is replaced only if it is of the
    same kind and contains only files that EpiLENS wrote.

    sealed : the marker contains a SHA-256 of every file, so that `first_corrupt` detects changes.
    """
    check_local_path(path)
    path = Path(path)
    hidden, old = _hidden_name(path, PARTIAL), _hidden_name(path, OLD)
    with lock_path(path):  # before anything is checked: somebody may be renaming the folders
        _check_removable(path, kind, recognise_globs, listed=True)
        for leftover in (hidden, old):
            _check_removable(leftover, kind)
        _restore(path, old)
        for leftover in (hidden, old):
            shutil.rmtree(leftover, ignore_errors=True)
        try:
            with as_storage_error(path):
                hidden.mkdir(parents=True)
                (hidden / MARKER).write_text(json.dumps({"kind": kind}), encoding="utf-8")
                yield hidden
                _write_marker(hidden, kind, sealed)
                fsync_tree(hidden)
        except BaseException:
            shutil.rmtree(hidden, ignore_errors=True)
            raise
        _swap(path, hidden, old)


def _swap(path: Path, hidden: Path, old: Path) -> None:
    with as_storage_error(path):
        if path.exists():
            path.rename(old)
        hidden.rename(path)
        fsync_folder(path.parent)
    shutil.rmtree(old, ignore_errors=True)


def _hidden_name(path: Path, end: str) -> Path:
    return path.with_name(f".{path.name}{end}")


def _restore(path: Path, old: Path) -> None:
    """Undo the first of two renames if a kill prevented the second."""
    if old.exists() and not path.exists():
        old.rename(path)


def _write_marker(folder: Path, kind: str, sealed: bool) -> None:
    """Write the marker of a folder that was written in one piece: it lists the files."""
    names = sorted(_files(folder))
    files = {name: _sha256(folder / name) for name in names} if sealed else names
    marker = json.dumps({"kind": kind, "files": files})
    (folder / MARKER).write_text(marker, encoding="utf-8")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def first_corrupt(folder: str | Path) -> str:
    """The first file of a folder that is missing or changed; '' if there is none.

    In a folder that is not sealed only missing files are detected.
    """
    folder = Path(folder)
    files = (_read_marker(folder) or {}).get("files")
    if not isinstance(files, dict | list):
        return MARKER
    for name in files:
        path = folder / name
        try:  # opening a pipe would block
            intact = path.is_file() and (isinstance(files, list) or _sha256(path) == files[name])
        except OSError:
            intact = False
        if not intact:
            return name
    return ""


def _files(folder: Path) -> set[str]:
    return {
        (Path(parent) / name).relative_to(folder).as_posix()
        for parent, _, names in os.walk(folder)
        for name in names
    } - {MARKER}


def _check_removable(
    folder: Path, kind: str, recognise_globs: Sequence[str] = (), listed: bool = False
) -> None:
    """Refuse to remove a folder with a file that EpiLENS did not write.

    listed : its marker must list the files; that of an unfinished folder does not yet.
    """
    check_folder(folder, kind, recognise_globs)
    marker = _read_marker(folder)
    if marker is None:  # absent, empty, or recognised by its names
        return
    names = marker["files"] if marker["files"] is not None or not listed else []
    foreign = sorted(_files(folder) - set(names)) if names is not None else []
    if foreign:
        raise DataError(
            f"{folder}: expected only what EpiLENS wrote there, found {foreign[0]} too. Move it "
            "elsewhere, or give another folder."
        )


def remove_leftovers(folder: str | Path) -> None:
    """Remove remains of killed processes in a folder: hidden, unfinished, and locked by nobody.

    Folders inside that have a marker of their own are not touched.
    """
    folder = Path(folder)
    finish_together(folder)
    for root, folders, names in os.walk(folder):
        parent = Path(root)
        for name in filter(is_leftover, names):
            if name != LOCK:
                remove_unlocked(parent / name)
        for name in filter(is_leftover, folders):
            _remove_leftover_folder(parent / name)
        children = (parent / name for name in folders)
        folders[:] = [p.name for p in children if p.exists() and not (p / MARKER).exists()]


def _remove_leftover_folder(leftover: Path) -> None:
    """Remove the hidden folder of a kill; restore an old one that was not replaced."""
    end = PARTIAL if leftover.name.endswith(PARTIAL) else OLD
    path = leftover.with_name(leftover.name[1:].removesuffix(end))
    with suppress(StorageError), lock_path(path):  # locked: somebody else is using it
        if _read_marker(leftover) is None and any(leftover.iterdir()):
            return
        if end == OLD and not path.exists():
            leftover.rename(path)
        else:
            shutil.rmtree(leftover, ignore_errors=True)
