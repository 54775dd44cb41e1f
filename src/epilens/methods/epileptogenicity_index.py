"""Epileptogenicity Index (Bartolomei, Chauvel and Wendling, Brain 2008): training-free.

Energy ratio of fast (β, γ) to slow (θ, α) activity; Page-Hinkley finds when it rises in each
channel; the index is large where it rises early and strongly. Normalised to the patient's maximum.

The row `epileptogenicity-index` has the settings with which an independent study of two public
cohorts measured it: bipolar pairs, mains left out, the ratio relative to its own level before the
seizure. In addition a rise must last, because a burst before the seizure would set the time to
which all delays refer. `docs/reference/methods.md` compares the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.fft
import scipy.ndimage
import xarray as xr
from numpy.typing import NDArray

from epilens.core.memo import LastResults, array_key
from epilens.core.provenance import digest_of
from epilens.core.types import Floats
from epilens.data.montage import neighbour_pairs
from epilens.evidence.signals import Piece, each_signal
from epilens.methods import Method, Scorer, Training, memoize, seen_channels
from epilens.methods.plain import as_ranks, joined_seizures, known_scorer
from epilens.plan import IndexPlan

BLOCK = 8
"""Channels whose windows lie in memory together."""


@dataclass(frozen=True)
class Index:
    """What differs between these methods; the rest is in the plan."""

    over: str = "median"
    """`median` or `max` over seizures."""
    ratio: str = "relative"
    """`relative` to its own median before the seizure, or `absolute`."""
    montage: str = "bipolar"
    """`bipolar`: pairs of neighbours, of which a contact has the mean; or `as-recorded`."""
    mains_hz: float = 2.0
    """Bins this close to mains or a harmonic do not count; 0: all count."""
    slow_hz: tuple[float, float] = (3.5, 12.4)
    """θ and α, which meet at 7.4 Hz in the publication."""
    fast_hz: tuple[float, float] = (12.4, 97.0)
    """β and γ, which meet at 24 Hz."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the plan's section that differ in this method."""


MEASURED = Index()
AS_RECORDED = Index(montage="as-recorded")
PUBLISHED = Index(
    ratio="absolute",
    montage="as-recorded",
    mains_hz=0.0,
    changes={"threshold": 1.2, "sustained_s": 0.0, "start_s": -5.0},
)


def energy_ratio(
    piece: Piece, plan: IndexPlan, settings: Index = MEASURED
) -> tuple[Floats, Floats]:
    """ER in sliding windows (channel, window), 0 where a channel is flat; when each starts (s)."""
    fs = piece.fs
    length, step = round(plan.window_s * fs), max(1, round(plan.step_s * fs))
    if piece.x.shape[1] < length:
        return np.zeros((len(piece.x), 0)), np.zeros(0)
    f = scipy.fft.rfftfreq(length, 1 / fs)
    slow, fast = ((f >= low) & (f < high) for low, high in (settings.slow_hz, settings.fast_hz))
    if piece.mains_hz and settings.mains_hz:
        harmonic = piece.mains_hz * np.maximum(np.round(f / piece.mains_hz), 1)
        fast &= np.abs(f - harmonic) > settings.mains_hz
    used = slice(int(np.argmax(slow)), int(np.flatnonzero(fast | slow)[-1]) + 1)
    taper = np.hanning(length).astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(piece.x, length, axis=-1)[:, ::step]
    ratio = np.zeros(windows.shape[:2])
    for first in range(0, len(piece.x), BLOCK):
        rows = slice(first, first + BLOCK)
        spectrum = scipy.fft.rfft(windows[rows] * taper)[..., used]
        energy = spectrum.real**2 + spectrum.imag**2
        high, low = (
            energy @ fast[used].astype(energy.dtype),
            energy @ slow[used].astype(energy.dtype),
        )
        np.divide(high, low, out=ratio[rows], where=low > 0)
    return ratio, piece.start_s + np.arange(ratio.shape[1]) * step / fs


def relative_ratio(ratio: Floats, at_s: Floats, plan: IndexPlan) -> Floats:
    """The ratio (channel, window) over its own median in the baseline; 0 where that is 0.

    Where a recording begins so late that less than a second of windows lies in the baseline, all
    that end before onset are.
    """
    first_s, last_s = plan.baseline_s
    ends_s = at_s + plan.window_s - 1e-6
    before = (at_s >= first_s - 1e-6) & (ends_s <= last_s)
    if before.sum() < 1 / plan.step_s:
        before = ends_s <= 0
    if not before.any():
        return np.zeros_like(ratio)
    level = np.median(ratio[:, before], axis=1, keepdims=True)
    return np.divide(ratio, level, out=np.zeros_like(ratio), where=level > 0)


def page_hinkley(ratio: Floats, step_s: float, plan: IndexPlan) -> NDArray[np.int64]:
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


def lasting(ratio: Floats, step_s: float, sustained_s: float) -> Floats:
    """Running median over time: steps stay where they are, bursts are gone."""
    width = 2 * int(sustained_s / step_s / 2) + 1
    return scipy.ndimage.median_filter(ratio, size=(1, width), mode="nearest")


_ratios: LastResults[tuple[Floats, Floats]] = LastResults(16)


def remembered_ratio(piece: Piece, plan: IndexPlan, settings: Index) -> tuple[Floats, Floats]:
    """`energy_ratio` of the last signals: a seizure is asked for with others, alone and drawn."""
    facts = (piece.fs, piece.start_s, piece.mains_hz)
    key = (*array_key(piece.x), *facts, plan.model_dump_json(), digest_of(settings))
    return _ratios.get(key, lambda: energy_ratio(piece, plan, settings))


def index_ratio(piece: Piece, plan: IndexPlan, settings: Index) -> tuple[Floats, Floats]:
    """The ratio (channel, window) from which the index is made; when each window starts (s)."""
    ratio, at_s = remembered_ratio(piece, plan, settings)
    return (relative_ratio(ratio, at_s, plan) if settings.ratio == "relative" else ratio), at_s


def seizure_index(piece: Piece, plan: IndexPlan, settings: Index = MEASURED) -> Floats:
    """EI of every row of a piece, before normalisation; 0 where nothing rises."""
    ratio, at_s = index_ratio(piece, plan, settings)
    searched = (at_s >= plan.start_s - 1e-6) & (at_s + plan.window_s <= plan.stop_s + 1e-6)
    if not searched.any():
        return np.zeros(len(ratio))
    step_s = max(1, round(plan.step_s * piece.fs)) / piece.fs
    sustained = lasting(ratio, step_s, plan.sustained_s)[:, searched]
    ratio = ratio[:, searched]
    start = page_hinkley(sustained, step_s, plan)
    risen = start >= 0
    if not risen.any():
        return np.zeros(len(ratio))
    delay_s = np.where(risen, start - start[risen].min(), 0) * step_s
    # The sum from detection over H, from the running sum with a zero in front.
    total = np.concatenate([np.zeros((len(ratio), 1)), ratio.cumsum(1)], axis=1)
    last = np.minimum(start + round(plan.duration_s / step_s), ratio.shape[1])
    rows = np.arange(len(ratio))
    energy = (total[rows, last] - total[rows, start]) * step_s
    return np.where(risen, energy / (delay_s + plan.tardiness_s), 0)


def normalised_index(piece: Piece, plan: IndexPlan, settings: Index) -> Floats:
    """EI of every row, 1 in the seizure's leading one."""
    index = seizure_index(piece, plan, settings)
    return index / (index.max(initial=0) or 1)


def rise_at_onset(piece: Piece, plan: IndexPlan, settings: Index) -> Floats:
    """Logarithm of the mean ratio in windows that start within H after onset; NaN without any."""
    ratio, at_s = index_ratio(piece, plan, settings)
    after = (at_s >= -1e-6) & (at_s < plan.duration_s - 1e-6)
    if not after.any():
        return np.full(len(ratio), np.nan)
    mean = ratio[:, after].mean(axis=1)
    return np.log(np.maximum(mean, 1e-6))


OfPiece = Callable[[Piece, IndexPlan, Index], Floats]
"""Signals of some rows → one number each."""


def on_contacts(patient: xr.Dataset, plan: IndexPlan, settings: Index, measure: OfPiece) -> Floats:
    """A number of every seizure and channel (S, C); NaN where a seizure is too short."""
    parts = [
        of_contacts(patient, piece, settings, lambda rows: measure(rows, plan, settings))
        for piece in each_signal(patient, min(plan.start_s, plan.baseline_s[0]), plan.stop_s)
    ]
    return np.array(parts).reshape(-1, patient.sizes["channel"])


def of_contacts(
    patient: xr.Dataset, piece: Piece, settings: Index, measure: Callable[[Piece], Floats]
) -> Floats:
    """`measure` of rows (row, …), for channels (C, …); NaN where a seizure is too short.

    In the bipolar montage a contact has the mean of its pairs; one without a neighbour has none.
    """
    C = len(piece.valid)
    # A patient that was described in pairs has them already.
    if settings.montage == "bipolar" and patient.attrs.get("montage") != "bipolar":
        first, second = _pairs(patient, piece)
        of_rows = measure(piece._replace(x=piece.x[first] - piece.x[second]))
        contact = np.concatenate([first, second])
        total = np.zeros((C, *of_rows.shape[1:]))
        np.add.at(total, contact, np.concatenate([of_rows, of_rows]))
        n = np.bincount(contact, minlength=C).reshape(-1, *[1] * (total.ndim - 1))
        return np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0)
    of_rows = measure(piece._replace(x=piece.x[piece.valid]))
    values = np.full((C, *of_rows.shape[1:]), np.nan)
    values[piece.valid] = of_rows
    return values


def _pairs(patient: xr.Dataset, piece: Piece) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Both channels of every pair of neighbours that the seizure has."""
    valid = np.flatnonzero(piece.valid)
    names, mm = [str(name) for name in patient["channel"].values[valid]], {}
    if "position_mm" in patient:
        placed = patient["has_position"].values[valid]
        at = patient["position_mm"].values[valid]
        mm = {names[i]: at[i] for i in np.flatnonzero(placed)}
    pairs = np.array(neighbour_pairs(names, mm), np.intp).reshape(-1, 2)
    return valid[pairs[:, 0]], valid[pairs[:, 1]]


def epileptogenicity_index(
    patient: xr.Dataset, plan: IndexPlan, settings: Index = MEASURED
) -> Floats:
    """EI of the seen channels in [0, 1]; NaN for contacts without a neighbour, where one is needed.

    The plan has the changes of the row (`Index.changes`) already.
    """
    values = on_contacts(patient, plan, settings, normalised_index)[:, seen_channels(patient)]
    index = joined_seizures(values, settings.over)
    largest = np.nanmax(index, initial=0)
    return index / (largest or 1)


def energy_rise(patient: xr.Dataset, plan: IndexPlan, settings: Index = MEASURED) -> Floats:
    """How much the energy ratio of the seen channels has risen at onset (log); NaN as above."""
    values = on_contacts(patient, plan, settings, rise_at_onset)[:, seen_channels(patient)]
    return joined_seizures(values, settings.over)


def fit_index(settings: Index, training: Training) -> Scorer:
    """The index itself, where large is EZ."""
    plan = training.plan.epileptogenicity_index.changed(settings.changes)
    index = memoize(
        ("index", settings, plan.model_dump()), lambda p: epileptogenicity_index(p, plan, settings)
    )
    return known_scorer(index, lambda values: 1 - values, "without_neighbour")


def fit_energy_ratio(settings: Index, training: Training) -> Scorer:
    """Ranks of the rise of the energy ratio alone, without its time."""
    plan = training.plan.epileptogenicity_index.changed(settings.changes)
    rise = memoize(("rise", settings, plan.model_dump()), lambda p: energy_rise(p, plan, settings))
    return known_scorer(rise, as_ranks, "without_neighbour")


def _row(name: str, title: str, settings: Index, fitter: Any = fit_index) -> Method:
    return Method(
        name=name,
        title=title,
        input="signals",
        reference="Bartolomei et al. 2008",
        fitter=fitter,
        settings=settings,
        sections=("epileptogenicity_index",),
        training_free=True,
        seeded=False,
    )


ENTRIES = (
    _row("epileptogenicity-index", "Epileptogenicity Index", MEASURED),
    _row("epileptogenicity-index/max", "Epileptogenicity Index: maximum", Index(over="max")),
    _row("epileptogenicity-index/as-recorded", "Epileptogenicity Index: as recorded", AS_RECORDED),
    _row("epileptogenicity-index/published", "Epileptogenicity Index: as published", PUBLISHED),
    _row(
        "epileptogenicity-index/energy-ratio",
        "Energy ratio alone",
        MEASURED,
        fit_energy_ratio,
    ),
)
