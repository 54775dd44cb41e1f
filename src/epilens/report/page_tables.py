"""Tables of the reproduction page: a cell has our number and, below it, the paper's.

Narrow enough for the page, and on a phone each row becomes a card whose numbers are all visible.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pandas as pd

from epilens.analyses import Analysis
from epilens.analyses.tables import HEADINGS, heading, title_of
from epilens.report.tables import NOTHING, columns

FOLDED = 30
"""Tables with more rows are closed until they are asked for."""
_METHODS = ("method", "a", "b")
_NAMES = (*_METHODS, "metric")
"""Columns whose values are names of ours."""


@dataclass(frozen=True)
class PageColumn:
    """A column as it stands on the page."""

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
    if analysis.wide and {"low", "high"} <= set(frame):  # for which the paper's form has no room
        as_computed = replace(analysis, wide=None)
        return table + _folded("with intervals", _html(list(page_columns(frame, as_computed))))
    return table


def _folded(summary: str, table: str) -> str:
    return f"<details><summary>{summary}</summary>{table}</details>"


def page_columns(frame: pd.DataFrame, analysis: Analysis) -> Iterator[PageColumn]:
    """Columns with intervals and the paper's values joined to what they belong to."""
    groups = frame[analysis.within] if analysis.within else None
    own, paper = _texts(frame, analysis)
    joined = {"low", "high"} if {"low", "high"} <= set(own) else set()
    carrier = list(own)[list(own).index("low") - 1] if joined else ""
    higher = set(analysis.higher) | (_numbers(frame) if analysis.wide else set())
    for name, cells in own.items():
        if name in joined or (name == "method" and "title" in own):
            continue
        theirs = paper.get(name, [NOTHING] * len(cells))
        if name == carrier:
            cells = _with_interval(cells, own)
            theirs = _with_interval(theirs, paper) if "low" in paper else theirs
        numbers = pd.api.types.is_numeric_dtype(frame[name]) and frame[name].dtype != bool
        best = _best(frame[name], groups) if name in higher else [False] * len(cells)
        theirs = ["" if cell == NOTHING else cell for cell in theirs]
        yield PageColumn(_heading(name, analysis), _named(name, cells), theirs, numbers, best)


def _texts(
    frame: pd.DataFrame, analysis: Analysis
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Cells of our columns, and of the paper's by the name of ours."""
    own: dict[str, list[str]] = {}
    paper: dict[str, list[str]] = {}
    shown = [n for n in frame if not (n.endswith("_sd") and n.removesuffix("_sd") in frame)]
    for name in shown:
        spread = [f"{name}_sd"] if f"{name}_sd" in frame else []
        texts = columns(frame[[name, *spread]], analysis.formats)
        if texts:  # none of a column of the paper that has no number here
            base = name.removeprefix("paper_")
            (paper if base != name else own)[base] = texts[0].cells
    beside = {name: cells for name, cells in paper.items() if name in own}
    alone = {
        f"paper_{n}": cells for n, cells in paper.items() if n not in own | {"low": 0, "high": 0}
    }
    return own | alone, beside


def _numbers(frame: pd.DataFrame) -> set[str]:
    """Columns of a wide table that are numbers of ours."""
    return {n for n in frame.select_dtypes("number") if not n.startswith("paper_")}


def _with_interval(cells: list[str], beside: dict[str, list[str]]) -> list[str]:
    return [
        cell if NOTHING in (low, high) else f"{cell} ({low} to {high})"
        for cell, low, high in zip(cells, beside["low"], beside["high"], strict=True)
    ]


def _best(values: pd.Series, groups: pd.Series | None) -> list[bool]:
    """The highest, of each group if there are some, unless all are the same or one is alone."""
    if groups is not None:
        parts = [pd.Series(_best(v, None), v.index) for _, v in values.groupby(groups, sort=False)]
        return pd.concat(parts).reindex(values.index).tolist()
    known = values.dropna()
    return (values == known.max()).tolist() if known.nunique() > 1 else [False] * len(values)


def _heading(name: str, analysis: Analysis) -> str:
    if analysis.wide and name not in HEADINGS:
        return name[:1].upper() + name[1:]  # a center's own name
    return heading(name)


def _named(name: str, cells: list[str]) -> list[str]:
    """Names for people, in columns that hold names of ours."""
    if name not in _NAMES:
        return cells
    return [title_of(cell) if name in _METHODS else heading(cell) for cell in cells]


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
