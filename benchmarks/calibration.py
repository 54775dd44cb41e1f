"""Fit the numbers of the simulation to measurements of recorded seizures (simulated moments).

`python -m benchmarks.calibration [--seeds 3] [--first N] [--steps N] [--jobs 2]` draws the
ECoG-like center for several cohort seeds, computes the published features, compares them with the
onset zone that clinicians annotate there, as was done for recorded patients, and moves the numbers
of `epilens.simulation.dynamics` towards the recorded values. No method of EpiLENS is used. Without
steps it only measures.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.signal
from sklearn.linear_model import LogisticRegression

from benchmarks.seizure_features import auroc, patient_aurocs, structure
from epilens.evidence.contact_features import FEATURES, SUMMARIES, contact_features
from epilens.simulation.dynamics import FITTED, Dynamics
from epilens.simulation.patients import SimulatedPatient, make_patients
from epilens.simulation.shapes import EAST

REAL_AUROC = {
    "delta": (0.71, 0.70, 0.70),
    "theta": (0.73, 0.75, 0.73),
    "alpha": (0.75, 0.77, 0.77),
    "beta": (0.78, 0.81, 0.80),
    "lgamma": (0.79, 0.83, 0.81),
    "hfo": (0.72, 0.75, 0.74),
    "var": (0.72, 0.74, 0.74),
    "skew": (0.49, 0.77, 0.62),
    "kurt": (0.72, 0.74, 0.73),
    "ll": (0.74, 0.84, 0.80),
    "se": (0.57, 0.72, 0.66),
}
"""Mean over 27 recorded patients of the AUROC of one feature against the onset zone."""
REAL_SPREAD = {"ll_std": 0.12, "lgamma_std": 0.11, "beta_mean": 0.21}
"""SD over patients: of 27 (line length), of 15 (the others)."""
REAL_STRUCTURE = {
    "one seizure": 0.82,
    "between seizures": 0.44,
    "neighbours": 0.62,
    "next is SOZ after SOZ": 0.68,
    "next is SOZ after others": 0.03,
    "shafts with SOZ": 0.32,
    "SOZ share of these": 0.54,
    "z of SOZ": 1.2,
    "z of SOZ, SD": 1.5,
    "z of others": -0.2,
    "z of others, SD": 0.8,
}
REAL_MODELS = {"energy ratio alone": (0.66, 0.80), "logistic on z": (0.786, 0.886)}
"""AUROC of the rise of the energy ratio (median over patients), and of a logistic regression on all
features, z-scored within patients, leave one patient out (0.836 on 27 patients)."""
REAL_RISE = {"rise, median": (1.0, 1.6), "rise, 90 %": (4.0, 15.0), "rise, largest": (15.0, 1e9)}
"""Energy ratio 0-5 s after onset over the channel's own baseline."""
CALIBRATION_HZ, SEIZURES = 400.0, 3


def energy_ratio_rise(x: np.ndarray, fs: float, onset_s: float) -> np.ndarray:
    """(12.4-97 Hz over 3.5-12.4 Hz) in 0-5 s after onset over the same in −30 to −5 s."""

    def ratio(start: float, stop: float) -> np.ndarray:
        piece = x[:, round((onset_s + start) * fs) : round((onset_s + stop) * fs)]
        f, power = scipy.signal.welch(piece - piece.mean(axis=0), fs, nperseg=round(fs))
        fast, slow = (f >= 12.4) & (f < 97), (f >= 3.5) & (f < 12.4)
        return power[:, fast].sum(axis=1) / power[:, slow].sum(axis=1)

    return ratio(0, 5) / ratio(-30, -5)


def patient_rows(item: tuple[SimulatedPatient, str]) -> pd.DataFrame:
    """Contact features of one simulated patient, as the published table has them."""
    patient, name = item
    good = np.flatnonzero(patient.implant.good)
    frames = []
    for run in patient.runs:
        if run.oddity or run.number > SEIZURES:
            continue
        run = replace(run, fs=CALIBRATION_HZ)
        x = patient.signal(run)[good].astype(np.float64)
        values = contact_features(x, run.fs, -run.onset_s, patient.center.mains_hz)
        frame = pd.DataFrame(values, columns=list(FEATURES))
        frame["rise"] = energy_ratio_rise(x, run.fs, run.onset_s)
        frame["run"] = run.number
        frame["channel"] = [patient.implant.names[i] for i in good]
        frame["shaft"] = patient.implant.shaft[good]
        frame["number"] = [
            int("".join(filter(str.isdigit, patient.implant.names[i]))) for i in good
        ]
        frame["is_soz"] = patient.zones.soz[good]
        frames.append(frame)
    return pd.concat(frames).assign(patient=name)


def simulated_table(
    dynamics: Dynamics, seeds: Sequence[int], compute: Callable[..., Any] = map
) -> pd.DataFrame:
    """The counterpart of the published table, for the ECoG-like center of several cohorts."""
    work = [
        (patient, f"{seed}/{patient.name}")
        for seed in seeds
        for patient in make_patients(EAST, 1, seed, dynamics)
    ]
    return pd.concat(list(compute(patient_rows, work)), ignore_index=True)


def moments(table: pd.DataFrame) -> dict[str, float]:
    """Everything that has a target."""
    aurocs = patient_aurocs(table)
    spread = {f"{name}, SD": float(aurocs[name].std()) for name in REAL_SPREAD}
    rise = table["rise"]
    rises = (float(rise.median()), float(rise.quantile(0.9)), float(rise.max()))
    return (
        {name: float(value) for name, value in aurocs.mean().items()}
        | spread
        | structure(table)
        | dict(zip(REAL_RISE, rises, strict=True))
        | {"energy ratio alone": _rise_auroc(table), "logistic on z": _logistic(table)}
    )


def _rise_auroc(table: pd.DataFrame) -> float:
    """Median over patients of the AUROC of the rise, median over seizures."""
    aurocs = []
    for _, part in table.groupby("patient"):
        contacts = part.groupby("channel").agg({"rise": "median", "is_soz": "first"})
        aurocs.append(auroc(contacts["rise"].to_numpy(), contacts["is_soz"].to_numpy(bool)))
    return float(np.nanmedian(aurocs))


def _logistic(table: pd.DataFrame) -> float:
    """AUROC of all features together; on recorded seizures no better than the best feature."""
    runs = table.groupby(["patient", "run"])[list(FEATURES)]
    z = runs.transform(lambda v: (v - v.mean()) / (v.std() + 1e-300))
    keys = [table["patient"], table["channel"]]
    z, soz = z.groupby(keys).mean(), table["is_soz"].groupby(keys).first()
    patient = z.index.get_level_values("patient").to_numpy()
    names = np.unique(patient)
    aurocs = []
    for fold in range(5):
        is_test = np.isin(patient, names[fold::5])
        model = LogisticRegression(C=1.0, class_weight="balanced", max_iter=300)
        model.fit(z[~is_test], soz[~is_test])
        score = model.decision_function(z)
        for name in names[fold::5]:
            aurocs.append(auroc(score[patient == name], soz[patient == name].to_numpy(bool)))
    return float(np.nanmean(aurocs))


def targets() -> dict[str, tuple[float, float, float]]:
    """Name → (value, lowest, highest) that counts as reached."""
    wanted: dict[str, tuple[float, float, float]] = {}
    for base, values in REAL_AUROC.items():
        for summary, v in zip(SUMMARIES, values, strict=True):
            wanted[f"{base}_{summary}"] = (v, v - 0.07, v + 0.07)
    for name, v in REAL_SPREAD.items():
        wanted[f"{name}, SD"] = (v, v - 0.05, v + 0.05)
    for name, v in REAL_STRUCTURE.items():
        wanted[name] = (v, v - abs(v) / 3, v + abs(v) / 3)
    for name, (low, high) in REAL_MODELS.items():
        wanted[name] = ((low + high) / 2, low, high)
    for name, (low, high) in REAL_RISE.items():
        wanted[name] = (float(np.sqrt(low * min(high, 60.0))), low, high)
    return wanted


def report(reached: dict[str, float]) -> str:
    """Target and reached, one line each."""
    lines, wanted = [], targets()
    for name, (value, low, high) in wanted.items():
        verdict = "" if low <= reached[name] <= high else "MISSED"
        lines.append(f"{name:<26} {value:8.2f} {reached[name]:8.3f}  {verdict}")
    apart = np.mean([abs(reached[f] - wanted[f][0]) for f in FEATURES])
    lines.append(f"{'mean distance of features':<26} {'< 0.035':>8} {apart:8.3f}")
    return "\n".join(lines)


MOVES: dict[str, float | tuple[float, ...]] = {
    "field_gain": 0.1,
    "onset_gain": 0.1,
    "onset_slow_sd": 0.1,
    "onset_fast": 0.06,
    "strength": 0.15,
    "general": 0.25,
    "onset_drive": 0.25,
    "lasting": 0.15,
    "passing": 0.15,
    "early": (0.15,) * 6,
    "late": (0.15,) * 6,
    "own": (0.15, 0.1, 0.1, 0.08, 0.08, 0.1),
    "rhythmic": 0.15,
    "spikes": 1.0,
    "onset_spikes": 0.2,
    "spike_size": 0.5,
    "spike_turns": 0.08,
    "spike_growth": 0.12,
    "ictal_spikes": 0.1,
    "muscle": 0.12,
    "movement": 0.12,
}
"""How far each number moves in one step."""
SIGNED = ("general", "early", "late", "onset_gain", "onset_fast")


def to_vector(dynamics: Dynamics) -> np.ndarray:
    """The numbers that move, each in units of its step."""
    return np.concatenate([np.divide(getattr(dynamics, k), v).ravel() for k, v in MOVES.items()])


def from_vector(vector: np.ndarray, start: Dynamics) -> Dynamics:
    """The other way round; what cannot be negative is not."""
    values: dict[str, Any] = {}
    at = 0
    for name, step in MOVES.items():
        size = np.size(step)
        part = np.round(vector[at : at + size] * np.asarray(step), 4)
        part = part if name in SIGNED else np.clip(part, 0.01, 0.95 if name == "share" else np.inf)
        values[name] = float(part[0]) if np.ndim(step) == 0 else tuple(map(float, part))
        at += size
    return replace(start, **values)


def distances(reached: dict[str, float]) -> np.ndarray:
    """Distance to each target in units of what is allowed; rises by their logarithm."""
    out = []
    for name, (value, low, high) in targets().items():
        if name in REAL_RISE:
            out.append(np.log(reached[name] / value) / np.log(min(high, 4 * low) / low) * 2)
        else:
            # Features are to be near on average, too, so half of what is allowed counts as far.
            out.append((reached[name] - value) / (high - low) * (4 if name in FEATURES else 2))
    return np.array(out)


def fit(start: Dynamics, seeds: Sequence[int], steps: int, compute: Callable[..., Any]) -> Dynamics:
    """Regress the moments on random moves of all numbers; go where they point, if it is nearer."""
    rng = np.random.default_rng(0)
    best = to_vector(start)
    current = distances(moments(simulated_table(start, seeds, compute)))
    print(f"loss {np.mean(current**2):.3f}", flush=True)
    moved: list[np.ndarray] = []
    observed: list[np.ndarray] = []
    for step in range(steps):
        while len(moved) < len(best) * 0.8 * (step + 1):
            move = rng.normal(0, 0.7, len(best))
            candidate = from_vector(best + move, start)
            observed.append(distances(moments(simulated_table(candidate, seeds, compute))))
            moved.append(to_vector(candidate))
        x, y = np.array(moved) - best, np.array(observed) - current
        weight = np.exp(-np.mean(x**2, axis=1))[:, None]
        slope = np.linalg.solve(x.T @ (weight * x) + 2.0 * np.eye(len(best)), x.T @ (weight * y))
        for damping in (1.0, 4.0, 16.0):
            go = -np.linalg.solve(slope @ slope.T + damping * np.eye(len(best)), slope @ current)
            candidate = from_vector(best + np.clip(go, -1.5, 1.5), start)
            reached = moments(simulated_table(candidate, seeds, compute))
            new = distances(reached)
            moved.append(to_vector(candidate))
            observed.append(new)
            print(f"step {step} damping {damping:g}: loss {np.mean(new**2):.3f}", flush=True)
            if np.mean(new**2) < np.mean(current**2):
                best, current = to_vector(candidate), new
                print(candidate, report(reached), sep="\n", flush=True)
                break
    return from_vector(best, start)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="First cohort seed.")
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    if min(given.seeds, given.jobs) < 1 or min(given.first, given.steps) < 0:
        parser.error("expected one or more seeds and jobs, and no negative number")
    with ProcessPoolExecutor(given.jobs) as pool:

        def compute(function: Any, work: list[Any]) -> Any:
            return pool.map(function, work, chunksize=1)

        seeds = range(given.first, given.first + given.seeds)
        dynamics = fit(FITTED, seeds, given.steps, compute) if given.steps else FITTED
        print(dynamics)
        print(report(moments(simulated_table(dynamics, seeds, compute))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
