"""One process at a time on one place. A lock belongs to its process and ends with it."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from epilens.core.errors import StorageError
from epilens.io.os_errors import as_storage_error

try:
    import fcntl
except ImportError:  # a system without such locks: nobody is kept away
    fcntl = None

_held: dict[Path, int] = {}
"""Lock files that this process holds, with how often."""


@contextmanager
def alone_in(folder: str | Path, wait_s: float = 0.0) -> Generator[None]:
    """Hold a folder that is added to against other processes.

    Who comes second waits for so long, then is told. A killed process leaves a file that nobody
    holds, which the next one takes over. Where the file system has no locks, nobody is kept away.
    """
    folder = Path(folder).absolute()
    with _holding(folder / ".epilens-lock", folder, wait_s):
        yield


@contextmanager
def lock_path(path: str | Path, wait_s: float = 0.0) -> Generator[None]:
    """Hold a name whose file or folder is replaced; the lock lies beside it."""
    path = Path(path).absolute()
    with _holding(path.with_name(f".{path.name}.epilens-lock"), path, wait_s):
        yield


@contextmanager
def _holding(file: Path, place: Path, wait_s: float) -> Generator[None]:
    handle = None if file in _held else _take(file, place, wait_s)
    _held[file] = _held.get(file, 0) + 1
    try:
        yield
    finally:
        _held[file] -= 1
        if handle is not None:
            del _held[file]
            with suppress(OSError):
                file.unlink()
            os.close(handle)


def _take(file: Path, place: Path, wait_s: float) -> int:
    last = time.monotonic() + wait_s
    while (handle := _try(file, place)) is None:
        if time.monotonic() >= last:
            raise StorageError(
                f"{place}: expected to be the only one who writes there, found another process of "
                f"EpiLENS{_number(file)}. Wait until it has ended, or give another folder."
            )
        time.sleep(0.05)
    return handle


def _try(file: Path, place: Path) -> int | None:
    """The locked file, or None: somebody else has it, or has just removed it."""
    with as_storage_error(place):
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
    # Whoever had it may have removed it between our opening and our locking.
    if not hold(handle) or not _same(file, handle):
        os.close(handle)
        return None
    with suppress(OSError):  # the number is a courtesy: a full disk shall not stop us here
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
    return handle


def hold(handle: int) -> bool:
    """Lock an open file for as long as it is open; False: somebody else holds it."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def nobody_holds(file: Path) -> bool:
    """Whether no process has this file open and locked."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return hold(handle)
    finally:
        os.close(handle)


def _same(file: Path, handle: int) -> bool:
    try:
        return file.stat().st_ino == os.fstat(handle).st_ino
    except OSError:
        return False


def _number(file: Path) -> str:
    """' (process 123)' of whoever holds the lock, where it can be read."""
    with suppress(OSError, ValueError):
        return f" (process {int(file.read_text())})"
    return ""
