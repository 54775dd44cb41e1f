"""Marks of each patient are isolated: damage blocks no other patient, a click costs one file."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from http_client import get_json, post_json

from epilens.core.errors import DataError
from epilens.data.discovery import Case, TraceFile
from epilens.review.errors import ConflictError
from epilens.review.mark_store import MarkStore
from epilens.review.session import open_session
from epilens.review.start import make_review

MARKED = {"files": {"a": {"onsets": [{"onset_s": 60.1234}]}}, "bad": {"LB3": "by eye"}}


def session_of(folder, patients):
    cases = [Case(f"sub-P{i}", (TraceFile("a", "a.edf", None),)) for i in range(1, patients + 1)]
    return open_session(cases, folder / "out")


@pytest.fixture
def session(tmp_path):
    return session_of(tmp_path, 3)


@pytest.fixture
def store(session):
    store = MarkStore(session)
    for i in range(1, 4):
        store.write(f"sub-P{i}", MARKED, 0)
    return store


def review_file(session, code="sub-P1"):
    return session.out / code / "review.json"


def onsets(session):
    lines = (session.out / "onsets.tsv").read_text().splitlines()[1:]
    return {line.split("\t")[0]: line.split("\t")[2] for line in lines}


DAMAGED = [
    "{",
    "[]",
    "",
    '{"files": {}}',
    '{"revision": "1"}',
    '{"revision": 0}',
    '{"revision": true}',
    '{"revision": 1, "files": []}',
    '{"revision": 1, "bad": {"LA1": "<b>"}}',
    '{"revision": 1, "bad": {"\\ud800": "by eye"}}',
]


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_file_is_named_and_not_overwritten(store, session, text):
    review_file(session).write_text(text)
    with pytest.raises(DataError, match=r"sub-P1/review\.json: expected"):
        store.write("sub-P1", MARKED, 1)
    assert review_file(session).read_text() == text


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_file_blocks_no_other_patient(store, session, text):
    review_file(session).write_text(text)
    moved = {"files": {"a": {"onsets": [{"onset_s": 70}]}}}
    for each in (store, MarkStore(session)):
        revision = each.read("sub-P2").revision
        assert each.write("sub-P2", moved, revision).revision == revision + 1
        # What the damaged file said last stays in the table.
        assert onsets(session) == {"sub-P1": "60.123", "sub-P2": "70.000", "sub-P3": "60.123"}


def test_a_folder_in_the_place_of_the_file_is_damage_too(store, session):
    review_file(session).unlink()
    review_file(session).mkdir()
    with pytest.raises(DataError, match=r"sub-P1/review\.json: expected a file"):
        MarkStore(session).read("sub-P1")


def test_the_server_starts_and_shows_the_damaged_patient(store, session):
    review_file(session).write_text("{")
    with make_review(session) as server:
        first, second, _ = get_json(server, "api/cases")["cases"]
        assert "sub-P1/review.json: expected JSON" in first["problem"]
        assert first["files"][0]["onsets_s"] == []
        assert (second["problem"], second["bad"]) == ("", 1)
        status, answer = post_json(server, "api/case/sub-P1/marks", MARKED | {"revision": 1})
        assert (status, "sub-P1/review.json" in answer["error"]) == (400, True)
        status, answer = post_json(server, "api/case/sub-P2/marks", MARKED | {"revision": 1})
        assert (status, answer["revision"]) == (200, 2)
        assert len(get_json(server, "api/queue")["patients"]) == 3


def test_a_restored_file_works_again_without_a_restart(store, session):
    before = review_file(session).read_text()
    review_file(session).write_text("{")
    with pytest.raises(DataError, match="expected JSON"):
        store.read("sub-P1")
    review_file(session).write_text(before)
    assert store.write("sub-P1", {}, 1).revision == 2
    assert onsets(session) == {"sub-P2": "60.123", "sub-P3": "60.123"}


def test_a_change_by_another_process_is_seen(store, session):
    MarkStore(session).write("sub-P1", {"bad": {"LA1": "flat"}}, 1)
    assert store.read("sub-P1").bad == {"LA1": "flat"}
    with pytest.raises(ConflictError, match="another tab saved first"):
        store.write("sub-P1", MARKED, 1)


@pytest.mark.parametrize("name", ["review.json", "channels.tsv", "onsets.tsv"])
def test_a_mark_is_saved_with_its_tables_or_not_at_all(store, session, monkeypatch, name):
    write = Path.write_bytes

    def write_unless_full(path, content):
        if name in path.name:
            raise OSError(28, "No space left on device")
        return write(path, content)

    paths = [review_file(session), session.out / "onsets.tsv", session.out / "sub-P1/channels.tsv"]
    before = [path.read_bytes() for path in paths]
    monkeypatch.setattr(Path, "write_bytes", write_unless_full)
    with pytest.raises(DataError, match=r"found none left.*Nothing was saved"):
        store.write("sub-P1", {"bad": {"LA1": "flat"}}, 1)
    assert [path.read_bytes() for path in paths] == before
    assert store.read("sub-P1").revision == 1
    monkeypatch.undo()
    assert store.write("sub-P1", {"bad": {"LA1": "flat"}}, 1).revision == 2
    assert "LA1\tbad\tflat" in paths[2].read_text()
    assert "sub-P1" not in onsets(session)


def test_a_click_reads_and_writes_the_files_of_one_patient(store, session, monkeypatch):
    """Whatever the number of patients: counted, because times depend on the machine."""
    opened = []
    monkeypatch.setattr(
        "epilens.review.mark_store.read_json",
        lambda path: opened.append(path) or json.loads(path.read_text()),
    )
    store.write("sub-P2", {"bad": {"LA1": "flat"}}, 1)
    store.read("sub-P2")
    assert opened == []
    stamps = {p: p.stat().st_ino for p in session.out.rglob("*") if p.is_file()}
    store.write("sub-P3", {"bad": {"LA1": "flat"}}, 1)
    changed = {p.name for p, inode in stamps.items() if p.stat().st_ino != inode}
    assert changed == {"review.json", "channels.tsv", "onsets.tsv"}


def seconds_per_click(folder, patients):
    session = session_of(folder, patients)
    for case in session.cases:
        review_file(session, case.code).parent.mkdir()
        review_file(session, case.code).write_text(json.dumps(MARKED | {"revision": 1}))
    store, times = MarkStore(session), []
    for i in range(20):
        tree = {"files": {"a": {"onsets": [{"onset_s": 60 + i}]}}}
        began = time.process_time()
        store.write("sub-P1", tree, 1 + i)
        times.append(time.process_time() - began)
    return sorted(times)[len(times) // 2]


def test_a_click_costs_about_the_same_with_100_patients(tmp_path):
    (tmp_path / "1").mkdir()
    (tmp_path / "100").mkdir()
    assert seconds_per_click(tmp_path / "100", 100) < 4 * seconds_per_click(tmp_path / "1", 1)
