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
    (
        errno.ENOSPC,
        errno.EDQUOT,
    ): f"expected room on the disk, found none left. Make room, {_RERUN}",
    (
        errno.EROFS,
        errno.EACCES,
        errno.EPERM,
        errno.ENOTDIR,
        errno.EISDIR,
        errno.EEXIST,
        errno.ELOOP,
    ): ("expected a place that can be written, found: {reason}. Give another path"),
    (errno.ENAMETOOLONG,): "expected a name that the disk can store, found one that is too long. "
    "Give a shorter path",
    (errno.EFBIG,): "expected to be allowed files of this size, found a limit (`ulimit -f`). Raise "
    f"it, {_RERUN}",
    (errno.EMFILE, errno.ENFILE): "expected to be allowed more open files, found a limit (`ulimit "
    f"-n`). Raise it or use fewer --jobs, {_RERUN}",
    (errno.EIO, errno.ESTALE, errno.ENXIO, errno.ENODEV): (
        f"expected a disk that answers, found: {{reason}}. Check the disk or network, {_RERUN}"
    ),
    (errno.ENOMEM,): "expected enough memory, found too little. Close other programs or use fewer "
    f"--jobs, {_RERUN}",
}
_BY_CODE = {code: text for codes, text in _EXPLANATIONS.items() for code in codes}


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
    if code not in _BY_CODE:
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
