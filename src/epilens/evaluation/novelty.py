"""Distance of a patient from a training cohort, and fingerprints that detect its seizures."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from epilens.core.errors import CubeError
from epilens.core.types import Bools, Floats
from epilens.evidence.contact_features import FEATURES
from epilens.evidence.contact_table import ContactTable
from epilens.evidence.cube import is_reference
from epilens.evidence.descriptors import rows_of
from epilens.evidence.views import VIEWS, views
from epilens.methods import seen_channels

USUAL = 0.95
"""Share of the cohort's own patients within which a patient counts as like the cohort."""
SCORE_NAMES = ("median", "lowest twentieth", "interquartile range", "share called EZ")
STORED = ConfigDict(extra="forbid", allow_inf_nan=False)
"""Rules for what a model stores as JSON: no unknown fields, and finite numbers."""
KNOWN_AGAIN = 0.5
"""Fraction of the contacts by which a seizure is recognised."""
_FEATURE_KINDS = ("tie to line length", "high tail", "low tail", "tie to neighbours")
_LINE_LENGTH = FEATURES.index("ll_std")
_FARTHEST = 20.0
"""Robust z-scores beyond this say no more than this."""


@dataclass(frozen=True)
class CohortDistance:
    """Distance of a patient from the middle of the training cohort, and what causes it."""

    what: str
    distance: float
    limit: float
    farthest: tuple[tuple[str, float], ...]
    """The three numbers that stick out most, with their robust z-scores."""

    @property
    def is_unusual(self) -> bool:
        """Whether it is farther away than nearly all of the cohort's own patients."""
        return self.distance > self.limit


@dataclass(frozen=True, config=STORED)
class CohortMiddle:
    """Median and robust scale of some numbers over a cohort, and how far its own patients lie."""

    names: tuple[str, ...]
    middle: tuple[float, ...]
    scale: tuple[float, ...]
    distances: tuple[float, ...]
    """Distance of every patient from the middle of the others, ascending."""

    def __post_init__(self) -> None:
        if not len(self.names) == len(self.middle) == len(self.scale):
            raise ValueError("names, middle and scale differ in length")
        if min(self.scale, default=1.0) <= 0:
            raise ValueError("a scale is not positive")

    def distance_of(self, what: str, value: Floats) -> CohortDistance:
        """A new patient's numbers next to the cohort's."""
        middle, scale = np.array(self.middle), np.array(self.scale)
        z = (value - middle) / scale
        farthest = tuple((self.names[i], float(z[i])) for i in np.argsort(-np.abs(z))[:3])
        return CohortDistance(
            what, distance(value, middle, scale), usual_limit(self.distances), farthest
        )


def evidence_names(descriptors: Iterable[str]) -> list[str]:
    """Names of the numbers of `evidence_summary`."""
    kinds = ("level", "change after onset", "largest changes after onset")
    names = [str(name) for name in descriptors]
    return [f"{kind} of {name}" for kind in kinds for name in names]


def evidence_summary(cube: xr.Dataset) -> Floats:
    """Three numbers per descriptor that say what a patient's evidence is like; no label enters.

    Its level before onset and its Z-Δ after onset in the median channel, and the Z-Δ that a tenth
    of the channels exceeds.
    """
    seen, valid = seen_channels(cube), cube["valid"].values[..., None]
    z = views(cube).values[..., VIEWS.index("z_delta"), :]
    x = cube["x"].values.astype(np.float64)
    logged = [row.log_level for row in rows_of(cube["descriptor"].values.tolist())]
    x[..., logged] = np.log1p(np.abs(x[..., logged]))
    before = is_reference(cube).values[..., None, None]
    after = (cube["start_s"].values >= 0)[..., None, None]
    level = _mean_where(x, valid & before)[seen]  # (channel, descriptor)
    # A reference that hardly varies makes Z-Δ huge; its size matters, not its last digit.
    change = np.arcsinh(_mean_where(z, valid & after)[seen])
    parts = [np.median(level, 0), np.median(change, 0), np.quantile(change, 0.9, axis=0)]
    return np.concatenate(parts)


def _mean_where(x: NDArray[Any], where: Bools) -> Floats:
    """Mean over the selected seizures and windows (the first two axes); 0 where there is none."""
    n = np.maximum(where.sum(axis=(0, 1)), 1)
    return np.where(where, x, 0).sum(axis=(0, 1)) / n


def feature_summary_names() -> list[str]:
    """Names of the numbers of `feature_summary`."""
    return [f"{kind} of {feature}" for kind in _FEATURE_KINDS for feature in FEATURES]


def feature_summary(table: ContactTable) -> Floats:
    """Four numbers per contact feature that no gain or unit changes; no label enters.

    Whether it goes with the line length and how far it reaches in the tails over contacts (means
    over seizures), and whether neighbours share it. Recordings without a seizure differ in all.
    """
    shape = (len(table.of_seizure), len(table.channels), len(FEATURES))
    parts = [_of_seizure(z) for z in table.of_seizure.reshape(shape) if np.isfinite(z).any()]
    own, near = np.moveaxis(table.x.reshape(shape[1], -1, len(FEATURES)), 1, 0)[:2]
    of_seizures = np.mean(parts, axis=0) if parts else np.zeros(3 * len(FEATURES))
    return np.concatenate([of_seizures, _correlation(own, near)])


def _of_seizure(z: Floats) -> Floats:
    """Three numbers per feature of one seizure, from z (contact, feature); a missing one is 0."""
    z = np.where(np.isfinite(z), z, 0)
    ties = _correlation(z, z[:, [_LINE_LENGTH]])
    return np.concatenate([ties, *(np.quantile(z, tail, axis=0) for tail in (0.95, 0.05))])


def _correlation(a: Floats, b: Floats) -> Floats:
    """Pearson's correlation over contacts, column by column; 0 where a column does not vary."""
    a, b = (x - x.mean(axis=0) for x in (a, b))
    size = np.sqrt((a**2).sum(axis=0) * (b**2).sum(axis=0))
    varies = size > 1e-9
    return np.where(varies, (a * b).sum(axis=0) / np.where(varies, size, 1), 0)


def score_summary(p_nez: Floats, threshold: float) -> Floats:
    """Four numbers that say how a patient's scores lie."""
    low, quarter, median, three = np.quantile(p_nez, [0.05, 0.25, 0.5, 0.75])
    return np.array([median, low, three - quarter, float((p_nez < threshold).mean())])


def cohort_middle(names: Iterable[str], values: Floats) -> CohortMiddle:
    """Middle of (patient, number), and every patient's distance from the middle of the others.

    The distances leave the patient itself out, so that a new patient can be compared with them.
    """
    distances = []
    if len(values) > 1:
        others = [_middle(np.delete(values, i, axis=0)) for i in range(len(values))]
        distances = [distance(v, *other) for v, other in zip(values, others, strict=True)]
    middle, scale = (tuple(part.tolist()) for part in _middle(values))
    return CohortMiddle(tuple(names), middle, scale, tuple(sorted(distances)))


def _middle(values: Floats) -> tuple[Floats, Floats]:
    middle = np.median(values, axis=0)
    scale = 1.4826 * np.median(np.abs(values - middle), axis=0)
    # A number that is the same in half of the patients has no MAD; its spread stands in.
    scale = np.where(scale > 1e-6, scale, values.std(axis=0))
    return middle, np.where(scale > 1e-6, scale, 1.0)


def distance(value: Floats, middle: Floats, scale: Floats) -> float:
    """Root mean square of the robust z-scores, each at most 20."""
    z = np.clip((value - middle) / scale, -_FARTHEST, _FARTHEST)
    return float(np.sqrt(np.mean(z**2)))


def usual_limit(distances: Sequence[float]) -> float:
    """The distance that 95 % of the cohort's patients do not exceed, each seen from the others.

    The ⌈0.95 (n + 1)⌉-th smallest; with fewer than 19 patients, the largest.
    """
    ordered = sorted(distances)
    if not ordered:
        return math.inf
    return ordered[min(math.ceil(USUAL * (len(ordered) + 1)), len(ordered)) - 1]


def contact_keys(cube: xr.Dataset) -> list[list[str]]:
    """One-way fingerprints of the contacts of each seizure (seizure, contact).

    Of each contact by itself, so that others may be missing or bad; of means to five digits, so
    that the last bits of a machine do not matter.
    """
    keys = []
    for x, valid in zip(cube["x"].values, cube["valid"].values, strict=True):
        of_seizure = []
        for c in np.flatnonzero(valid.any(axis=0)):
            means = x[valid[:, c], c].astype(np.float64).mean(axis=0)
            text = ",".join(f"{mean:.4e}" for mean in means)
            of_seizure.append(hashlib.sha256(text.encode()).hexdigest()[:10])
        keys.append(of_seizure)
    return keys


def shared_patients(cubes: Iterable[tuple[str, xr.Dataset]]) -> list[tuple[str, str]]:
    """Pairs of patients that have a seizure in common: one person under two names.

    A seizure is recognised if half of its contacts have the fingerprints of another patient's: a
    bad channel, or one more, changes nothing.
    """
    owners: dict[str, set[str]] = {}
    pairs: dict[tuple[str, str], None] = {}
    for patient, cube in cubes:
        seizures = contact_keys(cube)
        for keys in seizures:
            times = Counter(owner for key in keys for owner in owners.get(key, ()))
            shared = [who for who, n in times.items() if n >= KNOWN_AGAIN * len(keys)]
            pairs |= dict.fromkeys((who, patient) for who in shared)
        for key in (key for keys in seizures for key in keys):
            owners.setdefault(key, set()).add(patient)
    return list(pairs)


def check_apart(cubes: Iterable[tuple[str, xr.Dataset]]) -> None:
    """Refuse a cohort in which one person is two patients: training would know the test."""
    with_centers = (
        (f"{patient} ({cube.attrs.get('center', 'no center')})", cube) for patient, cube in cubes
    )
    if pairs := shared_patients(with_centers):
        first, second = pairs[0]
        more = f" and in {len(pairs) - 1} more pairs" if len(pairs) > 1 else ""
        raise CubeError(
            f"cohort: expected every patient once, found the same seizure in {first} and {second}"
            f"{more}. Test patients would be in the training set. Remove one cube of each pair."
        )
