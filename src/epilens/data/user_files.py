"""Read tables, JSON files and Excel sheets that people wrote, leniently and with limits.

Byte-order marks, trailing spaces, `n/a` and missing optional columns are accepted. Unknown
encodings and rows of different length are refused with a clear message. Sizes are limited, because
an xlsx file of five kilobytes can expand to gigabytes.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from epilens.core.errors import DataError
from epilens.data.quiet import quiet
from epilens.io.safe_read import check_regular, read_bytes

_MISSING = (
    *("n/a", "na", "nan", "none", "", "n.a.", "n.a", "n\\a", "#n/a", "<na>", "null", "nil"),
    *("-", "--", "missing", "not available", "not applicable", "n / a", "(n/a)", "."),
)
MOST_BYTES = 32 * 1024**2
"""Largest sidecar; hours of events or a thousand channels need a hundredth of it."""
_MOST_COLUMNS, _MOST_CELLS = 1000, 2_000_000
SHEET_BYTES = 16 * 1024**2
"""Largest clinical sheet, compressed and uncompressed."""
SHEET_PARTS = 500
SHEET_RATIO = 200
"""Largest compression ratio of a part; that of text is ten to twenty."""
SHEET_ROWS, SHEET_COLUMNS = 100_000, 500
"""Largest sheet; empty rows count too."""


class MalformedError(DataError, code="sidecar-malformed"):
    """A sidecar is not a valid table or JSON object."""


def read_text(path: Path) -> str:
    """Read the text of a sidecar in UTF-8, uncompressed, with any line ends."""
    content = read_bytes(path, most=MOST_BYTES)
    if path.suffix.lower() == ".gz":
        content = _uncompressed(content, path.name)
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise MalformedError(
            f"{path.name}: expected UTF-8 text, found byte 0x{error.object[error.start]:02x} at "
            f"position {error.start}. Save the file as UTF-8."
        ) from None


def _uncompressed(content: bytes, who: str) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            unpacked = file.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error):
        raise MalformedError(
            f"{who}: expected a gzip file, found another or a damaged one. Restore the file."
        ) from None
    if len(unpacked) > MOST_BYTES:
        raise DataError(
            f"{who}: expected at most {MOST_BYTES // 1024**2} MB of text, found more. Is it the "
            "right file?",
            code="file-too-large",
        )
    return unpacked


def read_table(path: Path, sep: str | None = "\t") -> pd.DataFrame:
    """Read a table: cells as stripped text, `n/a` as empty text, column names in lower case.

    sep : separator of cells; None: tab, semicolon or comma, whichever the header has.
    """
    text = read_text(path)
    sep = sep or _separator(text)
    # Only a table whose header is quoted has quotes that are not part of the cells.
    quoted = sep != "\t" or text.lstrip().startswith('"')
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    try:
        lines = csv.reader(io.StringIO(text), delimiter=sep, quoting=quoting)
        rows = _nonempty_rows(lines, path.name)
    except csv.Error as error:
        raise MalformedError(
            f"{path.name}: expected a table, found: {error}. Correct the file."
        ) from None
    if not rows:
        raise MalformedError(
            f"{path.name}: expected a table, found an empty file. Restore the file."
        )
    rows = _without_empty_ends(rows)
    header = [name.lower() for name in rows[0]]
    often, times = Counter(header).most_common(1)[0]
    if times > 1:
        # Only a name of ours is shown; another could be anybody's text.
        which = often if often in _COLUMNS else f"number {header.index(often) + 1}"
        raise MalformedError(
            f"{path.name}: expected each column once, found column {which} {times} times. Remove "
            "or rename one."
        )
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(header):
            raise MalformedError(
                f"{path.name}: expected {len(header)} columns as in its header, found {len(row)} "
                f"in row {number}. Correct this row."
            )
    frame = pd.DataFrame(rows[1:], columns=header, dtype=str)
    return frame.mask(frame.map(str.lower).isin(_MISSING), "")


def _separator(text: str) -> str:
    """Tab, semicolon or comma: the first of them that the header has."""
    header = next((line for line in text.splitlines() if line.strip()), "")
    return next((mark for mark in "\t;," if mark in header), "\t")


def _without_empty_ends(rows: list[list[str]]) -> list[list[str]]:
    """Rows without the empty cells that spreadsheets write after the last column."""
    width = len(rows[0])
    while width and not rows[0][width - 1]:
        width -= 1
    return [row[:width] if not any(row[width:]) else row for row in rows]


_COLUMNS = frozenset(
    (
        *("name", "type", "units", "status", "status_description", "sampling_frequency", "onset"),
        *("duration", "trial_type", "x", "y", "z", "participant_id", "patient", "channel", "run"),
        *("onset_s", "is_ez", "fold", "partition"),
    )
)


def _nonempty_rows(lines: Iterator[list[str]], who: str) -> list[list[str]]:
    """Rows that are not empty, with stripped cells; refuses a table that is too large."""
    rows, cells = [], 0
    for line in lines:
        cells += len(line)
        if len(line) > _MOST_COLUMNS or cells > _MOST_CELLS:
            raise DataError(
                f"{who}: expected at most {_MOST_COLUMNS} columns and {_MOST_CELLS} cells, found "
                "more. Is it the right file?",
                code="file-too-large",
            )
        row = [cell.strip() for cell in line]
        rows += [row] if any(row) else []
    return rows


def read_json(path: Path) -> dict[str, Any]:
    """Read a file that contains a JSON object."""
    text = read_text(path)
    try:
        tree = json.loads(text)
    except json.JSONDecodeError as error:
        raise MalformedError(
            f"{path.name}: expected JSON, found a mistake in line {error.lineno}, column "
            f"{error.colno}. Correct this line."
        ) from None
    except (ValueError, RecursionError):
        raise MalformedError(
            f"{path.name}: expected JSON, found numbers of thousands of digits, or lists in lists "
            "without end. Correct the file."
        ) from None
    if not isinstance(tree, dict):
        raise MalformedError(f"{path.name}: expected a JSON object, found {type(tree).__name__}.")
    return tree


def as_number(text: Any) -> float | None:
    """The finite number that a text or value is, or None."""
    try:
        number = float(text)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if abs(number) < float("inf") else None


def natural(name: str) -> list[Any]:
    """Sort key under which A2 comes before A10."""
    return [int(part) if i % 2 else part for i, part in enumerate(re.split(r"(\d{1,18})", name))]


def read_sheet(path: Path, who: str) -> pd.DataFrame:
    """Read the first sheet of an Excel file; its first row is the header, every cell is text.

    who : name of the sheet in error messages.
    """
    check_regular(path, who, most=SHEET_BYTES)
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
    """Refuse a file that expands to too much; zipfile reads only as much as is stated."""
    with zipfile.ZipFile(path) as file:
        parts = file.infolist()
    if len(parts) > SHEET_PARTS:
        raise _too_large(who, f"{SHEET_PARTS} parts", f"{len(parts)}")
    total = sum(part.file_size for part in parts)
    if total > SHEET_BYTES:
        raise _too_large(who, f"{SHEET_BYTES // 1024**2} MB unpacked", f"{total // 1024**2} MB")
    for part in parts:
        if part.file_size > 100_000 and part.file_size > SHEET_RATIO * max(part.compress_size, 1):
            ratio = part.file_size // max(part.compress_size, 1)
            raise _too_large(who, f"parts packed up to {SHEET_RATIO} times", f"one packed {ratio}")


def _rows(path: Path, who: str) -> list[list[str]]:
    import openpyxl

    with quiet():  # warnings about styles and extensions do not matter here
        book = openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)
        try:
            return _cells_of(book.worksheets[0], who)
        finally:
            book.close()


def _cells_of(page: Any, who: str) -> list[list[str]]:
    """Rows that are not empty, as texts."""
    rows: list[list[str]] = []
    page.reset_dimensions()  # what the sheet says about its own size need not be true
    # A limit of columns makes every row as wide; without one, a single cell can make it endless.
    every = page.iter_rows(values_only=True, max_col=SHEET_COLUMNS + 1)
    for number, row in enumerate(every, start=1):
        if number > SHEET_ROWS:
            raise _too_large(who, f"{SHEET_ROWS} rows", "more")
        if not any(value is not None for value in row):
            continue
        texts = [_text(value) for value in row]
        while texts and not texts[-1]:
            texts.pop()
        if len(texts) > SHEET_COLUMNS:
            raise _too_large(who, f"{SHEET_COLUMNS} columns", "more")
        rows.append(texts)
    return rows


def _text(value: Any) -> str:
    """The text of a cell as people see it: whole numbers without a decimal point."""
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
