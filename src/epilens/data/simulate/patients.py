"""The patients of a simulated cohort and their runs, all drawn before any signal is made.

Every patient and run has a random stream of its own, so the result depends neither on the order
nor on the number of processes that write it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from epilens.data.simulate.implant import Implant, make_implant
from epilens.data.simulate.shapes import Center, share_out
from epilens.data.simulate.signals import (
    Physiology,
    RecordingSetup,
    Seizure,
    Signal,
    make_physiology,
    make_seizure,
    make_signal,
)

MISLABELLED = 0.15
"""Share of EZ contacts that the simulated clinician missed; as many others were taken instead."""

Oddity = Literal["", "no-onset", "too-short"]


@dataclass(frozen=True)
class SimulatedRun:
    """One run: how it is recorded, and what is odd about it."""

    number: int
    fs: float
    onset_s: float
    duration_s: float
    oddity: Oddity
    lacks: tuple[int, ...]
    """Contacts that this run does not have."""


@dataclass(frozen=True)
class SimulatedPatient:
    """One patient with everything that its files will say."""

    center: Center
    name: str
    seed: tuple[int, ...]
    implant: Implant
    physiology: Physiology
    runs: tuple[SimulatedRun, ...]
    age: int
    sex: str
    engel: str

    def signal(self, run: SimulatedRun) -> Signal:
        """Signal of one run, (contact, time) in µV; contacts that it lacks are still there."""
        rng = np.random.default_rng(np.random.SeedSequence([*self.seed, 1, run.number]))
        seizure: Seizure | None = make_seizure(rng, self.implant, self.physiology)
        setup = RecordingSetup(
            fs=run.fs,
            samples=round(run.duration_s * run.fs),
            onset_s=run.onset_s,
            mains_hz=self.center.mains_hz,
            reference_noise=self.center.reference_noise,
        )
        return make_signal(rng, self.implant, self.physiology, seizure, setup)


def make_patients(center: Center, center_index: int, seed: int) -> list[SimulatedPatient]:
    """All patients of a center; seizures, channels and EZ channels add up to its counts."""
    rng = np.random.default_rng(np.random.SeedSequence([seed, center_index]))
    n = center.patients
    channels = share_out(center.channels, rng.uniform(0.6, 1.4, n), np.full(n, 8))
    seizures = _seizure_counts(rng, center)
    # A patient's EZ share varies around the center's; at least two contacts, never most of them.
    weights = channels * np.exp(rng.normal(0, 0.9, n))
    ez = share_out(center.ez_channels, weights, np.full(n, 2), (0.65 * channels).astype(int))
    return [
        _make_patient(
            center, (seed, center_index, i), int(channels[i]), int(ez[i]), int(seizures[i])
        )
        for i in range(n)
    ]


def _seizure_counts(rng: np.random.Generator, center: Center) -> np.ndarray:
    single = center.single_seizure_patients
    counts = np.ones(center.patients, int)
    several = center.patients - single
    counts[single:] = share_out(
        center.seizures - single,
        rng.uniform(0.5, 1.5, several),
        np.full(several, min(2, center.seizures)),
    )
    return rng.permutation(counts)


def _make_patient(
    center: Center, seed: tuple[int, int, int], channels: int, ez: int, seizures: int
) -> SimulatedPatient:
    index = seed[-1]
    rng = np.random.default_rng(np.random.SeedSequence([*seed, 0]))
    modality = "SEEG" if (index + 0.5) / center.patients < center.seeg_share else "ECOG"
    bad = int(rng.integers(1, 2 + channels // 25))
    implant = make_implant(rng, modality, channels, bad, ez, MISLABELLED)
    physiology = make_physiology(rng, implant, center.gain)
    runs = [_make_run(rng, center, index, number) for number in range(1, seizures + 1)]
    runs[-1] = _with_gaps(rng, runs[-1], implant) if seizures > 1 else runs[-1]
    runs += _odd_runs(center, index, runs)
    return SimulatedPatient(
        center=center,
        name=f"sub-{center.code}{index + 1:02d}",
        seed=seed,
        implant=implant,
        physiology=physiology,
        runs=tuple(runs),
        age=int(rng.integers(3, 16) if center.name == "West" else rng.integers(16, 60)),
        sex=str(rng.choice(["F", "M"])),
        engel=str(rng.choice(["1A", "1B", "1C", "1D"], p=[0.5, 0.25, 0.1, 0.15])),
    )


def _make_run(rng: np.random.Generator, center: Center, index: int, number: int) -> SimulatedRun:
    """Rates go with the patient; in one center they can change between the runs of a patient."""
    rates = center.rates_hz
    switch = number - 1 if center.name == "East" and index % 3 == 1 else 0
    fs = rates[(index + switch) % len(rates)]
    onset_s = round(float(rng.uniform(38, 46)), 3)
    return SimulatedRun(number, fs, onset_s, float(np.ceil(onset_s + rng.uniform(37, 43))), "", ())


def _with_gaps(rng: np.random.Generator, run: SimulatedRun, implant: Implant) -> SimulatedRun:
    """The last run of a patient lacks a few contacts: a plug was pulled."""
    good = np.flatnonzero(implant.good & ~implant.is_annotated_ez)
    lacks = rng.choice(good, min(len(good), int(rng.integers(0, 3))), replace=False)
    return SimulatedRun(run.number, run.fs, run.onset_s, run.duration_s, "", tuple(map(int, lacks)))


def _odd_runs(center: Center, index: int, runs: list[SimulatedRun]) -> list[SimulatedRun]:
    """Once per center: a run nobody annotated, or one cut just before the seizure."""
    number, fs = len(runs) + 1, runs[0].fs
    if center.name == "East" and index == 0:
        return [SimulatedRun(number, fs, 40.0, 80.0, "no-onset", ())]
    if center.name == "South" and index == 0:
        return [SimulatedRun(number, fs, 3.5, 40.0, "too-short", ())]
    return []
