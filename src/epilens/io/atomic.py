"""Atomic files: a file is complete or absent, also after a power loss.

A file that is being written has a hidden name that ends with `.epilens-partial` and is locked. A
kill leaves it behind unlocked, and the next attempt to write the same file removes it.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import tempfile
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from epilens.core.console import say
from epilens.core.errors import DataError
from epilens.io.locks import RENAMES_OPEN_FILES, remove_and_close, remove_unlocked, try_lock
from epilens.io.os_errors import as_storage_error, not_writable_error
from epilens.io.safe_read import MOST_BYTES, is_plain_path, read_bytes
from epilens.io.urls import check_local_path

PARTIAL, TOGETHER = ".epilens-partial", ".epilens-together"
"""End of a hidden name of a file that is being written; the list of files to appear together."""
_NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL
_TOGETHER_KINDS = (".bidsignore", ".html", ".json", ".md", ".tsv", ".xlsx")
"""Ends of the names of files that are written together."""


def load_json(path: Path, most: int = MOST_BYTES) -> Any:
    """Parse a JSON file; anything wrong with the file or its content is a `ValueError`."""
    content = read_bytes(path, str(path), most=most)
    try:
        return json.loads(content)
    except RecursionError:
        raise DataError(
            f"{path}: expected JSON, found lists in lists without end. Restore the file."
        ) from None


def json_text(tree: Any) -> str:
    """JSON as our files contain it: indented, every character as it is, a line break at the end."""
    return json.dumps(tree, indent=1, ensure_ascii=False) + "\n"


def check_own_file(path: str | Path, signature: str) -> Path:
    """Return the path; refuse an existing file without the signature of files that we write."""
    check_local_path(path)
    path = Path(path)
    if path.is_dir():
        raise DataError(f"{path}: expected the name of a file, found a folder. Add a file's name.")
    if path.exists():
        is_ours = path.is_file()  # opening a pipe would block
        if is_ours:
            with path.open("rb") as file:
                is_ours = signature.encode() in file.read(4096)
        if not is_ours:
            raise DataError(
                f"{path}: expected no file, or one that this command wrote, found another. Nothing "
                "is written there: give another name."
            )
    return path


def check_writable(folder: Path) -> None:
    """Refuse a folder, existing or not, in which this user cannot write.

    For commands that compute for a long time before they write.
    """
    folder = folder.absolute()
    nearest = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    code = 0
    if not os.path.isdir(nearest):  # noqa: PTH112 - Path.is_dir raises without permission
        code = errno.ENOTDIR
    elif not os.access(nearest, os.W_OK | os.X_OK):
        code = errno.EROFS if _is_read_only(nearest) else errno.EACCES
    if code:
        raise not_writable_error(folder, OSError(code, os.strerror(code)))
    try:
        # Some folders, such as /proc, refuse files that their permissions allow.
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        raise not_writable_error(folder, error) from None


def _is_read_only(folder: Path) -> bool:
    """Whether the file system of a folder cannot be written; False where the system cannot say."""
    return hasattr(os, "statvfs") and bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


@contextmanager
def replace_file(path: str | Path) -> Generator[Path]:
    """Yield a hidden path to write to; it is renamed to `path` once it is on the disk.

    A kill leaves the old file, the new file, or none, and perhaps a hidden file.
    """
    path = Path(path)
    with _hidden_file(path) as (hidden, handle), as_storage_error(path):
        yield hidden
        os.fsync(handle.number)
        handle.release()
        hidden.replace(path)
        fsync_folder(path.parent)


class _Handle:
    """An open file, which may have to be closed before it is renamed."""

    def __init__(self, number: int):
        self.number, self.is_open = number, True

    def release(self) -> None:
        """Close it, where an open file cannot be renamed."""
        if not RENAMES_OPEN_FILES and self.is_open:
            self.is_open = False
            os.close(self.number)


@contextmanager
def _hidden_file(path: Path) -> Generator[tuple[Path, _Handle]]:
    """Yield an empty, open and locked file next to `path`; removed at the end unless renamed."""
    check_local_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_partials(path)
        hidden, number = _make_locked(path)
    except OSError as error:
        raise not_writable_error(path, error) from None
    handle = _Handle(number)
    try:
        yield hidden, handle
    finally:
        if handle.is_open:
            remove_and_close(hidden, number)
        else:
            with suppress(OSError):
                hidden.unlink()


def _make_locked(path: Path) -> tuple[Path, int]:
    while True:
        hidden = path.with_name(f".{path.name}.{secrets.token_hex(4)}{PARTIAL}")
        handle = os.open(hidden, _NEW_FILE, 0o644)  # the system removes what umask forbids
        if try_lock(handle, hidden):
            return hidden, handle
        os.close(handle)  # somebody removed it before it was locked


def _remove_partials(path: Path) -> None:
    """Remove remains of killed attempts to write this file."""
    with os.scandir(path.parent) as entries:
        names = [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
    for name in names:
        if name.startswith(f".{path.name}.") and name.endswith(PARTIAL):
            remove_unlocked(path.with_name(name))


def write_atomically(path: str | Path, text: str) -> Path:
    """Write a text file atomically."""
    return write_bytes_atomically(path, text.encode("utf-8"))


def write_bytes_atomically(path: str | Path, content: bytes) -> Path:
    """Write a file atomically."""
    with replace_file(path) as hidden:
        hidden.write_bytes(content)
    return Path(path)


def write_new(path: str | Path, text: str) -> bool:
    """Write a file atomically, unless it exists; return whether it was written.

    Of two processes that write the same name, exactly one gets True.
    """
    path = Path(path)
    with _hidden_file(path) as (hidden, handle), as_storage_error(path):
        hidden.write_bytes(text.encode("utf-8"))
        os.fsync(handle.number)
        is_new = _link_new(hidden, path)
        fsync_folder(path.parent)
    return is_new


def _link_new(hidden: Path, path: Path) -> bool:
    try:
        path.hardlink_to(hidden)
    except FileExistsError:
        return False
    except OSError:  # a file system without links: creating a name is still exclusive
        try:
            with path.open("xb") as file:
                file.write(hidden.read_bytes())
        except FileExistsError:
            return False
    return True


def write_together(folder: str | Path, files: Mapping[str, bytes]) -> None:
    """Write files below a folder that belong together: all of them, or none.

    All are complete under hidden names before the first is renamed. A kill between two renames
    leaves a list of them, with which the next command in this folder finishes the renames.
    """
    folder = Path(folder)
    for name in files:
        if not _is_own_file_in(folder, name):
            raise DataError(
                f"{folder}: expected files of EpiLENS inside this folder, found {name!r} outside. "
                "Remove links from the folder, or give another folder."
            )
    finish_together(folder)
    hidden_names: dict[str, str] = {}
    with as_storage_error(folder), ExitStack() as stack:
        for name, content in files.items():
            hidden, handle = stack.enter_context(_hidden_file(folder / name))
            hidden.write_bytes(content)
            os.fsync(handle.number)
            handle.release()
            hidden_names[name] = PurePosixPath(name).with_name(hidden.name).as_posix()
        write_atomically(folder / TOGETHER, json.dumps(hidden_names))
        _rename_all(folder, hidden_names)


def finish_together(folder: str | Path) -> None:
    """Finish the renames of an interrupted `write_together`.

    Anybody may have written the list: one that `write_together` would not write is ignored.
    """
    folder = Path(folder)
    if not os.path.lexists(folder / TOGETHER):
        return
    try:
        hidden_names = load_json(folder / TOGETHER)
        is_own = all(_is_own_rename(folder, *names) for names in hidden_names.items())
    except (OSError, ValueError, AttributeError):
        is_own = False
    if not is_own:
        say(
            f"{folder}: expected in {TOGETHER} a list of files of EpiLENS inside this folder, "
            "found something else. It is ignored and removed."
        )
    _rename_all(folder, hidden_names if is_own else {})


def _is_own_rename(folder: Path, name: str, hidden_name: Any) -> bool:
    """Whether `write_together` renames a hidden file of this name to this name."""
    if not isinstance(hidden_name, str) or not _is_own_file_in(folder, name):
        return False
    path, hidden = PurePosixPath(name), PurePosixPath(hidden_name)
    return (
        is_plain_path(hidden_name)
        and hidden.parent == path.parent
        and hidden.name.startswith(f".{path.name}.")
        and hidden.name.endswith(PARTIAL)
        and not (folder / hidden).is_symlink()
    )


def _is_own_file_in(folder: Path, name: str) -> bool:
    """Whether a name is of a kind that EpiLENS writes, inside the folder, not behind a link."""
    if not is_plain_path(name) or not name.endswith(_TOGETHER_KINDS):
        return False
    return (folder / name).parent.resolve() == folder.resolve() / PurePosixPath(name).parent


def _rename_all(folder: Path, hidden_names: Mapping[str, str]) -> None:
    for name, hidden_name in hidden_names.items():
        with suppress(FileNotFoundError):  # it was renamed before the kill
            (folder / hidden_name).replace(folder / name)
            fsync_folder((folder / name).parent)
    with suppress(OSError):
        (folder / TOGETHER).unlink()


def fsync_tree(folder: Path) -> None:
    """Flush all files of a folder to the disk, so that a power loss after a rename loses none."""
    for parent, _, names in os.walk(folder):
        for name in names:
            # Windows flushes only files that are open for writing.
            handle = os.open(Path(parent) / name, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        fsync_folder(Path(parent))


def fsync_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk, where its file system supports that."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
