"""Tables and JSON files that people wrote, read leniently.

Lenient about what people do (byte-order marks, trailing spaces, `n/a`, missing optional columns),
strict about what cannot be guessed (encodings, ragged tables): that is one clear sentence.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from epilens.core.errors import DataError
from epilens.io.safe_read import read_bytes

_MISSING = (
    *("n/a", "na", "nan", "none", "", "n.a.", "n.a", "n\\a", "#n/a", "<na>", "null", "nil"),
    *("-", "--", "missing", "not available", "not applicable", "n / a", "(n/a)", "."),
)
MOST_BYTES = 32 * 1024**2
"""Of a sidecar: hours of events, or a thousand channels, are a hundredth of it."""
_MOST_COLUMNS, _MOST_CELLS = 1000, 2_000_000


def read_text(path: Path) -> str:
    """Text of a sidecar, unpacked: UTF-8 with or without byte-order mark, any line ends."""
    content = read_bytes(path, most=MOST_BYTES)
    if path.suffix.lower() == ".gz":
        content = _unpacked(content, path.name)
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path.name}: expected UTF-8 text, found byte 0x{error.object[error.start]:02x} at "
            f"position {error.start}. Save the file as UTF-8.",
            code="sidecar-malformed",
        ) from None


def _unpacked(content: bytes, who: str) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            unpacked = file.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error):
        raise DataError(
            f"{who}: expected a gzip file, found another or a damaged one. Restore the file.",
            code="sidecar-malformed",
        ) from None
    if len(unpacked) > MOST_BYTES:
        raise DataError(
            f"{who}: expected at most {MOST_BYTES // 1024**2} MB of text, found more. Is it the "
            "right file?",
            code="file-too-large",
        )
    return unpacked


def read_table(path: Path, sep: str = "\t") -> pd.DataFrame:
    """All cells as stripped text, `n/a` as empty text; lower-case column names."""
    text = read_text(path)
    # Only a table whose header is quoted has quotes that are not part of the cells.
    quoted = sep != "\t" or text.lstrip().startswith('"')
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    try:
        lines = csv.reader(io.StringIO(text), delimiter=sep, quoting=quoting)
        rows = _filled(lines, path.name)
    except csv.Error as error:
        raise DataError(
            f"{path.name}: expected a table, found: {error}. Correct the file.",
            code="sidecar-malformed",
        ) from None
    if not rows:
        raise DataError(
            f"{path.name}: expected a table, found an empty file. Restore the file.",
            code="sidecar-malformed",
        )
    rows = _without_empty_ends(rows)
    header = [name.lower() for name in rows[0]]
    often, times = Counter(header).most_common(1)[0]
    if times > 1:
        # Only a name of ours is shown; another could be anybody's text.
        which = often if often in _COLUMNS else f"number {header.index(often) + 1}"
        raise DataError(
            f"{path.name}: expected each column once, found column {which} {times} times. Remove "
            "or rename one.",
            code="sidecar-malformed",
        )
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(header):
            raise DataError(
                f"{path.name}: expected {len(header)} columns as in its header, found {len(row)} "
                f"in row {number}. Correct this row.",
                code="sidecar-malformed",
            )
    frame = pd.DataFrame(rows[1:], columns=header, dtype=str)
    return frame.mask(frame.map(str.lower).isin(_MISSING), "")


def _without_empty_ends(rows: list[list[str]]) -> list[list[str]]:
    """Rows without the empty cells that spreadsheets write behind the last column."""
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


def _filled(lines: Iterator[list[str]], who: str) -> list[list[str]]:
    """Rows with something in them, stripped; a table that no sidecar has is refused early."""
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
    """A JSON object."""
    text = read_text(path)
    try:
        tree = json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(
            f"{path.name}: expected JSON, found a mistake in line {error.lineno}, column "
            f"{error.colno}. Correct this line.",
            code="sidecar-malformed",
        ) from None
    except (ValueError, RecursionError):
        raise DataError(
            f"{path.name}: expected JSON, found numbers of thousands of digits, or lists in lists "
            "without end. Correct the file.",
            code="sidecar-malformed",
        ) from None
    if not isinstance(tree, dict):
        raise DataError(
            f"{path.name}: expected a JSON object, found {type(tree).__name__}.",
            code="sidecar-malformed",
        )
    return tree


def as_number(text: Any) -> float | None:
    """A finite number, or None."""
    try:
        number = float(text)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if abs(number) < float("inf") else None


def natural(name: str) -> list[Any]:
    """Sort key under which A2 comes before A10."""
    return [int(part) if i % 2 else part for i, part in enumerate(re.split(r"(\d{1,18})", name))]
