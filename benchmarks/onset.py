"""Onset candidates on simulated seizures and background: how far from the truth, how often wrong.

Settings (src/epilens/data/onsets/changes.py) were chosen on the cohorts 10 and 11; 0 and 1 are
measured here. Background is that of the same simulated patients without a seizure, as it is and
with constructed artefacts. Simulated: what a recorded patient does is another question.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.timing import row
from epilens.data.electrodes.positions import Positions
from epilens.data.onsets.finder import OnsetCandidate, propose_onsets
from epilens.data.onsets.onset import Onset
from epilens.data.recording import Recording
from epilens.simulation.patients import SimulatedPatient, make_patients
from epilens.simulation.shapes import SHAPES
from epilens.testing import make_recording

SEEDS, COHORTS = (0, 1), ("tiny", "demo")
BACKGROUND_S, RATE_HZ, EVERY_S = 420.0, 256.0, 60.0
"""One constructed artefact in so many seconds."""
Signal = np.ndarray
KINDS = ("one contact", "movement", "muscle", "cable", "switched off", "louder")


def artefact(kind: str, rng: np.random.Generator, x: Signal) -> Signal:
    """The signal (contact, time) with an artefact."""
    x, n, sd = x.copy(), x.shape[1], x.std()
    match kind:
        case "one contact":  # loose: loud noise
            x[rng.integers(len(x))] += 10 * sd * rng.normal(size=n)
        case "movement":  # slow and large in all contacts
            slow = np.cumsum(rng.normal(size=n)) + np.cumsum(rng.normal(size=x.shape), axis=1)
            slow -= np.linspace(0, 1, n) * slow[:, -1:]
            x += 8 * sd * slow / slow.std()
        case "muscle":  # fast noise in a third of the contacts
            some = rng.random(len(x)) < 0.33
            size = rng.exponential(0.7, (some.sum(), 1))
            x[some] += sd * size * rng.normal(size=(some.sum(), n))
        case "cable":  # mains and noise in six neighbouring contacts
            first = rng.integers(max(1, len(x) - 6))
            mains = np.sin(100 * np.pi * np.arange(n) / RATE_HZ)
            x[first : first + 6] += 5 * sd * (mains + rng.normal(size=n))
        case "switched off":
            x[:] = 0
        case "louder":
            x *= 3
    return x


def spoilt(x: Signal, rng: np.random.Generator) -> Signal:
    """Background with an artefact in every minute, each kind as often; most fade in."""
    x = x.astype(np.float64)
    kinds = rng.permutation(np.arange(int(x.shape[1] / RATE_HZ / EVERY_S)) % len(KINDS))
    for slot, kind in enumerate(kinds):
        start_s, length_s = slot * EVERY_S + rng.uniform(5, 20), rng.uniform(2, 35)
        part = slice(round(start_s * RATE_HZ), round((start_s + length_s) * RATE_HZ))
        whole = artefact(KINDS[kind], rng, x[:, part])
        t = np.arange(whole.shape[1]) / RATE_HZ
        on = 1.0 if KINDS[kind] == "switched off" else np.clip(t / rng.uniform(0.01, 4.0), 0, 1)
        x[:, part] += on * (whole - x[:, part])
    return x


@dataclass(frozen=True)
class Proposed:
    """What was proposed in one recording; `true_s` is None in background."""

    candidates: tuple[OnsetCandidate, ...]
    contacts: int
    true_s: float | None = None
    zone: frozenset[str] = frozenset()
    artefacts: bool = False

    @property
    def error_s(self) -> float:
        """Of the nearest candidate; infinite without any."""
        at = (c.onset_s - (self.true_s or 0.0) for c in self.candidates)
        return min(at, key=abs, default=np.inf)


def recording_of(patient: SimulatedPatient, x: Signal, fs: float) -> Recording:
    """The good contacts of a patient, from the first sample."""
    names = np.array(patient.implant.names)[patient.implant.good].tolist()
    about = {"center": "", "onset": Onset.given(0.0), "positions": Positions()}
    about |= {"is_ez": None, "modality": patient.implant.modality, "mains_hz": None}
    signal = np.asarray(x, np.float32)
    return make_recording(patient.name, "run-01", fs, names, start_s=0.0, signal=signal, **about)


def of_patient(patient: SimulatedPatient) -> list[Proposed]:
    """Every seizure of a patient, and its background twice."""
    good, proposed = patient.implant.good, []
    zone = frozenset(np.array(patient.implant.names)[patient.zones.onset].tolist())
    n = int(good.sum())
    for run in patient.runs:
        if not run.oddity:
            part = recording_of(patient, patient.signal(run)[good], run.fs)
            proposed.append(Proposed(propose_onsets(part), n, run.onset_s - run.lead_s, zone))
    rest = replace(patient.runs[0], number=99, repeats=0, fs=RATE_HZ, lead_s=0.0)
    rest = replace(rest, duration_s=BACKGROUND_S, onset_s=BACKGROUND_S + 500)
    x = patient.signal(rest)[good]
    dirty = spoilt(x, np.random.default_rng(patient.seed))
    for signal, has_artefacts in ((x, False), (dirty, True)):
        candidates = propose_onsets(recording_of(patient, signal, RATE_HZ))
        proposed.append(Proposed(candidates, n, artefacts=has_artefacts))
    return proposed


def per_hour(background: list[Proposed], least_sure: float = 0.0) -> float:
    """False candidates per hour of background."""
    many = sum(c.sure >= least_sure for part in background for c in part.candidates)
    return many / (len(background) * BACKGROUND_S / 3600)


def measure() -> list[dict[str, Any]]:
    """Rows over the shapes `tiny` (12 contacts) and `demo` (40)."""
    patients = [
        patient
        for shape in COHORTS
        for seed in SEEDS
        for index, center in enumerate(SHAPES[shape])
        for patient in make_patients(center, index, seed)
    ]
    with ProcessPoolExecutor(2) as pool:
        proposed = [one for part in pool.map(of_patient, patients) for one in part]
    seizures = [p for p in proposed if p.true_s is not None]
    clean, dirty = ([p for p in proposed if p.true_s is None and p.artefacts == a] for a in (0, 1))
    error = np.abs([p.error_s for p in seizures])
    few = np.array([p.contacts <= 16 for p in seizures])
    near = [c for p in seizures for c in p.candidates if abs(c.onset_s - (p.true_s or 0)) < 5]
    lead = [p for p in seizures if p.candidates and p.candidates[0].contacts]
    in_zone = [np.mean([c in p.zone for c in p.candidates[0].contacts[:3]]) for p in lead]
    by_chance = np.mean([len(p.zone) / p.contacts for p in lead])
    return [
        row("simulated seizures", len(seizures), ""),
        row("distance from the true onset, median", float(np.median(error)), "s", most=1.8),
        row("within 5 s of the true onset", (error < 5).mean(), "", least=0.91),
        row("the same, at most 16 contacts", (error[few] < 5).mean(), ""),
        row("without any candidate", np.isinf(error).mean(), ""),
        row("the same, at most 16 contacts", np.isinf(error[few]).mean(), "", most=0.25),
        row("of candidates within 5 s, sure >= 0.5", np.mean([c.sure >= 0.5 for c in near]), ""),
        row("first three contacts in the true onset zone", np.mean(in_zone), ""),
        row("contacts in it by chance", by_chance, ""),
        row("background without artefacts", len(clean) * BACKGROUND_S / 3600, "h"),
        row("false candidates in it", per_hour(clean), "/h", most=0.5),
        row("false candidates, an artefact every minute", per_hour(dirty), "/h"),
        row("the same with sure >= 0.5", per_hour(dirty, 0.5), "/h", most=0.0),
    ]
