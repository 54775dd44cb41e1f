"""Who is in the simulated cohort: four centers after the paper's cohort table, in three sizes.

Each center has its own habits (formats, rates, gains, spellings, label locations), so that every
difficulty of a multi-center study appears. Counts are those of the paper in the shape `paper`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from epilens.core.errors import DataError, did_you_mean
from epilens.simulation.zones import Rule

Labels = Literal["status", "sheet", "resected", "ablated"]


@dataclass(frozen=True)
class Center:
    """One simulated center: how many, and its habits."""

    name: str
    code: str
    patients: int
    seizures: int
    channels: int
    ez_channels: int
    single_seizure_patients: int
    seeg_share: float
    rates_hz: tuple[float, ...]
    mains_hz: int
    file_format: Literal["edf", "brainvision"]
    labels: Labels
    rule: Rule
    """How the center defines the EZ."""
    naming: Literal["plain", "eeg-ref", "padded", "prime"]
    space: str
    gain: float
    """Typical amplitude relative to the other centers: amplifiers and electrodes differ."""
    reference_noise: float
    """Share of a channel's amplitude that every channel has in common, through the reference."""

    @property
    def title(self) -> str:
        """Name of the dataset; says that nobody was recorded."""
        return f"{self.name} (simulated)"


# Counts: the paper's cohort table, with its 1,743 EZ channels and seven one-seizure patients.
NORTH = Center(
    "North", "N", 36, 117, 3667, 616, 4, 0.6, (512.0, 500.0, 1024.0, 256.0), 60, "edf", "status",
    "either", "eeg-ref", "fsaverage", 1.0, 0.15,
)  # fmt: skip
EAST = Center(
    "East", "E", 15, 45, 925, 164, 1, 0.1, (1000.0, 250.0, 999.41, 2000.0), 60, "brainvision",
    "sheet", "soz", "plain", "Other", 3.0, 0.35,
)  # fmt: skip
SOUTH = Center(
    "South", "S", 21, 72, 2141, 817, 1, 1.0, (1000.0, 500.0, 512.0), 50, "edf", "resected",
    "resected", "prime",
    "MNI152NLin2009bAsym", 0.4, 0.2,
)  # fmt: skip
WEST = Center(
    "West", "W", 8, 22, 902, 146, 1, 1.0, (1000.0, 2000.0, 512.0), 50, "brainvision",
    "ablated", "ablated", "padded", "MNI152NLin2009bAsym", 1.6, 0.1,
)  # fmt: skip


def _sized(center: Center, *counts: int) -> Center:
    names = ("patients", "seizures", "channels", "ez_channels", "single_seizure_patients")
    return replace(center, **dict(zip(names, counts, strict=True)))


SHAPES: dict[str, tuple[Center, ...]] = {
    "tiny": (
        _sized(NORTH, 2, 4, 28, 6, 0),
        _sized(EAST, 2, 4, 24, 5, 0),
        _sized(SOUTH, 2, 4, 26, 9, 0),
        _sized(WEST, 2, 3, 24, 5, 1),
    ),
    "demo": (
        _sized(NORTH, 7, 17, 300, 52, 1),
        _sized(EAST, 4, 10, 150, 27, 0),
        _sized(SOUTH, 5, 13, 210, 78, 1),
        _sized(WEST, 4, 9, 170, 29, 0),
    ),
    "paper": (NORTH, EAST, SOUTH, WEST),
}


def shape(name: str) -> tuple[Center, ...]:
    """The centers of a shape."""
    if name not in SHAPES:
        raise DataError(
            f"shape: expected a known name, found {name!r}. {did_you_mean(name, SHAPES)}"
        )
    return SHAPES[name]


def share_out(
    total: int, weights: np.ndarray, least: np.ndarray, most: np.ndarray | None = None
) -> np.ndarray:
    """Whole numbers near `weights` that add up to `total` and keep to `least` and `most`."""
    most = np.full(len(weights), total) if most is None else most
    counts = np.clip(np.floor(weights / weights.sum() * total).astype(int), least, most)
    while (gap := total - counts.sum()) != 0:
        step = 1 if gap > 0 else -1
        room = (counts < most) if step > 0 else (counts > least)
        if not room.any():
            raise DataError(f"simulate: {total} cannot be shared out within the given limits.")
        # The one that is farthest from its fair share moves; ties go to the first.
        distance = step * (weights / weights.sum() * total - counts)
        counts[np.argmax(np.where(room, distance, -np.inf))] += step
    return counts
