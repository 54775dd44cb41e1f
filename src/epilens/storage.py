"""Files that are either there and complete, or not there."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from epilens.errors import DataError


@contextmanager
def replace_folder(path: Path) -> Generator[Path]:
    """A new folder to be filled; it takes the name `path` when all is written.

    A kill at any moment leaves the old folder, the new one, or none under that name, and perhaps
    a hidden one beside it, which the next attempt removes.
    """
    hidden = path.with_name(f".{path.name}.partial")
    old = path.with_name(f".{path.name}.old")
    for leftover in (hidden, old):
        shutil.rmtree(leftover, ignore_errors=True)
    try:
        hidden.mkdir(parents=True)
        yield hidden
    except BaseException:
        shutil.rmtree(hidden, ignore_errors=True)
        raise
    if path.exists():
        path.rename(old)
    hidden.rename(path)
    shutil.rmtree(old, ignore_errors=True)


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
        raise DataError(
            f"{path}: expected a place that can be written, found: {error.strerror}. "
            "Give another path."
        ) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path
