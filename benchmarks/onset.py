"""Onset candidates on simulated seizures and background: how far from the truth, how often wrong.

Settings (src/epilens/data/onset_changes.py) were chosen on the cohorts 10 and 11; 0 and 1 are
measured here. Background is that of the same simulated patients without a seizure, as it is and
with constructed artefacts. Simulated: what a recorded patient does is another question.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.timing import row
from epilens.data.onset import Onset
from epilens.data.onset_finder import OnsetCandidate, propose_onsets
from epilens.data.positions import Positions
from epilens.data.recording import Recording
from epilens.simulation.patients import SimulatedPatient, make_patients
from epilens.simulation.shapes import SHAPES

SEEDS = (0, 1)
BACKGROUND_S, RATE_HZ = 420.0, 256.0
_EVERY_S = 60.0
"""One constructed artefact in so many seconds."""
Signal = np.ndarray
Rng = np.random.Generator


def one_contact(rng: Rng, x: Signal) -> None:
    """A loose contact: loud noise."""
    x[rng.integers(len(x))] += 10 * x.std() * rng.normal(size=x.shape[1])


def movement(rng: Rng, x: Signal) -> None:
    """Slow and large in all contacts."""
    slow = np.cumsum(rng.normal(size=x.shape[1])) + np.cumsum(rng.normal(size=x.shape), axis=1)
    slow -= np.linspace(0, 1, x.shape[1]) * slow[:, -1:]
    x += 8 * x.std() * slow / slow.std()


def muscle(rng: Rng, x: Signal) -> None:
    """Fast noise in a third of the contacts."""
    some = rng.random(len(x)) < 0.33
    x[some] += (
        x.std() * rng.exponential(0.7, (some.sum(), 1)) * rng.normal(size=(some.sum(), x.shape[1]))
    )


def cable(rng: Rng, x: Signal) -> None:
    """Mains and noise in six neighbouring contacts."""
    first = rng.integers(max(1, len(x) - 6))
    t = np.arange(x.shape[1]) / RATE_HZ
    x[first : first + 6] += 5 * x.std() * (np.sin(100 * np.pi * t) + rng.normal(size=len(t)))


def switched_off(rng: Rng, x: Signal) -> None:
    """The amplifier gives one value."""
    x[:] = 0


def louder(rng: Rng, x: Signal) -> None:
    """All contacts as they are, three times as large."""
    x *= 3


ARTEFACTS: tuple[Callable[[Rng, Signal], None], ...] = (
    one_contact, movement, muscle, cable, switched_off, louder,
)  # fmt: skip


def spoilt(x: Signal, rng: Rng) -> Signal:
    """Background with an artefact in every minute, each kind as often; most fade in."""
    x = x.astype(np.float64)
    kinds = rng.permutation(np.arange(int(x.shape[1] / RATE_HZ / _EVERY_S)) % len(ARTEFACTS))
    for slot, kind in enumerate(kinds):
        start_s, length_s = slot * _EVERY_S + rng.uniform(5, 20), rng.uniform(2, 35)
        part = slice(round(start_s * RATE_HZ), round((start_s + length_s) * RATE_HZ))
        whole = x[:, part].copy()
        ARTEFACTS[kind](rng, whole)
        t = np.arange(whole.shape[1]) / RATE_HZ
        on = np.clip(t / rng.uniform(0.01, 4.0), 0, 1) if ARTEFACTS[kind] != switched_off else 1.0
        x[:, part] += on * (whole - x[:, part])
    return x


@dataclass(frozen=True)
class Found:
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


def _recording(patient: SimulatedPatient, x: Signal, fs: float) -> Recording:
    names = tuple(
        n for n, good in zip(patient.implant.names, patient.implant.good, strict=True) if good
    )
    return Recording(
        patient=patient.name,
        center="",
        run="run-01",
        channels=names,
        onset=Onset.given(0.0),
        is_ez=None,
        positions=Positions.none(),
        modality=patient.implant.modality,
        mains_hz=None,
        source=None,
        signal=np.asarray(x, np.float32),
        fs=fs,
        start_s=0.0,
    )


def of_patient(patient: SimulatedPatient) -> list[Found]:
    """Every seizure of a patient, and its background twice."""
    good, found = patient.implant.good, []
    zone = frozenset(np.array(patient.implant.names)[patient.zones.onset].tolist())
    n = int(good.sum())
    for run in patient.runs:
        if not run.oddity:
            part = _recording(patient, patient.signal(run)[good], run.fs)
            found.append(Found(propose_onsets(part), n, run.onset_s - run.lead_s, zone))
    rest = replace(
        patient.runs[0], number=99, repeats=0, fs=RATE_HZ, duration_s=BACKGROUND_S,
        onset_s=BACKGROUND_S + 500, lead_s=0.0,
    )  # fmt: skip
    x = patient.signal(rest)[good]
    found.append(Found(propose_onsets(_recording(patient, x, RATE_HZ)), n))
    x = spoilt(x, np.random.default_rng(patient.seed))
    found.append(Found(propose_onsets(_recording(patient, x, RATE_HZ)), n, artefacts=True))
    return found


def everything(seeds: Sequence[int], shapes: Sequence[str] = ("tiny", "demo")) -> list[Found]:
    """All recordings of the shapes `tiny` (12 contacts) and `demo` (40)."""
    patients = [
        patient
        for shape in shapes
        for seed in seeds
        for index, center in enumerate(SHAPES[shape])
        for patient in make_patients(center, index, seed)
    ]
    with ProcessPoolExecutor(2) as pool:
        return [found for part in pool.map(of_patient, patients) for found in part]


def per_hour(found: Sequence[Found], least_sure: float = 0.0) -> float:
    """False candidates per hour of background."""
    many = sum(c.sure >= least_sure for f in found for c in f.candidates)
    return many / (len(found) * BACKGROUND_S / 3600)


def measure() -> list[dict[str, Any]]:
    found = everything(SEEDS)
    seizures = [f for f in found if f.true_s is not None]
    clean, dirty = ([f for f in found if f.true_s is None and f.artefacts == a] for a in (0, 1))
    error = np.abs([f.error_s for f in seizures])
    few = np.array([f.contacts <= 16 for f in seizures])
    first = [c for f in seizures for c in f.candidates if abs(c.onset_s - (f.true_s or 0)) < 5]
    sure = np.array([c.sure for c in first])
    lead = [f for f in seizures if f.candidates and f.candidates[0].contacts]
    in_zone = [
        len({*f.candidates[0].contacts[:3]} & f.zone) / len(f.candidates[0].contacts[:3])
        for f in lead
    ]
    hours = len(clean) * BACKGROUND_S / 3600
    return [
        row("simulated seizures", len(seizures), ""),
        row("distance from the true onset, median", float(np.median(error)), "s", most=1.8),
        row("within 5 s of the true onset", float((error < 5).mean()), "", least=0.91),
        row("the same, at most 16 contacts", float((error[few] < 5).mean()), ""),
        row("without any candidate", float(np.isinf(error).mean()), ""),
        row("the same, at most 16 contacts", float(np.isinf(error[few]).mean()), "", most=0.25),
        row("candidates within 5 s that have sure >= 0.5", float((sure >= 0.5).mean()), ""),
        row("first three contacts in the true onset zone", float(np.mean(in_zone)), ""),
        row(
            "contacts in it by chance", float(np.mean([len(f.zone) / f.contacts for f in lead])), ""
        ),
        row("background without artefacts", hours, "h"),
        row("false candidates in it", per_hour(clean), "/h", most=0.5),
        row("false candidates, an artefact every minute", per_hour(dirty), "/h"),
        row("the same with sure >= 0.5", per_hour(dirty, 0.5), "/h", most=0.0),
    ]
