"""A table of an analysis as terminal text, LaTeX (booktabs), Markdown and HTML.

A mean and its SD share a cell; the paper's value has a column of its own next to it. In HTML a cell
has our number and, below it, the paper's: narrow enough for the page, and on a phone the table is
moved sideways.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import pandas as pd

from epilens.analyses import Analysis
from epilens.analyses.columns import HEADINGS, Column, heading
from epilens.analyses.intervals import KINDS
from epilens.analyses.tables import title_of
from epilens.core.console import print_table, visible

NOTHING = "–"
DROPPED_FIRST = (
    *("draws", "permutations", "input", "nez_f1", "accuracy", "ez_fraction_bias", "ez_f1"),
)
"""Columns that a narrow terminal omits first, because others say the same."""
FOLDED = 30
"""HTML tables with more rows are closed until the reader opens them."""


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
    exact = column.from_paper
    cells = [_cell(value, column.format, column.contains, exact) for value in values]
    if column.sd:
        deviations = [_cell(value, column.sd_format, exact=exact) for value in frame[column.sd]]
        cells = [
            cell if sd == NOTHING else f"{cell} ± {sd}"
            for cell, sd in zip(cells, deviations, strict=True)
        ]
    numbers = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    return ColumnText(column, column.title, cells, numbers)


def _cell(value: Any, spec: str, contains: str = "value", exact: bool = False) -> str:
    """A value as text; `exact` ones were printed as decimals, so their ties are rounded up."""
    if isinstance(value, bool) or type(value).__name__ == "bool":
        return "yes" if value else "no"
    if pd.isna(value):
        return NOTHING
    if isinstance(value, str):
        return visible(heading(value) if contains == "metric" else value)
    if float(value).is_integer() and pd.api.types.is_integer_dtype(type(value)):
        return str(value)
    return _half_up(float(value), spec) if exact else format(value, spec)


def _half_up(value: float, spec: str) -> str:
    """A number that was printed as a decimal, rounded as people do.

    Examples
    --------
    >>> f"{0.6835:.3f}", _half_up(0.6835, ".3f")
    ('0.683', '0.684')
    """
    with localcontext() as context:
        context.rounding = ROUND_HALF_UP
        return format(Decimal(repr(value)), spec)


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


@dataclass(frozen=True)
class PageColumn:
    """A column as the page prints it."""

    heading: str
    own: list[str]
    paper: list[str]
    """Empty text where the paper has no number."""
    numbers: bool
    best: list[bool]


def page_table(frame: pd.DataFrame, analysis: Analysis) -> str:
    """The frame as the paper prints it: sorted, the best marked, the paper's values below ours."""
    shown = analysis.wide(frame) if analysis.wide else frame
    if analysis.sorted_by in shown:
        shown = shown.sort_values(analysis.sorted_by, ascending=False, kind="stable")
    table = _html(list(page_columns(shown.reset_index(drop=True), analysis)))
    if len(shown) > FOLDED:
        return _folded(f"{len(shown)} rows", table)
    if analysis.wide and analysis.interval:  # the paper's form has no room for intervals
        as_computed = replace(analysis, wide=None)
        return table + _folded("with intervals", _html(list(page_columns(frame, as_computed))))
    return table


def _folded(summary: str, table: str) -> str:
    return f"<details><summary>{summary}</summary>{table}</details>"


def page_columns(frame: pd.DataFrame, analysis: Analysis) -> Iterator[PageColumn]:
    """Columns that contain intervals and the paper's values of their quantity."""
    columns = {column.name: column for column in analysis.columns(frame)}
    groups = frame[analysis.within] if analysis.within else None
    skipped = {*KINDS.keys(), *KINDS.values()} if analysis.interval in columns else set()
    skipped |= {"method"} if "title" in columns else set()
    # Values that only the paper has come last.
    for column in sorted(columns.values(), key=lambda column: column.from_paper):
        if column.name in skipped or (column.from_paper and frame[column.name].isna().all()):
            continue
        text, paper = column_text(frame, column), _paper_cells(frame, column)
        if column.name == analysis.interval:
            low, high = columns["low"], columns["high"]
            text = replace(text, cells=_with_interval(frame, text.cells, low, high))
            if low.paper and high.paper:
                paper = _with_interval(frame, paper, low.paper, high.paper)
        wide = bool(analysis.wide)
        best = column.higher_is_better or (wide and text.numbers and not column.from_paper)
        is_interval = column.name == analysis.interval
        yield PageColumn(
            _heading(column, wide) + (" (95 % bootstrap)" if is_interval else ""),
            _titles(text),
            ["" if cell == NOTHING else cell for cell in paper],
            text.numbers,
            _best(frame[column.name], groups) if best else [False] * len(frame),
        )
        if is_interval and KINDS["low"] in columns:
            yield _t_intervals(frame, columns)


def _t_intervals(frame: pd.DataFrame, columns: Mapping[str, Column]) -> PageColumn:
    """The t intervals of a small cohort, which decide its verdict."""
    limits = [column_text(frame, columns[name]).cells for name in KINDS.values()]
    cells = [f"{low} to {high}" for low, high in zip(*limits, strict=True)]
    own = ["" if NOTHING in cell else cell for cell in cells]
    return PageColumn("95 % t interval", own, [""] * len(own), True, [False] * len(own))


def _paper_cells(frame: pd.DataFrame, column: Column) -> list[str]:
    return column_text(frame, column.paper).cells if column.paper else [NOTHING] * len(frame)


def _with_interval(frame: pd.DataFrame, cells: list[str], low: Column, high: Column) -> list[str]:
    limits = (column_text(frame, column).cells for column in (low, high))
    return [
        cell if NOTHING in (lower, upper) else f"{cell} ({lower} to {upper})"
        for cell, lower, upper in zip(cells, *limits, strict=True)
    ]


def _best(values: pd.Series, groups: pd.Series | None) -> list[bool]:
    """The highest, of each group if there are some, unless all are the same or one is alone."""
    if groups is not None:
        parts = [pd.Series(_best(v, None), v.index) for _, v in values.groupby(groups, sort=False)]
        return pd.concat(parts).reindex(values.index).tolist()
    defined = values.dropna()
    return (values == defined.max()).tolist() if defined.nunique() > 1 else [False] * len(values)


def _heading(column: Column, wide: bool) -> str:
    if wide and column.name not in HEADINGS:
        return column.name[:1].upper() + column.name[1:]  # a center's own name
    return column.title


def _titles(text: ColumnText) -> list[str]:
    """Cells in which methods have their titles."""
    if text.column.contains != "method":
        return text.cells
    return [title_of(cell) for cell in text.cells]


def _html(shown: list[PageColumn]) -> str:
    heads = "".join(
        f'<th scope="col" class="{_kind(column)}">{html.escape(column.heading)}</th>'
        for column in shown
    )
    count = len(shown[0].own) if shown else 0
    body = "".join(f"<tr>{''.join(_html_cell(c, i) for c in shown)}</tr>\n" for i in range(count))
    return f"<table><thead><tr>{heads}</tr></thead><tbody>\n{body}</tbody></table>"


def _kind(column: PageColumn) -> str:
    return "number" if column.numbers else "text"


def _html_cell(column: PageColumn, i: int) -> str:
    best = " best" if column.best[i] else ""
    below = f'<span class="paper">paper {html.escape(column.paper[i])}</span>'
    return (
        f'<td class="{_kind(column)}{best}">'
        f"<span>{html.escape(column.own[i])}</span>{below if column.paper[i] else ''}</td>"
    )
