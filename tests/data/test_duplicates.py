"""The same recording twice: what is recognised, what counts, and what is another seizure."""

from __future__ import annotations

import csv
from datetime import date

import pytest
from trees import (
    FS,
    channel_rows,
    codes,
    noise,
    run_file,
    whys,
    write_dataset,
    write_edf,
    write_run,
)

from epilens.core.errors import OnsetError
from epilens.data.bids import read_bids, survey_cohort
from epilens.data.duplicates import DuplicateFilter
from epilens.data.load_patient import PatientInput, load_patient
from epilens.evidence.files import open_cohort
from epilens.evidence.store import describe_cohort
from epilens.plan import Plan
from epilens.testing import make_recording

KEEP = Plan().override(cohort={"duplicates": "keep"})
FIRST, SECOND = "ses-presurgery_task-ictal_run-01", "ses-presurgery_task-ictal_run-02"


def two_runs(root, second=None, onsets=(40.0, 40.0), data=None, **changes):
    """Two runs, whose signals are the same unless a second is given."""
    data = noise() if data is None else data
    write_dataset(root)
    write_run(root, run="01", data=data, events=[(onsets[0], "onset")])
    write_run(
        root,
        run="02",
        data=data if second is None else second,
        events=[(onsets[1], "onset")],
        **changes,
    )
    return root


def used(root, plan=None):
    recordings = read_bids(root, plan=plan)
    return [recording.run for recording in recordings], recordings


def test_two_runs_with_one_signal_count_once_and_the_audit_says_which(tmp_path):
    runs, recordings = used(two_runs(tmp_path))
    assert runs == [FIRST]
    row = recordings.audit.iloc[0]
    assert (row["effect"], row["what"], row["run"]) == ("excluded", "seizure", SECOND)
    assert row["why"] == f"repeats the signal of {FIRST}"


def test_headers_do_not_matter(tmp_path):
    runs, _ = used(two_runs(tmp_path, startdate=date(2001, 2, 3)))
    assert run_file(tmp_path, "ieeg.edf").read_bytes() != (
        run_file(tmp_path, "ieeg.edf", run="02").read_bytes()
    )
    assert runs == [FIRST]


def test_both_count_if_the_plan_says_so_and_the_audit_still_has_a_row(tmp_path):
    runs, recordings = used(two_runs(tmp_path), KEEP)
    assert runs == [FIRST, SECOND]
    assert whys(recordings, effect="noted") == [f"repeats the signal of {FIRST}"]


def test_recordings_of_their_own_are_no_repetition(tmp_path):
    runs, recordings = used(two_runs(tmp_path, noise(seed=1)))
    assert runs == [FIRST, SECOND]
    assert recordings.audit.empty


def test_a_channel_that_only_one_of_them_calls_bad_does_not_hide_it(tmp_path):
    rows = channel_rows(status={"A1": "bad"})
    runs, recordings = used(two_runs(tmp_path, channels=rows))
    assert runs == [FIRST]
    assert "channel-status" in codes(recordings, channel="A1")


def test_the_same_seizure_cut_differently_is_recognised(tmp_path):
    """The second file starts ten seconds later, so that less of it is read."""
    uv = noise()
    second = uv[:, 10 * FS :]
    runs, recordings = used(two_runs(tmp_path, second, onsets=(40.0, 30.0)))
    assert runs == [FIRST]
    assert f"repeats the signal of {FIRST}" in whys(recordings, run=SECOND)


def test_two_files_of_one_recording_with_other_onsets_count_once(tmp_path):
    runs, recordings = used(two_runs(tmp_path, onsets=(40.0, 45.0)))
    assert runs == [FIRST]
    assert whys(recordings, what="seizure") == [
        f"repeats the signal of {FIRST}, with its onset at 45.000 s instead of 40.000 s"
    ]


def test_another_seizure_of_a_recording_that_is_there_twice_counts_and_is_noted(tmp_path):
    long = noise(duration_s=240.0)
    runs, recordings = used(two_runs(tmp_path, data=long, onsets=(60.0, 180.0)))
    assert runs == [FIRST, SECOND]
    assert whys(recordings, effect="noted") == [
        f"contains the same recording as {FIRST}, with its onset at 180.000 s instead of 60.000 s: "
        "another seizure"
    ]


def test_flat_recordings_say_nothing_about_each_other():
    repeats, rows = DuplicateFilter(Plan()), []
    for run in ("run-01", "run-02"):
        recording = make_recording(run=run)
        recording.signal[:] = 0
        assert repeats.admit(recording, rows)
    assert rows == []


def test_a_third_copy_repeats_the_first(tmp_path):
    write_run(two_runs(tmp_path), run="03", data=noise())
    runs, recordings = used(tmp_path)
    assert runs == [FIRST]
    assert whys(recordings, what="seizure") == [f"repeats the signal of {FIRST}"] * 2


def test_iterating_again_tells_the_same(tmp_path):
    recordings = read_bids(two_runs(tmp_path))
    first, audit = [r.run for r in recordings], recordings.audit
    assert [r.run for r in recordings] == first
    assert recordings.audit.equals(audit)


def test_patients_are_not_compared_with_each_other():
    repeats, rows = DuplicateFilter(Plan()), []
    assert repeats.admit(make_recording("sub-01"), rows)
    assert repeats.admit(make_recording("sub-02"), rows)
    assert rows == []


# --- counted without reading whole signals ---


def surveyed(root, plan=None):
    """Runs that a survey of the dataset counts, and its audit."""
    [recordings] = survey_cohort(root, plan=plan)
    return [run.run for run in recordings.runs], recordings


def test_a_survey_counts_a_run_that_is_stored_twice_once(tmp_path):
    runs, recordings = surveyed(two_runs(tmp_path, startdate=date(2001, 2, 3)))
    assert runs == [FIRST]
    assert recordings.surveyed[0].seizures_excluded == 1
    assert whys(recordings, what="seizure") == [f"repeats the signal of {FIRST}"]


def test_a_survey_counts_other_signals_and_both_if_the_plan_says_so(tmp_path):
    assert surveyed(two_runs(tmp_path / "other", noise(seed=1)))[0] == [FIRST, SECOND]
    assert surveyed(two_runs(tmp_path / "kept"), KEEP)[0] == [FIRST, SECOND]


def test_a_survey_of_sidecars_alone_counts_every_run(tmp_path):
    two_runs(tmp_path)
    run_file(tmp_path, "ieeg.edf", run="02").unlink()
    assert surveyed(tmp_path)[0] == [FIRST, SECOND]


# --- whatever the way in ---


def test_a_cube_holds_it_once_and_the_audit_file_says_so(tmp_path):
    parts = [read_bids(two_runs(tmp_path / "tree"))]
    out = tmp_path / "cubes"
    describe_cohort(parts, out, Plan(), stores=["signals"])
    assert open_cohort(out)["sub-01"]["seizure"].values.tolist() == [FIRST]
    with (out / "audit.tsv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["run"] == SECOND]
    assert [row["why"] for row in rows] == [f"repeats the signal of {FIRST}"]


def test_a_cube_is_made_again_when_the_plan_counts_them_otherwise(tmp_path):
    root, out = two_runs(tmp_path / "tree"), tmp_path / "cubes"
    describe_cohort([read_bids(root)], out, Plan())
    summary = describe_cohort([read_bids(root, plan=KEEP)], out, KEEP)
    assert summary["described"] == 1
    assert open_cohort(out)["sub-01"].sizes["seizure"] == 2


def test_one_file_twice_with_one_onset_is_asked_about(tmp_path):
    write_edf(tmp_path / "a.edf", noise())
    twice = [tmp_path / "a.edf"] * 2
    with pytest.raises(OnsetError, match=r"^a\.edf: expected seizures 10 s or more apart"):
        load_patient(PatientInput(twice, onsets=(40, 40)), Plan())


def test_a_copy_of_a_new_patients_file_is_left_out_once(tmp_path):
    file, copy = tmp_path / "a.edf", tmp_path / "b.edf"
    write_edf(file, noise())
    write_edf(copy, noise(), startdate=date(2001, 2, 3))
    loaded = load_patient(PatientInput([file, copy], onsets=(40, 40)), Plan())
    assert [r.run for r in loaded.recordings] == ["seizure-1"]
    assert loaded.left_out == {"seizure-2": "repeats the signal of seizure-1"}
    assert [row.run for row in loaded.rows if row.what == "seizure"] == ["seizure-2"]
    assert loaded.problems[0].endswith("is left out: it repeats the signal of seizure-1.")


def test_one_file_with_two_onsets_is_two_seizures(tmp_path):
    write_edf(tmp_path / "a.edf", noise())
    loaded = load_patient(PatientInput(tmp_path / "a.edf", onsets=(35, 45)), Plan())
    assert len(loaded.recordings) == 2
    assert not [row for row in loaded.rows if row.what in ("seizure", "run")]


def test_recordings_that_are_handed_over_are_compared_too():
    parts = [make_recording(run="run-01"), make_recording(run="run-02")]
    loaded = load_patient(PatientInput(parts), Plan())
    assert [r.run for r in loaded.recordings] == ["run-01"]
    assert len(load_patient(PatientInput(parts), KEEP).recordings) == 2
