"""A session: its folder belongs to one process, its index lists the patients."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from http_client import get_json, send_request

from epilens.core.errors import EpilensError
from epilens.data.discovery import cases_of
from epilens.io.locks import lock_folder
from epilens.review.session import open_session
from epilens.review.start import make_review


def test_a_second_process_is_kept_out(tmp_path, tiny):
    session = open_session(cases_of([tiny]), tmp_path / "out")
    patient = str(sorted((tiny / "north").glob("sub-*"))[0])
    command = [sys.executable, "-m", "epilens", "review", patient, "--out", str(session.out)]
    with lock_folder(session.out):
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "expected no other process that writes there" in done.stderr


def test_a_folder_with_other_things_is_left_alone(tmp_path, tiny):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(EpilensError, match="expected a new or empty folder"):
        open_session(cases_of([tiny]), tmp_path)


def test_a_patient_does_not_share_the_folder_of_one_with_other_capitals(tmp_path, tiny):
    cases = cases_of([tiny])
    out = open_session(cases, tmp_path / "out").out
    (out / cases[0].code.lower()).mkdir()
    with pytest.raises(EpilensError, match=f"{cases[0].code}: expected a name that differs"):
        open_session(cases, out)


def test_the_index_lists_patients_and_recordings(tmp_path, tiny):
    session = open_session(cases_of([tiny]), tmp_path / "out")
    with make_review(session) as server:
        answer, text = send_request(server, "")
        assert answer.status == 200
        assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
        assert "Research use only" in text
        cases = get_json(server, "api/cases")["cases"]
        assert [case["code"] for case in cases] == [case.code for case in session.cases]
        assert str(tiny) not in json.dumps(cases)
        assert (
            send_request(server, "static/index.js")[0]
            .headers["Content-Type"]
            .startswith("text/javascript")
        )
