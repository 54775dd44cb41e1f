"""Convert OS errors (full disk, no permission, no memory) to a StorageError naming the path.

They are neither defects nor bad input, so each gets a message that says what to do.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from epilens.core.errors import StorageError

_RERUN = "then run the same command again: what was finished is kept"
_EXPLANATIONS = {
    "ENOSPC EDQUOT": f"expected room on the disk, found none left. Make room, {_RERUN}",
    "EROFS EACCES EPERM ENOTDIR EISDIR EEXIST ELOOP": "expected a place that can be written, "
    "found: {reason}. Give another path",
    "ENAMETOOLONG": "expected a name that the disk can store, found one that is too long. Give a "
    "shorter path",
    "EFBIG": "expected to be allowed files of this size, found a limit (`ulimit -f`). Raise it, "
    + _RERUN,
    "EMFILE ENFILE": "expected to be allowed more open files, found a limit (`ulimit -n`). Raise "
    f"it or use fewer --jobs, {_RERUN}",
    "EIO ESTALE ENXIO ENODEV": "expected a disk that answers, found: {reason}. Check the disk or "
    f"network, {_RERUN}",
    "ENOMEM": "expected enough memory, found too little. Close other programs or use fewer --jobs, "
    + _RERUN,
}
_BY_CODE = {getattr(errno, n): text for names, text in _EXPLANATIONS.items() for n in names.split()}


def explain_os_error(error: BaseException, who: str | Path = "") -> str | None:
    """Explain an OS error and what to do; None for any other error.

    Examples
    --------
    >>> explain_os_error(OSError(28, "No space left on device"), "out").partition(".")[0]
    'out: expected room on the disk, found none left'
    >>> explain_os_error(KeyError("x")) is None
    True
    """
    out_of_memory = isinstance(error, RuntimeError) and "can't allocate memory" in str(error)
    if isinstance(error, MemoryError) or out_of_memory:  # torch has no exception of its own
        code: int | None = errno.ENOMEM
    else:
        code = error.errno if isinstance(error, OSError) else None
    if code is None or code not in _BY_CODE:
        return None
    who = who or getattr(error, "filename", None) or "epilens"
    return f"{who}: {_BY_CODE[code].format(reason=os.strerror(code))}."


@contextmanager
def as_storage_error(who: str | Path) -> Generator[None]:
    """Convert OS and memory errors to a `StorageError` naming the path."""
    try:
        yield
    except (OSError, MemoryError) as error:
        explanation = explain_os_error(error, who)
        if explanation is None:
            raise
        raise StorageError(explanation) from error


def not_writable_error(path: Path, error: OSError) -> StorageError:
    """Return the error for a path that cannot be written."""
    return StorageError(
        explain_os_error(error, path)
        or f"{path}: expected a place that can be written, found: {error.strerror}. Give another "
        "path."
    )
