"""Bad input: one clear sentence, or an audit row while the rest goes on; never a traceback."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from commands import epilens
from permissions import as_nobody
from trees import (
    NAMES,
    ONSET_S,
    assert_one_clear_line,
    channel_rows,
    codes,
    edit,
    folder,
    noise,
    run_file,
    whys,
    write_dataset,
    write_json,
    write_run,
    write_signal,
    write_tree,
    write_tsv,
)

from epilens.core.errors import DataError, EpilensError, PlanError
from epilens.data.bids import read_bids, read_cohort
from epilens.data.cohort import cohort_summary
from epilens.data.load_patient import PatientInput, load_patient
from epilens.plan import Plan

# --- folders ---


def test_a_missing_folder_is_said_so(tmp_path):
    with pytest.raises(DataError, match=r"nowhere: expected a BIDS dataset .* Check the path"):
        read_bids(tmp_path / "nowhere")


def test_a_file_instead_of_a_folder_is_said_so(tmp_path):
    path = tmp_path / "file"
    path.write_text("x")
    with pytest.raises(DataError, match=r"found a file\. Give the folder"):
        read_bids(path)


def test_an_empty_folder_is_said_so(tmp_path):
    with pytest.raises(DataError, match="found an empty folder"):
        read_bids(tmp_path)


def test_a_folder_that_is_not_bids_is_said_so(tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(DataError, match=r"\(a folder with dataset_description.json\), found none"):
        read_bids(tmp_path)


def test_a_folder_of_datasets_names_them(tmp_path):
    write_dataset(tmp_path / "ghent")
    write_dataset(tmp_path / "lyon")
    with pytest.raises(DataError, match=r"2 datasets inside it \(ghent, lyon\)\. Give these"):
        read_bids(tmp_path)


@pytest.fixture
def cohort_folder(tmp_path):
    """Two datasets, and what else lies in such a folder."""
    for name in ("ghent", "lyon"):
        write_tree(tmp_path / "cohort" / name, patients=[name])
    write_dataset(tmp_path / "cohort" / "localized", DatasetType="derivative")
    write_dataset(tmp_path / "cohort" / ".cache")
    (tmp_path / "cohort" / "simulation.json").write_text("{}")
    (tmp_path / "cohort" / "notes").mkdir()
    return tmp_path / "cohort"


def test_a_folder_of_datasets_is_read_as_one_cohort(cohort_folder):
    parts = read_cohort(cohort_folder)
    assert [p.name for part in parts for p in part.patients] == ["sub-ghent", "sub-lyon"]


def test_a_dataset_that_is_named_twice_is_read_once(cohort_folder):
    parts = read_cohort([cohort_folder / "lyon", cohort_folder, cohort_folder / "lyon" / "."])
    assert [p.name for part in parts for p in part.patients] == ["sub-lyon", "sub-ghent"]


def test_the_command_line_takes_a_folder_of_datasets(cohort_folder):
    done = epilens("cohort", cohort_folder, "--json")
    assert done.returncode == 0
    assert re.fullmatch(r"next: epilens describe .*\n", done.stderr)
    assert json.loads(done.stdout)["total"]["patients"] == 2


def test_a_folder_without_any_dataset_is_said_so(tmp_path):
    (tmp_path / "notes").mkdir()
    with pytest.raises(DataError, match=r"expected a BIDS dataset .*found none\. Check the path"):
        read_cohort(tmp_path)


def test_a_folder_of_derived_datasets_is_said_so(tmp_path):
    write_dataset(tmp_path / "localized", DatasetType="derivative")
    with pytest.raises(DataError, match=r"found derived ones only \(localized\)"):
        read_cohort(tmp_path)


def test_a_damaged_dataset_in_a_folder_is_said_so(cohort_folder):
    (cohort_folder / "lyon" / "dataset_description.json").write_text("{")
    with pytest.raises(DataError, match=r"dataset_description\.json: expected JSON"):
        read_cohort(cohort_folder)


def test_a_tree_that_is_all_interictal_says_so(tmp_path):
    write_tree(tmp_path, runs=["01", "02"], task="interictal", events=[])
    sentence = r"expected runs of seizures .*found interictal ones only \(2 × task-interictal\)"
    with pytest.raises(DataError, match=sentence):
        read_bids(tmp_path)
    with pytest.raises(DataError, match=sentence):
        load_patient(PatientInput(tmp_path), Plan())


def test_a_tree_of_other_tasks_is_not_called_interictal(tmp_path):
    with pytest.raises(DataError, match=r"found others only \(1 × task-rest\)"):
        read_bids(write_tree(tmp_path, task="rest", events=[(40.0, "onset")]))


def test_a_tree_with_one_seizure_that_cannot_be_used_is_not_called_interictal(tmp_path):
    write_tree(tmp_path, events=[])
    write_run(tmp_path, run="02", task="interictal", events=[])
    with pytest.raises(DataError, match="means a seizure onset"):
        read_bids(tmp_path)


def test_a_dataset_without_patients_is_said_so(tmp_path):
    write_dataset(tmp_path, [])
    with pytest.raises(DataError, match="at least one patient with a usable seizure, found none"):
        read_bids(tmp_path)


def test_a_dataset_without_seizures_says_why(tmp_path):
    write_tree(tmp_path, events=[(10.0, "Alex woke up")])
    with pytest.raises(DataError, match=r"none among 1 .*means a seizure onset") as caught:
        read_bids(tmp_path)
    assert "Alex" not in str(caught.value)


def test_the_wrong_dataset_name_for_a_tree_is_said_so(tmp_path):
    write_tree(tmp_path)
    with pytest.raises(DataError, match=r"outcome is not given.*Is 'hup' the right dataset\?"):
        read_bids(tmp_path, "hup")


# --- the command line ---


def make_missing(root: Path) -> None:
    pass


def make_empty(root: Path) -> None:
    root.mkdir()


def make_not_bids(root: Path) -> None:
    root.mkdir()
    (root / "a.txt").write_text("x")


def make_datasets(root: Path) -> None:
    write_dataset(root / "lyon")


def make_broken_description(root: Path) -> None:
    write_tree(root, kind=None)
    (root / "dataset_description.json").write_text('{"Name": ')


def make_description_that_is_a_list(root: Path) -> None:
    write_tree(root, kind=None)
    (root / "dataset_description.json").write_text("[]")


def make_ragged_participants(root: Path) -> None:
    write_tree(root, kind=None)
    (root / "participants.tsv").write_text("participant_id\tage\nsub-01\t3\t4\n")


def make_latin1_participants(root: Path) -> None:
    write_tree(root, kind=None)
    (root / "participants.tsv").write_bytes("participant_id\tsex\nsub-01\té\n".encode("latin-1"))


def make_repeated_participant(root: Path) -> None:
    write_tree(root, kind=None)
    write_dataset(root, ["01", "01"])


def make_nothing_usable(root: Path) -> None:
    write_tree(root, kind=None, events=[])


def make_control_characters(root: Path) -> None:
    write_dataset(root, ["\x1b[31mred"])


COMMAND_LINE = {
    make_missing: ["nothing at this path"],
    make_empty: ["empty folder"],
    make_not_bids: ["dataset_description.json"],
    make_datasets: ["lyon: expected at least one patient with a usable seizure"],
    make_broken_description: ["dataset_description.json: expected JSON"],
    make_description_that_is_a_list: ["expected a JSON object, found list"],
    make_ragged_participants: ["participants.tsv: expected 2 columns", "found 3 in row 2"],
    make_latin1_participants: ["expected UTF-8 text, found byte 0xe9"],
    make_repeated_participant: ["expected sub-01 once"],
    make_nothing_usable: ["usable seizure"],
    make_control_characters: ["usable seizure"],
}


@pytest.mark.parametrize("make", COMMAND_LINE, ids=lambda make: make.__name__[5:])
def test_the_command_line_says_one_sentence(tmp_path, make):
    root = tmp_path / "root"
    make(root)
    done = epilens("cohort", root)
    assert_one_clear_line(done, *COMMAND_LINE[make])
    assert "\x1b" not in done.stderr


def test_the_command_line_suggests_a_dataset_name(tmp_path):
    done = epilens("cohort", write_tree(tmp_path, kind=None), "--dataset", "multisit")
    assert_one_clear_line(done, "Did you mean 'multisite'?")


def test_the_command_line_suggests_a_plan_key(tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text('[montage]\nschem = "bipolar"\n')
    done = epilens("cohort", tmp_path, "--plan", plan)
    assert_one_clear_line(done, "unknown key 'montage.schem'. Did you mean 'scheme'?")


def test_the_command_line_names_tables_that_are_not_there(tmp_path):
    write_tree(tmp_path, kind=None)
    done = epilens("cohort", tmp_path, "--onsets", tmp_path / "none.tsv")
    assert_one_clear_line(done, "none.tsv: expected a table, found nothing")


def test_the_command_line_shows_what_was_left_out_and_goes_on(tmp_path):
    write_tree(tmp_path, runs=["01", "02"], kind=None)
    run_file(tmp_path, "events.tsv", run="02").unlink()
    done = epilens("cohort", tmp_path, "--json")
    assert done.returncode == 0
    summary = json.loads(done.stdout)
    assert (summary["total"]["seizures"], summary["total"]["seizures_excluded"]) == (1, 1)
    assert "expected an events.tsv" in summary["excluded"][0]["why"]


# --- plans ---


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("montag = 1", "unknown key 'montag'. Did you mean 'montage'"),
        ("[windows]\nlenght_s = 2", "unknown key 'windows.lenght_s'. Did you mean 'length_s'"),
        ('[montage]\nscheme = "bipolr"', "montage.scheme: .*'bipolar'.*found 'bipolr'"),
        ('[quality]\ndrop = ["flatt"]', "quality.drop.*found 'flatt'"),
        ("[windows]\nlength_s = -1", "windows.length_s: .*found -1"),
        ("[windows]\nlength_s = nan", "windows.length_s: .*found nan"),
        ("[windows]\nstart_s = 5", "windows: .*must lie before onset"),
        ("[windows\n", "expected TOML, found"),
        ('montage = "bipolar"', "montage: .*found 'bipolar'"),
    ],
)
def test_a_wrong_plan_is_one_sentence(tmp_path, text, match):
    path = tmp_path / "plan.toml"
    path.write_text(text)
    with pytest.raises(PlanError, match=match):
        Plan.load(path)


def test_a_missing_plan_is_one_sentence(tmp_path):
    with pytest.raises(PlanError, match=r"none\.toml: expected a TOML file"):
        Plan.load(tmp_path / "none.toml")


def test_a_plan_that_is_not_text_is_one_sentence(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PlanError, match="expected TOML, found"):
        Plan.load(path)


# --- damaged signals: the run is an audit row, the other run is read ---


@pytest.fixture
def two_runs(tmp_path):
    return write_tree(tmp_path, runs=["01", "02"])


def second_run_is_left_out(root: Path, *words: str) -> None:
    recordings = read_bids(root)
    assert [recording.run[-2:] for recording in recordings] == ["01"]
    [why] = whys(recordings, what="seizure", effect="excluded")
    assert "\n" not in why
    for word in words:
        assert word in why


def test_an_edf_that_ends_in_its_header_is_an_audit_row(two_runs):
    path = run_file(two_runs, "ieeg.edf", run="02")
    path.write_bytes(path.read_bytes()[:700])
    second_run_is_left_out(two_runs, "Check that the file is complete")


def test_an_empty_edf_is_an_audit_row(two_runs):
    run_file(two_runs, "ieeg.edf", run="02").write_bytes(b"")
    second_run_is_left_out(two_runs, "Check that the file is complete")


def test_a_link_to_itself_is_an_audit_row(two_runs):
    path = run_file(two_runs, "ieeg.edf", run="02")
    path.unlink()
    path.symlink_to(path.name)
    second_run_is_left_out(two_runs, "a link that leads nowhere or to itself")


def test_a_record_of_1000_s_in_the_header_is_an_audit_row(two_runs):
    """The rate follows from the record duration: a wrong one stretches the recording."""
    path = run_file(two_runs, "ieeg.edf", run="02")
    content = path.read_bytes()
    path.write_bytes(content[:244] + b"1000    " + content[252:])
    second_run_is_left_out(two_runs, "at least 60 samples per second", "record duration")


def test_a_file_of_another_kind_is_an_audit_row(two_runs):
    run_file(two_runs, "ieeg.edf", run="02").write_bytes(b"PK\x03\x04" + bytes(5000))
    second_run_is_left_out(two_runs, "expected a recording that MNE can read")


def test_an_edf_that_ends_before_the_onset_is_an_audit_row(two_runs):
    path = run_file(two_runs, "ieeg.edf", run="02")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 4])
    second_run_is_left_out(two_runs, "onset, 40.000 s, found a file that is cut off before it")


def test_an_edf_that_ends_after_the_onset_is_read_as_far_as_it_goes_or_left_out(two_runs):
    """20 of 80 s are missing. What is there may be used, what is not there is never invented."""
    path = run_file(two_runs, "ieeg.edf", run="02")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 3 // 4])
    recordings = read_bids(two_runs)
    done = {recording.run[-2:]: recording for recording in recordings}
    assert "01" in done
    assert whys(recordings, run="ses-presurgery_task-ictal_run-02")
    if "02" in done:
        assert done["02"].stop_s <= 20.0 + 1.0


def lie_about_records(path: Path, records: int) -> None:
    whole = bytearray(path.read_bytes())
    whole[236:244] = f"{records:<8}".encode()
    path.write_bytes(whole)


@pytest.mark.parametrize("records", [800, 10_000_000])
def test_a_header_that_promises_more_than_the_file_has_invents_nothing(tmp_path, records):
    two_runs = write_tree(tmp_path, runs=["01", "02"], data=noise())
    lie_about_records(run_file(two_runs, "ieeg.edf", run="02"), records)
    recordings = read_bids(two_runs, plan=Plan().override(cohort={"duplicates": "keep"}))
    done = {recording.run[-2:]: recording for recording in recordings}
    assert "01" in done
    assert whys(recordings, run="ses-presurgery_task-ictal_run-02")
    if "02" in done:
        np.testing.assert_array_equal(done["01"].signal, done["02"].signal)


def test_a_header_that_promises_less_than_the_file_has_is_noted(two_runs):
    lie_about_records(run_file(two_runs, "ieeg.edf", run="02"), 60)
    recordings = read_bids(two_runs)
    done = {recording.run[-2:]: recording for recording in recordings}
    assert "01" in done
    assert whys(recordings, run="ses-presurgery_task-ictal_run-02")


def test_what_the_reader_warns_about_is_noted(tmp_path):
    """The file ends early, and no sidecar says how long it should be."""
    root = write_tree(tmp_path, fields={"RecordingDuration": None})
    path = run_file(root, "ieeg.edf")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 7 // 8])
    recordings = read_bids(root)
    assert len(list(recordings)) == 1
    reasons = whys(recordings, what="run", effect="noted")
    assert "the reader warned: the length of the file does not match its header" in reasons


def test_the_second_channel_of_a_name_is_left_out(tmp_path):
    names = ("A1", "A2", "A2")
    write_tree(tmp_path, names=names, channels=channel_rows(("A1", "A2")))
    recordings = read_bids(tmp_path)
    [recording] = recordings
    assert recording.channels == ("A1", "A2")
    assert codes(recordings, channel="A2 (2)") == ["channel-name"]


def test_a_recording_of_zero_length_is_an_audit_row(two_runs):
    path = run_file(two_runs, "ieeg.edf", run="02")
    size = int(path.read_bytes()[184:192])
    path.write_bytes(path.read_bytes()[:size])
    lie_about_records(path, 0)
    second_run_is_left_out(two_runs)


def test_a_brainvision_header_without_its_data_is_an_audit_row(two_runs):
    write_run(two_runs, run="03", kind="brainvision")
    run_file(two_runs, "ieeg.edf", run="02").unlink()
    for end in ("channels.tsv", "events.tsv", "ieeg.json"):
        run_file(two_runs, end, run="02").unlink()
    run_file(two_runs, "ieeg.eeg", run="03").unlink()
    second_run_is_left_out(two_runs, "expected a recording that MNE can read")


def test_a_truncated_fif_is_an_audit_row(two_runs):
    run_file(two_runs, "ieeg.edf", run="02").unlink()
    path = run_file(two_runs, "ieeg.fif", run="02")
    write_signal(path, "fif", noise())
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 3])
    recordings = read_bids(two_runs)
    assert "01" in [recording.run[-2:] for recording in recordings]
    assert whys(recordings, run="ses-presurgery_task-ictal_run-02")


def test_a_seizure_without_any_signal_is_excluded(tmp_path):
    recordings = read_bids(write_tree(tmp_path, data=np.zeros((6, 16000))))
    assert len(list(recordings)) == 0
    assert codes(recordings, what="seizure") == ["channels-none"]


def test_signals_that_are_all_nan_are_noted(tmp_path):
    recordings = read_bids(write_tree(tmp_path, kind="fif", data=np.full((6, 16000), np.nan)))
    [recording] = recordings
    assert recording.missing is not None
    assert recording.missing.all()
    assert [row.found for row in recordings.rows].count("non-finite") == 6


def test_a_damaged_file_without_events_is_an_audit_row(two_runs):
    run_file(two_runs, "events.tsv", run="02").unlink()
    run_file(two_runs, "ieeg.edf", run="02").write_bytes(b"")
    second_run_is_left_out(two_runs, "expected a recording that MNE can read")


# --- channels ---


def test_a_name_that_is_listed_twice_is_left_out(tmp_path):
    rows = [*channel_rows(), *channel_rows(["A3"])]
    recordings = read_bids(write_tree(tmp_path, channels=rows))
    [recording] = recordings
    assert recording.channels == ("A1", "A2", "A4", "B1", "B2")
    assert codes(recordings, channel="A3") == ["channel-name"] * 2


def test_a_channel_without_a_name_is_left_out(tmp_path):
    rows = [*channel_rows(), *channel_rows(["n/a"])]
    recordings = read_bids(write_tree(tmp_path, channels=rows))
    assert recordings.patients[0].channels == NAMES
    assert codes(recordings, what="channel") == ["channel-name"]


def test_a_channel_that_the_file_does_not_have_is_an_audit_row(tmp_path):
    recordings = read_bids(write_tree(tmp_path, channels=channel_rows((*NAMES, "C7"))))
    [recording] = recordings
    assert recording.channels == NAMES
    assert codes(recordings, channel="C7") == ["channel-not-in-file"]


def test_a_channel_that_only_the_file_has_is_an_audit_row(tmp_path):
    recordings = read_bids(write_tree(tmp_path, channels=channel_rows(NAMES[:5])))
    [recording] = recordings
    assert recording.channels == NAMES[:5]
    assert codes(recordings, channel="B2") == ["channel-not-listed"]


def test_a_file_with_none_of_the_channels_is_an_audit_row(two_runs):
    path = run_file(two_runs, "channels.tsv", run="02")
    write_tsv(path, channel_rows(("Q1", "Q2")))
    second_run_is_left_out(two_runs, "Do the two belong together?")


def test_a_table_without_good_channels_is_an_audit_row(two_runs):
    path = run_file(two_runs, "channels.tsv", run="02")
    write_tsv(path, channel_rows(status="bad"))
    second_run_is_left_out(two_runs, "expected good ECOG or SEEG channels")


def test_a_header_without_rows_is_an_audit_row(two_runs):
    path = run_file(two_runs, "channels.tsv", run="02")
    path.write_text("name\ttype\tunits\n")
    second_run_is_left_out(two_runs, "expected good ECOG or SEEG channels")


@pytest.mark.parametrize("column", ["name", "type", "status", "units", "status_description"])
def test_a_column_that_is_there_twice_is_an_audit_row(two_runs, column):
    path = run_file(two_runs, "channels.tsv", run="02")
    rows = [row | {column.upper(): row[column]} for row in channel_rows()]
    write_tsv(path, rows)
    second_run_is_left_out(two_runs, "channels.tsv", column)


STRANGE = [
    "<script>alert(1)</script>",
    'A"1',
    "A'1",
    "../../etc/passwd",
    "C:\\x",
    "A1\x1b[31m",
    "A1\x00",
    "A1\x07",
    "=1+1",
    "%s{0}",
    "²",
    "①",
    "🧠1",
    "a" * 300,
]


@pytest.mark.parametrize("name", STRANGE, ids=[f"name{i}" for i in range(len(STRANGE))])
def test_a_strange_channel_name_is_a_name_like_any_other(tmp_path, name):
    rows = channel_rows(("A1", "A2", name), ez=["A1"])
    recordings = read_bids(write_tree(tmp_path, channels=rows, kind=None))
    assert set(recordings.patients[0].channels) == {"A1", "A2", name}
    assert json.loads(json.dumps(cohort_summary([recordings])))["total"]["channels"] == 3


@pytest.mark.parametrize("name", ["<b>A1</b>", 'A"1', "A/1", "A\\1", "[red]A1"])
def test_a_strange_channel_name_is_read_from_its_file(tmp_path, name):
    names = (name, "A2", "A3")
    [recording] = read_bids(write_tree(tmp_path, names=names))
    assert recording.channels == names


def test_control_characters_are_not_sent_to_the_terminal(tmp_path):
    rows = channel_rows((*NAMES, "\x1b[31mQ1", "<script>"), status={"\x1b[31mQ1": "bad"})
    done = epilens("cohort", write_tree(tmp_path, channels=rows, kind=None))
    assert done.returncode == 0
    assert "\x1b" not in done.stdout + done.stderr


def test_the_audit_file_has_one_line_for_each_row_whatever_the_names_are(tmp_path):
    strange = ("Q\x0b1", "Q\u20281", "Q\x851", 'Q"1', "Q\x1b1", "=Q1")
    rows = channel_rows((*NAMES, *strange), status=dict.fromkeys(strange, "bad"))
    root = write_tree(tmp_path / "root", channels=rows, kind=None)
    done = epilens("cohort", root, "--audit", tmp_path / "audit.tsv")
    assert done.returncode == 0
    lines = (tmp_path / "audit.tsv").read_text(encoding="utf-8").rstrip("\n").split("\n")
    assert len(lines) == 1 + len(read_bids(root).audit)
    assert len({line.count("\t") for line in lines}) == 1


# --- onsets ---


def test_two_onsets_are_an_audit_row(two_runs):
    edit(run_file(two_runs, "events.tsv", run="02"), "sz offset", "sz onset")
    second_run_is_left_out(two_runs, "found 2", "40.000, 60.000 s")


def test_an_onset_after_the_end_is_an_audit_row(two_runs):
    edit(run_file(two_runs, "events.tsv", run="02"), "40.0", "400.0")
    second_run_is_left_out(two_runs, "inside the recording of 80.000 s, found 400.000 s")


def test_an_onset_after_the_end_of_the_file_is_an_audit_row(two_runs):
    run_file(two_runs, "ieeg.json", run="02").unlink()
    edit(run_file(two_runs, "events.tsv", run="02"), "40.0", "400.0")
    second_run_is_left_out(two_runs, "inside the recording of 80.000 s, found 400.000 s")


def test_a_negative_onset_is_an_audit_row(two_runs):
    edit(run_file(two_runs, "events.tsv", run="02"), "40.0", "-40.0")
    second_run_is_left_out(two_runs, "after the start of the recording, found -40.000 s")


def test_an_onset_too_close_to_the_start_is_an_audit_row(two_runs):
    edit(run_file(two_runs, "events.tsv", run="02"), "40.0", "4.0")
    second_run_is_left_out(two_runs, "at least 5 baseline windows", "room for 3")


def test_an_onset_with_just_enough_before_it_is_used(tmp_path):
    assert len(read_bids(write_tree(tmp_path, events=[(6.0, "onset")], kind=None))) == 1


def test_events_without_an_onset_column_are_an_audit_row(two_runs):
    edit(run_file(two_runs, "events.tsv", run="02"), "onset\tduration", "time\tduration")
    second_run_is_left_out(two_runs, "events.tsv: expected a column onset")


def test_events_without_rows_are_an_audit_row(two_runs):
    run_file(two_runs, "events.tsv", run="02").write_text("onset\tduration\ttrial_type\n")
    second_run_is_left_out(two_runs, "found no events")


# --- sidecars that cannot be read ---


@pytest.mark.parametrize("end", ["channels.tsv", "events.tsv", "ieeg.json"])
def test_a_sidecar_that_is_not_utf8_is_an_audit_row(two_runs, end):
    path = run_file(two_runs, end, run="02")
    path.write_bytes(path.read_bytes() + "µ\n".encode("latin-1"))
    second_run_is_left_out(two_runs, path.name, "expected UTF-8 text, found byte 0xb5")


@pytest.mark.parametrize("end", ["channels.tsv", "events.tsv"])
def test_a_sidecar_in_utf16_is_an_audit_row(two_runs, end):
    path = run_file(two_runs, end, run="02")
    path.write_bytes(path.read_text(encoding="utf-8").encode("utf-16"))
    second_run_is_left_out(two_runs, path.name, "expected UTF-8")


@pytest.mark.parametrize("end", ["channels.tsv", "events.tsv"])
@pytest.mark.parametrize("row", ["x", "a\tb\tc\td\te\tf\tg\th"])
def test_a_ragged_table_is_an_audit_row(two_runs, end, row):
    path = run_file(two_runs, end, run="02")
    path.write_text(path.read_text(encoding="utf-8") + row + "\n", encoding="utf-8")
    second_run_is_left_out(two_runs, path.name, "columns as in its header", "Correct this row")


@pytest.mark.parametrize("end", ["channels.tsv", "events.tsv"])
def test_an_empty_table_is_an_audit_row(two_runs, end):
    path = run_file(two_runs, end, run="02")
    path.write_bytes(b"")
    second_run_is_left_out(two_runs, "found an empty file")


@pytest.mark.parametrize("end", ["channels.tsv", "events.tsv"])
def test_a_table_of_null_bytes_is_an_audit_row(two_runs, end):
    path = run_file(two_runs, end, run="02")
    path.write_bytes(bytes(4000))
    second_run_is_left_out(two_runs)


@pytest.mark.parametrize("text", ["{", "", "[1, 2]", "nul", '{"a": 1}}', "[" * 100_000])
def test_broken_json_is_an_audit_row(two_runs, text):
    path = run_file(two_runs, "ieeg.json", run="02")
    path.write_text(text)
    second_run_is_left_out(two_runs, path.name, "expected")


@pytest.mark.parametrize("value", ["n/a", None, [], {}, "fast", True])
def test_json_fields_of_the_wrong_kind_do_not_stop_the_reading(tmp_path, value):
    write_tree(tmp_path)
    fields = {"PowerLineFrequency": value, "SamplingFrequency": value, "RecordingDuration": "n/a"}
    write_json(run_file(tmp_path, "ieeg.json"), fields)
    assert len(list(read_bids(tmp_path))) == 1


@pytest.mark.parametrize("number", ["1" * 400, "-0.0", "1e400"])
def test_json_numbers_without_measure_do_not_stop_the_reading(tmp_path, number):
    write_tree(tmp_path)
    path = run_file(tmp_path, "ieeg.json")
    path.write_text(f'{{"PowerLineFrequency": {number}, "SamplingFrequency": {number}}}')
    assert len(list(read_bids(tmp_path))) == 1


def test_a_broken_electrodes_table_does_not_stop_the_other_patients(tmp_path):
    write_tree(tmp_path, patients=["01", "02"], kind=None)
    path = folder(tmp_path, "02") / "sub-02_electrodes.tsv"
    path.write_bytes(b"name\tx\ty\tz\nA1\t\xff\t2\t3\n")
    recordings = read_bids(tmp_path)
    assert "sub-01" in [p.name for p in recordings.patients]
    assert "sidecar-malformed" in codes(recordings, patient="sub-02")


def test_a_patient_name_of_five_hundred_characters_is_an_audit_row(tmp_path):
    write_tree(tmp_path, kind=None)
    write_dataset(tmp_path, ["01", "x" * 500])
    recordings = read_bids(tmp_path)
    assert codes(recordings, what="patient") == ["no-folder"]


@pytest.mark.parametrize("name", ["sub-", "sub-..", "sub-../..", "sub-a/b"])
def test_a_patient_name_does_not_lead_out_of_the_dataset(tmp_path, name):
    root = write_tree(tmp_path / "root", kind=None)
    write_tree(tmp_path / "sub-other", kind=None)
    rows = [{"participant_id": "sub-01"}, {"participant_id": name}]
    write_tsv(root / "participants.tsv", rows)
    assert [p.name for p in read_bids(root).patients] == ["sub-01"]


# --- permissions ---


@pytest.fixture
def shared_root():
    """A tree of two runs in a folder that everyone may read."""
    top = Path(tempfile.mkdtemp())
    top.chmod(0o755)
    root = write_tree(top / "root", runs=["01", "02"])
    # Loads what is imported late: the packages may lie where only root can read them.
    assert len(list(read_bids(root))) == 2
    yield root
    top.chmod(0o755)
    for here, folders, _ in os.walk(top):
        for name in folders:
            (Path(here) / name).chmod(0o755)
    shutil.rmtree(top)


def read_as_nobody(root: Path) -> str:
    def work() -> str:
        try:
            recordings = read_bids(root)
            done = [recording.run[-2:] for recording in recordings]
        except EpilensError as error:
            return f"EpilensError: {error}"
        return json.dumps([done, whys(recordings, what="seizure")])

    return as_nobody(work)


def test_a_tree_that_everyone_may_read_is_read(shared_root):
    assert json.loads(read_as_nobody(shared_root)) == [["01", "02"], []]


@pytest.mark.parametrize("end", ["channels.tsv", "events.tsv", "ieeg.json", "ieeg.edf"])
def test_a_file_that_may_not_be_read_is_an_audit_row(shared_root, end):
    run_file(shared_root, end, run="02").chmod(0)
    done, [why] = json.loads(read_as_nobody(shared_root))
    assert done == ["01"]
    assert "ermission" in why


@pytest.mark.parametrize("mode", [0o000, 0o600, 0o300, 0o044])
def test_a_patient_folder_that_may_not_be_read_is_one_sentence_or_an_audit_row(shared_root, mode):
    write_dataset(shared_root, ["01", "02"])
    write_run(shared_root, "02")
    (shared_root / "sub-02").chmod(mode)
    text = read_as_nobody(shared_root)
    if text.startswith("EpilensError: "):
        assert "sub-02" in text
        assert "expected a folder that can be read" in text
    else:
        assert json.loads(text)[0] == ["01", "02"]


def test_a_dataset_that_may_not_be_read_is_one_sentence(shared_root):
    shared_root.chmod(0)
    text = read_as_nobody(shared_root)
    assert text.startswith("EpilensError: ")
    assert "a folder that cannot be read. Check its permissions." in text


def test_a_dataset_inside_a_folder_that_may_not_be_entered_is_one_sentence(shared_root):
    shared_root.parent.chmod(0)
    text = read_as_nobody(shared_root)
    assert text.startswith("EpilensError: ")
    assert "ermission" in text


def test_a_plan_inside_a_folder_that_may_not_be_entered_is_one_sentence(shared_root):
    shared_root.parent.chmod(0)

    def work() -> str:
        try:
            Plan.load(shared_root / "plan.toml")
        except PlanError as error:
            return f"PlanError: {error}"
        return "read"

    assert "Permission denied" in as_nobody(work)


@pytest.mark.parametrize("table", ["labels", "onsets"])
def test_a_table_inside_a_folder_that_may_not_be_entered_is_one_sentence(shared_root, table):
    closed = shared_root.parent / "closed"
    closed.mkdir()
    (closed / "table").write_text("x")
    closed.chmod(0)
    plan = Plan().override(cohort={table: str(closed / "table")})

    def work() -> str:
        try:
            read_bids(shared_root, plan=plan)
        except EpilensError as error:
            return f"EpilensError: {error}"
        return "read"

    assert as_nobody(work).startswith("EpilensError: ")


# --- what a refusal must not do ---


def test_reading_leaves_the_tree_as_it_was(tmp_path):
    root = write_tree(tmp_path, runs=["01", "02"])
    run_file(root, "ieeg.edf", run="02").write_bytes(b"broken")
    before = {p: p.stat().st_mtime_ns for p in root.rglob("*")}
    recordings = read_bids(root)
    assert len(list(recordings)) == 1
    assert {p: p.stat().st_mtime_ns for p in root.rglob("*")} == before


def test_free_text_of_events_is_not_copied_into_the_audit(two_runs):
    write_run(two_runs, run="02", events=[(10.0, "Alex woke up"), (ONSET_S, "Alex says hello")])
    recordings = read_bids(two_runs)
    assert "Alex" not in " ".join(whys(recordings))
    assert "2 other texts" in " ".join(whys(recordings))
