"""docs/decisions.md lists the settings of every method as they are."""

from __future__ import annotations

from pathlib import Path

from tools.decisions import BEGIN, END, settings_table, with_settings

from epilens.methods import METHODS

PAGE = (Path(__file__).parents[2] / "docs" / "decisions.md").read_text(encoding="utf-8")


def test_the_page_has_the_settings_that_a_method_has():
    """A method that the page lacks is not a mistake: `make docs` adds it."""
    current = [line for line in PAGE.splitlines() if line in settings_table().splitlines()]
    on_page = PAGE.partition(BEGIN)[2].partition(END)[0].strip().splitlines()
    assert current == on_page
    assert len(on_page) > 30


def test_only_the_generated_part_of_the_page_is_replaced():
    assert with_settings(with_settings(PAGE)) == with_settings(PAGE)
    assert with_settings(PAGE).partition(BEGIN)[0] == PAGE.partition(BEGIN)[0]


def test_every_setting_is_in_the_table():
    table = settings_table()
    assert all(f"| `{name}` |" in table for name in METHODS)
    assert "arguments.C 1.0" in table
    assert "encoder.dropout 0.4" in table
