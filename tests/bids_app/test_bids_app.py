"""The BIDS App: every patient or its reason, resumed, in one derivative; then a summary of all."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil

import pytest

from epilens.bids_app.group import summarise
from epilens.bids_app.participants import (
    LEFT_OUT,
    LocalizeParticipant,
    choose_ranker,
    localize_all,
    patients_of,
)
from epilens.bids_app.verb import BidsCommand, run_level
from epilens.core.errors import DataError, EpilensError, ModelError, StorageError
from epilens.data.sidecars import BidsTree
from epilens.io.delimited import plain
from epilens.io.outputs import claim_output
from epilens.plan import Runtime
from epilens.report.patient.derivative import KIND

METHOD = "line-length-change"


@pytest.fixture(scope="module")
def dataset(tiny, tmp_path_factory):
    """A simulated dataset with two patients, one without recordings, and one without a folder."""
    root = tmp_path_factory.mktemp("bids") / "secret-name"
    shutil.copytree(tiny / "south", root)
    (root / "sub-Empty").mkdir()
    (root / "sub-<b>x").mkdir()
    table = root / "participants.tsv"
    width = table.read_text(encoding="utf-8").splitlines()[0].count("\t")
    with table.open("a", encoding="utf-8") as file:
        file.write("sub-Gone" + "\tn/a" * width + "\n")
    return root


@pytest.fixture(scope="module")
def localized(dataset, tmp_path_factory):
    out = tmp_path_factory.mktemp("derivative") / "out"
    return out, localize_all(dataset, choose_ranker(None, METHOD), Runtime(out))


def rows_of(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    return [[plain(cell) for cell in line.split("\t")] for line in lines[1:]]


def kinds(outcomes):
    return {one.patient: one.kind for one in outcomes}


def test_every_patient_is_localized_or_has_its_reason(localized):
    out, outcomes = localized
    assert kinds(outcomes) == {
        "sub-<b>x": "failed",
        "sub-Empty": "failed",
        "sub-Gone": "failed",
        "sub-S01": "done",
        "sub-S02": "done",
    }
    why = dict(rows_of(out / LEFT_OUT))
    assert set(why) == {"sub-<b>x", "sub-Empty", "sub-Gone"}
    assert "expected recordings, found none" in why["sub-Empty"]
    assert "participants.tsv alone" in why["sub-Gone"]
    assert "letters and digits" in why["sub-<b>x"]
    assert (out / "sub-S01.html").is_file()
    assert (out / "sub-S02" / "ieeg" / "sub-S02_desc-epilens_contacts.tsv").is_file()


def test_it_is_a_derivative_that_names_no_place(dataset, localized):
    out, _ = localized
    about = json.loads((out / "dataset_description.json").read_text())
    assert about["DatasetType"] == "derivative"
    assert LEFT_OUT in (out / ".bidsignore").read_text()
    for path in (path for path in out.rglob("*") if path.is_file()):
        text = path.read_text(encoding="utf-8", errors="replace")  # a workbook is no text
        assert "secret-name" not in text
        assert str(dataset.parent) not in text


def test_a_page_of_an_older_layout_is_not_kept(dataset, localized, monkeypatch):
    out, _ = localized
    job = LocalizeParticipant("sub-S01", dataset, out, choose_ranker(None, METHOD))
    assert job.finished().kind == "kept"
    monkeypatch.setattr("epilens.report.patient.page.page_digest", lambda: "another layout")
    assert job.finished() is None


def test_what_is_there_with_the_same_inputs_is_kept(dataset, localized, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(localized[0], out)
    choice = choose_ranker(None, METHOD)
    again = localize_all(dataset, choice, Runtime(out))
    assert [one.patient for one in again if one.kind == "kept"] == ["sub-S01", "sub-S02"]
    (out / "sub-S01.html").unlink()
    assert kinds(localize_all(dataset, choice, Runtime(out), ["S01", "sub-S02"])) == {
        "sub-S01": "done",
        "sub-S02": "kept",
    }


def test_a_result_of_ours_does_not_outlive_the_patient_s_failure(dataset, localized, tmp_path):
    out, root = tmp_path / "out", tmp_path / "bids"
    shutil.copytree(localized[0], out)
    shutil.copytree(dataset, root)
    shutil.rmtree(root / "sub-S01")
    (root / "sub-S01").mkdir()
    assert kinds(localize_all(root, choose_ranker(None, METHOD), Runtime(out), ["S01"])) == {
        "sub-S01": "failed"
    }
    assert not (out / "sub-S01.html").exists()
    assert "sub-S01" in dict(rows_of(out / LEFT_OUT))
    assert "sub-Gone" in dict(rows_of(out / LEFT_OUT))  # of the earlier command
    localize_all(dataset, choose_ranker(None, METHOD), Runtime(out), ["S01"])
    assert "sub-S01" not in dict(rows_of(out / LEFT_OUT))


def test_another_method_is_another_result(localized, dataset, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(localized[0], out)
    outcomes = localize_all(
        dataset, choose_ranker(None, "line-length-spread"), Runtime(out), ["S01"]
    )
    assert kinds(outcomes) == {"sub-S01": "done"}


def test_labels_name_patients_of_the_dataset(dataset):
    tree = BidsTree(dataset)
    assert patients_of(tree, ["S02,sub-S01"]) == ["sub-S01", "sub-S02"]
    with pytest.raises(DataError, match="Did you mean 'sub-S01'"):
        patients_of(tree, ["S1"])


def test_one_source_of_scores(tmp_path):
    assert choose_ranker(None, "").default
    with pytest.raises(DataError, match="found both"):
        choose_ranker(tmp_path, METHOD)
    with pytest.raises(DataError, match="Did you mean 'line-length-change'"):
        choose_ranker(None, "line-lenght-change")
    with pytest.raises(ModelError, match=r"model\.json"):
        choose_ranker(tmp_path, "")


def test_the_group_has_a_table_and_a_page_that_needs_no_server(localized, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(localized[0], out)
    page = summarise(out).read_text(encoding="utf-8")
    rows = rows_of(out / "group_participants.tsv")
    assert [row[0] for row in rows] == ["sub-S01", "sub-S02"]
    assert rows[0][1] == "Line-length change"
    leading = (out / "sub-S01" / "ieeg" / "sub-S01_desc-epilens_contacts.tsv").read_text()
    assert rows[0][3].split(", ")[0] == plain(leading.splitlines()[1].split("\t")[0])
    assert "Research use only" in page
    assert 'href="sub-S02.html"' in page
    assert "static/" not in page
    style = page.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in page, "nothing else may style or script the page"
    assert "default-src 'none'" in page
    assert "sub-&lt;b&gt;x" in page
    assert "<b>x" not in page


def test_a_group_of_nobody_is_refused(tmp_path):
    with pytest.raises(DataError, match="expected localized patients, found none"):
        summarise(tmp_path)
    with pytest.raises(DataError, match="expected localized patients, found none"):
        summarise(claim_output(tmp_path / "out", KIND))


def test_patients_that_differ_in_case_alone_are_refused_before_anything_is_written(tiny, tmp_path):
    root = tmp_path / "data"
    shutil.copytree(tiny / "south", root)
    (root / "sub-s01").mkdir()
    with pytest.raises(DataError, match="sub-s01: expected a name that differs"):
        localize_all(root, choose_ranker(None, METHOD), Runtime(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_the_verb_says_what_is_wrong_before_it_begins(dataset, tiny, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(EpilensError, match="Did you mean 'group'"):
        run_level(BidsCommand(dataset, out, "groups"))
    with pytest.raises(EpilensError, match="Is it a --participant-label"):
        run_level(BidsCommand(dataset, out, "participant", more=("S01",)))
    with pytest.raises(EpilensError, match="which is over all patients"):
        run_level(BidsCommand(dataset, out, "group", labels=("S01",)))
    with pytest.raises(DataError, match="Datasets inside: east"):
        run_level(BidsCommand(tiny, out, "participant", method=METHOD))
    with pytest.raises(DataError, match="Nothing is written there"):
        run_level(BidsCommand(dataset, dataset, "participant", method=METHOD))
    assert not out.exists()


def test_a_dataset_of_which_nobody_can_be_localized_is_an_error(dataset, tmp_path):
    labels, more = ("Empty",), ("Gone",)
    out = tmp_path / "out"
    command = BidsCommand(dataset, out, "participant", labels=labels, more=more, method=METHOD)
    with pytest.raises(DataError, match="found none of 2; the first: sub-Empty"):
        run_level(command)
    assert len(rows_of(out / LEFT_OUT)) == 2


def test_a_place_that_cannot_be_written_ends_everything(dataset, tmp_path):
    out = claim_output(tmp_path / "out", KIND)
    (out / ".participants").write_text("in the way")
    with pytest.raises(StorageError, match="expected"):
        localize_all(dataset, choose_ranker(None, METHOD), Runtime(out), ["S01", "S02"])
    assert not (out / "sub-S02.html").exists()
