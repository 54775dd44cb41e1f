"""Files that are either there and complete, or not there, also after a power loss.

What is being written has a hidden name that ends with `.epilens-partial` and is held. A kill can
leave it behind, held by nobody: whoever writes the same name next removes it.
"""

from __future__ import annotations

import errno
import json
import os
import tempfile
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from epilens.core.errors import DataError, StorageError
from epilens.io.locks import hold, nobody_holds
from epilens.io.os_errors import as_storage_error, explain_os_error
from epilens.io.safe_read import MOST_BYTES, read_bytes
from epilens.io.urls import check_here

PARTIAL, TOGETHER = ".epilens-partial", ".epilens-together"
"""End of the hidden name of what is being written; the list of what is to appear together."""


def read_tree(path: Path, most: int = MOST_BYTES) -> Any:
    """What a JSON file of ours says; whatever is wrong with it, or in it, is a `ValueError`."""
    content = read_bytes(path, str(path), most=most)
    try:
        return json.loads(content)
    except RecursionError:
        raise DataError(
            f"{path}: expected JSON, found lists in lists without end. Restore the file."
        ) from None


def own_file(path: str | Path, sign: str) -> Path:
    """The path, unless a file is there that lacks the sign by which ours are known."""
    check_here(path)
    path = Path(path)
    if path.is_dir():
        raise DataError(f"{path}: expected the name of a file, found a folder. Add a file's name.")
    if path.exists():
        ours = path.is_file()  # a pipe would be waited for without end
        if ours:
            with path.open("rb") as file:
                ours = sign.encode() in file.read(4096)
        if not ours:
            raise DataError(
                f"{path}: expected no file, or one that this command wrote, found another. Nothing "
                "is written there: give another name."
            )
    return path


def check_writable(folder: Path) -> None:
    """Refuse a folder, there or to be made, in which this user can write nothing.

    For verbs that compute long before they write. A disk that is full by then is told then.
    """
    here = folder.absolute()
    nearest = next(place for place in (here, *here.parents) if os.path.lexists(place))
    code = 0
    if not os.path.isdir(nearest):  # noqa: PTH112 - Path.is_dir raises where it may not look
        code = errno.ENOTDIR
    elif not os.access(nearest, os.W_OK | os.X_OK):
        code = errno.EROFS if os.statvfs(nearest).f_flag & os.ST_RDONLY else errno.EACCES
    if code:
        raise unwritable(folder, OSError(code, os.strerror(code)))


@contextmanager
def replace_file(path: str | Path) -> Generator[Path]:
    """A place for a new file; it takes the name `path` when all is written and on the disk.

    A kill leaves the old file, the new one, or none under that name, and perhaps a hidden one
    beside it, which the next attempt replaces.
    """
    path = Path(path)
    with _hidden_file(path) as (hidden, handle), as_storage_error(path):
        yield hidden
        os.fsync(handle)
        hidden.chmod(0o644)
        hidden.replace(path)
        settle_names(path.parent)


@contextmanager
def _hidden_file(path: Path) -> Generator[tuple[Path, int]]:
    """An empty file beside `path`, open and held; gone at the end, unless it got another name."""
    check_here(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep_name(path)
        handle, name = tempfile.mkstemp(PARTIAL, f".{path.name}.", path.parent)
    except OSError as error:
        raise unwritable(path, error) from None
    try:
        hold(handle)  # so that nobody takes it for what a kill left
        yield Path(name), handle
    finally:
        with suppress(OSError):
            Path(name).unlink()
        os.close(handle)


def _sweep_name(path: Path) -> None:
    """What a kill left of an earlier attempt to write this file."""
    for name in _entries(path.parent):
        if name.startswith(f".{path.name}.") and name.endswith(PARTIAL):
            leftover = path.with_name(name)
            if leftover.is_file() and nobody_holds(leftover):
                leftover.unlink(missing_ok=True)


def _entries(folder: Path) -> Iterator[str]:
    with os.scandir(folder) as entries:
        yield from (entry.name for entry in entries)


def write_atomically(path: str | Path, text: str) -> Path:
    """Write a text file, whole or not at all."""
    return write_bytes_atomically(path, text.encode("utf-8"))


def write_bytes_atomically(path: str | Path, content: bytes) -> Path:
    """Write under a hidden name beside the file, then rename: never half a file."""
    with replace_file(path) as hidden:
        hidden.write_bytes(content)
    return Path(path)


def write_new(path: str | Path, text: str) -> bool:
    """Write a file that must not be there yet, whole or not at all; False if it is there.

    Of two processes that write the same name, one wins and the other is told.
    """
    path = Path(path)
    with _hidden_file(path) as (hidden, handle), as_storage_error(path):
        hidden.write_bytes(text.encode("utf-8"))
        os.fsync(handle)
        hidden.chmod(0o644)
        taken = _take_name(path, hidden)
        settle_names(path.parent)
    return taken


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


def write_together(folder: str | Path, files: Mapping[str, bytes]) -> None:
    """Write files below a folder that belong together: all of them, or none.

    They are whole under hidden names before the first one gets its own. A kill between two renames
    leaves a list of them, by which the next command in this folder ends what was begun.
    """
    folder = Path(folder)
    finish_together(folder)
    hidden: dict[str, str] = {}
    with as_storage_error(folder), ExitStack() as stack:
        for name, content in files.items():
            place, handle = stack.enter_context(_hidden_file(folder / name))
            place.write_bytes(content)
            os.fsync(handle)
            place.chmod(0o644)
            hidden[name] = Path(name).with_name(place.name).as_posix()
        write_atomically(folder / TOGETHER, json.dumps(hidden))
        finish_together(folder)


def finish_together(folder: str | Path) -> None:
    """Give the files of an interrupted `write_together` their names."""
    folder = Path(folder)
    try:
        hidden = read_tree(folder / TOGETHER)
    except (OSError, ValueError):
        return
    for name, place in hidden.items():
        if not place.endswith(PARTIAL) or ".." in Path(place).parts or ".." in Path(name).parts:
            continue  # not a list of ours
        with suppress(FileNotFoundError):  # it has its name already
            (folder / place).replace(folder / name)
            settle_names((folder / name).parent)
    (folder / TOGETHER).unlink(missing_ok=True)


def fsync_tree(folder: Path) -> None:
    """Everything in a folder is on the disk: a power loss after the rename takes nothing."""
    for place, _, names in os.walk(folder):
        for name in names:
            handle = os.open(Path(place) / name, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        settle_names(Path(place))


def settle_names(folder: Path) -> None:
    """The names of a folder are on the disk, where its file system can promise that."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def unwritable(path: Path, error: OSError) -> StorageError:
    """What to say of a place that cannot be written."""
    return StorageError(
        explain_os_error(error, path)
        or f"{path}: expected a place that can be written, found: {error.strerror}. Give another "
        "path."
    )
