"""The borders of a dataset: links that lead out, pipes and devices in the place of its files."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from trees import ONSET_S, codes, folder, noise, run_file, whys, write_run, write_sheet, write_tree

from epilens.core.errors import DataError
from epilens.data.bids import read_bids
from epilens.data.load_patient import PatientInput, load_patient
from epilens.data.readers.mne_reader import open_mne
from epilens.plan import Plan


@pytest.fixture(autouse=True)
def thirty_seconds():
    """What waits for a pipe fails instead of stopping the tests."""
    signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it was waited for"))
    signal.alarm(30)
    yield
    signal.alarm(0)


@pytest.fixture
def root(tmp_path):
    return write_tree(tmp_path / "data", runs=["01", "02"])


def move_out(path: Path, elsewhere: Path) -> None:
    """Put the file elsewhere, and a link in its place."""
    elsewhere.mkdir(exist_ok=True)
    path.rename(elsewhere / path.name)
    path.symlink_to(elsewhere / path.name)


@pytest.mark.parametrize("end", ["ieeg.edf", "channels.tsv", "events.tsv", "ieeg.json"])
def test_a_run_with_a_link_out_of_the_dataset_is_left_out(root, tmp_path, end):
    move_out(run_file(root, end, run="02"), tmp_path / "elsewhere")
    recordings = read_bids(root)
    assert [recording.run[-2:] for recording in recordings] == ["01"]
    [why] = whys(recordings, what="seizure")
    assert why.startswith("expected the files of the run in the dataset, found a link that leads")
    assert whys(recordings, code="link-out", what="dataset") == [
        "1 links that lead out of the dataset are not followed"
    ]


def test_the_data_of_a_brainvision_header_may_not_be_a_link_out(tmp_path):
    root = write_tree(tmp_path / "data")
    write_run(root, run="02", kind="brainvision")
    move_out(run_file(root, "ieeg.eeg", run="02"), tmp_path / "elsewhere")
    assert [r.run[-2:] for r in read_bids(root)] == ["01"]


@pytest.mark.parametrize("key", ["DataFile", "MarkerFile"])
@pytest.mark.parametrize("place", ["../../../../secret.{}", "{}/secret.{}", f"{'a' * 5000}.{{}}"])
def test_a_brainvision_header_may_not_name_files_elsewhere(tmp_path, key, place):
    root = write_tree(tmp_path / "data", kind="brainvision")
    header = run_file(root, "ieeg.vhdr")
    kind = "eeg" if key == "DataFile" else "vmrk"
    run_file(root, f"ieeg.{kind}").rename(tmp_path / f"secret.{kind}")
    named = place.format(tmp_path, kind) if place.count("{}") == 2 else place.format(kind)
    lines = header.read_text(encoding="utf-8").splitlines()
    lines = [f"{key}={named}" if line.startswith(key) else line for line in lines]
    header.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match="found a header that names one elsewhere"):
        open_mne(header)


def test_a_folder_of_a_patient_that_is_a_link_out_is_not_followed(root, tmp_path):
    write_tree(tmp_path / "other", patients=["09"])
    (root / "sub-09").symlink_to(tmp_path / "other" / "sub-09")
    assert [patient.name for patient in read_bids(root).patients] == ["sub-01"]


@pytest.mark.parametrize("name", ["dataset_description.json", "participants.tsv"])
def test_a_table_of_the_dataset_that_is_a_link_out_is_refused(root, tmp_path, name):
    move_out(root / name, tmp_path / "elsewhere")
    with pytest.raises(DataError, match=f"{name}: expected a file in the dataset, found a link"):
        read_bids(root)


def test_a_clinical_sheet_that_is_a_link_out_is_not_read(root, tmp_path):
    write_sheet(root, [("01", "A1")])
    move_out(root / "sourcedata" / "clinical_data_summary.xlsx", tmp_path / "elsewhere")
    patients = read_bids(root, "simulated").patients
    assert all(patient.ez == {"A1", "A2"} for patient in patients)  # of channels.tsv


def test_a_dataset_that_is_itself_a_link_is_read(root, tmp_path):
    (tmp_path / "link").symlink_to(root)
    assert len(read_bids(tmp_path / "link")) == 2


@pytest.mark.parametrize("end", ["channels.tsv", "events.tsv", "ieeg.json"])
@pytest.mark.parametrize("what", ["pipe", "device"])
def test_a_pipe_or_device_as_a_sidecar_is_refused(root, end, what):
    path = run_file(root, end, run="02")
    path.unlink()
    if what == "pipe":
        os.mkfifo(path)
    else:
        os.mknod(path, 0o600 | 0o020000, os.makedev(1, 5))  # /dev/zero
    recordings = read_bids(root)
    assert [recording.run[-2:] for recording in recordings] == ["01"]
    [why] = whys(recordings, what="seizure")
    assert f"{end}: expected a file, found a {what}." in why


@pytest.mark.parametrize("end", ["ieeg.edf", "ieeg.vhdr", "ieeg.eeg"])
def test_a_pipe_as_a_recording_is_refused(root, end):
    kind = "edf" if end.endswith("edf") else "brainvision"
    write_run(root, run="03", kind=kind, data=noise(seed=9))
    path = run_file(root, end, run="03")
    path.unlink()
    os.mkfifo(path)
    recordings = read_bids(root)
    assert [recording.run[-2:] for recording in recordings] == ["01", "02"]
    assert codes(recordings, what="seizure")[0] == "not-a-file"


def test_a_pipe_as_the_only_recording_of_a_new_patient_is_one_sentence(tmp_path):
    os.mkfifo(tmp_path / "a.edf")
    with pytest.raises(DataError, match="expected a file, found a pipe"):
        load_patient(PatientInput(tmp_path / "a.edf", onsets=(ONSET_S,)), Plan())


def test_a_pipe_in_the_place_of_participants_is_one_sentence(root):
    (root / "participants.tsv").unlink()
    os.mkfifo(root / "participants.tsv")
    with pytest.raises(DataError, match=r"participants\.tsv: expected a file, found a pipe"):
        read_bids(root)


def test_a_pipe_among_the_files_of_a_run_is_no_run(root):
    os.mkfifo(folder(root) / "sub-01_ses-presurgery_task-ictal_run-07_ieeg.edf")
    assert len(list(read_bids(root))) == 2
