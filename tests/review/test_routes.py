"""The routes of the service, requested as a browser or somebody else would."""

from __future__ import annotations

import json

import pytest
from http_client import get_json, post_json, send_request
from patients_to_run import review_with_runs

from epilens.data.discovery import Case
from epilens.review.session import open_session
from epilens.review.start import make_review


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A review of one patient with two runs."""
    session = review_with_runs(tmp_path_factory.mktemp("review"), "none")
    with make_review(session) as opened:
        yield opened


def say(server, **changes):
    tree = {"case": "sub-P1", "run": 1, "reader": "AB", "base": 0, "act": "save"} | changes
    return post_json(server, "api/reading", tree)


def test_runs_are_listed_with_their_marks_and_the_files_by_name(server):
    found = get_json(server, "api/runs?case=sub-P1")
    assert [run["number"] for run in found["runs"]] == [1, 2]
    assert found["runs"][1]["recordings"][0] == {"shown": "Mustermann-1.edf", "onsets_s": [50.0]}
    assert {run["state"]["kind"] for run in found["runs"]} == {"done"}


def test_the_path_of_a_model_is_not_sent(server):
    found = get_json(server, "api/choices")
    assert found[0]["default"]
    assert all("source" not in one for one in found)


def test_the_page_of_a_run_has_an_origin_of_its_own(server):
    answer, text = send_request(server, "run/sub-P1/1.html")
    assert answer.status == 200
    policy = answer.getheader("content-security-policy")
    assert "sandbox allow-scripts" in policy
    assert "allow-same-origin" not in policy
    assert text.startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("api/runs?case=sub-Nobody", 404),
        ("api/runs", 404),
        ("run/sub-P1/9.html", 400),
        ("run/sub-P1/..%2f1.html", 404),
        ("run/sub-P1/x.html", 404),
        ("run/sub-P1/%C2%B2.html", 404),
        ("run/sub-P1/1234567890123.html", 404),
        ("export/sub-P1/1/other.txt", 404),
        ("export/sub-P1/1/..%2f..%2frun.json", 404),
        ("api/compare?case=sub-P1&old=1&new=x", 404),
        ("api/readings?case=sub-P1&run=1&reader=..%2f", 400),
    ],
)
def test_what_is_not_there(server, path, status):
    answer, text = send_request(server, path)
    assert answer.status == status
    assert json.loads(text)["error"]


def test_two_runs_side_by_side(server):
    found = get_json(server, "api/compare?case=sub-P1&old=1&new=2")
    assert found["common"] == 10
    assert len(found["changed"]) == 2
    assert found["changed"][0] == "Mustermann-1.edf: onset 50.000 s, before 40.000 s"


@pytest.mark.parametrize("choice", ["random", "/etc", None, 5, ["line-length-change"]])
def test_only_what_is_listed_can_be_run(server, choice):
    status, found = post_json(server, "api/run", {"case": "sub-P1", "choice": choice})
    assert status == 400
    assert "expected one of the methods and models" in found["error"]
    assert len(get_json(server, "api/runs?case=sub-P1")["runs"]) == 2


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"reader": "../x"}, "expected initials"),
        ({"base": "0"}, "expected the revision"),
        ({"base": True}, "expected the revision"),
        ({"act": "burn"}, "expected to save, sign or amend"),
        ({"act": ["save"]}, "expected to save, sign or amend"),
        ({"verdicts": {"Z9": "agree"}}, "expected contacts of run 1"),
        ({"act": "sign"}, "Judge a contact before you sign"),
        ({"case": 3}, "expected a word for case"),
    ],
)
def test_nonsense_is_refused_and_keeps_nothing(server, changes, match):
    status, found = say(server, **{"reader": "NO"} | changes)
    assert status == 400
    assert match in found["error"]
    assert get_json(server, "api/readings?case=sub-P1&run=1&reader=NO")["own"] is None


def test_two_windows_of_one_reader_lose_nothing(server):
    status, first = say(server, reader="TW", verdicts={"A1": "agree"})
    assert (status, first["revision"]) == (200, 1)
    status, found = say(server, reader="TW", verdicts={"A2": "unsure"})
    assert status == 409
    assert "changed in another window" in found["error"]
    own = get_json(server, "api/readings?case=sub-P1&run=1&reader=tw")["own"]
    assert own["judgement"]["verdicts"] == {"A1": "agree"}


def test_what_others_said_is_shown_after_signing(server):
    say(server, act="sign", verdicts={"A1": "agree", "A2": "unsure"}, notes="mine alone")
    path = "api/readings?case=sub-P1&run=1&reader=CD"
    before = get_json(server, path)
    assert before["others"] == []
    assert [one["reader"] for one in before["signers"]] == ["AB"]
    assert "mine alone" not in json.dumps(before)
    say(server, reader="CD", act="sign", verdicts={"A1": "agree", "A2": "agree"}, plan=["A1"])
    after = get_json(server, path)
    assert after["others"][0]["judgement"]["verdicts"]["A2"] == "unsure"
    assert after["agreement"][0]["same"] == 1
    queue = get_json(server, "api/queue")
    assert queue["unread"] == 0
    assert queue["patients"][0]["run"] == 2


def test_exports_are_downloads(server):
    say(server, reader="EX", act="sign", verdicts={"A1": "agree"}, notes="for the file")
    kinds = {"readings.json": True, "readings.tsv": False, "page.html": False}
    for name, has_notes in kinds.items():
        answer, text = send_request(server, f"export/sub-P1/1/{name}?reader=EX")
        saved = f'attachment; filename="sub-P1_run-1_{name}"'
        assert answer.getheader("content-disposition") == saved
        assert ("for the file" in text) == has_notes
        assert "EX" in text


@pytest.mark.parametrize("name", ["readings.json", "readings.tsv", "page.html"])
@pytest.mark.parametrize("reader", ["", "NB", "DR", "AM"])
def test_nothing_is_exported_for_who_has_not_signed(server, name, reader):
    """Nobody, who never read, a draft, and an amendment that is not signed yet."""
    say(server, reader="SG", act="sign", verdicts={"A1": "disagree"}, notes="only for signers")
    say(server, reader="DR", verdicts={"A1": "agree"})
    status, signed = say(server, reader="AM", act="sign", verdicts={"A1": "agree"})
    if status == 200:
        say(server, reader="AM", act="amend", base=signed["revision"])
    answer, text = send_request(server, f"export/sub-P1/1/{name}?reader={reader}")
    assert answer.status == 400
    assert answer.getheader("content-disposition") is None
    said = "expected initials" if not reader else "expected the initials of a reader who has signed"
    assert said in json.loads(text)["error"]
    assert "only for signers" not in text
    path = f"api/readings?case=sub-P1&run=1&reader={reader}"
    assert get_json(server, path)["may_export"] is False


def test_a_batch_is_started_or_stopped(server):
    status, found = post_json(server, "api/batch", {"act": "dance"})
    assert status == 400
    assert "expected to start or to stop" in found["error"]
    assert post_json(server, "api/batch", {"act": "stop"})[0] == 200
    assert get_json(server, "api/queue")["batch"]["running"] is False


def test_a_run_that_is_over_cannot_be_stopped(server):
    status, found = post_json(server, "api/stop", {"case": "sub-P1", "run": 1})
    assert status == 400
    assert "expected a run in progress" in found["error"]


def test_a_damaged_reading_is_reported_for_its_patient_alone(tmp_path):
    cases = [Case(code, ()) for code in ("sub-A", "sub-B")]
    session = open_session(cases, tmp_path)
    path = session.folder("sub-A") / "readings" / "reader-AB" / "000001.json"
    path.parent.mkdir(parents=True)
    path.write_text("{")
    with make_review(session) as server:
        first, second = get_json(server, "api/queue")["patients"]
    assert "000001.json: expected a reading" in first["problem"]
    assert second["problem"] == ""
