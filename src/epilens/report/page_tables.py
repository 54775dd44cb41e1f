"""Tables of the reproduction page: a cell has our number and, below it, the paper's.

Narrow enough for the page, and on a phone each row becomes a card whose numbers are all visible.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pandas as pd

from epilens.analyses import Analysis
from epilens.analyses.columns import HEADINGS, Column
from epilens.analyses.intervals import KINDS
from epilens.analyses.tables import title_of
from epilens.report.tables import NOTHING, ColumnText, column_text

FOLDED = 30
"""Tables with more rows are closed until the reader opens them."""


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
    body = "".join(f"<tr>{''.join(_cell(c, i) for c in shown)}</tr>\n" for i in range(count))
    return f"<table><thead><tr>{heads}</tr></thead><tbody>\n{body}</tbody></table>"


def _kind(column: PageColumn) -> str:
    return "number" if column.numbers else "text"


def _cell(column: PageColumn, i: int) -> str:
    best = " best" if column.best[i] else ""
    below = f'<span class="paper">paper {html.escape(column.paper[i])}</span>'
    return (
        f'<td class="{_kind(column)}{best}" data-label="{html.escape(column.heading)}">'
        f"<span>{html.escape(column.own[i])}</span>{below if column.paper[i] else ''}</td>"
    )
