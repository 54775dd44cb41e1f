"""Maps over time of methods that are made of one: energy ratio (EI) and neural fragility."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import xarray as xr

from epilens.core.types import Floats
from epilens.evidence.signals import Piece, each_signal
from epilens.localization.sources import MethodSource, Source
from epilens.methods.epileptogenicity_index import Index, index_ratio, of_contacts
from epilens.methods.fragility import Fragility, remembered_map
from epilens.plan import Plan

STEP_S = 0.5
"""Windows of methods lie closer than a page can show."""


@dataclass(frozen=True)
class TimeMap:
    """A quantity of every seizure, window and channel; NaN where there is none."""

    title: str
    kind: Literal["ratio", "share"]
    """`ratio`: to the level before the seizure, 1 where nothing changes; `share`: 0 to 1."""
    middle_s: Floats
    """Middle of each window, from onset (W,)."""
    values: Floats
    """(S, W, C)"""


Drawn = tuple[Floats, Floats]
"""Values (C, window) of one seizure, and the middle of each window in s from onset."""


def time_maps(sources: Iterable[Source], patient: xr.Dataset) -> tuple[TimeMap, ...]:
    """The maps of those sources that have one, each once."""
    by_title: dict[str, TimeMap] = {}
    for source in sources:
        if not isinstance(source, MethodSource):
            continue
        settings = source.method.settings
        if isinstance(settings, Index):
            title = "energy ratio (Epileptogenicity Index)"
            parts = list(_ratios(patient, source.plan, settings))
            by_title.setdefault(title, on_one_grid(title, "ratio", parts))
        elif isinstance(settings, Fragility):
            title = "neural fragility"
            parts = list(_fragilities(patient, source.plan, settings))
            by_title.setdefault(title, on_one_grid(title, "share", parts))
    return tuple(by_title.values())


def _ratios(patient: xr.Dataset, plan: Plan, settings: Index) -> Iterator[Drawn]:
    index = plan.epileptogenicity_index.changed(settings.changes)
    # Always to its own level: an absolute ratio differs more between contacts than over time.
    drawn = Index(montage=settings.montage, mains_hz=settings.mains_hz)
    for piece in each_signal(patient, min(index.start_s, index.baseline_s[0]), index.stop_s):
        at_s: list[Floats] = []

        def ratio(rows: Piece, at_s: list[Floats] = at_s) -> Floats:
            values, starts_s = index_ratio(rows, index, drawn)
            at_s.append(starts_s)
            return values

        values = of_contacts(patient, piece, drawn, ratio)
        yield values, at_s[0] + index.window_s / 2


def _fragilities(patient: xr.Dataset, plan: Plan, settings: Fragility) -> Iterator[Drawn]:
    section = plan.fragility.changed(settings.changes)
    for piece in each_signal(patient, section.start_s, section.stop_s):
        windows, _ = remembered_map(piece.x[piece.valid], piece.fs, section)
        values = np.full((len(piece.valid), len(windows)), np.nan)
        values[piece.valid] = windows.T
        step_s = max(1, round(section.step_s * piece.fs)) / piece.fs
        first_s = piece.start_s + section.window_s / 2
        yield values, (first_s + np.arange(len(windows)) * step_s).astype(np.float64)


def on_one_grid(title: str, kind: Literal["ratio", "share"], parts: list[Drawn]) -> TimeMap:
    """Seizures begin at different times: means of windows within steps that all of them share."""
    first_s = min((at_s[0] for _, at_s in parts if len(at_s)), default=0.0)
    last_s = max((at_s[-1] for _, at_s in parts if len(at_s)), default=0.0)
    first = int(np.floor(first_s / STEP_S))
    W = int(np.floor(last_s / STEP_S)) - first + 1
    values = np.full((len(parts), W, len(parts[0][0]) if parts else 0), np.nan)
    for s, (of_seizure, at_s) in enumerate(parts):
        step = np.floor(at_s / STEP_S + 1e-9).astype(int) - first
        for w in np.unique(step):
            values[s, w] = of_seizure[:, step == w].mean(axis=1)
    return TimeMap(title, kind, (first + np.arange(W) + 0.5) * STEP_S, values)
