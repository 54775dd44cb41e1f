"""Files for planning tools: known points keep their side, and every file states what it is."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import openpyxl
import pytest
from localized_patients import HOSTILE, hostile, usual

from epilens.core.errors import DataError
from epilens.data.electrodes.positions import read_electrodes
from epilens.report.patient.derivative import remove_results, write_derivative
from epilens.report.patient.planning import planning_files, slicer_markups, workbook


@pytest.fixture
def folder(tmp_path):
    write_derivative(usual(), tmp_path)
    return tmp_path / "sub-Usual" / "planning"


def test_markups_are_in_lps_and_read_back_as_they_were(folder):
    path = folder / "sub-Usual_contacts.mrk.json"
    (markup,) = json.loads(path.read_text())["markups"]
    assert (markup["coordinateSystem"], markup["coordinateUnits"]) == ("LPS", "mm")
    first = {point["label"]: point["position"] for point in markup["controlPoints"]}["LA1"]
    assert first == [30.0, 20.0, 0.0], "LA1 is 30 mm to the left, 20 mm to the back"
    positions, _ = read_electrodes(path, "", "sub-Usual")
    expected = dict(zip(usual().channels, usual().positions_mm, strict=True))
    assert positions.mm == {name: at for name, at in expected.items() if at is not None}


def test_a_point_has_score_and_probability(folder):
    localized = usual()
    points = slicer_markups(localized)["markups"][0]["controlPoints"]
    best = localized[0]
    assert points[0]["label"] == best["name"]
    assert (
        f"EZ score {best['ez_score']:.3f}; P(EZ) {best['ez_probability']:.3f}"
        in (points[0]["description"])
    )
    assert "research use only" in points[0]["description"]
    top = [name for name in localized.contacts["name"][: localized.k] if name != "LB3"]
    assert [point["label"] for point in points if point["selected"]] == top


def test_the_electrodes_table_and_its_coordinate_system_are_read_back(folder):
    path = folder / "sub-Usual_electrodes.tsv"
    header, *rows = [line.split("\t") for line in path.read_text().splitlines()]
    assert header[:5] == ["name", "x", "y", "z", "size"]
    assert [row[0] for row in rows] == usual().contacts["name"].tolist()
    score = header.index("ez_score")
    assert float(rows[0][score]) == pytest.approx(usual()[0]["ez_score"], abs=1e-4)
    positions, notes = read_electrodes(path, "", "sub-Usual")
    assert (positions.space, notes) == ("MNI152NLin2009bAsym", [])
    assert positions.mm["LA1"] == (-30.0, -20.0, 0.0)


def test_the_workbook_has_numbers_and_no_formulas():
    book = openpyxl.load_workbook(io.BytesIO(workbook(hostile())))
    header, *rows = book["contacts"].iter_rows()
    names = [row[0].value for row in rows]
    assert f"'{HOSTILE[2]}" in names
    assert all(cell.data_type != "f" for row in (header, *rows) for cell in row)
    score = [cell.value for cell in header].index("ez_score")
    assert rows[0][score].value == pytest.approx(hostile()[0]["ez_score"])
    about = {row[0].value: row[1].value for row in book["about"].iter_rows()}
    assert about["use"].startswith("Research use only")
    assert about["coordinate system"] == "not stated"


def test_without_positions_there_are_no_markups():
    assert not [name for name in planning_files(hostile()) if name.endswith(".mrk.json")]


def test_files_of_an_earlier_result_are_removed(folder):
    stale = folder / "sub-Usual_old.mrk.json"
    stale.write_text("{}")
    out = folder.parents[1]
    write_derivative(usual(), out)
    assert not stale.exists()
    assert len(list(folder.iterdir())) == 4
    remove_results("sub-Usual", out)
    assert list(folder.iterdir()) == []


def test_the_page_of_a_patient_with_other_capitals_is_not_overwritten(tmp_path):
    localized = usual()
    write_derivative(localized, tmp_path)
    other = replace(localized, patient=localized.patient.upper())
    with pytest.raises(DataError, match="expected a name that differs"):
        write_derivative(other, tmp_path)
