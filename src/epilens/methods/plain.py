"""Plain comparators that need no training: how much a channel changes at onset, and chance."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from epilens.core.decisions import with_neutral
from epilens.core.errors import MethodError
from epilens.core.types import Floats
from epilens.evidence.views import views
from epilens.methods import Method, Scorer, Training, seen_channels

OVER_SEIZURES = {"median": np.nanmedian, "max": np.nanmax, "mean": np.nanmean}


def joined_seizures(values: Floats, over: str) -> Floats:
    """One number per channel from (S, C), by `median`, `max` or `mean`; NaN where none has one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return OVER_SEIZURES[over](values, axis=0)


@dataclass(frozen=True)
class ChangeScore:
    """The descriptor whose change ranks the channels."""

    descriptor: str


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
        finite = np.isfinite(evidence)
        if not finite.all():
            names = patient["channel"].values[seen_channels(patient)]
            without[patient.attrs["patient"]] = names[~finite].tolist()
        scores = np.full(len(evidence), 0.5)
        scores[finite] = p_nez_of(evidence[finite])
        return with_neutral(scores, finite)

    return Scorer(p_nez, notes={note: without})


def change_after_onset(patient: xr.Dataset, descriptor: str) -> Floats:
    """Median over seizures of the mean Z-Δ of a descriptor in windows that start at or after onset.

    Seen channels only; a seizure without such a window counts as no change.
    """
    names = patient["descriptor"].values.tolist()
    if descriptor not in names:
        raise MethodError(
            f"{patient.attrs['patient']}: expected the descriptor {descriptor}, found "
            f"{', '.join(names)}. Describe the patient with a plan that has it."
        )
    φ = views(patient).sel(view="z_delta", descriptor=descriptor).values  # (S, W, C)
    used = patient["valid"].values & (patient["start_s"].values >= 0)[..., None]
    mean = np.where(used, φ, 0).sum(1) / np.maximum(used.sum(1), 1)  # (S, C)
    shown = np.where(patient["valid"].values.any(1), mean, np.nan)
    return joined_seizures(shown[:, seen_channels(patient)], "median")


def fit_change(settings: ChangeScore, training: Training) -> Scorer:
    """Ranks of the change after onset."""
    return Scorer(lambda p: as_ranks(change_after_onset(p, settings.descriptor)))


def fit_chance(settings: Mapping[str, int], training: Training) -> Scorer:
    """Uniform scores that depend on the seed and on names only, never on the channels' order."""
    bits = settings["bits"]

    def p_nez(patient: xr.Dataset) -> Floats:
        names = patient["channel"].values[seen_channels(patient)]
        keys = [f"{training.seed} {patient.attrs['patient']} {name}" for name in names]
        digests = [hashlib.sha256(key.encode()).digest()[: bits // 8] for key in keys]
        return np.array([int.from_bytes(digest) for digest in digests]) / 2**bits

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
    Method("random", "Chance", "cube", "chance", fit_chance, {"bits": 64}, training_free=True),
)
