"""docs/decisions.md says what the rows are set to, as they are."""

from __future__ import annotations

from pathlib import Path

from epilens.methods import METHODS
from epilens.report.decisions import settings_table, with_settings

PAGE = (Path(__file__).parents[2] / "docs" / "decisions.md").read_text(encoding="utf-8")


def test_the_page_has_the_settings_of_the_code():
    assert with_settings(PAGE) == PAGE, (
        "write it anew: p.write_text(with_settings(p.read_text())) of epilens.report.decisions"
    )


def test_every_setting_is_in_the_table():
    table = settings_table()
    assert all(f"| `{name}` |" in table for name in METHODS)
    assert "arguments.C 1.0" in table
    assert "encoder.dropout 0.4" in table
