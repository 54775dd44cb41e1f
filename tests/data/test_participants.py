"""Who is in a cohort: outcomes that the plan or the dataset's row includes."""

from __future__ import annotations

import pytest
from trees import codes, whys, write_dataset, write_run, write_tree, write_tsv

from epilens.core.errors import DataError, PlanError
from epilens.data.bids import read_bids
from epilens.plan import Plan

DOI = "doi:10.18112/openneuro.{}.v1"


def cohort(root, **columns):
    """Three patients; a column of participants.tsv for each keyword."""
    names = ["01", "02", "03"]
    write_tree(root, patients=names, kind=None)
    rows = [
        {"participant_id": f"sub-{name}"} | {key: cells[i] for key, cells in columns.items()}
        for i, name in enumerate(names)
    ]
    write_tsv(root / "participants.tsv", rows)
    return root


def plan(*outcomes: str) -> Plan:
    return Plan().override(cohort={"outcomes": outcomes})


def names(recordings):
    return [patient.name for patient in recordings.patients]


def test_everybody_is_in_a_local_cohort_by_default(tmp_path):
    assert len(read_bids(cohort(tmp_path, outcome=["S", "F", "n/a"])).patients) == 3


def test_only_planned_outcomes_are_in_and_the_others_have_a_row(tmp_path):
    recordings = read_bids(cohort(tmp_path, outcome=["S", "F", "n/a"]), plan=plan("S"))
    assert names(recordings) == ["sub-01"]
    assert whys(recordings, what="patient", effect="excluded") == [
        "outcome is F, not S (seizure-free)",
        "outcome is not given, not S (seizure-free)",
    ]


@pytest.mark.parametrize("spelling", ["s", "S", " S "])
def test_capitals_do_not_matter(tmp_path, spelling):
    recordings = read_bids(cohort(tmp_path, outcome=[spelling, "F", "F"]), plan=plan("s"))
    assert names(recordings) == ["sub-01"]


def test_several_outcomes_in_a_centers_own_words(tmp_path):
    root = cohort(tmp_path, outcome=["Seizure free", "better", "worse"])
    recordings = read_bids(root, plan=plan("seizure free", "Better"))
    assert names(recordings) == ["sub-01", "sub-02"]
    assert whys(recordings, what="patient") == [
        "outcome is another one, not seizure free or Better"
    ]


@pytest.mark.parametrize("column", ["engel", "engel_score"])
def test_without_outcomes_an_engel_class_tells(tmp_path, column):
    root = cohort(tmp_path, **{column: ["1B", "III", "-1.0"]})
    assert names(read_bids(root, plan=plan("S"))) == ["sub-01"]
    assert names(read_bids(root, plan=plan("F"))) == ["sub-02"]


def test_an_outcome_that_is_written_wins_over_the_engel_class(tmp_path):
    root = cohort(tmp_path, outcome=["F", "S", "n/a"], engel=["I", "IV", "I"])
    assert names(read_bids(root, plan=plan("S"))) == ["sub-02"]


def test_the_plan_replaces_the_outcomes_of_a_datasets_row(tmp_path):
    root = cohort(tmp_path, outcome=["S", "F", "F"])
    write_dataset(tmp_path / "other", DatasetDOI=DOI.format("ds004100"))
    (tmp_path / "other" / "dataset_description.json").replace(root / "dataset_description.json")
    assert names(read_bids(root, None)) == ["sub-01"]
    assert names(read_bids(root, None, plan("F"))) == ["sub-02", "sub-03"]


def test_who_is_in_a_study_stays_the_rows_own_rule(tmp_path):
    write_dataset(tmp_path, ["pt2", "pt3", "pt99"], DatasetDOI=DOI.format("ds003029"))
    for patient in ("pt2", "pt3", "pt99"):
        write_run(tmp_path, patient, kind=None)
    rows = [{"participant_id": f"sub-{p}", "outcome": o} for p, o in (("pt2", "S"), ("pt3", "F"))]
    write_tsv(tmp_path / "participants.tsv", [*rows, {"participant_id": "pt99", "outcome": "S"}])
    assert names(read_bids(tmp_path, None)) == ["sub-pt2", "sub-pt3"]
    recordings = read_bids(tmp_path, None, plan("S"))
    assert names(recordings) == ["sub-pt2"]
    assert codes(recordings, patient="sub-pt99")[0] == "outcome"


def test_nobody_with_that_outcome_is_one_clear_sentence(tmp_path):
    with pytest.raises(DataError, match=r"none among 3 \(3 × outcome is F, not S \(seizure-free"):
        read_bids(cohort(tmp_path, outcome=["F", "F", "F"]), plan=plan("S"))


def test_an_empty_outcome_is_refused_in_the_plan():
    with pytest.raises(PlanError, match=r"cohort\.outcomes\.0"):
        plan("")
