"""What a review wrote is read by `localize --onsets … --exclude …`."""

from __future__ import annotations

import re

import pytest
from commands import epilens
from patients_to_run import METHOD, case, plain_files
from trees import write_tree

from epilens.cli.localize import digests, marked_recordings, split_names
from epilens.core.errors import DataError
from epilens.data.discovery import cases_of
from epilens.localization import Request
from epilens.localization.run_spec import PatientFacts, make_run_spec
from epilens.review.mark_store import MarkStore
from epilens.review.session import open_session


def review(folder, code="P1", bad=("B2",), onsets=(40.0, 42.5)):
    """A review of the two plain files, with an onset in each and a bad contact."""
    session = open_session(cases_of([plain_files()], code), folder)
    (patient,) = session.cases
    files = {
        file.name: {"onsets": [{"onset_s": at}]}
        for file, at in zip(patient.files, onsets, strict=True)
    }
    tree = {"files": files, "bad": dict.fromkeys(bad, "by eye")}
    MarkStore(session).write(patient.code, tree, 0)
    return folder


@pytest.mark.parametrize("typed", ["P1", "sub-P1", ""])
def test_marked_onsets_are_those_of_the_files(tmp_path, typed):
    table = review(tmp_path / "reviews") / "onsets.tsv"
    files = sorted(plain_files().glob("*.edf"))
    marked = marked_recordings(table, files, typed)
    assert [(path.name, onset.onset_s) for path, onset in marked] == [
        ("Mustermann-1.edf", 40.0),
        ("Mustermann-2.edf", 42.5),
    ]
    assert len(digests(marked)) == 2


def test_two_onsets_of_one_file_are_two_seizures_and_a_file_without_a_row_keeps_its_own(tmp_path):
    first, _ = case().files
    (tmp_path / "onsets.tsv").write_text(
        f"patient\trun\tonset_s\nP1\t{first.name}\t60\nP1\t{first.name}\t40\n"
    )
    marked = marked_recordings(tmp_path / "onsets.tsv", [plain_files()], "P1")
    assert [onset and onset.onset_s for _, onset in marked] == [40.0, 60.0, None]


def test_files_keep_the_order_in_which_they_are_given(tmp_path):
    table = review(tmp_path / "reviews") / "onsets.tsv"
    first, second = sorted(plain_files().glob("*.edf"))
    marked = marked_recordings(table, [second, first], "P1")
    assert [(path.name, onset.onset_s) for path, onset in marked] == [
        ("Mustermann-2.edf", 42.5),
        ("Mustermann-1.edf", 40.0),
    ]
    typed = ["localize", METHOD.source, second, first, "--onsets", table, "--patient", "P1"]
    done = epilens(*typed, "--out", tmp_path / "o")
    assert "seizure 1: Mustermann-2.edf, onset 42.5 s" in done.stderr
    assert "seizure 2: Mustermann-1.edf, onset 40.0 s" in done.stderr
    assert "Mustermann" not in (tmp_path / "o" / "sub-P1.html").read_text(encoding="utf-8")


def test_runs_of_a_dataset_are_listed_by_name(tmp_path):
    root = write_tree(tmp_path / "tree", runs=["01", "02"])
    done = epilens("localize", METHOD.source, root, "--out", tmp_path / "o")
    assert done.returncode == 0, done.stderr
    assert re.search(r"seizure 1: \S*run-01\S*, onset [\d.]+ s\n", done.stderr)


def test_onsets_of_other_patients_are_refused(tmp_path):
    table = review(tmp_path / "reviews") / "onsets.tsv"
    with pytest.raises(DataError, match="found only those of others"):
        marked_recordings(table, [plain_files()], "P2")


def test_runs_of_a_dataset_are_matched_by_name(tmp_path):
    root = write_tree(tmp_path / "tree", runs=["01", "02"])
    (patient,) = cases_of([root])
    run = patient.files[1].name
    (tmp_path / "onsets.tsv").write_text(f"patient\trun\tonset_s\n{patient.code}\t{run}\t41\n")
    marked = marked_recordings(tmp_path / "onsets.tsv", [root / patient.code])
    assert [onset and onset.onset_s for _, onset in marked] == [None, 41.0]


def test_bad_channels_are_those_of_the_patient(tmp_path):
    folder = review(tmp_path / "reviews")
    table = str(folder / "channels.tsv")
    assert split_names([table]) == split_names([table], "P1") == {"B2": "by eye"}
    assert split_names([str(folder / "sub-P1" / "channels.tsv")]) == {"B2": "by eye"}
    review(folder, "P2", bad=())
    assert split_names([table], "P2") == {}
    with pytest.raises(DataError, match="expected the table of one patient, found a review of 2"):
        split_names([table])


def test_the_command_line_reads_what_the_review_wrote(tmp_path):
    folder = review(tmp_path / "reviews")
    files = sorted(plain_files().glob("*.edf"))
    marks = ("--onsets", folder / "onsets.tsv", "--exclude", folder / "channels.tsv")
    done = epilens(
        "localize", METHOD.source, *files, *marks, "--patient", "P1", "--out", tmp_path / "o"
    )
    assert done.returncode == 0, done.stderr
    table = (tmp_path / "o" / "sub-P1" / "ieeg" / "sub-P1_desc-epilens_contacts.tsv").read_text()
    assert "\nB2\t" not in table
    assert "\nB1\t" in table
    both = epilens("localize", *files, *marks, "--onset", 40, "--out", tmp_path / "o")
    assert "expected --onset or --onsets, found both" in both.stderr


def test_electrodes_and_a_resection_reach_the_runs_of_a_review(tmp_path):
    table = tmp_path / "electrodes.tsv"
    table.write_text("name\tx\ty\tz\nA1\t1\t2\t3\n")
    facts = PatientFacts.of(table, "MNI152", "A1-2")
    spec = make_run_spec(case(), METHOD, facts=facts)
    request = spec.request()
    assert isinstance(request, Request)
    assert (request.electrodes, request.space, request.resected) == (str(table), "MNI152", "A1-2")
    assert str(tmp_path) not in str(spec.inputs.to_json())
    table.write_text("name\tx\ty\tz\nA1\t9\t2\t3\n")
    assert make_run_spec(case(), METHOD, facts=facts).inputs.key != spec.inputs.key
    assert type(spec).model_validate_json(spec.model_dump_json(by_alias=True)) == spec
    with pytest.raises(DataError, match="expected one patient for --electrodes"):
        open_session([case("P1"), case("P2")], tmp_path / "out", facts=facts)
    with pytest.raises(DataError) as refused:
        PatientFacts.of(tmp_path / "gone.tsv", "", None)
    assert refused.value.code == "file-unreadable"
