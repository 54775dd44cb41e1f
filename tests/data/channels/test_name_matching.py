"""Contacts that recordings spell differently are one contact."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from epilens.data.audit import AuditRow
from epilens.data.channels.name_matching import NameMatcher
from epilens.data.load_patient import PatientInput, load_patient
from epilens.plan import Plan
from epilens.testing import make_recording

FIRST = ("EEG RB 01-Ref", "EEG RB 02-Ref", "EEG RC 01-Ref", "EEG RC 02-Ref")


def matched(*spellings):
    matcher, rows, channels = NameMatcher(), list[AuditRow](), []
    for i, names in enumerate(spellings):
        recording = make_recording(run=f"run-{i}", channels=names, fs=64.0, seed=i)
        recording = matcher.match(recording, rows)
        assert set(recording.positions.mm) == set(recording.channels)
        channels.append(recording.channels)
    return channels, rows


def test_other_spellings_become_the_first_one():
    channels, rows = matched(FIRST, ("RB 1", "rb2", "POL RC1", "RC 02"))
    assert channels == [FIRST, FIRST]
    assert [(row.code, row.effect, row.run) for row in rows] == [
        ("names-matched", "noted", "run-1")
    ]
    assert "4 contacts are spelled differently than in run-0" in rows[0].why
    assert "RB 1 as EEG RB 01-Ref" in rows[0].why


def test_what_has_no_match_is_said():
    channels, rows = matched(FIRST, ("RB1", "RB2", "RX7"))
    assert channels[1] == (*FIRST[:2], "RX7")
    assert "1 have no match (RX7)" in rows[0].why


def test_the_same_spelling_needs_no_row():
    channels, rows = matched(FIRST, FIRST[::-1], FIRST[:2])
    assert channels == [FIRST, FIRST[::-1], FIRST[:2]]
    assert rows == []


def test_electrodes_that_differ_in_capitals_alone_are_not_confused():
    both = ("a1", "A1", "B1")
    channels, rows = matched(both, both)
    assert channels == [both, both]
    assert rows == []


def test_a_patient_keeps_its_number_of_contacts():
    first = make_recording(run="run-1", channels=FIRST, seed=1)
    second = make_recording(run="run-2", channels=("RB 1", "RB 2", "RC 1", "RC 2"), seed=2)
    loaded = load_patient(PatientInput([first, second]), Plan())
    assert [recording.channels for recording in loaded.recordings] == [FIRST, FIRST]
    np.testing.assert_array_equal(loaded.recordings[1].signal, second.signal)
    assert replace(loaded.recordings[1], channels=second.channels).is_ez == second.is_ez
