"""Clinical sheets: limits before anything is unpacked, and the cells as people see them."""

from __future__ import annotations

import re
import tracemalloc
import zipfile
from pathlib import Path

import openpyxl
import pytest

from epilens.core.errors import DataError
from epilens.data.user_files import SHEET_PARTS, read_sheet


def write(path: Path, *rows: tuple) -> Path:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def changed(path: Path, part: str, change) -> Path:
    """The file with one part replaced by what `change` makes of its text."""
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    parts[part] = change(parts[part].decode()).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return path


PAGE = "xl/worksheets/sheet1.xml"


def test_cells_are_texts_as_people_see_them(tmp_path):
    rows = [("dataset_id", "n", "on"), ("pt1", 3.0, True), (None, None, None), ("pt2", 2.5, None)]
    table = read_sheet(write(tmp_path / "a.xlsx", *rows), "sheet")
    assert table.to_dict("list") == {
        "dataset_id": ["pt1", "pt2"],
        "n": ["3", "2.5"],
        "on": ["True", ""],
    }


def test_a_sheet_without_cells_is_an_empty_table(tmp_path):
    assert read_sheet(write(tmp_path / "a.xlsx"), "sheet").empty


def last_corner(xml: str) -> str:
    return re.sub(
        "</sheetData>",
        '<row r="1048576"><c r="XFD1048576" t="inlineStr"><is><t>x</t></is></c></row></sheetData>',
        xml,
    )


def endless_column(xml: str) -> str:
    return re.sub(
        "</sheetData>",
        '<row r="3"><c r="ZZZZZZ3" t="inlineStr"><is><t>x</t></is></c></row></sheetData>',
        xml,
    )


def endless_row(xml: str) -> str:
    return re.sub(
        "</sheetData>",
        '<row r="99999999999"><c r="A99999999999"><v>1</v></c></row></sheetData>',
        xml,
    )


@pytest.mark.parametrize("change", [last_corner, endless_column, endless_row])
def test_a_small_sheet_that_says_it_is_endless_costs_little(tmp_path, change):
    path = changed(write(tmp_path / "a.xlsx", ("dataset_id",), ("pt1",)), PAGE, change)
    assert path.stat().st_size < 10_000
    tracemalloc.start()
    try:
        table = read_sheet(path, "sheet")
    except DataError as error:
        assert "at most" in str(error) or "cannot be read" in str(error)  # noqa: PT017
    else:
        assert table["dataset_id"].tolist()[0] == "pt1"
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6


def test_the_last_corner_of_a_sheet_is_refused(tmp_path):
    path = changed(write(tmp_path / "a.xlsx", ("dataset_id",), ("pt1",)), PAGE, last_corner)
    with pytest.raises(DataError, match="sheet: expected a sheet of at most 100000 rows, found"):
        read_sheet(path, "sheet")


def test_a_part_that_unpacks_to_very_much_is_refused_before_it_is_unpacked(tmp_path):
    path = write(tmp_path / "a.xlsx", ("dataset_id",))
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as file:
        file.writestr("xl/bomb.xml", bytes(40 * 1024**2))
    with pytest.raises(DataError, match="sheet of at most 16 MB unpacked, found 40 MB"):
        read_sheet(path, "sheet")


def test_a_part_that_is_packed_too_well_is_refused(tmp_path):
    path = write(tmp_path / "a.xlsx", ("dataset_id",))
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as file:
        file.writestr("xl/bomb.xml", bytes(4 * 1024**2))
    with pytest.raises(DataError, match="parts packed up to 200 times, found one packed"):
        read_sheet(path, "sheet")


def test_very_many_parts_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as file:
        for i in range(SHEET_PARTS + 1):
            file.writestr(f"{i}.xml", b"")
    with pytest.raises(DataError, match="at most 500 parts, found 501"):
        read_sheet(tmp_path / "a.xlsx", "sheet")


def test_very_many_columns_are_refused(tmp_path):
    path = write(tmp_path / "a.xlsx", tuple(f"c{i}" for i in range(600)))
    with pytest.raises(DataError, match="at most 500 columns"):
        read_sheet(path, "sheet")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"x" * 5000])
def test_a_file_that_is_no_sheet_is_one_sentence(tmp_path, content):
    (tmp_path / "a.xlsx").write_bytes(content)
    with pytest.raises(DataError, match="sheet: expected an Excel sheet, found a file that"):
        read_sheet(tmp_path / "a.xlsx", "sheet")
