"""`make audit`: what was not looked up is not called free of vulnerabilities."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from benchmarks.vulnerabilities import judge, look_up

CLEAN = {"name": "a", "version": "1", "vulns": []}
BAD = {"name": "b", "version": "1", "vulns": [{"id": "PYSEC-1"}]}
SKIPPED = {"name": "c", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("packages", "text", "code"),
    [
        (None, "could not be checked (no answer from the service)", 0),
        ([SKIPPED, SKIPPED], "could not be checked (0 of 2 packages were looked up)", 0),
        ([CLEAN, SKIPPED], "none known; 1 of 2 packages were looked up", 0),
        ([CLEAN, BAD], "b (PYSEC-1); 2 of 2 packages were looked up", 1),
    ],
)
def test_what_is_said(packages, text, code):
    assert judge(packages) == (f"vulnerabilities: {text}", code)


def test_the_answer_is_read_whatever_the_exit_code_is():
    tree = json.dumps({"dependencies": [BAD]})
    assert look_up([sys.executable, "-c", f"print({tree!r}); raise SystemExit(1)"]) == [BAD]


@pytest.mark.parametrize("code", ["raise SystemExit(1)", "print('[]')", "print('{}')", "print(3)"])
def test_no_answer_is_no_answer(code):
    assert look_up([sys.executable, "-c", code]) is None


def test_a_program_that_is_not_there_is_no_answer():
    assert look_up(["/nowhere/pip-audit"]) is None


def test_make_check_asks():
    rules = (Path(__file__).parents[1] / "Makefile").read_text(encoding="utf-8")
    assert "$(MAKE) audit" in rules.split("\ncheck:")[1].split("\n\n")[0]
