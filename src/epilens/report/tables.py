"""One frame of an analysis as terminal text, CSV, LaTeX (booktabs), Markdown and HTML.

A mean and its SD share a cell; what the paper reports stands in a column of its own beside it.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from epilens.analyses.tables import format_of, heading
from epilens.core.console import print_table, visible

NOTHING = "–"
LESS = ("draws", "permutations", "input", "nez_f1", "accuracy", "ez_fraction_bias", "ez_f1")
"""Columns that go first where the terminal is narrow: what the others tell too."""


@dataclass(frozen=True)
class Column:
    """A column as people read it."""

    heading: str
    cells: list[str]
    numbers: bool
    paper: bool


def columns(frame: pd.DataFrame, formats: Mapping[str, str]) -> list[Column]:
    """The frame's columns as text, each SD joined to its mean."""
    shown = []
    for name in frame.columns:
        if name.endswith("_sd") and name.removesuffix("_sd") in frame:
            continue
        paper = name.startswith("paper_")
        if paper and frame[name].isna().all():  # the paper reports none of these rows
            continue
        cells = [_cell(value, name, formats) for value in frame[name]]
        if f"{name}_sd" in frame:
            spread = [_cell(value, f"{name}_sd", formats) for value in frame[f"{name}_sd"]]
            cells = [
                c if s == NOTHING else f"{c} ± {s}" for c, s in zip(cells, spread, strict=True)
            ]
        kind = frame[name].dtype
        numbers = pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)
        shown.append(Column(heading(name), cells, numbers, paper))
    return shown


def _cell(value: Any, name: str, formats: Mapping[str, str]) -> str:
    if isinstance(value, bool) or type(value).__name__ == "bool":
        return "yes" if value else "no"
    if pd.isna(value):
        return NOTHING
    if isinstance(value, str):
        return visible(heading(value) if name == "metric" else value)
    if float(value).is_integer() and pd.api.types.is_integer_dtype(type(value)):
        return str(value)
    return format(value, format_of(name, formats))


def print_frame(title: str, frame: pd.DataFrame, formats: Mapping[str, str]) -> None:
    """The frame on stdout, short enough for a terminal.

    Three digits, the paper's value in brackets behind ours without its SD, names without titles.
    """
    dropped = [name for name in frame if name.startswith("paper_") and name.endswith("_sd")]
    dropped += ["title"] if {"method", "title"} <= set(frame) else []
    short = frame.drop(columns=dropped)
    digits = {name: format_of(name, formats).replace(".4f", ".3f") for name in short}
    shown: list[Column] = []
    for column in columns(short, digits):
        if column.paper and shown and column.heading == f"paper: {shown[-1].heading}":
            ours = shown.pop()
            cells = [
                a if b == NOTHING else f"{a} [{b}]"
                for a, b in zip(ours.cells, column.cells, strict=True)
            ]
            shown.append(replace(ours, heading=f"{ours.heading} [paper]", cells=cells))
        else:
            shown.append(column)
    left = next((i for i, column in enumerate(shown) if column.numbers), len(shown))
    rows = [
        [cell.replace(" ± ", "±") for cell in row]
        for row in zip(*(column.cells for column in shown), strict=True)
    ]
    drop = [column.heading for name in LESS for column in shown if _is(name, column)]
    print_table(title, [column.heading for column in shown], rows, left, drop)


def _is(name: str, column: Column) -> bool:
    return column.heading.removesuffix(" [paper]") == heading(name)


def to_markdown(frame: pd.DataFrame, formats: Mapping[str, str]) -> str:
    """A Markdown table."""
    shown = columns(frame, formats)
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


def to_latex(frame: pd.DataFrame, formats: Mapping[str, str], caption: str, key: str) -> str:
    """A booktabs table."""
    shown = columns(frame, formats)
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


def to_html(frame: pd.DataFrame, formats: Mapping[str, str]) -> str:
    """An HTML table; the paper's columns have the class `paper`, numbers the class `number`."""
    shown = columns(frame, formats)
    kinds = [
        " ".join(["number"] * c.numbers + ["paper"] * c.paper + ["text"] * (not c.numbers))
        for c in shown
    ]
    head = "".join(
        f'<th scope="col" class="{kind}">{html.escape(c.heading)}</th>'
        for c, kind in zip(shown, kinds, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<td class="{kind}">{html.escape(cell)}</td>'
            for cell, kind in zip(row, kinds, strict=True)
        )
        + "</tr>\n"
        for row in zip(*(c.cells for c in shown), strict=True)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table>"
