"""Interrupted recordings: onsets are mapped through gaps, and a gap around the onset is refused."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import edfio
import mne
import numpy as np
import pytest
from trees import FS, NAMES, noise, whys, write_run, write_tree

from epilens import read_bids
from epilens.core.errors import DataError
from epilens.data.load_patient import PatientInput, load_patient
from epilens.data.readers.edf_reader import open_edf
from epilens.data.readers.mne_reader import open_mne
from epilens.plan import Plan

SECONDS, GAP_S = 120, 8


def write_interrupted(path: Path, after_s: int, marked_s: float | None = None) -> Path:
    """EDF+D with a gap of 8 s; an onset is annotated by the clock."""
    data = noise(duration_s=SECONDS)
    signals = [
        edfio.EdfSignal(x, FS, label=n, physical_dimension="uV", physical_range=(-3000, 3000))
        for x, n in zip(data, NAMES, strict=True)
    ]
    notes = [] if marked_s is None else [edfio.EdfAnnotation(marked_s, None, "EEG onset")]
    recording = edfio.Recording(startdate=date(2026, 1, 5))
    edfio.Edf(signals, annotations=notes, recording=recording, data_record_duration=1.0).write(path)
    content = path.read_bytes().replace(b"EDF+C", b"EDF+D", 1)

    def later(match: re.Match[bytes]) -> bytes:
        start = int(match[1])
        moved = b"+%d\x14\x14" % (start + GAP_S if start >= after_s else start)
        return moved.ljust(len(match[0]), b"\x00")

    content = re.sub(rb"\+(\d+)\x14\x14\x00", later, content)
    path.write_bytes(content)
    return path


def loaded(path: Path, *onsets_s: float | str):
    return load_patient(PatientInput(path, onsets=onsets_s), Plan())


def test_a_file_says_where_it_was_interrupted(tmp_path):
    (gap,) = open_mne(write_interrupted(tmp_path / "a.edf", 20)).breaks
    assert (gap.at_s, gap.missing_s) == (20.0, 8.0)


def test_the_review_s_reader_maps_annotations_of_a_file_that_calls_itself_continuous(tmp_path):
    path = write_interrupted(tmp_path / "a.edf", 20, marked_s=68.0)
    path.write_bytes(path.read_bytes().replace(b"EDF+D", b"EDF+C", 1))
    reader = open_edf(path)
    assert reader is not None
    assert [(gap.at_s, gap.missing_s) for gap in reader.breaks] == [(20.0, 8.0)]
    assert [(event.onset_s, event.text) for event in reader.annotations()] == [(60.0, "EEG onset")]
    assert reader.annotations() == open_mne(path).annotations()


def test_an_annotated_onset_is_mapped_through_a_gap(tmp_path):
    path = write_interrupted(tmp_path / "a.edf", 20, marked_s=68.0)
    patient = loaded(path)
    assert patient.recordings[0].onset.onset_s == pytest.approx(60.0)
    (row,) = [row for row in patient.rows if row.code == "signal-interrupted"]
    assert "8.0 s earlier, at 60.0 s" in row.why


def test_a_given_onset_after_a_gap_is_questioned(tmp_path):
    patient = loaded(write_interrupted(tmp_path / "a.edf", 20), 68.0)
    assert patient.recordings[0].onset.onset_s == 68.0
    (row,) = [row for row in patient.rows if row.code == "signal-interrupted"]
    assert "If it counts by the clock, give 60.0 s" in row.why


def test_an_interval_that_contains_a_gap_is_refused(tmp_path):
    path = write_interrupted(tmp_path / "a.edf", 50)
    with pytest.raises(DataError, match=r"found a gap of 8\.0 s after 50\.0 s"):
        loaded(path, 60.0)


def test_margins_end_at_a_gap(tmp_path):
    patient = loaded(write_interrupted(tmp_path / "a.edf", 28), 60.0)
    assert patient.recordings[0].start_s == pytest.approx(-32.0)


def test_joined_recordings_are_interrupted(tmp_path):
    info = mne.create_info(list(NAMES), FS, "seeg")
    parts = [mne.io.RawArray(noise(duration_s=60, seed=s) * 1e-6, info) for s in (0, 1)]
    joined = mne.concatenate_raws(parts, verbose="ERROR")
    with pytest.raises(DataError, match=r"found a gap after 60\.0 s"):
        load_patient(PatientInput(joined, onsets=(70.0,)), Plan())


def test_onsets_of_a_dataset_are_mapped_through_gaps(tmp_path):
    root = write_tree(tmp_path, runs=())
    signal = write_run(root, events=[(68.0, "EEG onset")], data=noise(duration_s=SECONDS))
    write_interrupted(signal, 20)
    (recording,) = read_bids(root)
    assert recording.onset.onset_s == pytest.approx(60.0)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("epoched", "expected a continuous recording of the seizure"),
        ("discontinuous", "sidecars say that the recording is discontinuous"),
    ],
)
def test_the_type_that_sidecars_state_is_respected(tmp_path, kind, words):
    root = write_tree(tmp_path, runs=())
    write_run(root, fields={"RecordingType": kind})
    write_run(root, run="02")
    recordings = read_bids(root)
    assert len(list(recordings)) == (2 if kind == "discontinuous" else 1)
    assert any(words in why for why in whys(recordings))


@pytest.mark.parametrize("text", ["00:01:00", "2026-01-05T00:01:00", "2026-01-05 00:01:00"])
def test_a_clock_time_is_an_onset(tmp_path, text):
    path = write_interrupted(tmp_path / "a.edf", 1000)
    assert loaded(path, text).recordings[0].onset.onset_s == pytest.approx(60.0)


def test_a_clock_time_counts_gaps(tmp_path):
    path = write_interrupted(tmp_path / "a.edf", 20)
    assert loaded(path, "00:01:08").recordings[0].onset.onset_s == pytest.approx(60.0)


def test_a_clock_time_outside_the_recording_is_refused(tmp_path):
    path = write_interrupted(tmp_path / "a.edf", 1000)
    with pytest.raises(DataError, match=r"from 00:00:00 to 00:02:00, .*found 09:00:00"):
        loaded(path, "09:00:00")


def test_a_recording_without_start_time_needs_seconds():
    raw = mne.io.RawArray(noise(duration_s=60) * 1e-6, mne.create_info(list(NAMES), FS, "seeg"))
    with pytest.raises(DataError, match="has no start time"):
        load_patient(PatientInput([raw], onsets=("00:00:40",)), Plan())


def test_words_are_not_onsets(tmp_path):
    path = write_interrupted(tmp_path / "a.edf", 1000)
    with pytest.raises(DataError, match="in seconds or a clock time, found 'noon'"):
        loaded(path, "noon")


def test_a_continuous_file_has_no_gap(tmp_path):
    assert open_mne(write_interrupted(tmp_path / "a.edf", 1000)).breaks == ()
    assert np.isfinite(loaded(tmp_path / "a.edf", 60.0).recordings[0].signal).all()
