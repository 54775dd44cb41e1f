"""Texts without paths: messages and pages are passed on, and a path can name a person."""

from __future__ import annotations

import re
import traceback
from collections.abc import Mapping
from pathlib import Path


def hide_paths(text: str, names: Mapping[str, str] | Mapping[Path, str]) -> str:
    """Replace paths in a text by names; where one path begins with another, the longer one counts.

    Examples
    --------
    >>> hide_paths("/d/a.edf: expected a file of /d", {"/d": "DATA", "/d/a.edf": "file-1"})
    'file-1: expected a file of DATA'
    """
    by_path = {str(path): name for path, name in names.items() if str(path) not in ("", ".")}
    if not by_path:
        return text
    longest_first = sorted(by_path, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, longest_first)), lambda m: by_path[m[0]], text)


def describe_defect(error: BaseException) -> str:
    """Return what an unexpected error is and where; its own text may quote a recording."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(frame.filename).name}, line {frame.lineno}"
