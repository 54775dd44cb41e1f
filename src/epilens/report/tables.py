"""A table of an analysis as terminal text, LaTeX (booktabs) and Markdown.

A mean and its SD share a cell; the paper's value has a column of its own next to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from epilens.analyses.columns import Column, heading
from epilens.core.console import print_table, visible

NOTHING = "–"
DROPPED_FIRST = (
    *("draws", "permutations", "input", "nez_f1", "accuracy", "ez_fraction_bias", "ez_f1"),
)
"""Columns that a narrow terminal omits first, because others say the same."""


@dataclass(frozen=True)
class ColumnText:
    """A column as people read it."""

    column: Column
    heading: str
    cells: list[str]
    numbers: bool


def column_texts(frame: pd.DataFrame, columns: Sequence[Column]) -> Iterator[ColumnText]:
    """The columns as text, each mean with its SD, followed by the paper's value if it has one."""
    for column in columns:
        if not (column.from_paper and frame[column.name].isna().all()):
            yield column_text(frame, column)
        if column.paper is not None:
            yield from column_texts(frame, [column.paper])


def column_text(frame: pd.DataFrame, column: Column) -> ColumnText:
    """One column as text, its SD in the same cells."""
    values = frame[column.name]
    cells = [_cell(value, column.format, column.contains) for value in values]
    if column.sd:
        deviations = [_cell(value, column.sd_format) for value in frame[column.sd]]
        cells = [
            cell if sd == NOTHING else f"{cell} ± {sd}"
            for cell, sd in zip(cells, deviations, strict=True)
        ]
    numbers = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    return ColumnText(column, column.title, cells, numbers)


def _cell(value: Any, spec: str, contains: str = "value") -> str:
    if isinstance(value, bool) or type(value).__name__ == "bool":
        return "yes" if value else "no"
    if pd.isna(value):
        return NOTHING
    if isinstance(value, str):
        return visible(heading(value) if contains == "metric" else value)
    if float(value).is_integer() and pd.api.types.is_integer_dtype(type(value)):
        return str(value)
    return format(value, spec)


def print_frame(title: str, frame: pd.DataFrame, columns: Sequence[Column]) -> None:
    """The frame on stdout, short enough for a terminal.

    Three digits, the paper's value in brackets after ours without its SD, names without titles.
    """
    named = {column.name for column in columns}
    omitted = {"title"} if {"method", "title"} <= named else set()
    texts = [_with_paper(frame, column) for column in columns if column.name not in omitted]
    shown = [text for text in texts if text is not None]
    left = next((i for i, text in enumerate(shown) if text.numbers), len(shown))
    rows = [
        [cell.replace(" ± ", "±") for cell in row]
        for row in zip(*(text.cells for text in shown), strict=True)
    ]
    drop = [text.heading for name in DROPPED_FIRST for text in shown if text.column.name == name]
    print_table(title, [text.heading for text in shown], rows, left, drop)


def _with_paper(frame: pd.DataFrame, column: Column) -> ColumnText | None:
    """A column in three digits, the paper's value in brackets; None: the paper has no value."""
    texts = list(column_texts(frame, [_short(column)]))
    if len(texts) < 2:
        return texts[0] if texts else None
    own, paper = texts
    cells = [
        ours if theirs == NOTHING else f"{ours} [{theirs}]"
        for ours, theirs in zip(own.cells, paper.cells, strict=True)
    ]
    return replace(own, heading=f"{own.heading} [paper]", cells=cells)


def _short(column: Column) -> Column:
    three = {name: getattr(column, name).replace(".4f", ".3f") for name in ("format", "sd_format")}
    paper = None if column.paper is None else replace(_short(column.paper), sd="")
    return replace(column, **three, paper=paper, sd="" if column.from_paper else column.sd)


def to_markdown(frame: pd.DataFrame, columns: Sequence[Column]) -> str:
    """A Markdown table."""
    shown = list(column_texts(frame, columns))
    heads = [in_markdown(c.heading) for c in shown]
    rows = zip(*([in_markdown(cell) for cell in c.cells] for c in shown), strict=True)
    rule = ["---:" if c.numbers else "---" for c in shown]
    return "".join(f"| {' | '.join(row)} |\n" for row in [heads, rule, *rows])


def in_markdown(text: str) -> str:
    """Text that stays in its cell of a Markdown table."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
    "λ": r"$\lambda$",
    "<": "$<$",
    ">": "$>$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "×": r"$\times$",
    "Δ": r"$\Delta$",
} | {c: f"\\{c}" for c in "&%$#_"}


def in_latex(text: str) -> str:
    r"""Text that LaTeX prints as it is.

    Examples
    --------
    >>> print(in_latex("A_1 & 50 %"))
    A\_1 \& 50 \%
    """
    return "".join(_LATEX.get(c, c) for c in text)


def to_latex(frame: pd.DataFrame, columns: Sequence[Column], caption: str, key: str) -> str:
    """A booktabs table."""
    shown = list(column_texts(frame, columns))
    heads = [in_latex(c.heading) for c in shown]
    rows = zip(*([in_latex(cell) for cell in c.cells] for c in shown), strict=True)
    body = "".join(f"{' & '.join(row)} \\\\\n" for row in rows)
    align = "".join("r" if c.numbers else "l" for c in shown)
    return (
        "% needs \\usepackage{booktabs}\n\\begin{table}\n\\centering\n"
        f"\\caption{{{in_latex(caption)}}}\n\\label{{tab:{key}}}\n"
        f"\\begin{{tabular}}{{{align}}}\n\\toprule\n{' & '.join(heads)} \\\\\n\\midrule\n"
        f"{body}\\bottomrule\n\\end{{tabular}}\n\\end{{table}}\n"
    )
