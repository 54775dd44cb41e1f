"""Advisory locks between processes and threads, released at exit.

A lock is `flock` on a file (on Windows, a locked byte of it). Every thread opens the file itself,
so threads of one process exclude each other as processes do. The system releases the lock when its
process ends, however it ends: a lock file of a killed process is locked by nobody and is reused. On
file systems without locks nobody is kept away.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from epilens.core.errors import StorageError
from epilens.io.os_errors import not_writable_error

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None
try:
    import msvcrt
except ImportError:  # any other system
    msvcrt = None

RENAMES_OPEN_FILES = os.name != "nt"
"""Whether a file can be renamed or removed while it is open."""
NEVER_BLOCKS = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
UNCHANGED_BYTES = getattr(os, "O_BINARY", 0)
"""Flags of `os.open`; 0 on systems that need or have none."""
_FAR = 2**30
"""Byte that is locked on Windows: beyond the content, because others cannot read locked bytes."""
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
        remove_and_close(file, handle)


def _acquire(file: Path, path: Path, wait_s: float) -> int:
    deadline = time.monotonic() + wait_s
    while (handle := _open_locked(file, path)) is None:
        if time.monotonic() >= deadline:
            raise LockedError(
                f"{path}: expected no other process that writes there, found {_holder(file)}. "
                "Wait until it has ended, or give another folder."
            )
        time.sleep(_POLL_S)
    return handle


def _open_locked(file: Path, path: Path) -> int | None:
    """The open lock file; None if somebody else has locked or just removed it."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise not_writable_error(path, error) from None
    if not try_lock(handle, file):
        os.close(handle)
        return None
    with suppress(OSError):  # the number only serves the message: a full disk is no reason to stop
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, str(os.getpid()).encode())
    return handle


def remove_and_close(file: Path, handle: int) -> None:
    """Remove a locked file and release the lock; nobody can lock it in between, where possible."""
    if not RENAMES_OPEN_FILES:
        os.close(handle)
    with suppress(OSError):
        file.unlink()
    if RENAMES_OPEN_FILES:
        os.close(handle)


def try_lock(handle: int, file: Path) -> bool:
    """Lock an open file until it is closed; False if somebody else has locked or removed it."""
    return _flock(handle) and _is_same_file(handle, file)


def remove_unlocked(file: Path) -> None:
    """Remove a file, unless somebody has locked it."""
    try:
        handle = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | NEVER_BLOCKS)
    except OSError:
        return
    if try_lock(handle, file):  # locked until it is gone, so nobody starts to use it meanwhile
        remove_and_close(file, handle)
    else:
        os.close(handle)


def _flock(handle: int) -> bool:
    if fcntl is None:
        return _lock_byte(handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _lock_byte(handle: int) -> bool:
    if msvcrt is None:  # a system without locks
        return True
    os.lseek(handle, _FAR, os.SEEK_SET)
    try:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # ty: ignore
    except OSError:
        return False
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
