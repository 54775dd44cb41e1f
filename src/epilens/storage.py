"""Files and folders that are either there and complete, or not there; and are ours, or left alone.

Every folder that a verb writes carries a mark: a hidden file that says what kind of output it is
and, where it was written in one piece, which files that piece has. A folder without the mark, or
with a file that we did not write, is never replaced or added to.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from epilens.errors import DataError

MARK = ".epilens"
"""The hidden file by which a folder of ours is known again."""


def own_folder(path: str | Path, kind: str) -> Path:
    """The folder `path` to write output of this kind into: new, empty, or of the same kind.

    Anything else is refused, because something in it could be overwritten.
    """
    path = Path(path)
    check_folder(path, kind)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from None
    if not (path / MARK).exists():
        write_atomically(path / MARK, json.dumps({"kind": kind}) + "\n")
    return path


def check_folder(path: str | Path, kind: str) -> None:
    """Refuse a place that is not absent, empty, or output of this kind."""
    path = Path(path)
    if path.is_symlink() or path.exists():
        what = _kind_of(path)
        if what not in ("", kind):
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
    try:
        return str(json.loads((path / MARK).read_text(encoding="utf-8"))["kind"])
    except (OSError, ValueError, KeyError, TypeError):
        first = next(path.iterdir(), None)
    return "" if first is None else f"a folder with other things in it ({first.name})"


def _named(kind: str) -> str:
    return f"one with {kind} of EpiLENS"


@contextmanager
def replace_folder(path: str | Path, kind: str) -> Generator[Path]:
    """A new folder to be filled; it takes the name `path` when all is written.

    A kill at any moment leaves the old folder, the new one, or none under that name, and perhaps
    a hidden one beside it, which the next attempt removes. An old folder is replaced only if it is
    of the same kind and holds nothing but what was written then.
    """
    path = Path(path)
    check_folder(path, kind)
    hidden = path.with_name(f".{path.name}.partial")
    old = path.with_name(f".{path.name}.old")
    for place in (hidden, old, path):
        _check_ours(place, kind)
    for leftover in (hidden, old):
        shutil.rmtree(leftover, ignore_errors=True)
    try:
        _begin(hidden, kind)
        yield hidden
        _list_files(hidden, kind)
    except BaseException:
        shutil.rmtree(hidden, ignore_errors=True)
        raise
    if path.exists():
        path.rename(old)
    hidden.rename(path)
    shutil.rmtree(old, ignore_errors=True)


def _begin(folder: Path, kind: str) -> None:
    try:
        folder.mkdir(parents=True)
        (folder / MARK).write_text(json.dumps({"kind": kind}), encoding="utf-8")
    except OSError as error:
        raise _unwritable(folder, error) from None


def _list_files(folder: Path, kind: str) -> None:
    """The mark of a folder that was written in one piece names its files."""
    mark = {"kind": kind, "files": sorted(_files(folder))}
    (folder / MARK).write_text(json.dumps(mark), encoding="utf-8")


def _files(folder: Path) -> set[str]:
    return {
        (Path(place) / name).relative_to(folder).as_posix()
        for place, _, names in os.walk(folder)
        for name in names
    } - {MARK}


def _check_ours(folder: Path, kind: str) -> None:
    """Refuse a folder that is to be removed if something in it was not written by us."""
    check_folder(folder, kind)
    if not (folder / MARK).exists():
        return
    listed = json.loads((folder / MARK).read_text(encoding="utf-8")).get("files")
    strange = sorted(_files(folder) - set(listed)) if listed is not None else []
    if strange:
        raise DataError(
            f"{folder}: expected only what EpiLENS wrote there, found {strange[0]} too. Move it "
            "elsewhere, or give another folder."
        )


def own_file(path: str | Path, sign: str) -> Path:
    """The path, unless a file is there that lacks the sign by which ours are known."""
    path = Path(path)
    if path.is_dir():
        raise DataError(f"{path}: expected the name of a file, found a folder. Add a file's name.")
    if path.exists():
        with path.open("rb") as file:
            ours = sign.encode() in file.read(4096)
        if not ours:
            raise DataError(
                f"{path}: expected no file, or one that this command wrote, found another. Nothing "
                "is written there: give another name."
            )
    return path


@contextmanager
def replace_file(path: str | Path) -> Generator[Path]:
    """A place for a new file; it takes the name `path` when all is written.

    A kill leaves the old file, the new one, or none under that name, and perhaps a hidden one
    beside it, which the next attempt replaces.
    """
    path = Path(path)
    hidden = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        hidden.write_bytes(b"")
    except OSError as error:
        raise _unwritable(path, error) from None
    try:
        yield hidden
        hidden.replace(path)
    except BaseException:
        hidden.unlink(missing_ok=True)
        raise


def write_atomically(path: str | Path, text: str) -> Path:
    """Write a text file, whole or not at all."""
    return write_bytes_atomically(path, text.encode("utf-8"))


def write_bytes_atomically(path: str | Path, content: bytes) -> Path:
    """Write under a temporary name beside the file, then rename: never half a file."""
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise _unwritable(path, error) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path


def write_new(path: str | Path, text: str) -> bool:
    """Write a file that must not be there yet, whole or not at all; False if it is there.

    Of two processes that write the same name, one wins and the other is told.
    """
    path = Path(path)
    whole = path.with_name(f".{path.name}.{uuid4().hex}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        whole.write_bytes(text.encode("utf-8"))
        return _take_name(path, whole)
    except OSError as error:
        raise _unwritable(path, error) from None
    finally:
        with suppress(OSError):
            whole.unlink()


def _take_name(path: Path, whole: Path) -> bool:
    try:
        path.hardlink_to(whole)
    except FileExistsError:
        return False
    except OSError:  # a file system without links: a name is still taken by one alone
        try:
            with path.open("xb") as file:
                file.write(whole.read_bytes())
        except FileExistsError:
            return False
    return True


def _unwritable(path: Path, error: OSError) -> DataError:
    return DataError(
        f"{path}: expected a place that can be written, found: {error.strerror}. Give another path."
    )
