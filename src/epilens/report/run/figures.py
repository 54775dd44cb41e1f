"""Figures: data in, Axes out; nothing is written and no global style is set."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import SymLogNorm
from matplotlib.figure import Figure

from epilens.data.user_files import natural
from epilens.evidence.views import views
from epilens.io.atomic import write_bytes_atomically

_LIMIT = 30.0


def evidence_heatmap(
    cube: xr.Dataset, seizure: int, descriptor: str, ax: Axes, order: list[int] | None = None
) -> Axes:
    """Z-Δ of one descriptor, channels × time, in one seizure; EZ channels marked.

    Colours say how far a window lies from the same channel's own baseline, in its standard
    deviations. Grey: not valid.
    """
    z = views(cube).sel(view="z_delta", descriptor=descriptor).values[seizure]  # (window, channel)
    valid = cube["valid"].values[seizure]
    order = shaft_order(cube) if order is None else order
    shown = np.ma.masked_array(z, ~valid)[:, order].T
    start, stop = cube["start_s"].values[seizure], cube["stop_s"].values[seizure]
    middle = (start + stop) / 2
    step = np.median(np.diff(middle))
    edges = np.append(middle - step / 2, middle[-1] + step / 2)
    mesh = ax.pcolormesh(
        edges,
        np.arange(len(order) + 1),
        shown,
        cmap="RdBu_r",
        norm=SymLogNorm(linthresh=3, vmin=-_LIMIT, vmax=_LIMIT),
    )
    ax.set_facecolor("0.8")
    ax.axvline(0, color="black", lw=1)
    ax.set(xlabel="time from onset (s), middle of window", ylabel="channel")
    ax.set_yticks(np.arange(len(order)) + 0.5, cube["channel"].values[order].tolist(), fontsize=6)
    for tick, text in zip(ax.yaxis.get_major_ticks(), ax.get_yticklabels(), strict=False):
        text.set_parse_math(False)  # names come from files: `$` is not mathematics
        tick.tick1line.set_visible(False)
    if "is_ez" in cube:
        for position, channel in enumerate(order):
            if cube["is_ez"].values[channel]:
                ax.get_yticklabels()[position].set_fontweight("bold")
                ax.plot(edges[-1] + 1, position + 0.5, "k<", ms=4, clip_on=False)
    ax.set(xlim=(edges[0], edges[-1]), ylim=(len(order), 0))
    bar = ax.figure.colorbar(mesh, ax=ax, extend="both", pad=0.06)
    bar.set_ticks([-30, -10, -3, 0, 3, 10, 30], labels=["-30", "-10", "-3", "0", "3", "10", "30"])
    bar.ax.minorticks_off()
    bar.set_label("standard deviations from own baseline")
    return ax


def shaft_order(cube: xr.Dataset) -> list[int]:
    """Channels as clinicians list them: by shaft, then by number."""
    names = cube["channel"].values.tolist()
    return sorted(range(len(names)), key=lambda i: natural(names[i]))


def evidence_figure(cube: xr.Dataset, descriptors: tuple[str, ...], seizure: int = 0) -> Figure:
    """Several descriptors of one seizure side by side, with what is fixed in the title."""
    height = max(3.5, 0.11 * cube.sizes["channel"] + 1.6)
    figure = Figure(figsize=(6.2 * len(descriptors), height), layout="constrained")
    FigureCanvasAgg(figure)
    for ax, descriptor in zip(
        figure.subplots(1, len(descriptors), squeeze=False)[0], descriptors, strict=True
    ):
        evidence_heatmap(cube, seizure, descriptor, ax)
        ax.set_title(descriptor.replace("_", " "), fontsize=9)
    patient, center = cube.attrs["patient"], cube.attrs["center"]
    title = f"{patient}, {center}, seizure {seizure + 1} of {cube.sizes['seizure']}"
    figure.suptitle(f"{title}: Z-Δ; bold and ◂ EZ as annotated", fontsize=10, parse_math=False)
    return figure


def save_png(figure: Figure, path: str | Path) -> Path:
    """Write a figure as PNG, whole or not at all."""
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=150)
    return write_bytes_atomically(path, content.getvalue())
