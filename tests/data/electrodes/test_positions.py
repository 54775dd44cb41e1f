"""Positions of bipolar channels: in the middle between both contacts, or nowhere."""

from __future__ import annotations

import pytest

from epilens.core.errors import DataError
from epilens.data.electrodes.positions import Positions, place_contacts
from epilens.testing import make_recording

AT = {"EEG A1-Ref": (0.0, 0.0, 0.0), "A2": (4.0, 2.0, -6.0), "A3": (8.0, 4.0, -12.0)}


def test_a_pair_lies_in_the_middle_between_its_contacts():
    found = Positions(AT, "MNI152").of(["A1-A2", "A2", "A2-A9", "ECG-x"])
    assert found.mm == {"A1-A2": (2.0, 1.0, -3.0), "A2": (4.0, 2.0, -6.0)}
    assert found.of(["A1-A2"]).mm == {"A1-A2": (2.0, 1.0, -3.0)}


def test_a_table_of_contacts_places_a_bipolar_recording(tmp_path):
    table = tmp_path / "sub-1_electrodes.tsv"
    table.write_text("name\tx\ty\tz\nA1\t0\t0\t0\nA2\t4\t2\t-6\nnone\t9\t9\t9\n")
    recording = make_recording(channels=("EEG A1-A2", "B1-B2", "A2"), fs=128.0)
    (placed,), _ = place_contacts([recording], table, "MNI152")
    assert placed.positions.mm["EEG A1-A2"] == pytest.approx((2, 1, -3))
    assert set(placed.positions.mm) == {"EEG A1-A2", "A2"}


def positions(tmp_path, rows, names=("A1", "A2", "A3", "A4")):
    table = tmp_path / "sub-1_electrodes.tsv"
    table.write_text("name\tx\ty\tz\n" + "".join(f"{name}\t{at}\t{at}\t0\n" for name, at in rows))
    (placed,), audit = place_contacts([make_recording(channels=names, fs=128.0)], table, "MNI152")
    return placed.positions.mm, [(row.code, row.why) for row in audit]


def test_a_contact_with_two_positions_has_none_and_a_row(tmp_path):
    mm, rows = positions(tmp_path, [("A1", 1), ("A2", 2), ("A 02", 9), ("A3", 3), ("A3", 3)])
    assert set(mm) == {"A1", "A3"}
    [(code, why)] = rows
    assert code == "positions"
    assert why == "1 contacts are listed more than once with different positions and get none (A2)"


def test_metres_without_a_unit_are_noticed(tmp_path):
    rows = [("A1", 0.01), ("A2", 0.0135), ("A3", 0.017), ("A4", 0.0205)]
    mm, audit = positions(tmp_path, rows)
    assert mm["A2"] == pytest.approx((13.5, 13.5, 0))
    assert "metres assumed" in audit[0][1]


def test_a_short_electrode_in_millimetres_stays_as_it_is(tmp_path):
    mm, audit = positions(tmp_path, [("A1", 10), ("A2", 13.5), ("A3", 17), ("A4", 20.5)])
    assert mm["A2"] == pytest.approx((13.5, 13.5, 0))
    assert audit == []


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (
            ["A1\t10\t10\t10", "A2\t10\t10\t10", "A3\t10\t10\t10", "A4\t10\t10\t10"],
            "the same within",
        ),
        (["A1\t1,5\t2,5\t3,5", "A2\t1,5\t2,5\t7,0"], "not numbers.*decimal point"),
        (["A1\t1e308\t2\t3", "A2\t1e308\t2\t6"], "more than 10 m away"),
    ],
)
def test_positions_that_cannot_be_used_say_why(tmp_path, rows, why):
    table = tmp_path / "electrodes.tsv"
    table.write_text("\n".join(["name\tx\ty\tz", *rows]) + "\n")
    part = make_recording(channels=["A1", "A2", "A3", "A4"])
    with pytest.raises(DataError, match=why):
        place_contacts([part], table, "MNI152NLin2009cAsym")
