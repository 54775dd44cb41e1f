"""Read files of unknown origin: regular files of a sensible size, or a clear error.

Opening a pipe blocks forever, and a device never ends.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from epilens.core.errors import DataError, EpilensError
from epilens.io.locks import NEVER_BLOCKS, UNCHANGED_BYTES

MOST_BYTES = 64 * 1024**2
"""Default limit for files read as a whole; sidecars, tables and plans are much smaller."""
_MOST_NAME_BYTES = 240
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def check_regular(
    path: Path, who: str = "", error: type[EpilensError] = DataError, most: int | None = None
) -> Path:
    """Return the path if it is a regular file of at most `most` bytes (links are followed)."""
    try:
        return _checked(path, path.stat(), who or path.name, error, most)
    except OSError as problem:
        raise _unreadable(who or path.name, problem, error) from None


def read_bytes(
    path: Path, who: str = "", error: type[EpilensError] = DataError, most: int = MOST_BYTES
) -> bytes:
    """Read a regular file of at most `most` bytes; never blocks."""
    who = who or path.name
    try:
        handle = os.open(path, os.O_RDONLY | NEVER_BLOCKS | UNCHANGED_BYTES)
        with os.fdopen(handle, "rb") as file:
            _checked(path, os.fstat(file.fileno()), who, error, most)
            return file.read(most + 1)
    except IsADirectoryError:
        raise error(
            f"{who}: expected a file, found a folder. Put a file there.", code="not-a-file"
        ) from None
    except OSError as problem:
        raise _unreadable(who, problem, error) from None
    except ValueError as problem:
        if isinstance(problem, EpilensError):
            raise
        raise error(f"{who}: expected a path, found one with a null byte. Correct it.") from None


def _checked(
    path: Path, about: os.stat_result, who: str, error: type[EpilensError], most: int | None
) -> Path:
    if not stat.S_ISREG(about.st_mode):
        what = next((words for is_so, words in _KINDS if is_so(about.st_mode)), "something else")
        raise error(f"{who}: expected a file, found {what}. Put a file there.", code="not-a-file")
    if most is not None and about.st_size > most:
        raise error(
            f"{who}: expected at most {_size(most)}, found {_size(about.st_size)}. Is it the right "
            "file?",
            code="file-too-large",
        )
    return path


def real_path(path: Path) -> Path:
    """The path without links; one that leads back to itself stays, where `resolve` fails."""
    return Path(os.path.realpath(path))


def what_is_missing(path: Path) -> str:
    """Name in messages of a path at which no file is found."""
    return "a link that leads nowhere or to itself" if path.is_symlink() else "nothing"


def is_plain_path(name: str) -> bool:
    r"""Whether a relative path stays inside the folder that it is joined to.

    Names that EpiLENS uses for unfinished files are refused as well.

    Examples
    --------
    >>> [is_plain_path(name) for name in ("traces/sub-01.zarr.zip", "../x", "/x", "a\\b")]
    [True, False, False, False]
    """
    parts = name.split("/")
    if not name.isprintable() or "\\" in name or {"", ".", ".."} & set(parts):
        return False
    return all(len(p.encode()) <= _MOST_NAME_BYTES and not p.startswith(".epilens-") for p in parts)


def _size(n: int) -> str:
    return f"{n / 1024**2:.0f} MB" if n >= 1024**2 else f"{n / 1024:.0f} kB"


def _unreadable(who: str, problem: OSError, error: type[EpilensError]) -> EpilensError:
    if isinstance(problem, FileNotFoundError | NotADirectoryError):
        return error(
            f"{who}: expected a file that can be read, found none. Check the path.",
            code="file-unreadable",
        )
    return error(
        f"{who}: expected a file that can be read, found: {problem.strerror}. Check its "
        "permissions.",
        code="file-unreadable",
    )
