"""A single simulated seizure: which contacts take part, when they join, how much they change.

The constants of this module are typical values that were set by hand; the calibration has no goal
for any of them alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from epilens.simulation.dynamics import Dynamics
from epilens.simulation.implant import Implant
from epilens.simulation.physiology import Physiology, Rng, Values, distance_to_onset

DURATION_S = (30.0, 90.0)
"""Range of the duration of seizures, in s."""
RISE_S = (1.0, 5.0)
"""Range over contacts of the time from joining to the full change, in s."""
BUILDS_S = (9.0, 18.0)
"""Range over seizures of the time until the late profile replaces the early one, in s."""
ONSET_DELAY_GAMMA = (1.2, 1.8)
"""Shape and scale in s (mean 2.2 s) of the time until an onset contact joins."""
DELAY_S, DELAY_GAMMA = 0.5, (1.5, 1.5)
"""Smallest delay of other contacts in s; shape and scale in s of its random part (mean 2.3 s)."""
SPEED_OFFSET = 0.3
"""The speed of propagation to a contact is multiplied by this plus the size of its change."""
SOFTPLUS_SHARPNESS = 2.0
"""How abruptly the change of a contact starts to grow with its drive."""
MOVEMENT_SHARE = 0.3
"""Share of contacts with slow movement artefacts in a seizure."""


@dataclass(frozen=True)
class Seizure:
    """One seizure. Times are in s from its true start; arrays have one value per contact."""

    duration_s: float
    """Time until the seizure ends."""
    joins_s: Values
    """Time when the contact joins."""
    rise_s: Values
    """Time from joining to the full change."""
    builds_s: float
    """Time when the early profile gives way to the late one."""
    size: Values
    """Size of the ictal change, log amplitude; 0: the contact takes no part."""
    own_change: Values
    """Additional change of each contact by itself, log amplitude, (contact, band)."""
    movement: Values
    """Size of slow movement artefacts, in RMS; mostly 0."""


def make_seizure(rng: Rng, implant: Implant, p: Physiology) -> Seizure:
    """Draw a seizure. Onset contacts join first, others by distance from them."""
    d, n = p.dynamics, len(implant.names)
    drive = p.drive + d.passing_drive_sd * p.field.draw(rng)
    strength = p.strength * np.exp(d.seizure_strength_log_sd * rng.normal())
    size = ictal_size(drive, strength, d)
    return Seizure(
        joins_s=_draw_joining(rng, p, distance_to_onset(implant, p.onset), size),
        duration_s=float(rng.uniform(*DURATION_S)),
        rise_s=rng.uniform(*RISE_S, n),
        builds_s=float(rng.uniform(*BUILDS_S)),
        size=size,
        own_change=np.array(d.own_change_sd) * p.field.draw_bands(rng, len(d.own_change_sd)),
        movement=d.movement_rms * rng.exponential(1.0, n) * (rng.random(n) < MOVEMENT_SHARE),
    )


def ictal_size(drive: Values, strength: float, d: Dynamics) -> Values:
    """Size of the change of contacts with a drive, log amplitude.

    It is strength x softplus(drive), so a contact with little drive takes hardly any part and none
    takes a negative one, and it saturates at `largest_change`.
    """
    size = strength * np.log1p(np.exp(SOFTPLUS_SHARPNESS * drive)) / SOFTPLUS_SHARPNESS
    return d.largest_change * (1 - np.exp(-size / d.largest_change))


def _draw_joining(rng: Rng, p: Physiology, onset_mm: Values, size: Values) -> Values:
    """Time when each contact joins, in s: contacts with a large change are reached sooner."""
    onset_s = rng.gamma(*ONSET_DELAY_GAMMA, len(size))
    propagation_s = onset_mm / p.speed_mm_s / (SPEED_OFFSET + size)
    others_s = DELAY_S + propagation_s + rng.gamma(*DELAY_GAMMA, len(size))
    return np.where(p.onset, onset_s, others_s)
