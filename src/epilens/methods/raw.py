"""What the raw-iEEG baselines share: usable segments, and the fit of the single-channel models.

SEEGNet, TimeConv-CNN and CLAP score one 4 s segment of one channel at a time. They differ in
network, learning rates, batch and epoch budget, which a `Recipe` holds; the rest is here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from epilens.errors import MethodError
from epilens.methods import Method, Scorer, seen_channels, seen_labels
from epilens.plan import Plan

if TYPE_CHECKING:
    from epilens.methods._networks.training import SegmentNetwork

Budget = Callable[[Sequence[float], int], int]
"""Validation Macro-F1 of every scheduled epoch, and how many they are → epochs in all."""

SHARED_SPEC = (
    "AdamW weight decay 1e-4, BCE with pos_weight n_EZ / n_NEZ of the fit segments, clip 1.0, "
    "patience 6 not before epoch 6, mean of segment probabilities"
)


def as_scheduled(macro_f1: Sequence[float], scheduled: int) -> int:
    """No epoch beyond the schedule."""
    return scheduled


def extended(macro_f1: Sequence[float], scheduled: int) -> int:
    """Epochs in all: 30 become 50 when validation still improves at the end, else they stay.

    It does when the best Macro-F1 (its first occurrence) lies within the last three scheduled
    epochs and exceeds the value three epochs before it by 0.002 or more. Other schedules grow in
    the same proportion.

    Examples
    --------
    >>> extended([0.5] * 27 + [0.5, 0.5, 0.502], 30)
    50
    >>> extended([0.5] * 27 + [0.5, 0.5, 0.501], 30)
    30
    """
    best = int(np.argmax(macro_f1))
    late = len(macro_f1) >= scheduled and best >= scheduled - 3
    # Rounded, so that 0.502 - 0.5 is 0.002.
    if late and best >= 3 and round(macro_f1[best] - macro_f1[best - 3], 12) >= 0.002:
        return scheduled * 5 // 3
    return scheduled


@dataclass(frozen=True)
class Recipe:
    """What sets one single-channel model apart."""

    network: Callable[[Plan], SegmentNetwork]
    """Called with a seeded random state."""
    batch: int
    budget: Budget = as_scheduled


def usable(patient: xr.Dataset) -> NDArray[np.bool_]:
    """Which segments (seizure, segment, channel) are whole and of a seizure that shows the channel.

    Every seen channel must have one, or it could not be scored.
    """
    who = patient.attrs["patient"]
    if "trace" not in patient:
        raise MethodError(
            f"{who}: expected traces beside the cube, found none. Write them with `epilens "
            "describe --plan PLAN`, where the plan has a method that reads traces."
        )
    there = patient["valid"].any("window").values[:, None]
    mask = patient["trace_valid"].values & there
    lost = seen_channels(patient) & ~mask.any((0, 1))
    if lost.any():
        name = str(patient["channel"].values[lost.argmax()])
        raise MethodError(
            f"{who}: expected a whole segment near onset for every valid channel, found none for "
            f"{lost.sum()} of {seen_channels(patient).sum()}, e.g. {name!r}. Give recordings that "
            "reach further around onset, or leave the raw-iEEG methods out of the plan."
        )
    return mask


@dataclass(frozen=True)
class Segments:
    """The usable segments of some patients as one array, and whose they are."""

    x: NDArray[np.float32]  # (segment, time)
    channel: NDArray[np.intp]  # (segment,), counts the seen channels through all patients
    sizes: tuple[int, ...]  # seen channels of each patient
    is_ez: NDArray[np.bool_] | None  # (channel,), None for blind patients

    @classmethod
    def of(cls, patients: Sequence[xr.Dataset]) -> Segments:
        """Gather; each patient's traces are read once and written straight to their place."""
        masks = [usable(patient) for patient in patients]
        sizes = [int(seen_channels(patient).sum()) for patient in patients]
        bounds = np.cumsum([0, *(int(mask.sum()) for mask in masks)])
        x = np.empty((bounds[-1], patients[0].sizes["time"]), np.float32)
        for i, patient in enumerate(patients):
            rows, place = np.flatnonzero(masks[i]), x[bounds[i] : bounds[i + 1]]
            flat = patient["trace"].values.reshape(-1, x.shape[1])
            np.take(flat, rows, axis=0, out=place, mode="clip")  # `raise` would copy once more
        first = np.cumsum([0, *sizes[:-1]])
        channel = [
            offset + (np.cumsum(seen_channels(patient)) - 1)[np.nonzero(mask)[2]]
            for patient, mask, offset in zip(patients, masks, first, strict=True)
        ]
        known = all("is_ez" in patient for patient in patients)
        is_ez = np.concatenate([seen_labels(patient) for patient in patients]) if known else None
        return cls(x, np.concatenate(channel), tuple(sizes), is_ez)

    def by_patient(self, of_channels: NDArray) -> list[NDArray]:
        """Values of all channels, patient by patient."""
        return np.split(of_channels, np.cumsum(self.sizes)[:-1])

    def channel_means(self, p_nez: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Arithmetic mean over each channel's segments, patient by patient."""
        n = np.bincount(self.channel, minlength=sum(self.sizes))
        return self.by_patient(np.bincount(self.channel, p_nez, minlength=len(n)) / n)

    def ez_of_segments(self) -> NDArray[np.bool_]:
        """The label of each segment's channel."""
        assert self.is_ez is not None
        return self.is_ez[self.channel]


def nez_weight(is_ez: NDArray[np.bool_]) -> float:
    """Weight of NEZ, the positive class of the loss: n_EZ / n_NEZ; 1 where a class is missing."""
    n_ez, n_nez = int(is_ez.sum()), int((~is_ez).sum())
    return n_ez / n_nez if n_ez and n_nez else 1.0


def fit_single_channel(
    recipe: Recipe,
    fit: Sequence[xr.Dataset],
    validation: Sequence[xr.Dataset],
    seed: int,
    plan: Plan,
) -> Scorer:
    """Train on the segments of fit patients; keep the epoch that validation patients prefer."""
    from epilens.methods._networks import training

    own, held = Segments.of(fit), Segments.of(validation)
    is_ez = own.ez_of_segments()
    with training.seeded(seed):
        network = recipe.network(plan)
        history = training.fit_segments(network, own, held, recipe, seed, plan.baselines.epochs)

    def p_nez(patient: xr.Dataset) -> NDArray[np.float64]:
        segments = Segments.of([patient])
        return segments.channel_means(training.p_nez(network, network.prepare(segments.x)))[0]

    notes = {
        "segments": {"ez": int(is_ez.sum()), "nez": int((~is_ez).sum())},
        "pos_weight": nez_weight(is_ez),
        "epochs": {"scheduled": plan.baselines.epochs, "run": len(history)},
        "smoke": plan.smoke,
    }
    about = training.about(network) | network.provenance
    return Scorer(p_nez, history, notes=notes | about, tensors=training.tensors(network))


def single_channel(
    name: str, title: str, recipe: Recipe, spec: str, pretrained: str = ""
) -> Method:
    """The row of a single-channel model."""
    return Method(
        name=name,
        title=title,
        input="traces",
        reference="the paper",
        fitter=partial(fit_single_channel, recipe),
        spec=f"{spec}; {SHARED_SPEC}",
        reads=("baselines", "traces"),
        requires=("transformers",) if pretrained else (),
        pretrained=pretrained,
    )
