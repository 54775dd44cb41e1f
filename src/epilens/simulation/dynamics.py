"""The numbers of the simulation that are fitted to measurements of recorded seizures.

They were moved until the simulated cohort had the statistics of recorded ones;
docs/developer/calibration.md lists what was aimed at and what was reached. Bands, in this order:
below 4 Hz, 4-8, 8-13, 13-30, 30-70, above 70 Hz. Sizes of ictal changes are log amplitudes.
"""

from __future__ import annotations

from dataclasses import dataclass

BAND_EDGES_HZ = (4.0, 8.0, 13.0, 30.0, 70.0)
Bands = tuple[float, float, float, float, float, float]


@dataclass(frozen=True)
class Dynamics:
    """How contacts differ at rest, and how seizures change them."""

    contact_gain: float = 0.05
    """SD of a contact's log gain."""
    field_gain: float = 0.38
    """SD of the part of the log gain that neighbours share."""
    onset_gain: float = 0.15
    """Log gain that onset contacts have on top, at rest."""
    onset_gain_sd: float = 0.1
    """How much that differs between patients."""
    onset_slow_sd: float = 0.9
    """How much their activity below 30 Hz differs at rest, between patients."""
    onset_fast: float = -0.05
    """How much flatter the spectrum of onset contacts is at rest (exponent of 1/f)."""
    slope: float = 2.4
    """Mean exponent of the 1/f spectrum of the background."""
    knee_hz: float = 4.0
    """Below this frequency the spectrum of the background is flat."""
    restless: Bands = (0.08, 0.06, 0.05, 0.05, 0.06, 0.06)
    """SD of slow changes of a band's log amplitude, at rest and in seizures."""
    irregular: float = 0.38
    """SD of fast changes of the log amplitude of all bands alike: irregular slow waves."""
    irregular_sd: float = 0.28
    """SD of its logarithm over contacts."""
    spindles: Bands = (0.05, 0.05, 0.06, 0.06, 0.12, 0.12)
    """SD of changes of a band's own log amplitude within a second: spindles, bursts of a rhythm."""
    bursts: float = 0.12
    """Rare bursts per minute and contact, half of them fast (muscle, electrode), half of all
    bands."""
    burst_size: float = 1.0
    """Mean of their log amplitude."""

    strength: float = 1.4
    """Typical size of an ictal change."""
    most: float = 2.6
    """No change is larger: recorded bands grow by log amplitudes of up to 3.8."""
    strength_sd: float = 0.3
    """SD of its logarithm over patients."""
    seizure_sd: float = 0.25
    """SD of its logarithm over the seizures of a patient."""
    general: float = -0.7
    """Drive of contacts outside the onset zone; the larger, the more of them take part."""
    general_sd: float = 0.55
    onset_drive: float = 1.78
    """Drive of onset contacts on top."""
    onset_drive_sd: float = 0.02
    """How much that differs between patients."""
    spread: float = 0.35
    """Additional drive of contacts next to the onset zone: propagation."""
    spread_mm: float = 15.0
    """Distance over which that fades."""
    lasting: float = 0.62
    """SD of the drive that contacts have in all seizures of a patient, alike in neighbours."""
    contact: float = 0.22
    """The same, of each contact by itself."""
    passing: float = 1.0
    """SD of the drive that it has in one seizure."""
    onset_luck: float = 0.45
    """How much of what neighbours share (gain, drives) moves the onset zone as a whole: by nearly
    all of it, some patients' onset contacts would be the quietest of all."""
    reach_mm: float = 45.0
    """Distance over which neighbours have that in common."""
    share: float = 0.5
    """Share of the drive's variance that all contacts of an electrode have in common."""
    early: Bands = (-0.42, -0.32, 0.06, 1.04, 1.18, 0.9)
    """Size by band in the first seconds, after the drive."""
    late: Bands = (0.36, 0.4, 0.35, 0.66, 0.58, 0.48)
    """Size by band once the seizure has built up."""
    own: Bands = (0.7, 0.55, 0.5, 0.08, 0.08, 0.2)
    """SD of a contact's own change in one band, onset contact or not."""
    pattern: float = 0.3
    """How much patterns of onset differ from the mean of all, between patients."""
    everywhere: float = 0.15
    """SD over patients of a change of all contacts and bands alike."""
    rhythmic: float = 1.6
    """Share of the ictal amplitude that is a rhythm and not noise."""

    spikes: float = 0.3
    """Spikes per minute at rest outside the onset zone."""
    onset_spikes: float = 22.0
    """Factor on it in the onset zone."""
    spike_size: float = 5.2
    """In units of the contact's RMS."""
    spike_turns: float = 0.1
    """Share of a contact's spikes that point the other way."""
    spike_growth: float = 0.5
    """How they grow with the size of the ictal change (exponent)."""
    ictal_spikes: float = 0.2
    """Spikes per second and unit of drive in a seizure."""
    muscle: float = 0.15
    """Fast noise of muscles late in a seizure, in some lateral contacts; RMS of the contact."""
    movement: float = 0.6
    """Slow artefacts while the seizure lasts, in some contacts; RMS of the contact."""
    drift: float = 0.5
    """Slow drifts of every contact, 7 to 50 s long; RMS of the contact."""
    lead_s: float = 3.0
    """How long before the annotated onset the seizure starts, typically."""
    lead_sd_s: float = 4.0


FITTED = Dynamics()
