"""A clinical sheet (xlsx) → a table of texts, with limits before anything is unpacked.

An xlsx file is a zip of XML: five kilobytes can say that they are gigabytes, or put one cell into
the last corner of the sheet, which costs a reader that fills the rest gigabytes too.
"""

from __future__ import annotations

import warnings
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd

from epilens.core.errors import DataError
from epilens.io.safe_read import check_regular

MOST_BYTES = 16 * 1024**2
"""Of the file, and of what it is when it is unpacked."""
MOST_PARTS = 500
MOST_RATIO = 200
"""How many times larger a part may be when it is unpacked; text is ten to twenty."""
MOST_ROWS, MOST_COLUMNS = 100_000, 500
"""Empty rows that a reader must step over count too; cells beyond the columns are not looked at."""


def read_sheet(path: Path, who: str) -> pd.DataFrame:
    """The first sheet: its first row is the header, every cell is text, empty where there is none.

    who : name of the sheet in error messages.
    """
    check_regular(path, who, most=MOST_BYTES)
    try:
        _check_parts(path, who)
        rows = _rows(path, who)
    except DataError:
        raise
    except Exception as error:  # openpyxl and zipfile raise many kinds for a damaged file
        raise DataError(
            f"{who}: expected an Excel sheet, found a file that cannot be read as one "
            f"({type(error).__name__}). Download it again.",
            code="label",
        ) from None
    header = rows[0] if rows else []
    width = len(header)
    cells = [[*row[:width], *[""] * (width - len(row))] for row in rows[1:]]
    return pd.DataFrame(cells, columns=header, dtype=str)


def _check_parts(path: Path, who: str) -> None:
    """Refuse what would unpack to too much; zipfile reads no more than what is stated."""
    with zipfile.ZipFile(path) as file:
        parts = file.infolist()
    if len(parts) > MOST_PARTS:
        raise _too_large(who, f"{MOST_PARTS} parts", f"{len(parts)}")
    whole = sum(part.file_size for part in parts)
    if whole > MOST_BYTES:
        raise _too_large(who, f"{MOST_BYTES // 1024**2} MB unpacked", f"{whole // 1024**2} MB")
    for part in parts:
        if part.file_size > 100_000 and part.file_size > MOST_RATIO * max(part.compress_size, 1):
            ratio = part.file_size // max(part.compress_size, 1)
            raise _too_large(who, f"parts packed up to {MOST_RATIO} times", f"one packed {ratio}")


def _rows(path: Path, who: str) -> list[list[str]]:
    import openpyxl

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and extensions that do not matter here
        book = openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)
        try:
            return _cells_of(book.worksheets[0], who)
        finally:
            book.close()


def _cells_of(page: Any, who: str) -> list[list[str]]:
    """Rows with something in them, as texts."""
    rows: list[list[str]] = []
    page.reset_dimensions()  # what the sheet says about its own size need not be true
    # A limit of columns makes every row as wide; without one, a single cell can make it endless.
    every = page.iter_rows(values_only=True, max_col=MOST_COLUMNS + 1)
    for number, row in enumerate(every, start=1):
        if number > MOST_ROWS:
            raise _too_large(who, f"{MOST_ROWS} rows", "more")
        if not any(value is not None for value in row):
            continue
        texts = [_text(value) for value in row]
        while texts and not texts[-1]:
            texts.pop()
        if len(texts) > MOST_COLUMNS:
            raise _too_large(who, f"{MOST_COLUMNS} columns", "more")
        rows.append(texts)
    return rows


def _text(value: Any) -> str:
    """A cell as people see it: whole numbers without a decimal point."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def _too_large(who: str, expected: str, found: str) -> DataError:
    return DataError(
        f"{who}: expected a sheet of at most {expected}, found {found}. Is it the right file?",
        code="file-too-large",
    )
