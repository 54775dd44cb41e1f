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
Annotations = Literal["sz onset", "typed", "seizure", "event"]
Oddity = Literal["", "no-onset", "too-short", "cut-off", "repeated"]
"""Nothing odd; without annotated onset; starts just before onset; ends soon after it; stored
twice."""


@dataclass(frozen=True)
class Center:
    """One simulated center: how many, and its habits."""

    name: str
    code: str
    """First letter of its patients' labels."""
    patients: int
    """Number of patients; this and the next four counts: the paper's cohort table."""
    seizures: int
    """Number of seizures of all patients."""
    channels: int
    """Number of good contacts of all patients."""
    ez_channels: int
    """Number of contacts of all patients that are annotated as EZ."""
    single_seizure_patients: int
    """Number of patients with one seizure."""
    seeg_share: float
    """Share of patients with depth electrodes; the others have grids and strips."""
    rates_hz: tuple[float, ...]
    """Sampling rates in Hz; the patients have them in turn."""
    mains_hz: int
    """Frequency of the mains, in Hz."""
    file_format: Literal["edf", "brainvision"]
    labels: Labels
    """Where the EZ is written: a column of channels.tsv, or a clinical sheet."""
    rule: Rule
    """How the center defines the EZ."""
    naming: Literal["plain", "eeg-ref", "padded", "prime"]
    """How names of contacts are spelled (`epilens.simulation.contact_names.spell`)."""
    space: str
    """Coordinate system of the electrodes in BIDS; `Other`: positions are not stated."""
    gain: float
    """Typical amplitude relative to the other centers: amplifiers and electrodes differ."""
    reference_noise: float
    """RMS of what all channels share through the reference, relative to a typical channel."""
    annotations: Annotations
    """How the onset is annotated (`epilens.simulation.files`)."""
    odd_run: Oddity
    """What is odd about one additional run of the first patient; empty: there is none."""
    ages: tuple[int, int] = (16, 60)
    """Youngest age in years, and the first that is too old."""
    rates_change: bool = False
    """Whether the sampling rate changes between the runs of every third patient."""
    byte_order_mark: bool = False
    """Whether tables of events and electrodes start with one."""
    stated_unit: Literal["mm", "m"] = "mm"
    """Unit of the positions according to coordsystem.json; they are always in mm."""

    @property
    def title(self) -> str:
        """Name of the dataset; it states that nobody was recorded."""
        return f"{self.name} (simulated)"


# Together they have the 1,743 EZ channels and seven one-seizure patients of the paper.
NORTH = Center(
    name="North",
    code="N",
    patients=36,
    seizures=117,
    channels=3667,
    ez_channels=616,
    single_seizure_patients=4,
    seeg_share=0.6,
    rates_hz=(512.0, 500.0, 1024.0, 256.0),
    mains_hz=60,
    file_format="edf",
    labels="status",
    rule="either",
    naming="eeg-ref",
    space="fsaverage",
    gain=1.0,
    reference_noise=0.15,
    annotations="sz onset",
    odd_run="cut-off",
    byte_order_mark=True,
    stated_unit="m",  # as one of the public datasets does
)
EAST = Center(
    name="East",
    code="E",
    patients=15,
    seizures=45,
    channels=925,
    ez_channels=164,
    single_seizure_patients=1,
    seeg_share=0.1,
    rates_hz=(1000.0, 250.0, 999.41, 2000.0),
    mains_hz=60,
    file_format="brainvision",
    labels="sheet",
    rule="soz",
    naming="plain",
    space="Other",
    gain=3.0,
    reference_noise=0.35,
    annotations="typed",
    odd_run="no-onset",
    rates_change=True,
)
SOUTH = Center(
    name="South",
    code="S",
    patients=21,
    seizures=72,
    channels=2141,
    ez_channels=817,
    single_seizure_patients=1,
    seeg_share=1.0,
    rates_hz=(1000.0, 500.0, 512.0),
    mains_hz=50,
    file_format="edf",
    labels="resected",
    rule="resected",
    naming="prime",
    space="MNI152NLin2009bAsym",
    gain=0.4,
    reference_noise=0.2,
    annotations="seizure",
    odd_run="too-short",
)
WEST = Center(
    name="West",
    code="W",
    patients=8,
    seizures=22,
    channels=902,
    ez_channels=146,
    single_seizure_patients=1,
    seeg_share=1.0,
    rates_hz=(1000.0, 2000.0, 512.0),
    mains_hz=50,
    file_format="brainvision",
    labels="ablated",
    rule="ablated",
    naming="padded",
    space="MNI152NLin2009bAsym",
    gain=1.6,
    reference_noise=0.1,
    annotations="event",
    odd_run="repeated",
    ages=(3, 16),
)


def _sized(center: Center, *counts: int) -> Center:
    """The center with other counts: patients, seizures, channels, EZ channels, single seizures."""
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
"""Sizes of a cohort: for tests, for the demo, and as large as the cohort of the paper."""


def shape(name: str) -> tuple[Center, ...]:
    """Return the centers of a shape; refuse an unknown name."""
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
        # The count that is farthest from its fair share changes; ties go to the first.
        missing = step * (weights / weights.sum() * total - counts)
        counts[np.argmax(np.where(room, missing, -np.inf))] += step
    return counts
