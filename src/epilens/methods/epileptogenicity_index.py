"""Epileptogenicity Index (Bartolomei, Chauvel and Wendling, Brain 2008): training-free.

Energy ratio of fast (β, γ) to slow (θ, α) activity; Page-Hinkley finds when it rises in each
channel; the index is large where it rises early and strongly. Normalised to the patient's maximum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.fft
import xarray as xr
from numpy.typing import NDArray

from epilens.evidence.signals import each_signal
from epilens.methods import Method, Scorer, Training, once_per_patient, seen_channels
from epilens.methods.plain import OVER_SEIZURES
from epilens.plan import IndexPlan

BLOCK = 32
"""Channels whose windows lie in memory together."""


@dataclass(frozen=True)
class Index:
    """Bands of the energy ratio, and how seizures become one number; the rest is in the plan."""

    over: str = "median"
    """`median` or `max`."""
    slow_hz: tuple[float, float] = (3.5, 12.4)
    """θ and α, which meet at 7.4 Hz in the publication."""
    fast_hz: tuple[float, float] = (12.4, 97.0)
    """β and γ, which meet at 24 Hz."""


PUBLISHED = Index()


def energy_ratio(
    x: NDArray[np.floating], fs: float, plan: IndexPlan, bands: Index = PUBLISHED
) -> NDArray[np.float64]:
    """ER of x : (channel, time) in sliding windows → (channel, window); 0 where x is flat."""
    length, step = round(plan.window_s * fs), max(1, round(plan.step_s * fs))
    f = scipy.fft.rfftfreq(length, 1 / fs)
    slow, fast = ((f >= low) & (f < high) for low, high in (bands.slow_hz, bands.fast_hz))
    used = slice(int(np.argmax(slow)), int(np.flatnonzero(fast | slow)[-1]) + 1)
    taper = np.hanning(length).astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(x, length, axis=-1)[:, ::step]
    ratio = np.zeros(windows.shape[:2])
    for first in range(0, len(x), BLOCK):
        rows = slice(first, first + BLOCK)
        spectrum = scipy.fft.rfft(windows[rows] * taper)[..., used]
        energy = spectrum.real**2 + spectrum.imag**2
        high, low = (
            energy @ fast[used].astype(energy.dtype),
            energy @ slow[used].astype(energy.dtype),
        )
        np.divide(high, low, out=ratio[rows], where=low > 0)
    return ratio


def page_hinkley(ratio: NDArray[np.float64], step_s: float, plan: IndexPlan) -> NDArray[np.int64]:
    """First window of the rise in each row of ratio : (channel, window); -1 where there is none.

    U adds up how much the ratio exceeds its own running mean and the bias; the alarm is where U
    leaves its minimum by the threshold, the rise begins at that minimum.
    """
    mean = ratio.cumsum(1) / np.arange(1, ratio.shape[1] + 1)
    U = (ratio - mean - plan.bias).cumsum(1) * step_s
    lowest = np.minimum.accumulate(U, axis=1)
    over = U - lowest > plan.threshold
    alarm = over.argmax(1)
    before = np.arange(ratio.shape[1]) <= alarm[:, None]
    start = np.where(before, U, np.inf).argmin(1)
    return np.where(over.any(1), start, -1)


def seizure_index(
    x: NDArray[np.floating], fs: float, plan: IndexPlan, bands: Index = PUBLISHED
) -> NDArray[np.float64]:
    """EI of every channel in one seizure, before normalisation; 0 where nothing rises."""
    if x.shape[1] < round(plan.window_s * fs):
        return np.zeros(len(x))
    step_s = max(1, round(plan.step_s * fs)) / fs
    ratio = energy_ratio(x, fs, plan, bands)
    start = page_hinkley(ratio, step_s, plan)
    risen = start >= 0
    if not risen.any():
        return np.zeros(len(x))
    delay_s = (start - start[risen].min()) * step_s
    # The sum from detection over H, from the running sum with a zero in front.
    total = np.concatenate([np.zeros((len(x), 1)), ratio.cumsum(1)], axis=1)
    last = np.minimum(start + round(plan.duration_s / step_s), ratio.shape[1])
    rows = np.arange(len(x))
    energy = (total[rows, last] - total[rows, start]) * step_s
    return np.where(risen, energy / (delay_s + plan.tardiness_s), 0)


def epileptogenicity_index(
    patient: xr.Dataset, plan: IndexPlan, settings: Index = PUBLISHED
) -> NDArray[np.float64]:
    """EI of the seen channels in [0, 1]; over seizures by `median` or `max`."""
    parts = []
    for x, fs, _, valid in each_signal(patient, plan.start_s, plan.stop_s):
        index = seizure_index(x, fs, plan, settings)
        index /= index[valid].max() or 1
        parts.append(np.where(valid, index, np.nan))
    index = OVER_SEIZURES[settings.over](np.stack(parts)[:, seen_channels(patient)], axis=0)
    return index / (index.max() or 1)


def fit_index(settings: Index, training: Training) -> Scorer:
    """The index itself, where large is EZ."""
    plan = training.plan.epileptogenicity_index

    def p_nez(patient: xr.Dataset) -> NDArray[np.float64]:
        return 1 - epileptogenicity_index(patient, plan, settings)

    return Scorer(once_per_patient((settings, plan.model_dump()), p_nez))


def _row(name: str, title: str, settings: Index) -> Method:
    return Method(
        name=name,
        title=title,
        input="signals",
        reference="Bartolomei et al. 2008",
        fitter=fit_index,
        settings=settings,
        sections=("epileptogenicity_index",),
        training_free=True,
        seeded=False,
    )


ENTRIES = (
    _row("epileptogenicity-index", "Epileptogenicity Index", Index()),
    _row("epileptogenicity-index/max", "Epileptogenicity Index: maximum", Index(over="max")),
)
