"""Whether evidence is what a model was trained on: by its plan, and by the cube itself."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import xarray as xr

from epilens.evidence.released_descriptors import which_descriptors
from epilens.plan import Plan

EVIDENCE = ("montage", "quality", "filter", "windows", "descriptors")
"""Fields of a plan that change the evidence."""
FORCED = ("filter", "descriptors")
"""Those in which a user can force other evidence than the model was trained on."""


def differing(model: Plan, other: Plan, sections: Collection[str] = EVIDENCE) -> list[str]:
    """Differences of two plans in sections, by default all that change the evidence, as text."""
    return [
        _descriptors_differ(theirs, ours)
        if field == "descriptors"
        else f"{field} is {theirs!r}, the model's {ours!r}"
        for field, ours, theirs in model.differences(other)
        if field.partition(".")[0] in sections
    ]


def _descriptors_differ(theirs: Sequence[str], ours: Sequence[str]) -> str:
    theirs, ours = which_descriptors(theirs), which_descriptors(ours)
    return f"descriptors are {theirs}, the model's {ours}"


def other_descriptors(cube: xr.Dataset, plan: Plan) -> list[str]:
    """How a cube's descriptors, and the signal that they describe, differ from a plan's."""
    names, band, differences = cube["descriptor"].values.tolist(), plan.filter.band, []
    if names != list(plan.descriptors):
        differences.append(_descriptors_differ(names, plan.descriptors))
    if cube.attrs.get("band", band) != band:
        differences.append(f"filter.band is {cube.attrs['band']!r}, the model's {band!r}")
    return differences


def other_layout(cube: xr.Dataset, plan: Plan) -> list[str]:
    """How a cube's channels and windows differ from a plan's."""
    differences = []
    settings = {"montage": plan.montage.scheme, "reference": plan.windows.reference}
    settings["reference_gap_s"] = plan.windows.reference_gap_s
    for field, ours in settings.items():
        theirs = cube.attrs.get(field, 0.0 if field == "reference_gap_s" else ours)
        if theirs != ours:
            differences.append(f"{field} is {theirs!r}, expected {ours!r}")
    start, stop = cube["start_s"].values, cube["stop_s"].values
    # Fractional rates move windows by less than a sample of the slowest recording.
    grid = {
        "windows.start_s": (plan.windows.start_s, start[:, 0]),
        "windows.length_s": (plan.windows.length_s, (stop - start)[:, 0]),
        "windows.stride_s": (plan.windows.stride_s, np.diff(start, axis=1)[:, 0]),
    }
    for field, (ours, theirs) in grid.items():
        if np.abs(theirs - ours).max() > 0.02:
            differences.append(f"{field} is {theirs[0]:g}, expected {ours:g}")
    return differences
