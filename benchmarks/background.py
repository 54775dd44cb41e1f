"""The background before a seizure, against measurements of normal tissue.

`python -m benchmarks background [SEEDS]` draws patients of all centers in memory at 200 Hz, and
measures contacts outside the onset zone before the seizure as the recorded ones were: 1-80 Hz, the
nine descriptors in windows of 2 s, 13 windows as the reference and the next 13 compared with it.
Recorded: 1,599 channels of 106 patients, awake, a public atlas of normal iEEG.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.signal
import scipy.stats
from numpy.typing import NDArray

from benchmarks.timing import row
from epilens.evidence.descriptors import descriptors
from epilens.plan import PAPER_NINE
from epilens.simulation.dynamics import FITTED, Dynamics
from epilens.simulation.patients import SimulatedPatient, make_patients
from epilens.simulation.shapes import SHAPES

Values = NDArray[np.float64]

RATE_HZ, WINDOWS = 200.0, 13
EVERY = 5
"""One in so many patients of a center is drawn."""
QUANTILES = (5, 25, 50, 75, 95)
RECORDED: dict[str, tuple[float, ...]] = {
    "kurtosis": (0.34, 0.60, 0.97, 1.72, 3.94),
    "slope": (-2.79, -2.19, -1.78, -1.44, -0.99),
    "log_delta_power": (0.08, 0.12, 0.15, 0.20, 0.30),
    "log_theta_power": (0.07, 0.10, 0.135, 0.18, 0.31),
    "log_beta_power": (0.046, 0.065, 0.088, 0.12, 0.28),
    "log_low_gamma_power": (0.041, 0.065, 0.088, 0.12, 0.30),
    "rms": (0.066, 0.10, 0.136, 0.19, 0.33),
    "line_length": (0.040, 0.059, 0.086, 0.13, 0.31),
    "spectral_entropy": (0.033, 0.049, 0.066, 0.090, 0.17),
}
"""Quantiles over channels; of descriptors, the SD over windows relative to the mean."""
RECORDED_TAIL = {
    **{"log_delta_power": 9.0, "log_theta_power": 11.0, "log_beta_power": 18.0},
    **{"log_low_gamma_power": 20.0, "line_length": 22.0, "spectral_entropy": 21.0},
}
"""99.9 % of |Z-Δ| of the later windows."""
TOLERANCE = 1 / 3
"""Allowed relative distance of the middle quantiles."""


def channel_statistics(x: Values, fs: float) -> tuple[dict[str, Values], dict[str, Values]]:
    """Values of every channel, and |Z-Δ| of its later windows; x is (channel, time) in µV."""
    sos = scipy.signal.butter(4, (1.0, 80.0), "bandpass", fs=fs, output="sos")
    x = scipy.signal.sosfiltfilt(sos, x, axis=-1)
    f, power = scipy.signal.welch(x, fs, nperseg=round(2 * fs), axis=-1)
    inside = (f >= 2) & (f <= 45)
    slope = np.polyfit(np.log(f[inside]), np.log(power[:, inside]).T, 1)[0]
    of_window = descriptors(x.astype(np.float32), fs).astype(np.float64)[: 2 * WINDOWS]
    reference, later = of_window[:WINDOWS], of_window[WINDOWS:]
    z = np.abs(later - reference.mean(axis=0)) / (reference.std(axis=0) + 1e-6)
    relative = of_window.std(axis=0) / np.abs(of_window.mean(axis=0))
    values = {"kurtosis": scipy.stats.kurtosis(x, axis=-1), "slope": slope}
    values |= {n: relative[:, i] for i, n in enumerate(PAPER_NINE) if n in RECORDED}
    return values, {n: z[..., i].ravel() for i, n in enumerate(PAPER_NINE) if n in RECORDED_TAIL}


def patient_background(patient: SimulatedPatient) -> tuple[dict[str, Values], dict[str, Values]]:
    """Statistics of the contacts outside the onset zone, before the patient's first seizure."""
    run = replace(patient.runs[0], fs=RATE_HZ, onset_s=42.0, lead_s=0.0, duration_s=44.0)
    normal = patient.implant.good & ~patient.zones.onset
    x = patient.signal(run)[normal, : round(40 * RATE_HZ)]
    return channel_statistics(x.astype(np.float64), RATE_HZ)


def simulated_background(
    dynamics: Dynamics, seeds: Sequence[int], pool: ProcessPoolExecutor | None = None
) -> tuple[dict[str, Values], dict[str, float]]:
    """Quantiles over contacts, and 99.9 % of |Z-Δ|."""
    patients = [
        patient
        for seed in seeds
        for index, center in enumerate(SHAPES["paper"])
        for patient in make_patients(center, index, seed, dynamics)[::EVERY]
    ]
    parts = list((pool.map if pool else map)(patient_background, patients))
    values = {n: np.concatenate([v[n] for v, _ in parts]) for n in RECORDED}
    tails = {n: np.concatenate([z[n] for _, z in parts]) for n in RECORDED_TAIL}
    return (
        {n: np.percentile(v, QUANTILES) for n, v in values.items()},
        {n: float(np.percentile(z, 99.9)) for n, z in tails.items()},
    )


def measure(seeds: str = "1") -> list[dict[str, Any]]:
    """Recorded and simulated quantiles; the middle ones have a goal."""
    quantiles, tails = simulated_background(FITTED, range(int(seeds)))
    rows = []
    for name, recorded in RECORDED.items():
        for q, goal, value in zip(QUANTILES, recorded, quantiles[name], strict=True):
            rows += _rows(f"{name}, {q} %", float(value), goal, q in (25, 50, 75))
    for name, goal in RECORDED_TAIL.items():
        rows += _rows(f"{name}, 99.9 % of |Z-Δ|", tails[name], goal, True)
    return rows


def _rows(what: str, value: float, recorded: float, is_goal: bool) -> list[dict[str, Any]]:
    what = f"{what} (recorded {recorded:g})"
    if not is_goal:
        return [row(what, value, "")]
    low, high = sorted((recorded * (1 - TOLERANCE), recorded * (1 + TOLERANCE)))
    return [row(what, value, "", **({"least": low} if value < recorded else {"most": high}))]
