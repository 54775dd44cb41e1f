"""Where electrodes go: named targets on the coordinates of the MNI template, right hemisphere.

Depth electrodes run from an entry on the lateral surface to a deep target; grids and strips lie on
an ellipsoid of the size and position of the brain. Points are typical of presurgical implants, to
the nearest few millimetres, so that the name of an electrode, its side and its position agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Rng = np.random.Generator
Lobe = Literal["mesial temporal", "lateral temporal", "frontal", "insular", "parietal", "occipital"]
Point = tuple[float, float, float]

CENTER_MM = np.array([0.0, -18.0, 10.0])
"""Middle of the ellipsoid that stands for the surface of the brain, MNI coordinates in mm."""
AXES_MM = np.array([66.0, 86.0, 62.0])
"""Half axes of that ellipsoid in mm: left-right, back-front, down-up."""
SEEG_SPACING_MM, ECOG_SPACING_MM = 3.5, 10.0
"""Distance between contacts in mm: depth electrodes; grids and strips (docs/simulation.md)."""
TIP_SD_MM, ENTRY_SD_MM, SHEET_SD_MM = 2.0, 3.0, 3.0
"""SD of implanted points around the planned ones along each axis, in mm; set by hand."""
DEPTH_CONTACTS = (8, 16)
"""Fewest and most contacts of a depth electrode."""
MIDLINE_MM = 2.0
"""Contacts of a grid or strip stay so far from the midplane, in mm."""

FOCUS_SHARE: dict[Lobe, float] = {
    "mesial temporal": 0.42,
    "lateral temporal": 0.12,
    "frontal": 0.22,
    "insular": 0.12,
    "parietal": 0.08,
    "occipital": 0.04,
}
"""How often seizures start in a lobe, roughly as in presurgical series."""


@dataclass(frozen=True)
class Target:
    """An electrode that a team would implant; points are MNI coordinates in mm."""

    letters: str
    """Letters of its name, after the side."""
    region: str
    """Structure that it is aimed at."""
    lobe: Lobe
    target: Point
    """Deep end of a depth electrode; middle of a grid or strip."""
    entry: Point
    """Entry on the surface; for a grid or strip, a point that its long side runs towards."""


DEPTHS = (
    Target("A", "amygdala", "mesial temporal", (21, -3, -19), (64, -4, -17)),
    Target("B", "anterior hippocampus", "mesial temporal", (25, -15, -19), (66, -14, -17)),
    Target("C", "posterior hippocampus", "mesial temporal", (27, -31, -8), (68, -32, -6)),
    Target("E", "entorhinal cortex", "mesial temporal", (20, -9, -30), (61, -10, -29)),
    Target("P", "temporal pole", "lateral temporal", (24, 14, -34), (55, 10, -24)),
    Target("T", "superior temporal gyrus", "lateral temporal", (36, -22, 8), (68, -20, 6)),
    Target("D", "temporo-occipital junction", "lateral temporal", (28, -54, -8), (64, -56, -4)),
    Target("I", "anterior insula", "insular", (33, 16, -2), (62, 12, 8)),
    Target("J", "posterior insula", "insular", (36, -10, 4), (67, -8, 12)),
    Target("O", "orbitofrontal cortex", "frontal", (8, 34, -16), (48, 40, -4)),
    Target("G", "anterior cingulate", "frontal", (6, 32, 22), (46, 36, 28)),
    Target("F", "frontal pole", "frontal", (10, 56, 6), (42, 52, 14)),
    Target("M", "supplementary motor area", "frontal", (6, 0, 54), (46, 0, 52)),
    Target("H", "premotor cortex", "frontal", (20, 8, 50), (52, 8, 40)),
    Target("K", "posterior cingulate", "parietal", (6, -44, 30), (58, -46, 36)),
    Target("Q", "precuneus", "parietal", (6, -62, 42), (50, -64, 40)),
    Target("S", "supramarginal gyrus", "parietal", (36, -34, 24), (67, -32, 28)),
    Target("U", "lingual gyrus", "occipital", (8, -78, -2), (46, -82, 4)),
)

SHEETS = (
    Target("AT", "anterior temporal", "lateral temporal", (52, 4, -28), (40, 12, -36)),
    Target("MT", "subtemporal, middle", "mesial temporal", (42, -16, -34), (30, -14, -36)),
    Target("PT", "subtemporal, posterior", "mesial temporal", (44, -38, -26), (32, -38, -28)),
    Target("BT", "basal temporal", "mesial temporal", (34, -6, -38), (24, -6, -38)),
    Target("LT", "lateral temporal", "lateral temporal", (64, -28, -6), (64, -10, -10)),
    Target("TO", "temporo-occipital", "lateral temporal", (54, -64, 0), (56, -50, -6)),
    Target("OF", "orbitofrontal", "frontal", (30, 40, -18), (18, 44, -20)),
    Target("FP", "frontopolar", "frontal", (28, 62, 10), (16, 66, 12)),
    Target("LF", "lateral frontal", "frontal", (50, 30, 24), (46, 42, 14)),
    Target("SF", "superior frontal", "frontal", (28, 20, 62), (28, 34, 54)),
    Target("SM", "sensorimotor", "frontal", (46, -12, 56), (54, -10, 46)),
    Target("SS", "above the Sylvian fissure", "insular", (64, -8, 22), (60, 10, 18)),
    Target("P", "parietal", "parietal", (46, -52, 50), (54, -50, 40)),
    Target("O", "occipital", "occipital", (34, -90, 10), (42, -82, 6)),
)
GRIDS = (
    Target("G", "frontotemporal grid", "lateral temporal", (62, -14, 8), (60, 6, 4)),
    Target("PG", "parietal grid", "parietal", (54, -46, 34), (58, -30, 32)),
    Target("FG", "frontal grid", "frontal", (50, 24, 30), (46, 38, 24)),
)


@dataclass(frozen=True)
class Electrode:
    """One shaft, strip or grid, with its contacts in the order of their numbers."""

    name: str
    """Side and letters."""
    region: str
    """Structure that it is aimed at."""
    lobe: Lobe
    mm: NDArray[np.float64]
    """Positions of the contacts, (contact, 3), MNI coordinates in mm."""


def depth(rng: Rng, target: Target, side: float, name: str) -> Electrode:
    """A depth electrode with contact 1 at the deep end; 8 to 16 contacts, as many as fit."""
    fewest, most = DEPTH_CONTACTS
    tip = np.array(target.target) + rng.normal(0, TIP_SD_MM, 3)
    entry = np.array(target.entry) + rng.normal(0, ENTRY_SD_MM, 3)
    way = entry - tip
    fitting = int(np.linalg.norm(way) // SEEG_SPACING_MM) + 1
    n = min(int(rng.integers(fewest, most + 1)), max(fitting, fewest))
    mm = tip + way / np.linalg.norm(way) * SEEG_SPACING_MM * np.arange(n)[:, None]
    return Electrode(name, target.region, target.lobe, _mirrored(mm, side))


def sheet(rng: Rng, target: Target, side: float, name: str, size: tuple[int, int]) -> Electrode:
    """A strip (one row) or grid on the surface; numbers run along its long side."""
    middle, along = (
        _direction(np.array(point) + rng.normal(0, SHEET_SD_MM, 3))
        for point in (target.target, target.entry)
    )
    # Unit vectors in the tangent plane: along the columns (long side) and along the rows.
    u = along - middle * (along @ middle)
    u /= np.linalg.norm(u)
    v = np.cross(middle, u)
    rows, columns = size
    i, j = np.meshgrid(
        np.arange(rows) - (rows - 1) / 2, np.arange(columns) - (columns - 1) / 2, indexing="ij"
    )
    # Angles on the mean sphere, then out to the ellipsoid: spacing is nearly that of a real grid.
    step = ECOG_SPACING_MM / AXES_MM.mean()
    directions = middle + step * (i.ravel()[:, None] * v + j.ravel()[:, None] * u)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    mm = CENTER_MM + AXES_MM * directions
    # A sheet on one hemisphere does not reach over to the other.
    mm[:, 0] = np.maximum(mm[:, 0], MIDLINE_MM)
    return Electrode(name, target.region, target.lobe, _mirrored(mm, side))


def _direction(point: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit vector from the middle of the brain to a point, on the ellipsoid scaled to a sphere."""
    v = (point - CENTER_MM) / AXES_MM
    return v / np.linalg.norm(v)


def _mirrored(mm: NDArray[np.float64], side: float) -> NDArray[np.float64]:
    """Points of the right hemisphere on a side: -1 left, 1 right."""
    return mm * [side, 1.0, 1.0]
