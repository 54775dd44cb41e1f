"""The paper's figures, composed of the panels of analyses; readable in greyscale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from epilens.analyses import ANALYSES, Analysis
from epilens.analyses.result import AnalysisResult
from epilens.analyses.tables import title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Panels: TypeAlias = "Sequence[Axes]"
"""What an analysis draws on."""
_STYLES: Mapping[str, Mapping[str, Any]] = {
    "prq": {"marker": "o", "color": "#0072b2"},
    "bcr": {"marker": "s", "color": "#e69f00"},
    "cdel": {"marker": "D", "color": "#000000"},
}
_NOTE_CHARACTERS = 17
"""Characters of a note per inch, so that no line of it leaves the figure."""
_OTHERS = ("^", "v", "P", "X", "<", ">")
"""Markers of the comparators, all in grey."""


def style_of(method: str, others: Sequence[str] = ()) -> dict[str, Any]:
    """Marker and colour of a method, distinguishable in greyscale."""
    if method in _STYLES:
        return dict(_STYLES[method])
    index = list(others).index(method) if method in others else 0
    return {"marker": _OTHERS[index % len(_OTHERS)], "color": "0.6"}


def center_ticks(frame: pd.DataFrame) -> list[str]:
    """Centers with their patients, without remarks in brackets, which an axis has no room for."""
    counts = frame.groupby("center", sort=False)["patients"].first()
    return [f"{str(center).partition(' (')[0]}\nn = {n}" for center, n in counts.items()]


def grouped_points(
    ax: Axes, frame: pd.DataFrame, group: str, metric: str, ticks: Sequence[str]
) -> dict[tuple[str, str], float]:
    """Each method with its SD over seeds, or its interval `low` to `high`, side by side in groups.

    Returns where they are: x of each group and method.
    """
    groups, methods = list(dict.fromkeys(frame[group])), list(dict.fromkeys(frame["method"]))
    others = [method for method in methods if method not in _STYLES]
    shifts = (np.arange(len(methods)) - (len(methods) - 1) / 2) * min(0.2, 0.7 / len(methods))
    positions = {}
    for method, shift in zip(methods, shifts, strict=True):
        rows = frame[frame["method"] == method]
        at = {(name, method): groups.index(name) + shift for name in rows[group]}
        positions |= at
        middle, sd = rows[metric], rows.get(f"{metric}_sd")
        ax.errorbar(
            list(at.values()),
            middle,
            yerr=[middle - rows["low"], rows["high"] - middle] if sd is None else sd.fillna(0),
            ls="none",
            ms=5,
            lw=1.2,
            capsize=2,
            label=title_of(method),
            **style_of(method, others),
        )
    ax.set_xticks(range(len(groups)), list(ticks))
    ax.set_xlim(-0.5, len(groups) - 0.5)
    legend_above(ax)
    return positions


def legend_above(ax: Axes) -> None:
    """A legend outside of the Axes, where no point can be under it."""
    spacing: dict[str, Any] = {"handletextpad": 0.1, "columnspacing": 0.8, "borderaxespad": 0.1}
    position: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0)}
    ax.legend(frameon=False, fontsize=7, ncols=3, **spacing, **position)


def legend_inside(ax: Axes, **position: Any) -> None:
    """A legend on white, so that lines do not run through its text."""
    white: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "framealpha": 1.0}
    ax.legend(fontsize=7, borderaxespad=0, **white, **position)


@dataclass(frozen=True)
class PaperFigure:
    """A figure: the analyses whose panels are side by side."""

    name: str
    shows: str
    title: str
    analyses: tuple[str, ...]


FIGURES: Mapping[str, PaperFigure] = {
    figure.name: figure
    for figure in (
        PaperFigure(
            "fusion",
            "Figure 3",
            "Fusion weight, permutation and bootstrap",
            ("fusion-sweep", "permutation", "bootstrap"),
        ),
        PaperFigure(
            "mechanism",
            "Figure 4",
            "Hard channels and cross-seizure evidence",
            ("hard-channels", "cross-seizure"),
        ),
        PaperFigure("centers", "Figure II", "Out-of-fold Macro-F1 by center", ("centers",)),
        PaperFigure("loco", "Table XI", "Leave-one-center-out Macro-F1", ("loco-bootstrap",)),
    )
}


def all_figures() -> dict[str, PaperFigure]:
    """The paper's figures, then one for each other analysis that can be drawn."""
    drawn = {name for figure in FIGURES.values() for name in figure.analyses}
    others = [row for row in ANALYSES.values() if row.draw and row.name not in drawn]
    return {**FIGURES} | {
        row.name: PaperFigure(row.name, row.shows, row.title, (row.name,)) for row in others
    }


def figure_of(results: Mapping[str, AnalysisResult], note: str = "") -> Figure:
    """Panels (a), (b), … of some analyses, by name, in one figure; nothing is written.

    `note` is printed below, e.g. that patients were simulated.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    drawn = [(ANALYSES[name], result.drawn) for name, result in results.items()]
    panels = sum(analysis.panels for analysis, _ in drawn)
    width = 3.4 * panels if panels > 1 else 4.6
    lines = wrap(note, int(width * _NOTE_CHARACTERS))
    height = 3.2 + 0.12 * max(0, len(lines) - 1)
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = list(figure.subplots(1, panels, squeeze=False)[0])
    if panels > 1:
        for letter, ax in zip("abcdefgh", axes, strict=False):
            ax.set_title(f"({letter})", loc="left", fontsize=9)
    for analysis, frame in drawn:
        _draw(analysis, frame, [axes.pop(0) for _ in range(analysis.panels)])
    if note:
        figure.supxlabel("\n".join(lines), fontsize=7, color="0.3", x=0.01, ha="left")
    return figure


def _draw(analysis: Analysis, frame: pd.DataFrame, axes: list[Axes]) -> None:
    if analysis.draw is None:
        raise ValueError(
            f"{analysis.name}: expected an analysis with a figure, found a table only. See "
            "`epilens list analyses`."
        )
    analysis.draw(frame, axes)
    for ax in axes:
        ax.tick_params(labelsize=8)
        for axis in (ax.xaxis, ax.yaxis):
            axis.label.set_fontsize(8)
        ax.spines[["top", "right"]].set_visible(False)
