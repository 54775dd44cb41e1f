"""Advisory locks between processes and threads, released at exit.

A lock is `flock` on a file. Every thread opens the file itself, so threads of one process exclude
each other as processes do. The system releases the lock when its process ends, however it ends: a
lock file of a killed process is locked by nobody and is reused. On file systems
without locks nobody is kept away.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from epilens.core.errors import StorageError
from epilens.io.os_errors import as_storage_error

try:
    import fcntl
except ImportError:  # a system without such locks
    fcntl = None

_POLL_S = 0.05


class LockedError(StorageError):
    """Somebody else has locked the path."""


class _ThreadLocks(threading.local):
    """Lock files that the current thread has locked: it may lock them again."""

    def __init__(self) -> None:
        self.files: set[Path] = set()


_locked = _ThreadLocks()


@contextmanager
def lock_folder(folder: str | Path, wait_s: float = 0.0) -> Generator[None]:
    """Lock a folder that files are added to; the lock file is inside it.

    Whoever comes second waits `wait_s` seconds, then gets a `StorageError`.
    """
    folder = Path(folder).absolute()
    with _lock(folder / ".epilens-lock", folder, wait_s):
        yield


@contextmanager
def lock_path(path: str | Path, wait_s: float = 0.0) -> Generator[None]:
    """Lock the name of a file or folder that is replaced; the lock file is next to it."""
    path = Path(path).absolute()
    with _lock(path.with_name(f".{path.name}.epilens-lock"), path, wait_s):
        yield


@contextmanager
def _lock(file: Path, path: Path, wait_s: float) -> Generator[None]:
    if file in _locked.files:
        yield
        return
    handle = _acquire(file, path, wait_s)
    _locked.files.add(file)
    try:
        yield
    finally:
        _locked.files.discard(file)
        with suppress(OSError):
            file.unlink()
        os.close(handle)


def _acquire(file: Path, path: Path, wait_s: float) -> int:
    deadline = time.monotonic() + wait_s
    while (handle := _open_locked(file, path)) is None:
        if time.monotonic() >= deadline:
            raise LockedError(
                f"{path}: expected to be the only one who writes there, found {_holder(file)}. "
                "Wait until it has ended, or give another folder."
            )
        time.sleep(_POLL_S)
    return handle


def _open_locked(file: Path, path: Path) -> int | None:
    """The open lock file; None if somebody else has locked or just removed it."""
    with as_storage_error(path):
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
    if not try_lock(handle, file):
        os.close(handle)
        return None
    with suppress(OSError):  # the number only serves the message: a full disk is no reason to stop
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
    return handle


def try_lock(handle: int, file: Path) -> bool:
    """Lock an open file until it is closed; False if somebody else has locked or removed it."""
    return _flock(handle) and _is_same_file(handle, file)


def remove_unlocked(file: Path) -> None:
    """Remove a file, unless somebody has locked it."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return
    try:
        if try_lock(handle, file):  # locked until it is gone, so nobody starts to use it meanwhile
            file.unlink(missing_ok=True)
    finally:
        os.close(handle)


def _flock(handle: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _is_same_file(handle: int, file: Path) -> bool:
    try:
        return os.path.samestat(file.stat(), os.fstat(handle))
    except OSError:
        return False


def _holder(file: Path) -> str:
    with suppress(OSError, ValueError):
        process = int(file.read_text())
        if process == os.getpid():
            return "another thread of this process"
        return f"another process of EpiLENS (process {process})"
    return "another process of EpiLENS"
