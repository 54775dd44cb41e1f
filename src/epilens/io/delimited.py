"""CSV and TSV files that are safe to open in a spreadsheet.

A cell that begins like a formula (`=cmd|…`, `+`, `-`, `@`) gets a leading apostrophe, which marks
text in spreadsheets. Numbers are unchanged. `plain` removes the apostrophe when EpiLENS reads its
own tables. All CSV and TSV files are written here.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from epilens.core.console import visible

# Also full-width characters and leading blanks: spreadsheets strip and normalize.
_FORMULA = re.compile(r"[\s']*[=+\-@\t\r＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|nan)")


def safe(value: Any) -> Any:
    """Escape a text that begins like a formula; other values are unchanged.

    Examples
    --------
    >>> safe("=1+1"), safe("-3.5"), safe("A'1"), safe("'=1"), safe(-3.5)
    ("'=1+1", '-3.5', "A'1", "''=1", -3.5)
    """
    if not isinstance(value, str) or _NUMBER.fullmatch(value):
        return value
    return f"'{value}" if _FORMULA.match(value) else value


def plain(text: str) -> str:
    """Undo `safe`.

    Examples
    --------
    >>> plain("'=1+1"), plain("'A1"), plain("''=1")
    ('=1+1', "'A1", "'=1")
    """
    if text[:1] == "'" and safe(text[1:]) == text:
        return text[1:]
    return text


def to_csv(frame: pd.DataFrame) -> str:
    """Convert a table to comma-separated text."""
    text = frame.rename(columns=_of_one_line)
    for name in text.columns:
        if not pd.api.types.is_numeric_dtype(text[name]):
            text[name] = text[name].map(_of_one_line)
    return text.to_csv(index=False)


def _of_one_line(value: Any) -> Any:
    """Escape a cell; a carriage return, which many readers take for a new row, becomes a blank."""
    return safe(value.replace("\r", " ")) if isinstance(value, str) else value


def to_tsv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Convert rows to tab-separated text; control characters become visible escapes."""
    lines = [[safe(visible(cell)) for cell in row] for row in (header, *rows)]
    return "\n".join("\t".join(line) for line in lines) + "\n"


def read_csv(content: bytes) -> pd.DataFrame:
    """Read comma-separated text; every cell is the text before escaping."""
    frame = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)
    return frame.map(plain).rename(columns=plain)


def workbook_bytes(book: Any) -> bytes:
    """An openpyxl workbook without the time of writing: same content, same bytes."""
    raw, timeless = io.BytesIO(), io.BytesIO()
    book.save(raw)
    with zipfile.ZipFile(raw) as old, zipfile.ZipFile(timeless, "w", zipfile.ZIP_DEFLATED) as new:
        for name in sorted(old.namelist()):
            content = old.read(name)
            if name == "docProps/core.xml":
                content = re.sub(
                    rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", b"1985-01-01T00:00:00Z", content
                )
            new.writestr(zipfile.ZipInfo(name, (1985, 1, 1, 0, 0, 0)), content)
    return timeless.getvalue()
