"""What is marked is kept, checked, and read again by the other verbs."""

from __future__ import annotations

import json

import pytest
from http_client import get_json, post_json
from recordings_to_review import write_edf

from epilens.core.errors import DataError
from epilens.data.discovery import cases_of
from epilens.data.onsets.onset import TABLED, Onset
from epilens.data.onsets.onset_table import read_onsets
from epilens.review.mark_store import MarkStore
from epilens.review.marks import PatientMarks
from epilens.review.session import open_session
from epilens.review.start import make_review

ONSET = {"onset_s": 60.1234, "uncertainty_s": 1.5, "type": "LVFA", "first": ["LA1", "LA2"]}


@pytest.fixture
def session(tmp_path):
    (tmp_path / "in").mkdir()
    write_edf(tmp_path / "in" / "a.edf", seconds=20)
    return open_session(cases_of([tmp_path / "in"], "P1"), tmp_path / "out")


def parsed(tree):
    return PatientMarks.from_json(tree, "marks", "Mark it again.")


def marked(session, **changes):
    name = session.cases[0].files[0].name
    return {"files": {name: {"onsets": [ONSET | changes]}}, "bad": {"LB3": "by eye"}}


def test_marks_are_kept_as_json_and_as_the_tables_that_other_verbs_read(session):
    store, name = MarkStore(session), session.cases[0].files[0].name
    assert not (session.out / "onsets.tsv").exists()
    store.write("sub-P1", marked(session), 0)
    kept = json.loads((session.out / "sub-P1" / "review.json").read_text())
    assert kept["revision"] == 1
    assert kept["files"][name]["onsets"][0]["onset_s"] == 60.123
    assert read_onsets(session.out / "onsets.tsv") == {
        ("sub-P1", name): Onset.given(60.123, TABLED, uncertainty_s=1.5)
    }
    lines = (session.out / "sub-P1" / "channels.tsv").read_text().splitlines()
    assert lines == ["name\tstatus\tstatus_description", "LB3\tbad\tby eye"]


@pytest.mark.parametrize(("typed", "written"), [({}, "n/a"), ({"uncertainty_s": 0}, "0.000")])
def test_how_sure_is_empty_where_nobody_said(session, typed, written):
    name = session.cases[0].files[0].name
    tree = {"files": {name: {"onsets": [{"onset_s": 5} | typed]}}}
    MarkStore(session).write("sub-P1", tree, 0)
    header, row = (
        line.split("\t") for line in (session.out / "onsets.tsv").read_text().splitlines()
    )
    assert row[header.index("uncertainty_s")] == written


def test_the_folder_is_complete_again_after_a_kill_between_two_files(session):
    MarkStore(session).write("sub-P1", marked(session), 0)
    (session.out / "onsets.tsv").unlink()
    (session.out / "sub-P1" / "channels.tsv").write_text("old")
    (session.out / "sub-P1" / ".review.json.halfwritten").write_text("{")
    again = MarkStore(session)
    assert again.read("sub-P1").bad == {"LB3": "by eye"}
    assert "60.123" in (session.out / "onsets.tsv").read_text()
    assert "LB3" in (session.out / "sub-P1" / "channels.tsv").read_text()


def test_marks_of_recordings_outside_the_session_are_kept(session, tmp_path):
    MarkStore(session).write("sub-P1", marked(session), 0)
    write_edf(tmp_path / "other.edf", seconds=20)
    other = open_session(cases_of([tmp_path / "other.edf"], "P2"), session.out)
    store = MarkStore(other)
    name = other.cases[0].files[0].name
    store.write("sub-P2", {"files": {name: {"onsets": [{"onset_s": 5}]}}}, 0)
    onsets = read_onsets(session.out / "onsets.tsv").values()
    assert {onset.onset_s for onset in onsets} == {60.123, 5.0}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"onset_s": -1}, "expected seconds from 0"),
        ({"onset_s": "60"}, "expected seconds from 0"),
        ({"onset_s": float("nan")}, "expected seconds from 0"),
        ({"onset_s": True}, "expected seconds from 0"),
        ({"uncertainty_s": 1e9}, "expected seconds from 0 to 3600 for uncertainty_s"),
        ({"type": "two words"}, "expected one word of at most 40 letters for type"),
        ({"type": "=1+1"}, "expected one word"),
        ({"type": 5}, "expected one word"),
        ({"first": "LA1"}, "names of contacts"),
        ({"first": [""]}, "names of contacts"),
        ({"first": ["x" * 201]}, "names of contacts"),
        ({"made_from": "thin air"}, "expected hand or suggestion or annotation"),
        ({"first": ["LA\ud800"]}, "expected Unicode text without lone surrogates"),
        ({"type": "\ud800"}, "expected one word"),
        ({"extra": 1}, "an object with known fields"),
    ],
)
def test_what_is_no_mark_is_refused(session, changes, why):
    with pytest.raises(DataError, match=why):
        parsed(marked(session, **changes))


@pytest.mark.parametrize(
    ("tree", "why"),
    [
        ({"files": []}, "recordings by name"),
        ({"files": {"../x": {}}}, "recordings by name"),
        ({"files": {"a": {"onsets": [ONSET] * 501}}}, "a list of at most 500"),
        ({"files": {"a": {"fingerprint": "<b>"}}}, "hexadecimal digits"),
        ({"bad": ["LA1"]}, "contacts with a reason"),
        ({"bad": {"LA1": "<img>"}}, "contacts with a reason"),
        ({"other": 1}, "an object with known fields"),
    ],
)
def test_what_are_no_marks_of_a_patient_is_refused(tree, why):
    with pytest.raises(DataError, match=why):
        parsed(tree)


def test_onsets_of_one_seizure_are_refused_and_named(session):
    tree = {"files": {"a": {"onsets": [ONSET, ONSET | {"onset_s": 66}]}}}
    with pytest.raises(
        DataError, match=r"at least 10 s apart, found onsets at 60\.123 and 66\.000"
    ):
        parsed(tree)


def test_hostile_names_stay_text_in_the_tables(session):
    names = ["=HYPERLINK(0)1", "A\t1\nB", "<img src=x>"]
    store = MarkStore(session)
    store.write("sub-P1", marked(session, first=names) | {"bad": dict.fromkeys(names, "mains")}, 0)
    lines = (session.out / "sub-P1" / "channels.tsv").read_text().splitlines()
    assert len(lines) == 4
    assert all(len(line.split("\t")) == 3 for line in lines)
    assert "'=HYPERLINK(0)1\tbad\tmains" in lines
    assert len(read_onsets(session.out / "onsets.tsv")) == 1


def test_marks_over_the_network(session):
    with make_review(session) as server:
        marks = get_json(server, "api/case/sub-P1/marks")
        assert (marks["revision"], marks["files"], marks["bad"]) == (0, {}, {})
        status, saved = post_json(
            server, "api/case/sub-P1/marks", marked(session) | {"revision": 0}
        )
        assert (status, saved["revision"]) == (200, 1)
        status, stale = post_json(
            server, "api/case/sub-P1/marks", marked(session) | {"revision": 0}
        )
        assert status == 409
        assert "another tab saved first" in stale["error"]
        status, refused = post_json(server, "api/case/sub-P1/marks", {"revision": 1, "bad": [1]})
        assert (status, "contacts with a reason" in refused["error"]) == (400, True)
        assert post_json(server, "api/case/sub-P1/marks", marked(session))[0] == 400
        assert post_json(server, "api/case/sub-P9/marks", {"revision": 0})[0] == 404
        assert post_json(server, "api/case/..%2Fsub-P1/marks", {"revision": 0})[0] == 404
        (case,) = get_json(server, "api/cases")["cases"]
        assert case["files"][0]["onsets_s"] == [60.123]
        assert case["bad"] == 1
