"""Positions of bipolar channels: in the middle between both contacts, or nowhere."""

from __future__ import annotations

import pytest

from epilens.data.positions import Positions, place_contacts
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
