"""How much the scores of the shipped model depend on how a recording was prepared.

`python -m benchmarks sensitivity [PATIENTS]`. Simulated patients (shape `demo`, true onset zone)
and four recorded seizures of one patient (no labels; 10 s before and 10 s after onset, each
continued by reflection to 36 s) are scored again with other notches, filters, references, onsets,
sampling rates and with a tenth of the contacts left out. The table has the rank correlation with
the usual scores (median over patients) and the change of the mean AUROC against the true onset
zone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.signal
from scipy.stats import spearmanr

from benchmarks.seizure_features import auroc
from benchmarks.timing import row
from epilens.core.console import say
from epilens.evaluation.execution import one_thread
from epilens.evidence.contact_features import PUBLISHED, Preparation, compared, contact_features
from epilens.networks.model import open_model
from epilens.simulation.patients import make_patients
from epilens.simulation.shapes import shape

RECORDED = Path(__file__).parents[2] / "shared/data/real/ecog_four_seizures_400hz.npz"
RECORDED_HZ, MAINS_HZ, PIECE_S, LONGER_S = 400.0, 60.0, 10.0, 36.0
SEED = 20
"""A cohort that nothing was fitted on."""
MOST_SEIZURES = 2


@dataclass(frozen=True)
class Seizure:
    """One seizure as it is scored."""

    x: np.ndarray
    fs: float
    start_s: float
    mains_hz: float | None


@dataclass(frozen=True)
class Patient:
    """Seizures of one patient, and its onset zone where it is known."""

    channels: tuple[str, ...]
    seizures: tuple[Seizure, ...]
    onset: np.ndarray | None = None


def simulated(most: int) -> Iterator[Patient]:
    """Patients of the shape `demo`, at most two seizures each."""
    patients = [
        patient
        for i, center in enumerate(shape("demo"))
        for patient in make_patients(center, i, SEED)
    ]
    for patient in patients[:most]:
        good = np.flatnonzero(patient.implant.good)
        runs = [run for run in patient.runs if not run.oddity][:MOST_SEIZURES]
        mains = patient.center.mains_hz
        seizures = [Seizure(patient.signal(run)[good], run.fs, -run.onset_s, mains) for run in runs]
        names = tuple(patient.implant.names[i] for i in good)
        if seizures:
            yield Patient(names, tuple(seizures), patient.zones.onset[good])


def recorded() -> Iterator[Patient]:
    """One patient with an 8 × 8 grid and two strips."""
    if not RECORDED.exists():
        return
    names = [f"G{i}" for i in range(1, 65)] + [f"{s}{i}" for s in "ST" for i in range(1, 7)]
    with np.load(RECORDED) as pieces:
        seizures = [
            _longer(pieces[name], pieces[name.replace("before", "ictal")])
            for name in sorted(pieces.files)
            if name.endswith("before")
        ]
    yield Patient(tuple(names), tuple(seizures))


def _longer(before: np.ndarray, ictal: np.ndarray) -> Seizure:
    """Both pieces continued by reflection away from the onset."""
    more = round((LONGER_S - PIECE_S) * RECORDED_HZ)
    widths = (before, ((0, 0), (more, 0))), (ictal, ((0, 0), (0, more)))
    whole = np.concatenate([np.pad(x, width, mode="reflect") for x, width in widths], axis=1)
    return Seizure(whole, RECORDED_HZ, -LONGER_S, MAINS_HZ)


Change = Callable[[Seizure], Seizure]


def at_rate(fs: float) -> Change:
    """The recording resampled, as if it had been sampled at another rate."""

    def change(seizure: Seizure) -> Seizure:
        samples = round(seizure.x.shape[1] * fs / seizure.fs)
        return replace(seizure, x=scipy.signal.resample(seizure.x, samples, axis=1), fs=fs)

    return change


def shifted(by_s: float) -> Change:
    """The onset annotated later by some seconds."""
    return lambda seizure: replace(seizure, start_s=seizure.start_s - by_s)


def without_notch(seizure: Seizure) -> Seizure:
    """Mains are not known."""
    return replace(seizure, mains_hz=None)


FILTERS = {
    "notch three times as wide (Q 10)": replace(PUBLISHED, notch_q=10.0),
    "notch half as wide (Q 60)": replace(PUBLISHED, notch_q=60.0),
    "band-pass of order 2": replace(PUBLISHED, order=2),
    "band-pass of order 6": replace(PUBLISHED, order=6),
    "Butterworth band-pass": replace(PUBLISHED, design="butterworth"),
}
REFERENCES = {
    "median reference": replace(PUBLISHED, reference="median"),
    "reference as recorded": replace(PUBLISHED, reference="as-recorded"),
}
ONSETS = {f"onset {by_s:+g} s": shifted(by_s) for by_s in (-5, -2, -1, 1, 2, 5)}
RATES = {f"sampled at {fs} Hz": at_rate(float(fs)) for fs in (250, 500, 1000, 2000)}
CHANGES = {"no notch": without_notch} | ONSETS | RATES
DROPPED = "10 % of the contacts left out"


def scores_of(patient: Patient, prepared: Preparation = PUBLISHED) -> np.ndarray:
    """EZ log odds of the contacts by the shipped model."""
    values = [
        contact_features(s.x, s.fs, s.start_s, s.mains_hz, prepared) for s in patient.seizures
    ]
    lens: Any = open_model("recorded")[0].parts["lens/features"]
    return lens.logit(compared(patient.channels, np.stack(values)))


def changed(patient: Patient, change: Change) -> Patient:
    """Every seizure changed."""
    return replace(patient, seizures=tuple(map(change, patient.seizures)))


def variants(patient: Patient, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Scores of every variant; NaN for contacts that are left out."""
    out = {name: scores_of(patient, how) for name, how in (FILTERS | REFERENCES).items()}
    out |= {name: scores_of(changed(patient, how)) for name, how in CHANGES.items()}
    keep = np.sort(rng.permutation(len(patient.channels))[len(patient.channels) // 10 :])
    fewer = changed(patient, lambda seizure: replace(seizure, x=seizure.x[keep]))
    fewer = replace(fewer, channels=tuple(patient.channels[i] for i in keep))
    out[DROPPED] = np.full(len(patient.channels), np.nan)
    out[DROPPED][keep] = scores_of(fewer)
    return out


def compare(patients: Iterator[Patient], title: str) -> dict[str, list[tuple[float, float]]]:
    """Rank correlation and change of AUROC of each variant, patient by patient."""
    rng, found = np.random.default_rng(0), {}
    for i, patient in enumerate(patients, 1):
        say(f"sensitivity: {title} patient {i}")
        usual = scores_of(patient)
        for name, scores in variants(patient, rng).items():
            known = np.isfinite(scores)
            change = np.nan
            if patient.onset is not None:
                onset = patient.onset[known]
                change = auroc(scores[known], onset) - auroc(usual[known], onset)
            rank = spearmanr(scores[known], usual[known]).statistic
            found.setdefault(name, []).append((float(rank), change))
    return found


def measure(patients: str = "20") -> list[dict[str, Any]]:
    """The table, and its goals as rows of a benchmark."""
    with one_thread():
        found = {
            "simulated": compare(simulated(int(patients)), "simulated"),
            "recorded": compare(recorded(), "recorded"),
        }
    heads = ("preparation", "simulated: rank correlation", "change of AUROC")
    print(f"\n| {' | '.join(heads)} | recorded: rank correlation |\n|---|---|---|---|")
    rows, medians = [], {}
    for name, values in found["simulated"].items():
        ranks, changes = np.array(values).T
        medians[name] = float(np.median(ranks)), float(np.nanmean(changes))
        real = found["recorded"].get(name, [])
        shown = f"{np.median([rank for rank, _ in real]):.3f}" if real else "–"
        print(f"| {name} | {medians[name][0]:.3f} | {medians[name][1]:+.3f} | {shown} |")
    for name in ("no notch", *FILTERS, *RATES):
        rows.append(row(f"{name}: median rank correlation", medians[name][0], "", least=0.9))
    for name in ("onset -2 s", "onset -1 s", "onset +1 s", "onset +2 s"):
        rows.append(row(f"{name}: |change of AUROC|", abs(medians[name][1]), "", most=0.02))
    return rows
