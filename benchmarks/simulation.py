"""The simulated cohort against measurements of recorded seizures.

`python -m benchmarks simulation [SEED…]` writes cohorts of the shape `paper`. The contact features
of the ECoG-like center are computed from its files and compared with the onset zone that its
clinicians annotate, as recorded ones were. Training-free scores are tested in the same center
against the same annotation, and on control segments that end before the seizure. Trained methods
are not looked at (`cohort_results`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from benchmarks.seizure_features import auroc, energy_ratio_rise, moments, targets
from benchmarks.timing import row
from epilens.data.bids import read_bids
from epilens.data.channels.contacts import parse_contact
from epilens.evidence.contact_features import FEATURES, contact_features
from epilens.evidence.cube import joined
from epilens.evidence.describe import describe
from epilens.evidence.signals import make_signals
from epilens.methods import METHODS, Training
from epilens.plan import Plan
from epilens.simulation import simulate
from epilens.simulation.patients import SimulatedPatient, make_patients
from epilens.simulation.shapes import EAST
from epilens.testing import make_recording

SEEDS = (10, 11, 12)
"""Cohorts that were not used to fit the simulation."""
TRAINING_FREE = {
    "epileptogenicity-index": (0.72, 0.85),
    "epileptogenicity-index/energy-ratio": (0.66, 0.80),
    "fragility": (0.58, 0.75),
}
"""Range of the median AUROC against the annotated onset zone."""
CONTROL_S = 20.0
"""Control segments pretend that the seizure begins so long before its annotated onset."""
RATE_HZ = 512.0


def features_of_files(root: Path, name: str, zone: str = "is_soz") -> pd.DataFrame:
    """Contact features of a center's files, as the published table has them.

    zone : column of the truth that becomes `is_soz`: as annotated, or `is_onset` for the truth.
    """
    recordings = read_bids(root, "simulated")
    truth = pd.read_csv(root / "derivatives/simulation-truth/truth.tsv", sep="\t")
    truth = truth[truth[zone] == 1]
    onset = {*zip(truth["patient"], truth["channel"], strict=True)}
    frames = []
    for patient in recordings.patients:
        for recording in recordings.read(patient):
            if recording.stop_s < 30:
                continue
            x = recording.signal.astype(np.float64)
            mains = recording.mains_hz or 60.0
            values = contact_features(x, recording.fs, recording.start_s, mains)
            frame = pd.DataFrame(values, columns=list(FEATURES))
            frame["rise"] = energy_ratio_rise(x, recording.fs, -recording.start_s)
            contacts = [parse_contact(channel) for channel in recording.channels]
            frame["shaft"] = [c.shaft if c else "" for c in contacts]
            frame["number"] = [c.number if c else 0 for c in contacts]
            frame["channel"] = recording.channels
            frame["is_soz"] = [(patient.name, c) in onset for c in recording.channels]
            frames.append(frame.assign(run=recording.run, patient=f"{name}/{patient.name}"))
    return pd.concat(frames, ignore_index=True)


def in_memory(patient: SimulatedPatient, earlier_s: float) -> xr.Dataset:
    """Cube and signals of a patient at one rate; onset `earlier_s` before the annotated one.

    A control segment (`earlier_s`) has nothing of the seizure, which can begin before its mark.
    """
    good = np.flatnonzero(patient.implant.good)
    parts = []
    for run in patient.runs:
        if run.oddity:
            continue
        run = replace(run, fs=RATE_HZ, lacks=())
        signal = patient.signal(run)[good]
        if earlier_s:
            signal = signal[:, : round((run.onset_s - max(run.lead_s, 0.0)) * RATE_HZ)]
        parts.append(
            make_recording(
                patient.name,
                f"run-{run.number:02d}",
                RATE_HZ,
                [patient.implant.names[i] for i in good],
                start_s=earlier_s - run.onset_s,
                signal=signal,
                is_ez=tuple(map(bool, patient.zones.soz[good])),
                mains_hz=float(patient.center.mains_hz),
            )
        )
    return joined(describe(parts, Plan()), make_signals(parts, Plan()))


def aurocs(item: tuple[SimulatedPatient, str, float]) -> float:
    """AUROC of one training-free row in one patient."""
    patient, method, earlier_s = item
    cube = in_memory(patient, earlier_s)
    scored = METHODS[method].fit(Training([cube], [cube], 0, Plan())).predict([cube])
    is_ez = cube["is_ez"].sel(channel=scored["channel"].tolist()).values.astype(bool)
    return auroc(-scored["p_nez"].to_numpy(np.float64), is_ez)


def training_free(pool: ProcessPoolExecutor) -> Iterator[dict[str, Any]]:
    """Median AUROC against the annotated onset zone, in seizures and before them."""
    patients = make_patients(EAST, 1, SEEDS[0])
    for method, (low, high) in TRAINING_FREE.items():
        found = np.nanmedian([*pool.map(aurocs, [(p, method, 0.0) for p in patients])])
        yield row(f"{method}: median AUROC, at least", found, "", least=low)
        yield row(f"{method}: the same, at most", found, "", most=high)
    control = [(p, "epileptogenicity-index", CONTROL_S) for p in patients]
    found = np.nanmedian([*pool.map(aurocs, control)])
    yield row("epileptogenicity-index: control segments before onset", found, "", most=0.58)


def measure(*seeds: str) -> list[dict[str, Any]]:
    rows, tables, wanted = [], [], targets()
    with tempfile.TemporaryDirectory() as place:
        for seed in seeds or SEEDS:
            simulate(Path(place) / str(seed), "paper", int(seed), jobs=2)
            tables.append(features_of_files(Path(place) / str(seed) / "east", str(seed)))
    reached = moments(pd.concat(tables, ignore_index=True))
    for name, (_, low, high) in wanted.items():
        rows.append(row(f"{name}, at least", reached[name], "", least=low))
        rows.append(row(f"{name}, at most", reached[name], "", most=high))
    apart = np.mean([abs(reached[f] - wanted[f][0]) for f in FEATURES])
    rows.append(row("33 features: mean distance from the recorded ones", apart, "", most=0.035))
    with ProcessPoolExecutor(2) as pool:
        return [*rows, *training_free(pool)]
