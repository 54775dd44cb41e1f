"""The simulated cohort against measurements of recorded seizures.

Three cohorts of the shape `paper` are written. The contact features of the ECoG-like center are
computed from its files and compared with the onset zone that its clinicians annotate, as recorded
ones were. Training-free scores are tested in the same center against the same annotation, and on
control segments that end before the seizure. Trained methods are not looked at (`cohort_results`).
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

from benchmarks.calibration import energy_ratio_rise, moments, targets
from benchmarks.seizure_features import auroc
from benchmarks.timing import row
from epilens.data.bids import read_bids
from epilens.data.contacts import parse_contact
from epilens.data.recording import Recording
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


def drawn_recordings(
    patient: SimulatedPatient, name: str, fs: float, ez: np.ndarray, earlier_s: float = 0.0
) -> list[Recording]:
    """All seizures and good channels of a patient in memory, at one rate.

    ez : mask over the contacts of the implant. earlier_s : onset so long before the annotated one,
    and then nothing of the seizure, which can begin some seconds before its mark.
    """
    good = np.flatnonzero(patient.implant.good)
    parts = []
    for known in patient.runs:
        if known.oddity:
            continue
        drawn = replace(known, fs=fs, lacks=())
        signal = patient.signal(drawn)[good]
        if earlier_s:
            signal = signal[:, : round((drawn.onset_s - max(drawn.lead_s, 0.0)) * fs)]
        parts.append(
            make_recording(
                name,
                f"run-{drawn.number:02d}",
                fs,
                [patient.implant.names[i] for i in good],
                start_s=earlier_s - drawn.onset_s,
                signal=signal,
                is_ez=tuple(map(bool, ez[good])),
                mains_hz=float(patient.center.mains_hz),
            )
        )
    return parts


def in_memory(patient: SimulatedPatient, earlier_s: float) -> Any:
    """Cube and signals of a patient; onset `earlier_s` before the annotated one."""
    plan = Plan()
    parts = drawn_recordings(patient, patient.name, RATE_HZ, patient.zones.soz, earlier_s)
    return joined(describe(parts, plan), make_signals(parts, plan)), plan


def aurocs(item: tuple[SimulatedPatient, str, float]) -> float:
    """AUROC of one training-free row in one patient."""
    patient, method, earlier_s = item
    cube, plan = in_memory(patient, earlier_s)
    scored = METHODS[method].fit(Training([cube], [cube], 0, plan)).predict([cube])
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


def measure() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    tables = []
    with tempfile.TemporaryDirectory() as place:
        for seed in SEEDS:
            root = Path(place) / str(seed)
            simulate(root / "cohort", "paper", seed, jobs=2)
            tables.append(features_of_files(root / "cohort" / "east", str(seed)))
    reached = moments(pd.concat(tables, ignore_index=True))
    for name, (_, low, high) in targets().items():
        rows.append(row(f"{name}, at least", reached[name], "", least=low))
        rows.append(row(f"{name}, at most", reached[name], "", most=high))
    wanted = targets()
    apart = float(np.mean([abs(reached[f] - wanted[f][0]) for f in FEATURES]))
    rows.append(
        row("mean distance of the 33 features from the recorded ones", apart, "", most=0.035)
    )
    with ProcessPoolExecutor(2) as pool:
        rows += training_free(pool)
    return rows
