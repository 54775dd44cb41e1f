"""Tables that a spreadsheet opens: no cell is a formula, no number changes, all comes back."""

from __future__ import annotations

import csv
import io

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epilens.data.audit import AuditRow
from epilens.evaluation.run import Run
from epilens.evidence.store import _write_audit
from epilens.io.delimited import plain, read_csv, safe, to_csv, to_tsv
from epilens.plan import Plan

FORMULAS = ["=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1", "'=1"]
STARTS = set("=+-@\t\r＝＋－＠")


def is_formula(cell: str) -> bool:
    """As a spreadsheet decides, generously: blanks at the start do not count."""
    return cell.lstrip()[:1] in STARTS or cell[:1] in STARTS


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_becomes_text(text):
    for cells in (to_csv(pd.DataFrame({"a": [text]})), to_tsv(["a"], [[text]])):
        [[_], [cell]] = list(csv.reader(io.StringIO(cells, newline="")))
        assert not is_formula(cell), cell


def test_a_header_can_be_a_formula_too():
    assert to_csv(pd.DataFrame({"=1": [1]})).startswith("'=1")
    assert to_tsv(["=1"], []).startswith("'=1")


def test_numbers_stay_as_they_are():
    frame = pd.DataFrame({"x": [-1.5, 2e-9], "n": [-3, 4], "text": ["-3.5", "+1e-3"]})
    assert to_csv(frame) == frame.to_csv(index=False)
    assert to_tsv(["x"], [[-1.5], ["-3"]]) == "x\n-1.5\n-3\n"


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("'=+-@ \t\r\nA1＝.e")))
def test_what_was_made_safe_comes_back(text):
    assert plain(safe(text)) == text


@settings(deadline=None)
@given(st.lists(st.text(min_size=1), min_size=1, max_size=5))
def test_a_table_comes_back_as_it_was(texts):
    texts = [text.replace("\r", "") or "x" for text in texts]  # becomes a blank
    texts = [text.encode("utf-8", "ignore").decode() or "x" for text in texts]
    frame = pd.DataFrame({"patient": texts, "fold": texts})
    assert read_csv(to_csv(frame).encode()).equals(frame)


def test_a_center_named_like_a_formula_survives_the_split_of_a_run(tmp_path):
    split = pd.DataFrame({"fold": ["=cmd|x", "NA"], "partition": ["fit"] * 2, "patient": ["a"] * 2})
    run = Run(tmp_path / "run")
    run.begin(Plan(), split, {})
    assert run.split.equals(split)
    assert "\n=cmd" not in (tmp_path / "run" / "split.csv").read_text()


def test_the_audit_of_a_folder_stays_the_same_when_others_are_added(tmp_path):
    path, rows = tmp_path / "audit.tsv", [AuditRow("channel", "status is bad", channel="=A\t1")]
    _write_audit(path, {"=one": rows})
    first = path.read_text(encoding="utf-8").splitlines()
    for _ in range(3):
        _write_audit(path, {"two": []})
    assert path.read_text(encoding="utf-8").splitlines() == first
    assert "'=A\\t1" in first[1]
    assert not any(is_formula(cell) for line in first for cell in line.split("\t"))
