"""The first argument of `epilens localize` may be left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from epilens.errors import DataError
from epilens.report.localized import split_source


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


def test_a_method_without_recordings_is_told():
    with pytest.raises(DataError, match="expected recordings after fragility, found none"):
        split_source(["fragility"])
