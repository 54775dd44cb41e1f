"""What is given to a review → patients and recordings with names that are safe."""

from __future__ import annotations

import pytest

from epilens.core.errors import DataError
from epilens.data.discovery import cases_of


def test_a_dataset_gives_its_patients_and_all_their_runs(tiny):
    cases = cases_of([tiny / "north"])
    assert [case.code for case in cases] == sorted(p.name for p in (tiny / "north").glob("sub-*"))
    files = cases[0].files
    assert all(file.path.exists() for file in files)
    assert all(file.name.startswith("ses-") for file in files)


def test_a_folder_of_datasets_gives_all_patients(tiny):
    assert len(cases_of([tiny])) == len(list(tiny.glob("*/sub-*")))


def test_a_patient_and_a_run_give_only_themselves(tiny):
    patient = sorted((tiny / "north").glob("sub-*"))[0]
    (case,) = cases_of([patient])
    assert case.code == patient.name
    assert len(case.files) > 1
    (one,) = cases_of([case.files[1].path])
    assert [file.name for file in one.files] == [case.files[1].name]


def test_plain_files_of_a_folder_are_one_patient_and_their_names_stay_on_the_screen(tmp_path):
    for name in ("Doe Jane 1.edf", "Doe Jane 2.edf", "notes.txt", ".hidden.edf"):
        (tmp_path / name).write_bytes(b"")
    (case,) = cases_of([tmp_path])
    assert sorted(file.shown for file in case.files) == ["Doe Jane 1.edf", "Doe Jane 2.edf"]
    assert "Doe" not in case.code + "".join(file.name for file in case.files)
    assert cases_of([tmp_path])[0] == case
    (single,) = cases_of([tmp_path / "Doe Jane 2.edf"], "P7")
    assert single.code == "sub-P7"
    assert single.files[0] in case.files


def test_any_of_the_three_files_of_brainvision_means_its_header(tmp_path):
    for suffix in (".vhdr", ".vmrk", ".eeg"):
        (tmp_path / f"a{suffix}").write_bytes(b"")
    for given in (tmp_path, tmp_path / "a.eeg", tmp_path / "a.vmrk"):
        assert [file.shown for file in cases_of([given])[0].files] == ["a.vhdr"]


def test_two_patients_of_one_code_are_refused(tmp_path):
    for center in ("a", "b"):
        (tmp_path / center).mkdir()
        (tmp_path / center / "x.edf").write_bytes(b"")
    with pytest.raises(
        DataError, match="sub-P1: expected one patient of this code, found one in a"
    ):
        cases_of([tmp_path / "a", tmp_path / "b"], "P1")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nothing", "found nothing there"),
        ("", "expected recordings or a BIDS dataset, found neither"),
    ],
)
def test_nothing_to_review_is_reported(tmp_path, name, why):
    with pytest.raises(DataError, match=why):
        cases_of([tmp_path / name])


def test_a_code_that_is_no_code_is_refused(tmp_path):
    (tmp_path / "x.edf").write_bytes(b"")
    with pytest.raises(DataError, match="expected a code of letters and digits"):
        cases_of([tmp_path], "../x")
