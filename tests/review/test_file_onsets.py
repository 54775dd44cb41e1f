"""Which onset a run will use: shown before it runs, and how many seizures were used after it."""

from __future__ import annotations

import os

import pytest
from new_patients import write_edf
from trees import run_file, write_tree, write_tsv

from epilens.data.discovery import cases_of
from epilens.data.load_patient import load_patient
from epilens.localization.run_spec import Ranker, make_run_spec
from epilens.plan import Plan
from epilens.review.file_onsets import onsets_to_json
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


def uses(case, marks=None):
    return [(one["onsets_s"], one["use"]) for one in onsets_to_json(case, marks or PatientMarks())]


def test_a_recording_without_onset_will_be_skipped(case):
    annotated, none, _ = onsets_to_json(case, PatientMarks())
    assert annotated == {
        "onsets_s": [40.0],
        "use": "as annotated in the file or dataset",
        "skipped": False,
    }
    assert (none["onsets_s"], none["skipped"]) == ([], True)
    assert none["use"].startswith("no onset: will be skipped. Excluded: annotations: expected one")


def test_a_marked_recording_will_be_used(case):
    file = case.files[1]
    marks = PatientMarks(files={file.name: {"onsets": [{"onset_s": 39.0}]}})
    assert onsets_to_json(case, marks)[1] == {"onsets_s": [39.0], "use": "marked", "skipped": False}


def test_a_changed_file_is_read_again(case):
    file = case.files[1]
    assert uses(case)[1][0] == []
    write_edf(file.path, seed=1, notes=[(41.0, "EEG onset")])
    os.utime(file.path, (1, 1))
    assert uses(case)[1][0] == pytest.approx([41.0])


RUNS = {
    "two": [(40.0, "sz", 8.0), (52.0, "sz", 4.0)],
    "early": [(3.5, "sz onset", 0.0)],
    "none": [(3.5, "eyes closed", 0.0)],
    "one": [(40.0, "sz onset", 0.0)],
}


@pytest.fixture
def dataset(tmp_path):
    """A run with two seizures, one with an onset that is too early, one without, one as usual."""
    root = write_tree(tmp_path / "tree", runs=[str(i + 1) for i in range(len(RUNS))])
    for i, events in enumerate(RUNS.values()):
        rows = [{"onset": at, "duration": s, "trial_type": text} for at, text, s in events]
        write_tsv(run_file(root, "events.tsv", run=str(i + 1)), rows)
    (patient,) = cases_of([root])
    return patient


def analysed(case, marks=None):
    """The onsets that the analysis uses, by run."""
    spec = make_run_spec(case, METHOD, (marks or PatientMarks()).onsets)
    onsets = {}
    for recording in load_patient(spec.request(), Plan()).recordings:
        onsets.setdefault(recording.run.partition("+")[0], []).append(recording.onset.onset_s)
    return onsets


def test_a_dataset_has_the_onsets_that_the_analysis_uses(dataset):
    by_run = {
        file.name: onsets for file, (onsets, _) in zip(dataset.files, uses(dataset), strict=True)
    }
    assert list(by_run.values()) == [[40.0, 52.0], [], [], [40.0]]
    assert {name: onsets for name, onsets in by_run.items() if onsets} == analysed(dataset)
    assert "the onset is at 3.500 s" in uses(dataset)[1][1]
    assert "expected one event that means a seizure onset" in uses(dataset)[2][1]


def test_marked_onsets_of_a_dataset_are_checked_as_by_the_analysis(dataset):
    first = dataset.files[0].name
    marks = PatientMarks(files={first: {"onsets": [{"onset_s": 3.5}, {"onset_s": 41.0}]}})
    onsets_s, use = uses(dataset, marks)[0]
    assert (onsets_s, analysed(dataset, marks)[first]) == ([41.0], [41.0])
    assert use.startswith("marked. Excluded: expected at least")


def test_a_run_says_how_many_seizures_it_used(case, tmp_path):
    spec = make_run_spec(case, METHOD)
    run = PatientRuns(tmp_path / "runs", "sub-P1").begin(spec.inputs)
    work(run, spec)
    assert run.ranking.used == "1 of 3 seizures used"
    assert any("1 of 3 seizures used" in text for text in run.ranking.cautions)
