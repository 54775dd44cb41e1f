"""A notebook loses nothing: revisions, whole files, one process."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from asking import asked, told

from epilens.core.errors import DataError, EpilensError
from epilens.data.discovery import cases_of
from epilens.io.locks import lock_folder
from epilens.review.server import ConflictError
from epilens.review.session import Document, open_session
from epilens.review.start import make_review


def only_numbers(tree):
    if any(not isinstance(value, int) for value in tree.values()):
        raise DataError("numbers: expected numbers, found another value. Send numbers.")
    return tree


@pytest.fixture
def notebook(tmp_path):
    return Document(tmp_path / "folder" / "review.json", only_numbers)


def test_a_notebook_counts_its_changes(notebook):
    assert notebook.read().revision == 0
    assert notebook.write({"a": 1}, 0).revision == 1
    assert notebook.write({"a": 2}, 1).revision == 2
    again = Document(notebook.path, only_numbers).read()
    assert (again.revision, again.tree) == (2, {"a": 2})


def test_a_change_of_an_older_revision_is_refused_and_changes_nothing(notebook):
    notebook.write({"a": 1}, 0)
    with pytest.raises(ConflictError, match="another tab was faster"):
        notebook.write({"a": 5}, 0)
    assert notebook.read().tree == {"a": 1}


def test_what_may_not_be_kept_is_refused_and_changes_nothing(notebook):
    notebook.write({"a": 1}, 0)
    with pytest.raises(DataError, match="expected numbers"):
        notebook.write({"a": "x"}, 1)
    assert notebook.read().revision == 1


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 1}', '{"revision": "1"}', '{"revision": 0}'])
def test_a_damaged_notebook_is_told_and_not_overwritten(notebook, text):
    notebook.write({"a": 1}, 0)
    notebook.path.write_text(text)
    with pytest.raises(DataError, match=r"review\.json: expected"):
        notebook.write({"a": 2}, 1)
    assert notebook.path.read_text() == text


def test_a_full_disk_is_told(notebook, monkeypatch):
    notebook.write({"a": 1}, 0)

    def full(*given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("epilens.review.session.write_atomically", full)
    with pytest.raises(DataError, match="expected room for it, found: No space left"):
        notebook.write({"a": 2}, 1)
    assert notebook.read().tree == {"a": 1}


def test_a_second_process_is_kept_out(tmp_path, tiny):
    session = open_session(cases_of([tiny]), tmp_path / "out")
    patient = str(sorted((tiny / "north").glob("sub-*"))[0])
    command = [sys.executable, "-m", "epilens", "review", patient, "--out", str(session.out)]
    with lock_folder(session.out):
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "expected to be the only one who writes there" in done.stderr


def test_a_folder_with_other_things_is_left_alone(tmp_path, tiny):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(EpilensError, match="expected a new or empty folder"):
        open_session(cases_of([tiny]), tmp_path)


def test_the_index_lists_patients_and_recordings(tmp_path, tiny):
    session = open_session(cases_of([tiny]), tmp_path / "out")
    with make_review(session) as server:
        answer, text = asked(server, "")
        assert answer.status == 200
        assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
        assert "Research use only" in text
        cases = told(server, "api/cases")["cases"]
        assert [case["code"] for case in cases] == [case.code for case in session.cases]
        assert str(tiny) not in json.dumps(cases)
        assert (
            asked(server, "static/index.js")[0]
            .headers["Content-Type"]
            .startswith("text/javascript")
        )
