"""Plain comparators that need no training: how much a channel changes at onset, and chance."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import xarray as xr

from epilens.core.decisions import with_neutral
from epilens.core.errors import MethodError
from epilens.core.types import Floats
from epilens.evidence.views import views
from epilens.methods import Method, Scorer, Training, seen_channels

OVER_SEIZURES = {"median": np.nanmedian, "max": np.nanmax}
"""How the numbers of seizures become one, by name; NaN where a seizure lacks a channel."""


@dataclass(frozen=True)
class ChangeScore:
    """The descriptor whose change ranks the channels, and how the change is measured."""

    descriptor: str
    view: str = "z_delta"


@dataclass(frozen=True)
class Chance:
    """Scores from a hash of names."""

    bits: int = 64


def as_ranks(evidence: Floats) -> Floats:
    """Evidence for EZ (large: EZ) → p_nez: average rank from the top over n + 1."""
    from scipy.stats import rankdata

    return rankdata(-evidence) / (len(evidence) + 1)


def known_scorer(
    evidence_of: Callable[[xr.Dataset], Floats], p_nez_of: Callable[[Floats], Floats], note: str
) -> Scorer:
    """Scores of the seen channels whose evidence is known; neutral for those where it is NaN.

    The notes list the latter by patient, under `note`.
    """
    without: dict[str, list[str]] = {}

    def p_nez(patient: xr.Dataset) -> Floats:
        evidence = evidence_of(patient)
        known = np.isfinite(evidence)
        if not known.all():
            names = patient["channel"].values[seen_channels(patient)]
            without[patient.attrs["patient"]] = names[~known].tolist()
        scores = np.full(len(evidence), 0.5)
        scores[known] = p_nez_of(evidence[known])
        return with_neutral(scores, known)

    return Scorer(p_nez, notes={note: without})


def change_after_onset(patient: xr.Dataset, descriptor: str, view: str = "z_delta") -> Floats:
    """Median over seizures of the mean Z-Δ of a descriptor in windows that start at or after onset.

    Seen channels only; a seizure without such a window counts as no change.
    """
    names = patient["descriptor"].values.tolist()
    if descriptor not in names:
        raise MethodError(
            f"{patient.attrs['patient']}: expected the descriptor {descriptor}, found "
            f"{', '.join(names)}. Describe the patient with a plan that has it."
        )
    φ = views(patient).sel(view=view, descriptor=descriptor).values  # (S, W, C)
    used = patient["valid"].values & (patient["start_s"].values >= 0)[..., None]
    mean = np.where(used, φ, 0).sum(1) / np.maximum(used.sum(1), 1)  # (S, C)
    shown = np.where(patient["valid"].values.any(1), mean, np.nan)
    return OVER_SEIZURES["median"](shown[:, seen_channels(patient)], axis=0)


def fit_change(settings: ChangeScore, training: Training) -> Scorer:
    """Ranks of the change after onset."""
    return Scorer(lambda p: as_ranks(change_after_onset(p, settings.descriptor, settings.view)))


def fit_chance(settings: Chance, training: Training) -> Scorer:
    """Uniform scores that depend on the seed and on names only, never on the channels' order."""

    def p_nez(patient: xr.Dataset) -> Floats:
        names = patient["channel"].values[seen_channels(patient)]
        keys = [f"{training.seed} {patient.attrs['patient']} {name}" for name in names]
        digests = [hashlib.sha256(key.encode()).digest()[: settings.bits // 8] for key in keys]
        return np.array([int.from_bytes(digest) for digest in digests]) / 2**settings.bits

    return Scorer(p_nez)


def _row(name: str, title: str, descriptor: str) -> Method:
    return Method(
        name=name,
        title=title,
        input="cube",
        reference="beyond the paper",
        fitter=fit_change,
        settings=ChangeScore(descriptor),
        training_free=True,
        seeded=False,
    )


ENTRIES = (
    _row("line-length-change", "Line-length change", "line_length"),
    _row("high-frequency-change", "High-frequency energy change", "log_high_gamma_power"),
    Method("random", "Chance", "cube", "chance", fit_chance, Chance(), training_free=True),
)
