"""How often 95 % intervals of a mean paired difference contain the true one, by patients.

Percentile bootstrap, BCa bootstrap and t interval for differences that are normal, skewed (as of
AUROC close to 1), or zero in most patients (as of F1 at a threshold). Of synthetic numbers, whose
true mean is known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.timing import row
from epilens.evaluation.resampling import SMALL, t_interval

PATIENTS = (5, 8, 12, 20, 29, 30, 50, 80)
COHORTS, DRAWS = 4000, 1000
Floats = NDArray[np.float64]

DIFFERENCES: dict[str, tuple[Callable[[np.random.Generator, tuple[int, int]], Floats], float]] = {
    "normal": (lambda rng, size: rng.normal(0.02, 0.1, size), 0.02),
    "skewed": (lambda rng, size: rng.gamma(1.0, 0.1, size), 0.1),
    "mostly zero": (lambda rng, size: rng.normal(0, 0.1, size) * (rng.random(size) < 0.4), 0.0),
}


def percentile_and_bca(values: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Limits of both bootstrap intervals of one cohort."""
    n = len(values)
    means = np.sort(values[rng.integers(n, size=(DRAWS, n))].mean(axis=1))
    plain = np.quantile(means, [0.025, 0.975])
    below = np.clip((means < values.mean()).mean(), 1 / DRAWS, 1 - 1 / DRAWS)
    bias = stats.norm.ppf(below)
    apart = values.mean() - (values.sum() - values) / (n - 1)
    scale = 6 * (apart**2).sum() ** 1.5
    acceleration = (apart**3).sum() / scale if scale else 0.0
    z = bias + stats.norm.ppf([0.025, 0.975])
    levels = stats.norm.cdf(bias + z / (1 - acceleration * z))
    return plain, np.quantile(means, levels)


def covered(name: str, patients: int) -> dict[str, float]:
    """Fraction of cohorts whose interval contains the true mean, by kind of interval."""
    draw, true = DIFFERENCES[name]
    rng = np.random.default_rng([patients, len(name)])
    counts = dict.fromkeys(("percentile", "BCa", "t"), 0)
    for values in draw(rng, (COHORTS, patients)):
        plain, bca = percentile_and_bca(values, rng)
        for kind, (low, high) in zip(counts, (plain, bca, t_interval(values)), strict=True):
            counts[kind] += low <= true <= high
    return {kind: count / COHORTS for kind, count in counts.items()}


def measure() -> list[dict[str, Any]]:
    """Coverage of each kind; goals for the one that is used."""
    rows = []
    for name in DIFFERENCES:
        for patients in PATIENTS:
            used = "t" if patients < SMALL else "percentile"
            for kind, share in covered(name, patients).items():
                least = 0.9 if kind == used and name != "skewed" else None
                text = f"{name}, {patients} patients: {kind}{' (used)' if kind == used else ''}"
                rows.append(row(text, 100 * share, "%", least=least and 100 * least))
    return rows
