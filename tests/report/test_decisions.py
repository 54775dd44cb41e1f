"""docs/decisions.md says what the rows are set to, as they are."""

from __future__ import annotations

from pathlib import Path

from epilens.methods import METHODS
from epilens.report.decisions import BEGIN, END, settings_table, with_settings

PAGE = (Path(__file__).parents[2] / "docs" / "decisions.md").read_text(encoding="utf-8")


def test_what_the_page_says_of_a_row_is_what_it_is_set_to():
    """A new row is no mistake of the page: `make docs` adds it."""
    shown = [line for line in PAGE.splitlines() if line in settings_table().splitlines()]
    there = PAGE.partition(BEGIN)[2].partition(END)[0].strip().splitlines()
    assert shown == there
    assert len(there) > 30


def test_the_page_is_made_anew_in_its_place():
    assert with_settings(with_settings(PAGE)) == with_settings(PAGE)
    assert with_settings(PAGE).partition(BEGIN)[0] == PAGE.partition(BEGIN)[0]


def test_every_setting_is_in_the_table():
    table = settings_table()
    assert all(f"| `{name}` |" in table for name in METHODS)
    assert "arguments.C 1.0" in table
    assert "encoder.dropout 0.4" in table
