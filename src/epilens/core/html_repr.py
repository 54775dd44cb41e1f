"""Representation of objects in notebooks: facts, a small table, a small picture; escaped."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from epilens.core.console import visible

SHOWN = 12
"""Rows of a table that are shown; the number of others is stated."""
RESEARCH = "For research, not for diagnosis."
SIMULATED = "Simulated patients: nothing here is clinical evidence."
TRAINED_ON_SIMULATED = (
    "The model was trained on simulated patients: its scores are not clinical evidence."
)


def card(
    title: str,
    facts: Mapping[str, Any],
    table: pd.DataFrame | None = None,
    picture: str = "",
    notes: Sequence[str] = (),
) -> str:
    """One block of HTML; everything but `picture` may come from files.

    Examples
    --------
    >>> "<b>" in card("A <b>", {}), "A &lt;b&gt;" in card("A <b>", {})
    (False, True)
    """
    line = " · ".join(f"{as_text(name)}: <b>{as_text(value)}</b>" for name, value in facts.items())
    parts = [f"<strong>{as_text(title)}</strong>", f"<div>{line}</div>" if line else "", picture]
    if table is not None and len(table):
        parts.append(_table(table))
    parts += [f"<div><small>{as_text(note)}</small></div>" for note in notes]
    return f'<div class="epilens">{"".join(parts)}</div>'


def bars(values: Sequence[float], title: str) -> str:
    """An inline picture, its title below: one bar for each value between 0 and the largest."""
    top = max([value for value in values if value == value], default=0.0) or 1.0
    width, height = 6, 40
    drawn = "".join(
        f'<rect x="{i * width}" y="{height * (1 - value / top):.1f}" width="{width - 1}" '
        f'height="{height * value / top:.1f}" fill="#00558c"/>'
        for i, value in enumerate(values)
        if value == value and value > 0
    )
    wide = max(1, len(values)) * width
    return (
        f'<div><svg role="img" width="{wide}" height="{height}" viewBox="0 0 {wide} {height}">'
        f"<title>{as_text(title)}</title>{drawn}</svg><br><small>{as_text(title)}</small></div>"
    )


def _table(table: pd.DataFrame) -> str:
    heads = "".join(f"<th>{as_text(name)}</th>" for name in table.columns)
    rows = "".join(
        f"<tr>{''.join(f'<td>{as_text(_short(cell))}</td>' for cell in row)}</tr>"
        for row in table.head(SHOWN).itertuples(index=False)
    )
    more = len(table) - SHOWN
    rest = f"<div><small>and {more} more rows</small></div>" if more > 0 else ""
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{rest}"


def _short(cell: Any) -> Any:
    if isinstance(cell, float):
        return "–" if cell != cell else f"{cell:.3f}"
    return "–" if cell is None else cell


def as_text(value: Any) -> str:
    """Text for markup, whatever it contains."""
    return html.escape(visible(value))
