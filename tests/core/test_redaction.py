"""Texts that are passed on name no file and quote no recording."""

from __future__ import annotations

from pathlib import Path

from epilens.core.redaction import describe_defect


def test_a_defect_is_named_by_type_and_place_without_its_text():
    try:
        int("Mustermann")
    except ValueError as error:
        text = describe_defect(error)
    assert text.startswith(f"ValueError in {Path(__file__).name}, line ")
    assert "Mustermann" not in text
    assert str(Path(__file__).parent) not in text
