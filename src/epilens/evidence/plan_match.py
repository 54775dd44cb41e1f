"""How the plan that a store was described with differs from another one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from epilens.evidence.released_descriptors import which_descriptors
from epilens.evidence.seizures import READING
from epilens.plan import Plan

EVIDENCE = (*READING, "descriptors")
"""Sections of the plan that change the evidence of a patient."""
_LARGEST_SHIFT_S = 0.02
"""Fractional rates move windows by less than a sample of the slowest recording."""


class Difference(NamedTuple):
    """A field of the plan in which evidence was described otherwise; values as text."""

    field: str
    described: str
    planned: str

    def text(self, whose: str = "the plan's") -> str:
        """Both values, for a message."""
        verb = "are" if self.field == "descriptors" else "is"
        return f"{self.field} {verb} {self.described}, {whose} {self.planned}"


def plan_differences(
    plan: Plan, described: Mapping[str, Any], sections: Collection[str]
) -> list[Difference]:
    """Fields of some sections in which evidence was described otherwise than a plan states.

    described : values by field, of a store or of another plan. Fields without one are not compared.
    """
    return [
        Difference(field, _text(field, described[field]), _text(field, planned))
        for field, planned in plan.fields(sections).items()
        if field in described and described[field] != planned
    ]


def stated_fields(about: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    """Fields of the plan that the attributes of a store state.

    Stores of earlier versions state a few of them.
    """
    if "plan" in about:
        return dict(about["plan"])
    older = {
        "montage.scheme": about.get("montage"),
        "filter.band": about.get("band"),
        "windows.reference": about.get("reference"),
        "cohort.ez": about.get("ez", "") if plan.cohort.ez else None,
    }
    # A gap was stated only where there was one.
    gap_s = {"windows.reference_gap_s": about.get("reference_gap_s", 0.0)}
    return {field: value for field, value in older.items() if value is not None} | gap_s


def cube_fields(cube: xr.Dataset, plan: Plan) -> dict[str, Any]:
    """Fields of the plan that a cube states, and those that its axes show."""
    fields = stated_fields(cube.attrs, plan)
    fields["descriptors"] = cube["descriptor"].values.tolist()
    start_s, stop_s = cube["start_s"].values, cube["stop_s"].values
    measured = {
        "start_s": start_s[:, 0],
        "length_s": (stop_s - start_s)[:, 0],
        "stride_s": np.diff(start_s, axis=1)[:, 0],
    }
    for name, value_s in measured.items():
        if np.abs(value_s - getattr(plan.windows, name)).max() > _LARGEST_SHIFT_S:
            fields[f"windows.{name}"] = round(float(value_s[0]), 3)
    return fields


def _text(field: str, value: Any) -> str:
    return which_descriptors(value) if field == "descriptors" else repr(value)
