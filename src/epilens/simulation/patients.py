"""The patients of a simulated cohort and their runs, all drawn before any signal is made.

Every patient and run has a random stream of its own, so the result depends neither on the order
nor on the number of processes that write it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epilens.simulation.dynamics import FITTED, Dynamics
from epilens.simulation.implant import Implant, make_implant
from epilens.simulation.shapes import Center, share_out
from epilens.simulation.signals import (
    Physiology,
    RecordingSetup,
    Signal,
    make_physiology,
    make_seizure,
    make_signal,
)
from epilens.simulation.zones import SimulatedZones, make_zones

Oddity = Literal["", "no-onset", "too-short", "cut-off", "repeated"]
"""Without annotated onset; cut just before or soon after onset; stored twice."""


@dataclass(frozen=True)
class SimulatedRun:
    """One run: how it is recorded, and what is odd about it."""

    number: int
    fs: float
    onset_s: float
    """As annotated, in the recording."""
    lead_s: float
    """How long before the annotated onset the seizure starts; negative: annotated too early."""
    duration_s: float
    oddity: Oddity
    lacks: tuple[int, ...]
    """Contacts that this run does not have."""
    repeats: int = 0
    """Number of the run whose signal this one is; 0: its own."""


@dataclass(frozen=True)
class SimulatedPatient:
    """One patient with everything that its files will say."""

    center: Center
    name: str
    seed: tuple[int, ...]
    implant: Implant
    zones: SimulatedZones
    physiology: Physiology
    runs: tuple[SimulatedRun, ...]
    age: int
    sex: str
    engel: str

    def signal(self, run: SimulatedRun) -> Signal:
        """Signal of one run, (contact, time) in µV, of all contacts, also those that it lacks."""
        drawn = run.repeats or run.number
        rng = np.random.default_rng(np.random.SeedSequence([*self.seed, 1, drawn]))
        seizure = make_seizure(rng, self.implant, self.physiology)
        setup = RecordingSetup(
            fs=run.fs,
            samples=round(run.duration_s * run.fs),
            starts_s=run.onset_s - run.lead_s,
            mains_hz=self.center.mains_hz,
            reference_noise=self.center.reference_noise,
        )
        return make_signal(rng, self.implant, self.physiology, seizure, setup)


def make_patients(
    center: Center, center_index: int, seed: int, dynamics: Dynamics = FITTED
) -> list[SimulatedPatient]:
    """All patients of a center; seizures, channels and EZ channels add up to its counts."""
    rng = np.random.default_rng(np.random.SeedSequence([seed, center_index]))
    n = center.patients
    channels = share_out(center.channels, rng.uniform(0.6, 1.4, n), np.full(n, 8))
    seizures = _seizure_counts(rng, center)
    # A patient's EZ share varies around the center's; at least two contacts, never most of them.
    weights = channels * np.exp(rng.normal(0, 0.67, n))
    ez = share_out(center.ez_channels, weights, np.full(n, 2), (0.65 * channels).astype(int))
    return [
        _make_patient(center, (seed, center_index, i), _Counts(*map(int, counts)), dynamics)
        for i, counts in enumerate(zip(channels, ez, seizures, strict=True))
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


class _Counts(NamedTuple):
    channels: int
    ez: int
    seizures: int


def _make_patient(
    center: Center, seed: tuple[int, int, int], counts: _Counts, dynamics: Dynamics
) -> SimulatedPatient:
    index = seed[-1]
    rng = np.random.default_rng(np.random.SeedSequence([*seed, 0]))
    modality = "SEEG" if (index + 0.5) / center.patients < center.seeg_share else "ECOG"
    bad = int(rng.integers(1, 2 + counts.channels // 25))
    implant = make_implant(rng, modality, counts.channels, bad)
    zones = make_zones(rng, implant, center.rule, counts.ez)
    physiology = make_physiology(rng, implant, zones.onset, center.gain, dynamics)
    runs = [_make_run(rng, center, index, i + 1, dynamics) for i in range(counts.seizures)]
    if counts.seizures > 1:
        runs[-1] = _with_gaps(rng, runs[-1], implant.good & ~zones.annotated)
    runs += _odd_runs(center, index, runs)
    return SimulatedPatient(
        center=center,
        name=f"sub-{center.code}{index + 1:02d}",
        seed=seed,
        implant=implant,
        zones=zones,
        physiology=physiology,
        runs=tuple(runs),
        age=int(rng.integers(3, 16) if center.name == "West" else rng.integers(16, 60)),
        sex=str(rng.choice(["F", "M"])),
        engel=str(rng.choice(["1A", "1B", "1C", "1D"], p=[0.5, 0.25, 0.1, 0.15])),
    )


def _make_run(
    rng: np.random.Generator, center: Center, index: int, number: int, dynamics: Dynamics
) -> SimulatedRun:
    """Rates go with the patient; in one center they can change between the runs of a patient."""
    rates = center.rates_hz
    switch = number - 1 if center.name == "East" and index % 3 == 1 else 0
    lead = float(np.clip(rng.normal(dynamics.lead_s, dynamics.lead_sd_s), -4.0, 10.0))
    onset_s = round(float(rng.uniform(38, 46)), 3)
    return SimulatedRun(
        number=number,
        fs=rates[(index + switch) % len(rates)],
        onset_s=onset_s,
        lead_s=round(lead, 3),
        duration_s=float(np.ceil(onset_s + rng.uniform(37, 43))),
        oddity="",
        lacks=(),
    )


def _with_gaps(
    rng: np.random.Generator, run: SimulatedRun, among: NDArray[np.bool_]
) -> SimulatedRun:
    """The last run of a patient lacks a few contacts: a plug was pulled."""
    candidates = np.flatnonzero(among)
    lacks = rng.choice(candidates, min(len(candidates), int(rng.integers(0, 3))), replace=False)
    return replace(run, lacks=tuple(map(int, lacks)))


def _odd_runs(center: Center, index: int, runs: list[SimulatedRun]) -> list[SimulatedRun]:
    """Once per center, beyond the seizures that are counted: what happens in real archives."""
    if index:
        return []
    odd = replace(runs[0], number=len(runs) + 1, lacks=())
    match center.name:
        case "North":
            return [replace(odd, oddity="cut-off", duration_s=float(np.ceil(odd.onset_s + 2)))]
        case "East":
            return [replace(odd, oddity="no-onset")]
        case "South":
            return [replace(odd, oddity="too-short", onset_s=3.5, lead_s=0.0, duration_s=40.0)]
    return [replace(runs[0], number=len(runs) + 1, oddity="repeated", repeats=1)]
