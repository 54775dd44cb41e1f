"""A reference that ends before onset (`windows.reference_gap_s`), with early and late onsets.

`lens` is trained on cohort 10 as annotated and tested on cohort 1, whose onsets are given early,
right or late by so many seconds; each with the reference up to onset, and up to 10 s before it. In
addition the largest Z-Δ of line length in the 10 s after onset, which needs no training. AUROC of
the contacts of the true onset zone, mean over patients, and the difference with its t interval.
Simulated: what a recorded patient does is another question.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from scipy.stats import sem, t

from benchmarks.onset import recording_of
from benchmarks.onset_check import around
from benchmarks.seizure_features import auroc
from benchmarks.timing import row
from epilens.evidence.contact_table import contact_table
from epilens.evidence.cube import is_ictal
from epilens.evidence.describe import describe
from epilens.evidence.views import VIEWS, views
from epilens.methods.lens import LensSettings, fit_weights
from epilens.simulation.patients import SimulatedPatient, make_patients
from epilens.simulation.shapes import SHAPES

TRAINED, TESTED = 10, 1
SHIFTS_S = (-10.0, -6.0, 0.0, 6.0, 10.0)
GAPS_S = (0.0, 10.0)


def cubes(patient: SimulatedPatient, shifts_s: tuple[float | None, ...]) -> list[xr.Dataset]:
    """The patient's cube for each shift of the true onsets; None: as annotated."""
    good, names = patient.implant.good, np.array(patient.implant.names)
    runs = [run for run in patient.runs if not run.oddity]
    wholes = [recording_of(patient, patient.signal(run)[good], run.fs) for run in runs]
    described = []
    for shift_s in shifts_s:
        parts = [
            around(whole, run.onset_s - (0 if shift_s is None else run.lead_s - shift_s))
            for run, whole in zip(runs, wholes, strict=True)
        ]
        parts = [replace(part, run=f"run-{i:02d}") for i, part in enumerate(parts, start=1)]
        cube = describe(parts)
        is_ez = np.isin(cube["channel"].values, names[patient.zones.onset])
        described.append(cube.assign(is_ez=("channel", is_ez)))
    return described


def line_length_change(cube: xr.Dataset) -> np.ndarray:
    """The largest Z-Δ of each contact in the 10 s after onset, mean over seizures."""
    z = views(cube).isel(view=VIEWS.index("z_delta")).sel(descriptor="line_length")
    early = is_ictal(cube) & (cube["stop_s"] <= 10) & cube["valid"]
    return z.where(early).max("window").mean("seizure").fillna(0).values


def measure(shape: str = "demo") -> list[dict[str, Any]]:
    """Rows of the table for a shape."""
    trained, tested = (
        [p for i, center in enumerate(SHAPES[shape]) for p in make_patients(center, i, seed)]
        for seed in (TRAINED, TESTED)
    )
    with ProcessPoolExecutor(2) as pool:
        fit = [cube for [cube] in pool.map(partial(cubes, shifts_s=(None,)), trained)]
        test = list(pool.map(partial(cubes, shifts_s=SHIFTS_S), tested))
    rows = [row("patients trained on", len(fit), ""), row("patients tested", len(test), "")]
    with_gap = [[c.assign_attrs(reference_gap_s=gap_s) for c in fit] for gap_s in GAPS_S]
    lenses = [
        fit_weights([(contact_table(c), c["is_ez"].values) for c in own], LensSettings().penalties)
        for own in with_gap
    ]
    for i, shift_s in enumerate(SHIFTS_S):
        scores = np.array(
            [
                [_aurocs(of[i], gap_s, lens) for of in test]
                for gap_s, lens in zip(GAPS_S, lenses, strict=True)
            ]
        )
        for m, method in enumerate(("lens", "line-length change")):
            rows += _compared(f"{method}, onset {shift_s:+g} s", *scores[:, :, m])
    return rows


def _aurocs(cube: xr.Dataset, gap_s: float, lens: Any) -> tuple[float, float]:
    cube = cube.assign_attrs(reference_gap_s=gap_s)
    seen = cube["valid"].any(["seizure", "window"]).values
    is_ez = cube["is_ez"].values[seen]
    by_change = line_length_change(cube)[seen]
    return auroc(lens.logit(contact_table(cube)), is_ez), auroc(by_change, is_ez)


def _compared(what: str, up_to_onset: np.ndarray, gapped: np.ndarray) -> list[dict[str, Any]]:
    difference = (gapped - up_to_onset)[np.isfinite(gapped - up_to_onset)]
    margin = sem(difference) * t.ppf(0.975, len(difference) - 1)
    return [
        row(f"{what}: AUROC, reference up to onset", np.nanmean(up_to_onset), ""),
        row(f"{what}: AUROC, reference up to -10 s", np.nanmean(gapped), ""),
        row(f"{what}: difference", difference.mean(), ""),
        row(f"{what}: half of its 95 % interval", margin, ""),
    ]
