"""Files and folders that are either there and complete, or not there; and are ours, or left alone.

Every folder that a verb writes carries a mark: a hidden file that says what kind of output it is
and, where it was written in one piece, which files that piece has. A folder without the mark, or
with a file that we did not write, is never replaced or added to.

What a kill leaves has a hidden name; the next command that works in the same folder, or writes the
same name, removes it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from epilens.core.errors import DataError, StorageError
from epilens.io.atomic import (
    PARTIAL,
    TOGETHER,
    check_writable,
    finish_together,
    fsync_tree,
    own_file,
    read_tree,
    replace_file,
    settle_names,
    unwritable,
    write_atomically,
    write_bytes_atomically,
    write_new,
    write_together,
)
from epilens.io.locks import alone_in, lock_path, nobody_holds
from epilens.io.os_errors import as_storage_error
from epilens.io.urls import check_here

__all__ = [
    "MARK",
    "check_folder",
    "check_writable",
    "claim_output",
    "first_corrupt",
    "is_leftover",
    "is_own",
    "locked_output",
    "own_file",
    "replace_file",
    "replace_folder",
    "sweep",
    "write_atomically",
    "write_bytes_atomically",
    "write_new",
    "write_together",
]

MARK = ".epilens"
"""The hidden file by which a folder of ours is known again."""
OLD, LOCK = ".epilens-old", ".epilens-lock"
"""Ends of the hidden names of what is being replaced, and of what is held."""


@contextmanager
def locked_output(
    path: str | Path, kind: str, recognise_globs: Sequence[str] = (), wait_s: float = 0.0
) -> Generator[Path]:
    """The folder `path` to write output of this kind into, alone, without what a kill left."""
    path = claim_output(path, kind, recognise_globs)
    with alone_in(path, wait_s):
        sweep(path)
        yield path


def claim_output(path: str | Path, kind: str, recognise_globs: Sequence[str] = ()) -> Path:
    """The folder `path` to write output of this kind into: new, empty, or of the same kind.

    Anything else is refused, because something in it could be overwritten.

    recognise_globs : patterns of all names in such a folder. The first must match. They identify
    a folder whose marker was lost or damaged.
    """
    path = Path(path)
    check_folder(path, kind, recognise_globs)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error) from None
    if _marked(path) is None:
        write_atomically(path / MARK, json.dumps({"kind": kind}) + "\n")
    return path


def check_folder(path: str | Path, kind: str, recognise_globs: Sequence[str] = ()) -> None:
    """Refuse a place that is not absent, empty, or output of this kind."""
    check_here(path)
    path = Path(path)
    try:
        what = _kind_of(path)
    except OSError as error:
        raise unwritable(path, error) from None
    if what not in ("", kind) and not (recognise_globs and _is_known(path, recognise_globs)):
        raise DataError(
            f"{path}: expected a new or empty folder, or {_named(kind)}, found {what}. Nothing "
            "is written there: give another folder."
        )


def is_own(path: str | Path, kind: str) -> bool:
    """Whether a folder is output of this kind."""
    return _kind_of(Path(path)) == kind


def _kind_of(path: Path) -> str:
    """The kind that a folder's mark says; '' for an absent or empty folder, else what is there."""
    if not path.exists() and not path.is_symlink():
        return ""
    if not path.is_dir():
        return "a file" if path.exists() else "a broken link"
    mark = _marked(path)
    if mark is not None:
        return mark["kind"]
    first = next((entry for entry in path.iterdir() if not entry.name.endswith(LOCK)), None)
    return "" if first is None else f"a folder with other things in it ({first.name})"


def _marked(folder: Path) -> dict[str, Any] | None:
    """What a folder's mark says; None where there is none that can be read."""
    try:
        mark = {"files": None} | read_tree(folder / MARK)
        named = all(isinstance(name, str) for name in (mark["kind"], *(mark["files"] or ())))
    except (ValueError, KeyError, TypeError):
        return None
    return mark if named else None


def _is_known(path: Path, recognise_globs: Sequence[str]) -> bool:
    """Whether a folder without a mark has what such a folder has, and nothing else."""
    if not path.is_dir() or _marked(path) is not None:
        return False
    names = [entry.name for entry in path.iterdir()]
    names = [name for name in names if name != MARK and not is_leftover(name)]
    known = all(any(fnmatch(name, pattern) for pattern in recognise_globs) for name in names)
    return known and any(fnmatch(name, recognise_globs[0]) for name in names)


def is_leftover(name: str) -> bool:
    """Whether a name is that of something unfinished, replaced or held: hidden, and no output."""
    return name.startswith(".") and name.endswith((PARTIAL, OLD, LOCK, TOGETHER))


def _named(kind: str) -> str:
    return f"one with {kind} of EpiLENS"


@contextmanager
def replace_folder(
    path: str | Path, kind: str, recognise_globs: Sequence[str] = (), sealed: bool = False
) -> Generator[Path]:
    """A new folder to be filled; it takes the name `path` when all is written and on the disk.

    A kill at any moment leaves the old folder or the new one, under its name or hidden beside it,
    and perhaps a part, which the next attempt removes. An old folder is replaced only if it is of
    the same kind and holds nothing but what was written then.

    sealed : the mark has a digest of every file, so that `first_corrupt` sees what changed.
    """
    path = Path(path)
    check_folder(path, kind, recognise_globs)
    hidden, old = _hidden(path, PARTIAL), _hidden(path, OLD)
    with lock_path(path):
        for place in (hidden, old):
            _check_ours(place, kind)
        _check_ours(path, kind, recognise_globs, listed=True)
        _bring_back(path, old)
        for leftover in (hidden, old):
            shutil.rmtree(leftover, ignore_errors=True)
        try:
            with as_storage_error(path):
                hidden.mkdir(parents=True)
                (hidden / MARK).write_text(json.dumps({"kind": kind}), encoding="utf-8")
                yield hidden
                _list_files(hidden, kind, sealed)
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
        settle_names(path.parent)
    shutil.rmtree(old, ignore_errors=True)


def _hidden(path: Path, end: str) -> Path:
    return path.with_name(f".{path.name}{end}")


def _bring_back(path: Path, old: Path) -> None:
    """A kill between two renames left nothing under the name: the old one gets it back."""
    if old.exists() and not path.exists():
        old.rename(path)


def _list_files(folder: Path, kind: str, sealed: bool) -> None:
    """The mark of a folder that was written in one piece names its files."""
    names = sorted(_files(folder))
    files = {name: _digest(folder / name) for name in names} if sealed else names
    mark = json.dumps({"kind": kind, "files": files})
    (folder / MARK).write_text(mark, encoding="utf-8")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def first_corrupt(folder: str | Path) -> str:
    """What of a folder is not as it was written: the name of a file; '' if all of it is.

    Of a folder that was not sealed it is only seen whether all files are there.
    """
    folder = Path(folder)
    files = (_marked(folder) or {}).get("files")
    if not isinstance(files, dict | list):
        return MARK
    for name in files:
        path = folder / name
        try:  # a pipe would be waited for without end
            same = path.is_file() and (isinstance(files, list) or _digest(path) == files[name])
        except OSError:
            same = False
        if not same:
            return name
    return ""


def _files(folder: Path) -> set[str]:
    return {
        (Path(place) / name).relative_to(folder).as_posix()
        for place, _, names in os.walk(folder)
        for name in names
    } - {MARK}


def _check_ours(
    folder: Path, kind: str, recognise_globs: Sequence[str] = (), listed: bool = False
) -> None:
    """Refuse a folder that is to be removed if something in it was not written by us.

    listed : its mark must say which files are ours; one that was being written cannot yet.
    """
    check_folder(folder, kind, recognise_globs)
    mark = _marked(folder)
    if mark is None:  # absent, empty, or known by its names
        return
    names = mark["files"] if mark["files"] is not None or not listed else []
    strange = sorted(_files(folder) - set(names)) if names is not None else []
    if strange:
        raise DataError(
            f"{folder}: expected only what EpiLENS wrote there, found {strange[0]} too. Move it "
            "elsewhere, or give another folder."
        )


def sweep(folder: str | Path) -> None:
    """Remove what kills left in a folder of ours: hidden, unfinished, and held by nobody.

    Folders inside that have a mark of their own are left to whoever works in them.
    """
    folder = Path(folder)
    finish_together(folder)
    for place, folders, names in os.walk(folder):
        at = Path(place)
        for name in filter(is_leftover, names):
            if name != LOCK and nobody_holds(at / name):
                (at / name).unlink(missing_ok=True)
        for name in filter(is_leftover, folders):
            _sweep_folder(at / name)
        inner = (at / name for name in folders)
        folders[:] = [p.name for p in inner if p.exists() and not (p / MARK).exists()]


def _sweep_folder(leftover: Path) -> None:
    """A hidden folder of a kill; an old one whose successor is not there gets its name back."""
    end = PARTIAL if leftover.name.endswith(PARTIAL) else OLD
    path = leftover.with_name(leftover.name[1:].removesuffix(end))
    with suppress(StorageError), lock_path(path):  # in use: not ours to remove
        if _marked(leftover) is None and any(leftover.iterdir()):
            return
        if end == OLD and not path.exists():
            leftover.rename(path)
        else:
            shutil.rmtree(leftover, ignore_errors=True)
