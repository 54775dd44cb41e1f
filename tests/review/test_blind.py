"""Blind reading: the server sends no ranking before the reader has marked."""

from __future__ import annotations

import json

import pytest
from http_client import get_json, post_json, send_request
from patients_to_run import review_with_runs

from epilens.core.errors import DataError
from epilens.review.session import check_blind
from epilens.review.start import make_review

RESULTS = (
    "run/sub-P1/1.html",
    "run/sub-P1/2.html",
    "api/compare?case=sub-P1&old=1&new=2",
    "export/sub-P1/1/page.html",
    "export/sub-P1/1/readings.tsv",
    "export/sub-P1/1/readings.json",
)


@pytest.fixture(scope="module", params=["second", "all"])
def server(request, tmp_path_factory):
    """A review whose first reader has signed."""
    session = review_with_runs(tmp_path_factory.mktemp("review"), request.param)
    with make_review(session) as opened:
        if request.param == "all":
            assert change(opened, "AB", zone=["A1"], blind=True)[0] == 200
        base = 1 if request.param == "all" else 0
        assert change(opened, "AB", act="sign", base=base, verdicts={"A1": "agree"})[0] == 200
        yield opened


def change(server, reader, **changes):
    tree = {"case": "sub-P1", "run": 1, "reader": reader, "base": 0, "act": "save"} | changes
    return post_json(server, "api/reading", tree)


def readings(server, reader):
    return get_json(server, f"api/readings?case=sub-P1&run=1&reader={reader}")


def ask(server, path, reader):
    return send_request(server, f"{path}{'&' if '?' in path else '?'}reader={reader}")


def is_hidden(server, reader):
    """Whether every route agrees that this reader gets no results."""
    statuses = {ask(server, path, reader)[0].status for path in RESULTS[:3]}
    assert len(statuses) == 1
    hidden = readings(server, reader)["hidden"]
    assert statuses == {403 if hidden else 200}
    return hidden


@pytest.mark.parametrize("path", RESULTS)
@pytest.mark.parametrize("reader", ["", "CD"])
def test_no_direct_address_gives_the_ranking(server, path, reader):
    answer, text = ask(server, path, reader)
    assert answer.status == 403
    assert "mark first" in json.loads(text)["error"]


@pytest.mark.parametrize("reader", ["", "CD"])
def test_contacts_are_listed_by_name_without_results(server, reader):
    found = readings(server, reader)
    assert found["hidden"]
    assert [contact["name"] for contact in found["contacts"]][:3] == ["A1", "A2", "A3"]
    assert {key for contact in found["contacts"] for key in contact} == {
        *("name", "short", "shaft", "number")
    }
    assert (found["k"], found["blind"], found["agreement"], found["others"]) == (0, None, [], [])


def test_no_other_answer_contains_scores(server):
    for path in ("api/runs?case=sub-P1", "api/queue", "api/cases", "patient?case=sub-P1"):
        assert "ez_score" not in send_request(server, path)[1]


@pytest.mark.parametrize(
    "changes",
    [{"verdicts": {"A1": "agree"}}, {"plan": ["A1"]}, {"act": "sign", "notes": "seen"}],
)
def test_nothing_else_can_be_stored_before(server, changes):
    status, found = change(server, "NO", **changes)
    assert status == 403
    assert "mark first" in found["error"]
    assert readings(server, "NO")["own"] is None
    assert is_hidden(server, "NO")


def test_marks_give_the_ranking_of_every_run_for_good(server):
    assert is_hidden(server, "EF")
    assert change(server, "EF", zone=["A2"], plan=["A1"], blind=True)[0] == 200
    assert not is_hidden(server, "EF")
    assert readings(server, "EF")["blind"]["onset zone"]["marked"] == 1
    status, moved = change(server, "EF", run=2, base=1, plan=["A3"])  # read another run instead
    assert status == 200
    assert moved["judgement"]["blind"]
    assert not is_hidden(server, "EF")
    assert is_hidden(server, "GH"), "marks are those of one reader"


def test_who_has_seen_the_ranking_cannot_read_blind_later(tmp_path):
    with make_review(review_with_runs(tmp_path, "second")) as server:
        assert not is_hidden(server, "CD")  # nobody has signed: the first reader
        assert change(server, "AB", act="sign", verdicts={"A1": "agree"})[0] == 200
        assert not is_hidden(server, "CD")
        status, found = change(server, "CD", zone=["A2"], blind=True)
        assert status == 400
        assert "before the ranking is shown" in found["error"]
        assert is_hidden(server, "")


def test_everybody_sees_the_ranking_where_the_review_says_so(tmp_path):
    with make_review(review_with_runs(tmp_path, "none")) as server:
        assert change(server, "AB", act="sign", verdicts={"A1": "agree"})[0] == 200
        assert not is_hidden(server, "CD")
        assert not is_hidden(server, "")


def test_another_word_than_the_choices_is_refused_in_one_sentence():
    assert [check_blind(text) for text in ("second", "all", "none")] == ["second", "all", "none"]
    with pytest.raises(DataError, match="--blind: expected second, all or none, found 'sometimes'"):
        check_blind("sometimes")
