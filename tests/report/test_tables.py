"""One frame in every form: cells join mean and SD, hostile text stays text."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from epilens.analyses.columns import columns_of
from epilens.report.run.tables import column_texts, in_latex, print_frame, to_latex, to_markdown

FRAME = pd.DataFrame(
    {
        "method": ["prq", "<img src=x>"],
        "patients": [80, 7],
        "macro_f1": [0.62824, np.nan],
        "macro_f1_sd": [0.0018, np.nan],
        "paper_macro_f1": [0.6282, np.nan],
        "paper_macro_f1_sd": [0.0018, np.nan],
        "passed": [True, False],
        "ez_fraction_bias": [0.0125, -0.5],
    }
)
COLUMNS = columns_of(FRAME, {"ez_fraction_bias": "+.3f"})


def test_cells_are_what_people_read():
    shown = {text.heading: text for text in column_texts(FRAME, COLUMNS)}
    assert shown["Macro-F1"].cells == ["0.6282 ± 0.0018", "–"]
    assert shown["paper: Macro-F1"].cells == ["0.6282 ± 0.0018", "–"]
    assert shown["paper: Macro-F1"].column.from_paper
    assert shown["Patients"].cells == ["80", "7"]
    assert shown["Passed"].cells == ["yes", "no"]
    assert shown["EZ-frac. bias"].cells == ["+0.013", "-0.500"]
    assert [text.numbers for text in shown.values()][:3] == [False, True, True]


def test_the_terminal_has_the_paper_s_value_in_brackets(capsys):
    print_frame("Title", FRAME, COLUMNS)
    out = capsys.readouterr().out
    assert "0.628±0.002 [0.628]" in re.sub(r"\s+", " ", out)
    assert max(map(len, out.splitlines())) <= 110


def test_a_narrow_terminal_keeps_the_metrics_that_matter(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "50")
    names = ["input", "macro_f1", "ez_f1", "nez_f1", "accuracy", "auroc", "ez_fraction_bias"]
    frame = pd.DataFrame({"method": ["a" * 30], **{name: [0.5] for name in names}})
    print_frame("Title", frame, columns_of(frame, {}))
    printed = capsys.readouterr()
    assert printed.out.split()[1:4] == ["Method", "Macro-F1", "AUROC"]
    assert "NEZ-F1" in printed.err


def test_metrics_have_their_names_in_print_not_those_of_columns():
    frame = pd.DataFrame({"metric": ["macro_f1", "recall_at_k"], "p": [0.1, 0.2]})
    metric, _ = column_texts(frame, columns_of(frame, {}))
    assert metric.cells == ["Macro-F1", "Recall@true-K"]


def test_latex_is_complete_and_escaped():
    text = to_latex(FRAME, COLUMNS, "50 % of A_1 & B", "main")
    assert text.count(r"\toprule") == text.count(r"\midrule") == text.count(r"\bottomrule") == 1
    body = text.split(r"\midrule")[1].split(r"\bottomrule")[0].strip().splitlines()
    assert len(body) == 2
    assert all(line.count(" & ") == 5 and line.endswith(r"\\") for line in body)
    assert r"\caption{50 \% of A\_1 \& B}" in text
    assert r"$\pm$" in text
    assert in_latex("{}\\~") == r"\{\}\textbackslash{}\textasciitilde{}"


def test_markdown_has_one_line_per_row_and_no_open_tag():
    lines = to_markdown(FRAME, COLUMNS).splitlines()
    assert len(lines) == 4
    assert {line.count(" | ") for line in lines} == {5}
    assert "<img" not in "".join(lines)


def test_values_of_the_paper_are_rounded_as_the_paper_rounds_them(capsys):
    """0.6835 has no exact binary form; the nearest one lies below the tie."""
    frame = pd.DataFrame({"method": ["logistic-z"], "auroc": [0.7], "paper_auroc": [0.6835]})
    print_frame("Title", frame, columns_of(frame, {}))
    assert "0.700 [0.684]" in capsys.readouterr().out
