"""Neural fragility (Li et al., ACC 2017; Nature Neuroscience 2021): training-free.

In each short window the contacts follow x(t+1) = A x(t). A contact is fragile when a small change
of its connections would make the network unstable: the smallest change of one column of A that
moves an eigenvalue to the circle of radius `radius`. A itself must be stable for that, so the ridge
is raised until it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from epilens.core.memo import LastResults, array_key
from epilens.evidence.signals import each_signal
from epilens.methods import Method, Scorer, Training, memoize, seen_channels
from epilens.methods.plain import as_ranks, joined_seizures
from epilens.plan import FragilityPlan

BLOCK = 16
"""Windows that are solved together."""


@dataclass(frozen=True)
class Fragility:
    """How seizures become one number; the rest is in the plan."""

    over: str = "median"
    """`median` or `max`."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the plan's section that differ in this method."""


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


def spectral_radius(A: NDArray[np.float64]) -> NDArray[np.float64]:
    """Largest absolute eigenvalue of every A : (…, channel, channel)."""
    return np.abs(np.linalg.eigvals(A)).max(axis=-1)


def stable_model(
    x: NDArray[np.floating], plan: FragilityPlan
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A of windows x : (window, channel, time), and its spectral radius.

    Where it is not below 1, the window is fitted again with ten times the ridge, up to the most.
    """
    ridge, A = plan.ridge, linear_model(x, plan.ridge)
    radius = spectral_radius(A)
    while (unstable := radius >= 1).any() and ridge < plan.most_ridge:
        ridge = min(10 * ridge, plan.most_ridge)
        A[unstable] = linear_model(x[unstable], ridge)
        radius[unstable] = spectral_radius(A[unstable])
    return A, radius


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


def fragility_map(
    x: NDArray[np.floating], fs: float, plan: FragilityPlan
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fragility of x : (channel, time) in [0, 1] → (window, channel): 1 is the most fragile.

    And the spectral radius of each window's A.
    """
    length, step = round(plan.window_s * fs), max(1, round(plan.step_s * fs))
    if plan.reference == "common-average":
        x = x - x.mean(axis=0, keepdims=True)
    starts = range(0, x.shape[1] - length + 1, step)
    out, radius = np.zeros((len(starts), len(x))), np.zeros(len(starts))
    for first in range(0, len(starts), BLOCK):
        block = starts[first : first + BLOCK]
        rows = slice(first, first + len(block))
        A, radius[rows] = stable_model(np.stack([x[:, i : i + length] for i in block]), plan)
        norm = smallest_perturbation(A, plan.radius, plan.angles)
        most = norm.max(axis=1, keepdims=True)
        out[rows] = (most - norm) / most
    return out, radius


_maps: LastResults[tuple[NDArray[np.float64], NDArray[np.float64]]] = LastResults(16)


def remembered_map(
    x: NDArray[np.floating], fs: float, plan: FragilityPlan
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """`fragility_map` of the last signals: a seizure is asked for with others, alone and drawn."""
    key = (*array_key(x), fs, plan.model_dump_json())
    return _maps.get(key, lambda: fragility_map(x, fs, plan))


def fragility(
    patient: xr.Dataset, plan: FragilityPlan, over: str = "median"
) -> tuple[NDArray[np.float64], str]:
    """Mean fragility around onset of the seen channels, over seizures by `median` or `max`.

    And what must be said of it: in how many windows A was not stable; nothing where it was in all.
    """
    parts, radii = [], [np.zeros(0)]
    for x, fs, _, valid, _ in each_signal(patient, plan.start_s, plan.stop_s):
        seizure = np.full(len(valid), np.nan)
        windows, radius = remembered_map(x[valid], fs, plan)
        if windows.size:
            seizure[valid] = windows.mean(axis=0)
        parts.append(seizure)
        radii.append(radius)
    # A channel whose seizures are all shorter than one window is as fragile as none.
    joined = joined_seizures(np.stack(parts)[:, seen_channels(patient)], over)
    return np.nan_to_num(joined), _unstable(np.concatenate(radii))


def _unstable(radius: NDArray[np.float64]) -> str:
    above = radius >= 1
    if not above.any():
        return ""
    return (
        f"A is not stable in {above.sum()} of {len(radius)} windows (spectral radius up to "
        f"{radius.max():.3f}, expected below 1)"
    )


def fit_fragility(settings: Fragility, training: Training) -> Scorer:
    """Ranks of the fragility; the notes name patients with windows in which A is not stable."""
    plan = training.plan.fragility.changed(settings.changes)
    remembered = memoize(
        (settings, plan.model_dump()), lambda patient: fragility(patient, plan, settings.over)
    )
    not_stable: dict[str, str] = {}

    def p_nez(patient: xr.Dataset) -> NDArray[np.float64]:
        scores, instability = remembered(patient)
        if instability:
            not_stable[patient.attrs["patient"]] = instability
        return as_ranks(scores)

    return Scorer(p_nez, notes={"not_stable": not_stable})


FRAGILITY = Method(
    name="fragility",
    title="Neural fragility",
    input="signals",
    reference="Li et al. 2017, 2021",
    fitter=fit_fragility,
    settings=Fragility(),
    sections=("fragility",),
    training_free=True,
    seeded=False,
)

ENTRIES = (
    FRAGILITY,
    replace(
        FRAGILITY,
        name="fragility/unit",
        title="Neural fragility: unit circle",
        settings=Fragility(changes={"radius": 1.0}),
    ),
    replace(
        FRAGILITY,
        name="fragility/common-average",
        title="Neural fragility: common average",
        settings=Fragility(changes={"reference": "common-average"}),
    ),
)
