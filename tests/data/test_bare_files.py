"""Recordings without sidecars: a file and an open object are one thing to the reader."""

from __future__ import annotations

from dataclasses import replace

import mne
import numpy as np
import pytest
from trees import FS, NAMES, noise, write_edf, write_fif

from epilens.core.errors import DataError, OnsetError
from epilens.data.load_patient import PatientInput, load_patient
from epilens.plan import Plan

AT_40 = PatientInput((), onsets=(40.0,))


@pytest.fixture
def file(tmp_path):
    write_edf(tmp_path / "a.edf", noise(), annotations=[(40.0, 0.0, "sz onset")])
    return tmp_path / "a.edf"


def open_object(path):
    return mne.io.read_raw(path, verbose="ERROR")


def test_a_file_and_the_object_that_was_read_from_it_are_the_same_recording(file):
    [by_path] = load_patient(replace(AT_40, patient=file), Plan()).recordings
    [by_object] = load_patient(replace(AT_40, patient=[open_object(file)]), Plan()).recordings
    np.testing.assert_array_equal(by_path.signal, by_object.signal)
    assert (by_path.start_s, by_path.onset, by_path.channels, by_path.content) == (
        by_object.start_s,
        by_object.onset,
        by_object.channels,
        by_object.content,
    )
    assert (by_path.source, by_object.source) == (file, None)


def test_a_file_is_opened_once(file, monkeypatch):
    opened, read = [], mne.io.read_raw
    monkeypatch.setattr(mne.io, "read_raw", lambda path, **how: opened.append(path) or read(path))
    load_patient(PatientInput(file), Plan())
    assert opened == [file]


def test_an_object_may_stand_alone(file):
    [recording] = load_patient(PatientInput(open_object(file)), Plan()).recordings
    assert recording.onset.rule == "onset marker"


def test_a_file_and_an_object_may_be_given_together_with_their_onsets(file, tmp_path):
    write_edf(tmp_path / "b.edf", noise(seed=1))
    loaded = load_patient(PatientInput([(file, 40), (open_object(tmp_path / "b.edf"), 41)]), Plan())
    assert [(r.run, r.onset.onset_s) for r in loaded.recordings] == [
        ("seizure-1", 40.0),
        ("seizure-2", 41.0),
    ]


def test_an_object_is_checked_like_a_file(file):
    raw = open_object(file).load_data(verbose="ERROR")
    raw._data[0] = 0.0
    raw._data[1, 100:110] = np.nan
    raw.info["bads"] = ["A3"]
    loaded = load_patient(replace(AT_40, patient=[raw]), Plan())
    assert loaded.recordings[0].channels == ("A2", "A4", "B1", "B2")
    rows = {(row.channel, row.found or row.why, row.effect) for row in loaded.rows}
    assert ("A1", "flat before onset", "excluded") in rows
    assert ("A3", "is marked bad in the recording", "excluded") in rows


def test_an_object_without_a_unit_says_so(tmp_path):
    write_edf(tmp_path / "a.edf", noise() * 1e-6, unit="", limit=400e-6)
    loaded = load_patient(replace(AT_40, patient=[open_object(tmp_path / "a.edf")]), Plan())
    assert "no unit is stated for 6 channels; values are used as the reader gives them" in [
        row.why for row in loaded.rows
    ]


def test_an_object_without_an_onset_is_left_out_and_the_others_count(file, tmp_path):
    write_edf(tmp_path / "b.edf", noise(seed=1))
    loaded = load_patient(
        PatientInput([open_object(file), open_object(tmp_path / "b.edf")]), Plan()
    )
    assert len(loaded.recordings) == 1
    [(name, why)] = loaded.left_out.items()
    assert name == "seizure-2"
    assert why.endswith("found no events. Give the onset of every file with --onset.")
    assert ("seizure", "seizure-2") in [(row.what, row.run) for row in loaded.rows]


def test_a_file_with_a_montage_has_positions(tmp_path):
    path = tmp_path / "a_raw.fif"
    write_fif(path, noise())
    raw = open_object(path)
    at = {name: np.array([0.01 * i, 0.02, 0.03]) for i, name in enumerate(NAMES)}
    raw.set_montage(mne.channels.make_dig_montage(at, coord_frame="head"))
    raw.save(tmp_path / "b_raw.fif", verbose="ERROR")
    [recording] = load_patient(replace(AT_40, patient=tmp_path / "b_raw.fif"), Plan()).recordings
    np.testing.assert_allclose(recording.positions.mm["A3"], [20, 20, 30], atol=1e-3)


def test_what_mne_has_cut_into_epochs_is_refused(file):
    epochs = mne.make_fixed_length_epochs(open_object(file), 2.0, verbose="ERROR")
    with pytest.raises(DataError, match=r"expected paths, mne\.io\.Raw objects.*found Epochs\."):
        load_patient(replace(AT_40, patient=[epochs]), Plan())


def test_an_empty_object_is_refused():
    info = mne.create_info(list(NAMES), FS, "seeg", verbose="ERROR")
    raw = mne.io.RawArray(np.zeros((len(NAMES), 0)), info, verbose="ERROR")
    with pytest.raises(DataError, match="expected signal, found a recording of zero length"):
        load_patient(replace(AT_40, patient=[raw]), Plan())


def test_as_many_onsets_as_recordings(file):
    with pytest.raises(OnsetError, match=r"one onset for each of 2 recordings, found 1\. Give"):
        load_patient(replace(AT_40, patient=[open_object(file), file]), Plan())
