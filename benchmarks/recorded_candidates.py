"""Candidates for a better shipped model, on the recorded patients, one left out at a time.

`python -m benchmarks recorded_candidates [SEEDS]`. Each is compared with the lens as it is, paired
over patients: a pairwise ranking loss within the patient; seizures weighted by clarity; weights
shrunk towards those of simulated patients (SEEDS cohorts of the shape `demo`, true onset zone)
instead of towards zero, by how much being chosen among the other patients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from benchmarks.real import DEFAULT, Patient, read
from benchmarks.timing import row
from epilens.core.console import say
from epilens.evaluation.execution import one_thread
from epilens.evaluation.scoring import ranking_metrics
from epilens.evidence.contact_features import MEASURES, SUMMARIES, compared, contact_features
from epilens.evidence.contact_table import ContactTable, with_context
from epilens.methods.lens import LensSettings, balanced, fit_weights
from epilens.simulation.patients import make_patients
from epilens.simulation.shapes import shape

METRICS = ("auroc", "ez_auprc")
PENALTIES = LensSettings().penalties
RATE_HZ, FIRST_SEED, SEIZURES = 400.0, 100, 2
PAIRS = 400
"""Pairs of contacts of a patient that enter the ranking loss."""
SHRINKAGE = (0.0, 0.25, 0.5, 1.0)
"""Fractions of the simulated weights."""

Score = Callable[[Sequence[Patient], Patient], np.ndarray]
"""(training patients, test patient) → EZ scores of its contacts."""


def as_it_is(training: Sequence[Patient], test: Patient) -> np.ndarray:
    """The lens of the shipped model."""
    return fit_weights([(p.table, p.is_soz) for p in training], PENALTIES).logit(test.table)


def by_clarity(training: Sequence[Patient], test: Patient) -> np.ndarray:
    """Seizures count by the fourth moment of their line-length variability over contacts."""
    clear = [(_by_clarity(p.table), p.is_soz) for p in training]
    return fit_weights(clear, PENALTIES).logit(_by_clarity(test.table))


def _by_clarity(table: ContactTable) -> ContactTable:
    z, known = np.nan_to_num(table.of_seizure), np.isfinite(table.of_seizure)
    clarity = (z[:, :, SUMMARIES.index("std"), MEASURES.index("ll")] ** 4).mean(axis=1)
    weight = np.maximum(clarity, 1e-3)[:, None, None, None] * known
    mean = (z * weight).sum(axis=0) / np.maximum(weight.sum(axis=0), 1e-9)
    return replace(table, x=with_context(table.channels, mean))


def pairwise(training: Sequence[Patient], test: Patient) -> np.ndarray:
    """Logistic loss of differences between onset contacts and others of the same patient."""
    rng, differences, weights = np.random.default_rng(0), [], []
    for p in training:
        x = p.table.flat
        pairs = (x[p.is_soz][:, None] - x[~p.is_soz]).reshape(-1, x.shape[1])
        pairs = pairs[rng.permutation(len(pairs))[:PAIRS]]
        differences.append(pairs)
        weights.append(np.full(len(pairs), 1 / len(pairs)))
    x, w = np.concatenate(differences), np.concatenate(weights)
    contacts = sum(len(p.is_soz) for p in training)
    prior = np.zeros(x.shape[1])
    fits = [_fit(x, np.ones(len(x), bool), w * contacts / w.sum(), C, prior) for C in PENALTIES]
    return test.table.flat @ np.mean(fits, axis=0)


def shrunk(by: float, towards: np.ndarray) -> Score:
    """Weights shrunk towards a fraction of others instead of towards zero."""

    def score(training: Sequence[Patient], test: Patient) -> np.ndarray:
        x = np.concatenate([p.table.flat for p in training])
        is_soz = np.concatenate([p.is_soz for p in training])
        w = np.concatenate([balanced(p.is_soz) for p in training])
        w = w * len(w) / w.sum()
        fits = [_fit(x, is_soz, w, C, by * towards) for C in PENALTIES]
        return test.table.flat @ np.mean(fits, axis=0)

    return score


def _fit(x: np.ndarray, y: np.ndarray, w: np.ndarray, C: float, prior: np.ndarray) -> np.ndarray:
    """Weights of a logistic regression on standardized columns, penalized towards a prior."""
    mean = np.average(x, axis=0, weights=w)
    sd = np.sqrt(np.average((x - mean) ** 2, axis=0, weights=w))
    sd = np.where(sd < 1e-9, np.inf, sd)
    one_class = bool(y.all())
    z, sign = (x if one_class else x - mean) / sd, np.where(y, 1, -1)
    b0 = np.where(np.isinf(sd), 0, prior * sd)

    def loss(at: np.ndarray) -> tuple[float, np.ndarray]:
        b, intercept = at[:-1], 0.0 if one_class else at[-1]
        margin = sign * (z @ b + intercept)
        slope = -C * w * sign / (1 + np.exp(margin))
        value = C * (w * np.logaddexp(0, -margin)).sum() + 0.5 * ((b - b0) ** 2).sum()
        return float(value), np.append(z.T @ slope + b - b0, slope.sum() * (not one_class))

    found = minimize(loss, np.append(b0, 0), jac=True, method="L-BFGS-B")
    return found.x[:-1] / sd


def nested(towards: np.ndarray) -> Score:
    """`shrunk`, by the fraction that is best among the training patients."""

    def score(training: Sequence[Patient], test: Patient) -> np.ndarray:
        reached = {by: judge(shrunk(by, towards), training).sum() for by in SHRINKAGE}
        return shrunk(max(reached, key=lambda by: reached[by]), towards)(training, test)

    return score


def judge(score: Score, patients: Sequence[Patient]) -> np.ndarray:
    """AUROC and EZ-AUPRC of each patient, scored by what the others train (patient, metric)."""
    rows = []
    for i, test in enumerate(patients):
        others = [p for j, p in enumerate(patients) if j != i]
        metrics = ranking_metrics(-score(others, test), test.is_soz)
        rows.append([metrics[name] for name in METRICS])
    return np.array(rows)


def simulated_weights(seeds: int) -> np.ndarray:
    """Weights of a lens on simulated patients, with the true onset zone as label."""
    patients = []
    for seed in range(FIRST_SEED, FIRST_SEED + seeds):
        say(f"recorded_candidates: simulated cohort {seed}")
        for i, center in enumerate(shape("demo")):
            for patient in make_patients(center, i, seed):
                good = np.flatnonzero(patient.implant.good)
                runs = [run for run in patient.runs if not run.oddity][:SEIZURES]
                mains = patient.center.mains_hz
                values = [
                    contact_features(
                        patient.signal(replace(run, fs=RATE_HZ))[good], RATE_HZ, -run.onset_s, mains
                    )
                    for run in runs
                ]
                onset = patient.zones.onset[good]
                if values and 0 < onset.sum() < len(onset):
                    names = tuple(patient.implant.names[i] for i in good)
                    patients.append((compared(names, np.stack(values)), onset))
    return fit_weights(patients, PENALTIES).weight.ravel()


def measure(seeds: str = "30") -> list[dict[str, Any]]:
    """Differences from the lens as it is, with the paired 95 % interval over patients."""
    patients = list(read(DEFAULT).values())
    with one_thread():
        towards = simulated_weights(int(seeds))
        candidates = {
            "pairwise ranking loss": pairwise,
            "seizures weighted by clarity": by_clarity,
            **{f"shrunk to {by:g} × simulated": shrunk(by, towards) for by in SHRINKAGE[1:]},
            "shrunk, fraction chosen by nested folds": nested(towards),
        }
        usual = judge(as_it_is, patients)
        found = {name: judge(score, patients) - usual for name, score in candidates.items()}
    rng = np.random.default_rng(0)
    draws = rng.integers(0, len(patients), (5000, len(patients)))
    print("\n| candidate | AUROC | EZ-AUPRC |\n|---|---|---|")
    for name, difference in found.items():
        low, high = np.quantile(difference[draws].mean(axis=1), [0.025, 0.975], axis=0)
        cells = [
            f"{mean:+.3f} ({a:+.3f} to {b:+.3f})"
            for mean, a, b in zip(difference.mean(axis=0), low, high, strict=True)
        ]
        print(f"| {name} | {' | '.join(cells)} |")
    return [row(f"{name}: change of AUROC", float(d[:, 0].mean()), "") for name, d in found.items()]
