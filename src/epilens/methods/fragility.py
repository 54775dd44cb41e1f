"""Neural fragility (Li et al., ACC 2017; Nature Neuroscience 2021): training-free.

In each short window the contacts follow x(t+1) = A x(t). A contact is fragile when a small change
of its connections would make the network unstable: the smallest change of one column of A that
moves an eigenvalue to the circle of radius `radius`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from epilens.evidence.signals import each_signal
from epilens.methods import Method, Scorer, Training, once_per_patient, seen_channels
from epilens.methods.plain import OVER_SEIZURES, as_ranks
from epilens.plan import FragilityPlan

BLOCK = 16
"""Windows that are solved together."""


@dataclass(frozen=True)
class Fragility:
    """How seizures become one number; the rest is in the plan."""

    over: str = "median"
    """`median` or `max`."""


def linear_model(x: NDArray[np.floating], ridge: float) -> NDArray[np.float64]:
    """A of x(t+1) = A x(t) for x : (…, channel, time), by ridge regression around the mean.

    The penalty is `ridge` times the mean power of the channels, so that gain does not matter.
    """
    x = np.asarray(x, np.float64)
    x = x - x.mean(axis=-1, keepdims=True)
    now, then = x[..., :-1], x[..., 1:]
    gram = now @ now.swapaxes(-1, -2)
    power = np.trace(gram, axis1=-2, axis2=-1) / gram.shape[-1]
    penalty = ridge * np.where(power > 0, power, 1)[..., None, None]
    right = now @ then.swapaxes(-1, -2)
    return np.linalg.solve(gram + penalty * np.eye(gram.shape[-1]), right).swapaxes(-1, -2)


def smallest_perturbation(
    A: NDArray[np.float64], radius: float, angles: int
) -> NDArray[np.float64]:
    """Norm of the smallest change of each column that puts an eigenvalue of A on the circle.

    A : (…, channel, channel) → (…, channel). A + Γ eᵢᵀ has the eigenvalue λ if and only if
    eᵢᵀ (A - λI)⁻¹ Γ = -1. Γ is real, so this is an equation for the real and one for the imaginary
    part of row i of the inverse, a + jb: a·Γ = -1, b·Γ = 0. The least norm has the square
    1 / (|a|² - (a·b)² / |b|²), without the second term on the real axis.

    With λ = σ + jω and P = (A - λI)(A - λ̄I) = A² - 2σA + |λ|²I, which is real, the inverse is
    (A - σI) P⁻¹ + jω P⁻¹: no complex inverse is needed. λ and λ̄ are the same, so half of the circle
    is enough.
    """
    identity = np.eye(A.shape[-1])
    square, largest = A @ A, np.zeros(A.shape[:-1])
    for θ in np.linspace(0, np.pi, angles):
        σ, ω = radius * np.cos(θ), radius * np.sin(θ)
        if abs(ω) < 1e-9 * radius:
            a = np.linalg.inv(A - σ * identity)
            free = (a * a).sum(-1)
        else:
            b = np.linalg.inv(square - 2 * σ * A + radius**2 * identity)
            a = (A - σ * identity) @ b
            free = (a * a).sum(-1) - (a * b).sum(-1) ** 2 / (b * b).sum(-1)
        np.maximum(largest, free, out=largest)
    return 1 / np.sqrt(largest)


def fragility_map(x: NDArray[np.floating], fs: float, plan: FragilityPlan) -> NDArray[np.float64]:
    """Fragility of x : (channel, time) in [0, 1] → (window, channel): 1 is the most fragile."""
    length, step = round(plan.window_s * fs), max(1, round(plan.step_s * fs))
    starts = range(0, x.shape[1] - length + 1, step)
    out = np.zeros((len(starts), len(x)))
    for first in range(0, len(starts), BLOCK):
        block = starts[first : first + BLOCK]
        A = linear_model(np.stack([x[:, i : i + length] for i in block]), plan.ridge)
        norm = smallest_perturbation(A, plan.radius, plan.angles)
        most = norm.max(axis=1, keepdims=True)
        out[first : first + len(block)] = (most - norm) / most
    return out


def fragility(
    patient: xr.Dataset, plan: FragilityPlan, over: str = "median"
) -> NDArray[np.float64]:
    """Mean fragility around onset of the seen channels, over seizures by `median` or `max`."""
    parts = []
    for x, fs, _, valid in each_signal(patient, plan.start_s, plan.stop_s):
        seizure = np.full(len(valid), np.nan)
        if (windows := fragility_map(x[valid], fs, plan)).size:
            seizure[valid] = windows.mean(axis=0)
        parts.append(seizure)
    # A channel whose seizures are all shorter than one window is as fragile as none.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        joined = OVER_SEIZURES[over](np.stack(parts)[:, seen_channels(patient)], axis=0)
    return np.nan_to_num(joined)


def fit_fragility(settings: Fragility, training: Training) -> Scorer:
    """Ranks of the fragility."""
    plan = training.plan.fragility

    def p_nez(patient: xr.Dataset) -> NDArray[np.float64]:
        return as_ranks(fragility(patient, plan, settings.over))

    return Scorer(once_per_patient((settings, plan.model_dump()), p_nez))


ENTRIES = (
    Method(
        name="fragility",
        title="Neural fragility",
        input="signals",
        reference="Li et al. 2017, 2021",
        fitter=fit_fragility,
        settings=Fragility(),
        sections=("fragility",),
        training_free=True,
        seeded=False,
    ),
)
