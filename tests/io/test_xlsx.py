"""Workbooks are read by openpyxl as they were given."""

from __future__ import annotations

import io

import openpyxl

from epilens.io.xlsx import workbook_of

ROWS = [
    ["name", "score", "rank", "flagged", "note"],
    ["A'1 <&>", 0.1 + 0.2, 3, True, None],
    ["=1+1", -1e-300, 0, False, 'line\nbreak, "quotes", µV, \U0001f9e0'],
    [" spaces ", 1e22, 12, None, "control \x07"],
]


def opened(content):
    return openpyxl.load_workbook(io.BytesIO(content))


def test_cells_are_read_as_they_were_given():
    book = opened(workbook_of({"contacts": ROWS, "about": [["use"], []]}))
    assert book.sheetnames == ["contacts", "about"]
    read = [list(row) for row in book["contacts"].iter_rows(values_only=True)]
    assert read[:3] == ROWS[:3]
    assert read[3] == [" spaces ", 1e22, 12, None, "control \ufffd"]
    assert book["contacts"]["A3"].data_type == "s", "a text is never a formula"
    assert isinstance(read[1][2], int)


def test_the_first_row_and_column_of_the_first_sheet_stay_visible():
    book = opened(workbook_of({"a & b": ROWS, "about": ROWS}))
    assert book.sheetnames == ["a & b", "about"]
    assert book["a & b"].freeze_panes == "B2"
    assert book["about"].freeze_panes is None


def test_the_same_tables_give_the_same_bytes():
    assert workbook_of({"a": ROWS}) == workbook_of({"a": ROWS})
