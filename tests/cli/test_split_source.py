"""The first argument of `epilens localize` may be left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from epilens.cli.localize import split_names, split_source
from epilens.core.errors import DataError


def test_a_method_or_a_model_comes_first(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.json").write_text("{}")
    for first in ("fragility", "line-length-spread/shaft", str(tmp_path / "model")):
        assert split_source([first, "a.edf"]) == (first, [Path("a.edf")])


def test_what_exists_and_is_no_model_is_a_recording(tmp_path):
    folder, file = tmp_path / "sub-01", tmp_path / "a.edf"
    folder.mkdir()
    file.write_bytes(b"")
    for given in ([str(folder)], [str(file), "b.edf"], [str(tmp_path / "gone.edf")]):
        assert split_source(given) == (None, [Path(one) for one in given])


def test_a_model_that_is_not_there_is_not_taken_for_a_recording():
    assert split_source(["modle", "a.edf"]) == ("modle", [Path("a.edf")])


def test_a_recording_that_is_not_there_is_not_taken_for_a_model():
    assert split_source(["gone.EDF", "b.edf"]) == (None, [Path("gone.EDF"), Path("b.edf")])


def test_a_method_without_recordings_is_reported():
    with pytest.raises(DataError, match="expected recordings after fragility, found none"):
        split_source(["fragility"])


def test_channels_to_leave_out_by_name_and_by_table(tmp_path):
    table = tmp_path / "channels.tsv"
    table.write_text("name\tstatus\nA1\tbad\nA2\tgood\n'=B1\tBAD\n")
    assert list(split_names(["C1, C2", str(table)])) == ["C1", "C2", "A1", "=B1"]
    table.write_text("name\nA1\nA2\n")
    assert list(split_names([str(table)])) == ["A1", "A2"]


def test_a_table_of_channels_that_is_none_is_refused(tmp_path):
    with pytest.raises(DataError, match="expected a table of channels, found nothing"):
        split_names([str(tmp_path / "gone.tsv")])
    (tmp_path / "x.tsv").write_text("a\tb\n1\t2\n")
    with pytest.raises(DataError, match="expected a column name, found a, b"):
        split_names([str(tmp_path / "x.tsv")])
