"""A new patient of a BIDS tree: by its dataset's own rules, whoever it is."""

from __future__ import annotations

import pytest
from trees import (
    channel_rows,
    noise,
    run_file,
    write_dataset,
    write_run,
    write_sheet,
    write_tree,
    write_tsv,
)

from epilens.core.errors import DataError, OnsetError
from epilens.data.bids import read_bids
from epilens.data.load_patient import PatientInput, load_patient
from epilens.evidence.describe import describe
from epilens.plan import Plan
from epilens.report.patient.localize import localize

DOI = "doi:10.18112/openneuro.{}.v1"


def labels(recording):
    return {n for n, ez in zip(recording.channels, recording.is_ez or (), strict=False) if ez}


def multisite(root):
    """A patient that is not in the paper's table, without labels in its sidecars."""
    write_dataset(root, ["pt99"], DatasetDOI=DOI.format("ds003029"))
    write_run(root, "pt99", channels=channel_rows(ez=[]))
    return root


def rows_of(loaded, **where):
    return [row for row in loaded.rows if all(getattr(row, k) == v for k, v in where.items())]


def whys(loaded, **where):
    return [row.why for row in rows_of(loaded, **where)]


def codes(loaded, **where):
    return [row.code for row in rows_of(loaded, **where)]


# --- the dataset's own rules ---


def test_the_clinical_sheet_is_asked_and_the_papers_table_is_not(tmp_path):
    write_sheet(multisite(tmp_path), [("pt99", "A1-2")])
    [recording] = load_patient(PatientInput(tmp_path / "sub-pt99"), Plan()).recordings
    assert labels(recording) == {"A1", "A2"}
    assert recording.center == "Multi-site"


def test_a_sheet_that_is_missing_is_only_a_note(tmp_path):
    loaded = load_patient(PatientInput(multisite(tmp_path)), Plan())
    assert loaded.recordings[0].is_ez is None
    assert "label" in codes(loaded, what="dataset")


def test_labels_that_cannot_be_read_are_only_a_note(tmp_path):
    write_tree(tmp_path, channels=channel_rows(ez=[], soz={"A1": "perhaps"}))
    loaded = load_patient(PatientInput(tmp_path), Plan())
    assert loaded.recordings[0].is_ez is None
    assert any("column soz of channels.tsv" in why for why in whys(loaded, what="label"))


def test_a_label_table_of_another_cohort_is_only_a_note(tmp_path):
    plan = Plan().override(cohort={"labels": str(tmp_path / "gone.csv")})
    loaded = load_patient(PatientInput(write_tree(tmp_path / "tree")), plan)
    assert labels(loaded.recordings[0]) == {"A1", "A2"}


def test_nobody_is_left_out_for_an_outcome(tmp_path):
    write_tree(tmp_path)
    write_dataset(tmp_path, DatasetDOI=DOI.format("ds004100"))
    write_tsv(tmp_path / "participants.tsv", [{"participant_id": "sub-01", "outcome": "F"}])
    plan = Plan().override(cohort={"outcomes": ["S"]})
    with pytest.raises(DataError, match="outcome is F"):
        read_bids(tmp_path, None, plan)
    assert len(load_patient(PatientInput(tmp_path), plan).recordings) == 1


def test_runs_of_another_task_are_left_out_with_a_reason(tmp_path):
    write_run(write_tree(tmp_path), task="rest", events=[(40.0, "eyes closed")])
    loaded = load_patient(PatientInput(tmp_path), Plan())
    assert len(loaded.recordings) == 1
    assert whys(loaded, what="run") == ["task is rest, not a seizure; no event names one"]


# --- simulated is an attribute ---


def test_simulated_patients_stay_simulated_under_any_name(tiny):
    for dataset in ("simulated", "local"):
        recordings = read_bids(tiny / "north", dataset)
        assert all(patient.simulated for patient in recordings.patients)
        assert next(iter(recordings)).simulated


def test_a_cube_and_a_page_know_that_a_patient_is_simulated(tiny):
    folder = min((tiny / "north").glob("sub-*"))
    cube = describe(load_patient(PatientInput(folder), Plan()).recordings)
    assert cube.attrs["simulated"] is True
    assert localize(cube, "line-length-change").is_simulated


def test_a_real_patient_in_a_center_of_that_name_is_not_simulated(tmp_path):
    write_tree(tmp_path)
    write_dataset(tmp_path, Name="North (simulated)")
    [recording] = read_bids(tmp_path)
    assert (recording.center, recording.simulated) == ("North (simulated)", False)
    assert describe([recording]).attrs["simulated"] is False


# --- what the user says ---


def test_an_excluded_channel_is_a_row_and_in_no_pair(tmp_path):
    plan = Plan().override(montage={"scheme": "bipolar"})
    loaded = load_patient(PatientInput(write_tree(tmp_path), exclude=("a2",)), plan)
    assert loaded.recordings[0].channels == ("A3-A4", "B1-B2")
    assert codes(loaded, channel="A2") == ["channel-excluded"]


def test_an_excluded_channel_of_a_recording_is_a_row_too(tmp_path):
    loaded = load_patient(PatientInput(read_bids(write_tree(tmp_path)), exclude=("A2",)), Plan())
    assert "A2" not in loaded.recordings[0].channels
    assert codes(loaded, channel="A2") == ["channel-excluded"]


def test_an_onset_belongs_to_the_run_that_is_named(tmp_path):
    root = write_tree(tmp_path, runs=["01", "02"])
    second = run_file(root, "ieeg.edf", run="02")
    loaded = load_patient(PatientInput([second], onsets=(44.0,)), Plan())
    assert [(r.run[-2:], r.onset.onset_s) for r in loaded.recordings] == [("02", 44.0)]


def test_typed_onsets_are_all_that_counts(tmp_path):
    """The plan's own table is about its cohort, and need not be there."""
    plan = Plan().override(cohort={"onsets": str(tmp_path / "gone.tsv")})
    root = write_tree(tmp_path / "tree")
    loaded = load_patient(PatientInput(run_file(root, "ieeg.edf"), onsets=(41.0,)), plan)
    assert loaded.recordings[0].onset.onset_s == 41.0


def test_an_onset_for_a_folder_fits_no_run(tmp_path):
    write_tree(tmp_path)
    with pytest.raises(OnsetError, match=r"found one for a folder, sub-01\. Name the run"):
        load_patient(PatientInput(tmp_path / "sub-01", onsets=(40.0,)), Plan())


def test_a_run_with_two_onsets_has_two_seizures(tmp_path):
    write_tree(tmp_path)
    loaded = load_patient(PatientInput(run_file(tmp_path, "ieeg.edf"), onsets=(40.0, 52.0)), Plan())
    assert [r.onset.onset_s for r in loaded.recordings] == [40.0, 52.0]
    first, second = (r.run for r in loaded.recordings)
    assert second == f"{first}+2"


def test_every_typed_onset_of_a_run_is_checked(tmp_path):
    """The second one is too early for a baseline; a first one that is does not stop the others."""
    write_tree(tmp_path)
    for onsets_s in ((40.0, 3.5), (3.5, 40.0)):
        loaded = load_patient(PatientInput(run_file(tmp_path, "ieeg.edf"), onsets=onsets_s), Plan())
        assert [r.onset.onset_s for r in loaded.recordings] == [40.0]
        [why] = loaded.left_out.values()
        assert "the onset is at 3.500 s" in why


def test_runs_without_a_typed_onset_keep_that_of_the_dataset(tmp_path):
    root = write_tree(tmp_path, runs=["01", "02"])
    one, two = (run_file(root, "ieeg.edf", run=run) for run in ("01", "02"))
    own = load_patient(PatientInput([one, two]), Plan()).recordings[0].onset
    loaded = load_patient(PatientInput([(one, None), (two, 44.0)]), Plan())
    assert [r.onset.onset_s for r in loaded.recordings] == [own.onset_s, 44.0]
    assert loaded.recordings[0].onset.rule == own.rule


def test_a_linked_file_keeps_its_place_in_the_tree(tmp_path):
    """As datalad keeps the files of a dataset: links to a store of contents."""
    root = write_tree(tmp_path / "tree")
    signal, content = run_file(root, "ieeg.edf"), root / ".git" / "annex" / "content.edf"
    content.parent.mkdir(parents=True)
    signal.replace(content)
    signal.symlink_to(content)
    [recording] = load_patient(PatientInput(signal), Plan()).recordings
    assert (recording.patient, labels(recording)) == ("sub-01", {"A1", "A2"})


def test_a_run_that_repeats_another_is_left_out(tmp_path):
    root = write_tree(tmp_path, runs=["01", "02"], data=noise())
    loaded = load_patient(PatientInput(root), Plan())
    assert [r.run[-2:] for r in loaded.recordings] == ["01"]
    assert [name[-2:] for name in loaded.left_out] == ["02"]


def test_a_patient_that_is_not_in_the_tree(tmp_path):
    with pytest.raises(DataError, match=r"expected one patient, found 0 of 1 \(sub-01\)"):
        load_patient(PatientInput(write_tree(tmp_path), code="02"), Plan())
