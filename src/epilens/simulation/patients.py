"""The patients of a simulated cohort and their runs, all drawn before any signal is made.

Every patient and run has a random stream of its own, so the result depends neither on the order
nor on the number of processes that write it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from epilens.simulation.dynamics import FITTED, Dynamics
from epilens.simulation.implant import Implant, make_implant
from epilens.simulation.noise import Signal
from epilens.simulation.physiology import Physiology, make_physiology
from epilens.simulation.seizures import make_seizure
from epilens.simulation.shapes import Center, Oddity, share_out
from epilens.simulation.signals import RecordingSetup, make_signal
from epilens.simulation.zones import SimulatedZones, make_zones

# Typical values that were set by hand.
CHANNEL_SHARES = (0.6, 1.4)
"""Range over patients of the number of contacts, relative to the center's mean."""
FEWEST_CHANNELS = 8
"""No patient has fewer good contacts."""
EZ_LOG_SD = 0.67
"""SD over patients of the natural logarithm of the EZ fraction."""
FEWEST_EZ, LARGEST_EZ_FRACTION = 2, 0.65
"""Every patient has so many EZ contacts at least, and this share of all contacts at most."""
SEIZURE_SHARES = (0.5, 1.5)
"""Range over patients of the number of seizures, relative to the center's mean."""
CHANNELS_PER_BAD = 25
"""A patient has one bad contact, and up to one more for so many good ones."""
LEAD_LIMITS_S = (-4.0, 10.0)
"""Limits in s of the time from the true start of a seizure to its annotated onset."""
ONSET_S, AFTER_ONSET_S = (38.0, 46.0), (37.0, 43.0)
"""Ranges in s of the recorded time before and after the annotated onset."""
ENGEL_SHARES = {"1A": 0.5, "1B": 0.25, "1C": 0.1, "1D": 0.15}
"""Engel classes of the patients and their shares; all are seizure-free after surgery."""
MOST_MISSING = 2
"""Contacts that the last run of a patient lacks, at most."""


@dataclass(frozen=True)
class SimulatedRun:
    """One run: how it is recorded, and what is odd about it."""

    number: int
    """Number of the BIDS run, from 1."""
    fs: float
    """Sampling rate in Hz."""
    onset_s: float
    """Annotated onset, in s from the start of the recording."""
    lead_s: float
    """Time in s from the true start of the seizure to `onset_s`; negative: annotated too early."""
    duration_s: float
    """Length of the recording, in s."""
    oddity: Oddity
    """What is odd about the run; empty: nothing."""
    lacks: tuple[int, ...]
    """Indices of the contacts that this run does not have."""
    repeats: int = 0
    """Number of the run whose signal this one has; 0: its own."""


@dataclass(frozen=True)
class SimulatedPatient:
    """One patient with everything that its files will say."""

    center: Center
    name: str
    """Label in BIDS, such as `sub-N01`."""
    seed: tuple[int, ...]
    """Seed of the cohort, index of the center, index of the patient in it."""
    implant: Implant
    zones: SimulatedZones
    physiology: Physiology
    runs: tuple[SimulatedRun, ...]
    age: int
    """Age in years."""
    sex: str
    """`F` or `M`."""
    engel: str
    """Engel class of the outcome after surgery."""

    def signal(self, run: SimulatedRun) -> Signal:
        """Signal of one run, (contact, time) in µV, also of the contacts that it lacks."""
        stream = run.repeats or run.number
        rng = np.random.default_rng(np.random.SeedSequence([*self.seed, 1, stream]))
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
    channels = share_out(
        center.channels, rng.uniform(*CHANNEL_SHARES, n), np.full(n, FEWEST_CHANNELS)
    )
    seizures = _seizure_counts(rng, center)
    ez = share_out(
        center.ez_channels,
        weights=channels * np.exp(rng.normal(0, EZ_LOG_SD, n)),
        least=np.full(n, FEWEST_EZ),
        most=(LARGEST_EZ_FRACTION * channels).astype(int),
    )
    return [
        _make_patient(center, (seed, center_index, i), _Counts(*map(int, counts)), dynamics)
        for i, counts in enumerate(zip(channels, ez, seizures, strict=True))
    ]


def _seizure_counts(rng: np.random.Generator, center: Center) -> np.ndarray:
    """Seizures of each patient; those who have a single one are at random positions."""
    single = center.single_seizure_patients
    counts = np.ones(center.patients, int)
    several = center.patients - single
    counts[single:] = share_out(
        center.seizures - single,
        rng.uniform(*SEIZURE_SHARES, several),
        np.full(several, min(2, center.seizures)),
    )
    return rng.permutation(counts)


class _Counts(NamedTuple):
    """Good contacts, EZ contacts and seizures of one patient."""

    channels: int
    ez: int
    seizures: int


def _make_patient(
    center: Center, seed: tuple[int, int, int], counts: _Counts, dynamics: Dynamics
) -> SimulatedPatient:
    index = seed[-1]
    rng = np.random.default_rng(np.random.SeedSequence([*seed, 0]))
    modality = "SEEG" if (index + 0.5) / center.patients < center.seeg_share else "ECOG"
    bad = int(rng.integers(1, 2 + counts.channels // CHANNELS_PER_BAD))
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
        age=int(rng.integers(*center.ages)),
        sex=str(rng.choice(["F", "M"])),
        engel=str(rng.choice(list(ENGEL_SHARES), p=list(ENGEL_SHARES.values()))),
    )


def _make_run(
    rng: np.random.Generator, center: Center, index: int, number: int, dynamics: Dynamics
) -> SimulatedRun:
    """Rates go with the patient; in some centers they change between the runs of a patient."""
    rates = center.rates_hz
    switch = number - 1 if center.rates_change and index % 3 == 1 else 0
    lead_s = float(np.clip(rng.normal(dynamics.lead_s, dynamics.lead_sd_s), *LEAD_LIMITS_S))
    onset_s = round(float(rng.uniform(*ONSET_S)), 3)
    return SimulatedRun(
        number=number,
        fs=rates[(index + switch) % len(rates)],
        onset_s=onset_s,
        lead_s=round(lead_s, 3),
        duration_s=float(np.ceil(onset_s + rng.uniform(*AFTER_ONSET_S))),
        oddity="",
        lacks=(),
    )


def _with_gaps(
    rng: np.random.Generator, run: SimulatedRun, among: NDArray[np.bool_]
) -> SimulatedRun:
    """The last run of a patient lacks a few contacts: a plug was pulled."""
    candidates = np.flatnonzero(among)
    missing = min(len(candidates), int(rng.integers(0, MOST_MISSING + 1)))
    lacks = rng.choice(candidates, missing, replace=False)
    return replace(run, lacks=tuple(map(int, lacks)))


def _odd_runs(center: Center, index: int, runs: list[SimulatedRun]) -> list[SimulatedRun]:
    """The odd run of the center's first patient, as real archives have them; not counted."""
    if index or not center.odd_run:
        return []
    odd = replace(runs[0], number=len(runs) + 1, oddity=center.odd_run)
    match center.odd_run:
        case "repeated":
            return [replace(odd, repeats=1)]
        case "cut-off":
            odd = replace(odd, duration_s=float(np.ceil(odd.onset_s + 2)))
        case "too-short":
            odd = replace(odd, onset_s=3.5, lead_s=0.0, duration_s=40.0)
    return [replace(odd, lacks=())]
