"""Localized patients whose pages are tested; each is made once."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from unittest.mock import patch

from new_patients import FS, cohort_cubes, make_model

from epilens.data.electrodes.positions import Positions
from epilens.localization.result import Localization
from epilens.networks import gradients as explain_module
from epilens.report.patient.localize import localize
from epilens.testing import make_recording

HOSTILE = (
    "<img src=x onerror=alert(1)>1",
    "</script><script>alert(2)</script>2",
    "=HYPERLINK(0)3",
    "A\t\u2028\x1b[31m4",
    "{{DATA}}5",
    "'\"&amp;6",
)
NAMES = tuple(f"{shaft}{i}" for shaft in ("LA", "LB", "RH'") for i in range(1, 9))


@cache
def usual() -> Localization:
    """Three seizures of 24 contacts, most of them with a position, a resection, another method."""
    at = {name: (-30.0 + i, -20.0 + 5 * (i // 8), 4.0 * (i % 8)) for i, name in enumerate(NAMES)}
    at.pop("LB3")
    parts = [
        make_recording("sub-Usual", f"run-0{i}", seed=i, fs=FS, channels=NAMES, ez=4)
        for i in range(3)
    ]
    parts = [replace(p, positions=Positions(at, "MNI152NLin2009bAsym")) for p in parts]
    model = make_model(cohort_cubes(6))
    return localize(parts, model, resected="LA1-3, Q9", compare=["line-length-change"])


@cache
def hostile() -> Localization:
    """One seizure, channels with names that want to be code, a method without training."""
    names = (*HOSTILE, "B1", "B2")
    part = make_recording("sub-Hostile", fs=FS, channels=names, ez=2)
    return localize([replace(part, positions=Positions())], "line-length-change")


@cache
def largest() -> Localization:
    """200 contacts × 5 seizures."""
    names = [f"{chr(65 + i // 10)}{i % 10 + 1}" for i in range(200)]
    parts = [
        make_recording("sub-Large", f"run-0{i}", seed=i, fs=FS, channels=names) for i in range(5)
    ]
    # Explaining takes long and little of the page.
    with patch.object(explain_module, "BUDGET", 0):
        return localize(parts, make_model(cohort_cubes(2), members=1))
