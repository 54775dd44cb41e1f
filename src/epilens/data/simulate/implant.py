"""Simulated implants: SEEG shafts, ECoG grids and strips, and an EZ that is a spatial cluster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rng = np.random.Generator

# An ellipsoid of the size and place of the MNI brain.
_CENTER_MM = np.array([0.0, -18.0, 10.0])
_AXES_MM = np.array([66.0, 86.0, 62.0])
_SHAFTS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SEEG_SPACING_MM, ECOG_SPACING_MM = 3.5, 10.0


@dataclass(frozen=True)
class Implant:
    """Contacts of one patient; those of one electrode (`shaft`, its index) follow each other."""

    modality: str
    names: tuple[str, ...]
    """Shaft letter and number, before a center spells it in its own way."""
    shaft: NDArray[np.int_]
    mm: NDArray[np.float64]
    good: NDArray[np.bool_]
    is_true_ez: NDArray[np.bool_]
    is_annotated_ez: NDArray[np.bool_]


def make_implant(
    rng: Rng,
    modality: str,
    good_contacts: int,
    bad_contacts: int,
    ez_contacts: int,
    mislabelled: float,
) -> Implant:
    """Electrodes until there are enough contacts; the nearest to a seed contact are the EZ."""
    wanted = good_contacts + bad_contacts
    side = rng.choice([-1.0, 1.0])
    electrodes: list[NDArray[np.float64]] = []
    while sum(map(len, electrodes)) < wanted:
        left = wanted - sum(map(len, electrodes))
        electrode = _shaft(rng, side) if modality == "SEEG" else _grid(rng, side, left)
        electrodes.append(electrode[:left])
    mm = np.concatenate(electrodes)
    shaft = np.repeat(np.arange(len(electrodes)), [len(e) for e in electrodes])
    number = np.concatenate([np.arange(1, len(e) + 1) for e in electrodes])
    names = tuple(f"{_letters(s, side)}{n}" for s, n in zip(shaft, number, strict=True))
    good = np.ones(wanted, bool)
    good[rng.choice(wanted, bad_contacts, replace=False)] = False
    true = _cluster(rng, mm, good, ez_contacts)
    annotated = _annotate(rng, mm, good, true, mislabelled)
    return Implant(modality, names, shaft, np.round(mm, 3), good, true, annotated)


def _letters(shaft: int, side: float) -> str:
    prefix = "L" if side < 0 else "R"
    return prefix + _SHAFTS[shaft % 26] * (1 + shaft // 26)


def _on_surface(rng: Rng, side: float) -> NDArray[np.float64]:
    """Unit vector to a lateral point of one hemisphere; a quarter of the electrodes is opposite."""
    v = rng.normal(size=3) * [0.5, 1.0, 0.7]
    v[0] = np.abs(v[0]) + 0.6
    v[2] = v[2] if v[2] > -0.7 else -v[2]
    v[0] *= side if rng.random() < 0.75 else -side
    return v / np.linalg.norm(v)


def _shaft(rng: Rng, side: float) -> NDArray[np.float64]:
    """8 to 16 contacts from a deep target outwards to the entry point, 3.5 mm apart."""
    entry = _CENTER_MM + _AXES_MM * _on_surface(rng, side)
    target = _CENTER_MM + (entry - _CENTER_MM) * [0.12, 0.75, 0.5] + rng.normal(0, 4, 3)
    direction = (entry - target) / np.linalg.norm(entry - target)
    longest = int(np.linalg.norm(entry - target) // SEEG_SPACING_MM)
    n = int(np.clip(rng.integers(8, 17), 8, max(8, longest)))
    return target + direction * SEEG_SPACING_MM * np.arange(n)[:, None]


def _grid(rng: Rng, side: float, left: int) -> NDArray[np.float64]:
    """A grid (where enough contacts are left) or a strip on the surface, 10 mm apart."""
    shapes = (
        [(8, 8), (4, 8), (2, 8)] if left >= 16 and rng.random() < 0.5 else [(1, 4), (1, 6), (1, 8)]
    )
    fitting = [s for s in shapes if s[0] * s[1] <= left] or [(1, 4)]
    rows, columns = fitting[int(rng.integers(len(fitting)))]
    middle = _on_surface(rng, side)
    u = np.cross(middle, [0.0, 0.0, 1.0])
    u /= np.linalg.norm(u)
    v = np.cross(middle, u)
    turn = rng.uniform(0, 2 * np.pi)
    u, v = np.cos(turn) * u + np.sin(turn) * v, np.cos(turn) * v - np.sin(turn) * u
    i, j = np.meshgrid(
        np.arange(rows) - (rows - 1) / 2, np.arange(columns) - (columns - 1) / 2, indexing="ij"
    )
    # Angles on the mean sphere, then out to the ellipsoid: spacing is nearly that of a real grid.
    step = ECOG_SPACING_MM / _AXES_MM.mean()
    directions = middle + step * (i.ravel()[:, None] * u + j.ravel()[:, None] * v)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return _CENTER_MM + _AXES_MM * directions


def _cluster(
    rng: Rng, mm: NDArray[np.float64], good: NDArray[np.bool_], size: int
) -> NDArray[np.bool_]:
    """The `size` good contacts nearest to a random good contact."""
    seed = rng.choice(np.flatnonzero(good))
    distance = np.linalg.norm(mm - mm[seed], axis=1) + rng.normal(0, 2, len(mm))
    nearest = np.argsort(np.where(good, distance, np.inf))[:size]
    return np.isin(np.arange(len(mm)), nearest)


def _annotate(
    rng: Rng,
    mm: NDArray[np.float64],
    good: NDArray[np.bool_],
    true: NDArray[np.bool_],
    mislabelled: float,
) -> NDArray[np.bool_]:
    """What the clinician wrote: some EZ contacts missed, as many neighbours taken instead."""
    annotated = true.copy()
    swaps = min(round(mislabelled * true.sum()), int((good & ~true).sum()))
    if not swaps:
        return annotated
    annotated[rng.choice(np.flatnonzero(true), swaps, replace=False)] = False
    to_ez = np.linalg.norm(mm[:, None] - mm[true][None], axis=2).min(axis=1)
    candidates = np.argsort(np.where(good & ~true, to_ez, np.inf))[: 3 * swaps]
    candidates = candidates[(good & ~true)[candidates]]
    annotated[rng.choice(candidates, swaps, replace=False)] = True
    return annotated
