"""Which onset a run will use: shown before it runs, and how many seizures were used after it."""

from __future__ import annotations

import os

import pytest
from new_patients import write_edf

from epilens.data.discovery import cases_of
from epilens.localization.run_spec import Ranker, make_run_spec
from epilens.review.file_onsets import annotated_onset, onset_to_json
from epilens.review.marks import PatientMarks
from epilens.review.runs import PatientRuns
from epilens.review.worker import work

METHOD = Ranker("line-length-change", "Line-length change", "method", "line-length-change")


@pytest.fixture
def case(tmp_path):
    write_edf(tmp_path / "1.edf", notes=[(40.0, "EEG onset")])
    write_edf(tmp_path / "2.edf", seed=1)
    write_edf(tmp_path / "3.edf", seed=2)
    (patient,) = cases_of([tmp_path], "P1")
    return patient


def test_a_recording_without_onset_will_be_skipped(case):
    annotated, none, _ = (onset_to_json(file, PatientMarks()) for file in case.files)
    assert (annotated["use"], annotated["skipped"]) == (
        "40.0 s, as annotated in the file or dataset",
        False,
    )
    assert (none["use"], none["skipped"]) == ("no onset: will be skipped", True)


def test_a_marked_recording_will_be_used(case):
    file = case.files[1]
    marks = PatientMarks(files={file.name: {"onsets": [{"onset_s": 39.0}]}})
    assert onset_to_json(file, marks) == {"onsets_s": [39.0], "use": "marked", "skipped": False}


def test_a_changed_file_is_read_again(case):
    file = case.files[1]
    assert annotated_onset(file) is None
    write_edf(file.path, seed=1, notes=[(41.0, "EEG onset")])
    os.utime(file.path, (1, 1))
    assert annotated_onset(file).onset_s == pytest.approx(41.0)


def test_a_run_says_how_many_seizures_it_used(case, tmp_path):
    spec = make_run_spec(case, METHOD)
    run = PatientRuns(tmp_path / "runs", "sub-P1").begin(spec.inputs)
    work(run, spec)
    assert run.ranking.used == "1 of 3 seizures used"
    assert any("1 of 3 seizures used" in text for text in run.ranking.cautions)
