"""Files that are either there and complete, or not there."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from epilens.errors import DataError


def write_atomically(path: str | Path, text: str) -> Path:
    """Write a text file under a temporary name beside it, then rename: never half a file."""
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
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path
