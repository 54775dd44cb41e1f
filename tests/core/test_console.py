"""Tables that fit by leaving out whole columns; progress that keeps its count and time left."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from epilens.core.console import _bar, print_table

COLUMNS = ["Patient", "Center", "Age", "Channels", "EZ", "Why"]
LONG = "a sentence that may go on in the next line, because it is prose"
ROWS = [[f"sub-EPILEPSYCENTER{i:04d}", "Northern hospital", 30, 102, 25, LONG] for i in range(3)]


@pytest.mark.parametrize("width", [40, 60, 80, 110, 200])
def test_no_name_is_cut_and_no_line_is_too_long(width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    print_table("Patients", COLUMNS, ROWS, left=2, drop=["Age"])
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= width
    assert all(row[0] in out for row in ROWS)
    assert "…" not in out


def test_columns_go_in_the_order_of_their_importance(monkeypatch, capsys):
    def gone(width):
        monkeypatch.setenv("COLUMNS", str(width))
        print_table("Patients", COLUMNS, ROWS, left=2, drop=["Age", "Center"])
        err = capsys.readouterr().err
        return err.strip().partition(": ")[2].split(", ") if err else []

    assert gone(110) == []
    assert gone(75) == ["Age"]
    assert gone(64) == ["Center", "Age"]
    assert gone(35) == ["Center", "Age", "EZ", "Why"]  # then from the right


@pytest.mark.parametrize("width", [77, 78, 79, 80, 90])
def test_a_heading_goes_on_in_the_next_line_before_a_name_does(width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    columns = ["Method", "Input", "Macro-F1 [paper]", "EZ-F1 [paper]", "NEZ-F1 [paper]"]
    print_table("Main", columns, [["epileptogenicity-index", "Raw iEEG", *3 * ["0.424 [0.486]"]]])
    told = capsys.readouterr()
    assert told.err == ""
    assert max(map(len, told.out.splitlines())) <= width
    assert "epileptogenicity-index" in told.out
    assert told.out.count("0.424 [0.486]") == 3


def test_columns_of_the_same_name_are_both_shown(capsys):
    print_table("Differences", ["field", "a.toml", "a.toml"], [["x", 1, 2]], left=3)
    assert capsys.readouterr().out.split()[-3:] == ["x", "1", "2"]


@pytest.mark.parametrize("workers", [None, lambda: 1000])
@pytest.mark.parametrize("width", [50, 80, 110])
def test_progress_keeps_count_time_left_and_workers(width, workers):
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=True)
    bar = _bar("training, method × seed × fold", console, workers)
    note = "epileptogenicity-index/as-recorded seed 42 fold Northern hospital"
    task = bar.add_task("", total=1200, job="training, method × seed × fold", note=note)
    bar.update(task, completed=345)
    line = "".join(part.text for part in console.render(bar.get_renderable()))
    assert max(map(len, line.splitlines())) <= width
    assert len(line.strip().splitlines()) == 1
    assert "345/1200" in line
    assert "-:--:--" in line
    assert ("1000 workers" in line) == (workers is not None and width >= 80)
