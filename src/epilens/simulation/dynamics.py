"""The parameters of the simulation that are fitted to measurements of recorded patients.

They were adjusted by hand until the statistics of the simulated cohort came close to those of
recorded ones; docs/developer/calibration.md lists the goals and what was reached. Each section
below names the goal of its parameters.

Units: "log amplitude" is the natural logarithm of a factor on the amplitude (0.7: twice as large).
"RMS" is the root mean square of the contact's own signal at rest. "Drive" has no unit: it is the
sum of random parts that says how much a contact takes part in a seizure
(`epilens.simulation.seizures`). A `Bands` value has one number per frequency band.
"""

from __future__ import annotations

from dataclasses import dataclass

BAND_EDGES_HZ = (4.0, 8.0, 13.0, 30.0, 70.0)
"""Edges between the six bands: below 4 Hz, 4-8, 8-13, 13-30, 30-70, above 70 Hz."""
Bands = tuple[float, float, float, float, float, float]
"""One number per band, lowest frequencies first."""


@dataclass(frozen=True)
class Dynamics:
    """How contacts differ at rest, and how seizures change them."""

    # The background at rest. Goal: quantiles over 1,599 channels of normal tissue
    # (calibration.md, "What the background is fitted to").
    spectral_exponent: float = 2.4
    """Mean exponent of the 1/f power spectrum."""
    knee_hz: float = 4.0
    """Frequency in Hz below which the spectrum is flat."""
    slow_modulation_sd: Bands = (0.08, 0.06, 0.05, 0.05, 0.06, 0.06)
    """SD of changes over several seconds, log amplitude of each band."""
    fast_modulation_sd: float = 0.38
    """SD of changes within a tenth of a second, log amplitude of all bands alike: irregular slow
    waves."""
    fast_modulation_log_sd: float = 0.28
    """SD of the natural logarithm of `fast_modulation_sd` over the contacts of a patient."""
    spindle_sd: Bands = (0.05, 0.05, 0.06, 0.06, 0.12, 0.12)
    """SD of changes within a second, log amplitude of each band by itself: spindles."""
    bursts_per_min: float = 0.12
    """Rare bursts per minute and contact, half of them fast (muscle, electrode), half of all
    bands."""
    burst_size: float = 1.0
    """Mean log amplitude of a burst."""

    # How contacts differ at rest. Goal: AUROCs of 33 features against the annotated onset zone in
    # ds003029 (calibration.md, "What seizures are fitted to"), as for all that follows.
    contact_gain_sd: float = 0.05
    """SD of a contact's own gain, log amplitude."""
    neighbour_gain_sd: float = 0.38
    """SD of the part of the gain that is similar in neighbours, log amplitude."""
    onset_gain: float = 0.15
    """Additional gain of onset contacts at rest, log amplitude."""
    onset_gain_sd: float = 0.1
    """SD of `onset_gain` over patients, log amplitude."""
    onset_slow_sd: float = 0.9
    """SD over patients of the activity of onset contacts below 30 Hz at rest, log amplitude."""
    onset_flattening: float = -0.05
    """How much flatter the spectrum of onset contacts is at rest (exponent of 1/f); negative:
    steeper."""

    # Drive: how much a contact takes part in a seizure.
    general_drive: float = -0.7
    """Mean drive of contacts outside the onset zone; the larger, the more of them take part."""
    general_drive_sd: float = 0.55
    """SD of `general_drive` over patients."""
    onset_drive: float = 1.78
    """Additional drive of onset contacts."""
    onset_drive_sd: float = 0.02
    """SD of `onset_drive` over patients."""
    propagation_drive: float = 0.35
    """Additional drive of contacts right next to the onset zone."""
    propagation_mm: float = 15.0
    """Distance in mm over which `propagation_drive` falls to 1/e."""
    lasting_drive_sd: float = 0.62
    """SD of the drive that a contact has in all seizures of a patient, similar in neighbours."""
    contact_drive_sd: float = 0.22
    """SD of the drive that a contact has in all seizures of a patient by itself."""
    passing_drive_sd: float = 1.0
    """SD of the drive that a contact has in a single seizure, similar in neighbours."""

    # What "similar in neighbours" means.
    electrode_correlation: float = 0.5
    """Share of the variance that all contacts of an electrode have in common."""
    correlation_mm: float = 45.0
    """Distance in mm over which the correlation of the remaining variance falls to 1/e."""
    onset_field_share: float = 0.45
    """Share (0 to 1) of the mean over the onset zone that is kept in gain and drives. With 1, the
    onset contacts of some patients would be the quietest of all."""

    # Ictal change: what the drive does to the bands.
    strength: float = 1.4
    """Typical size of the change per unit of drive, log amplitude."""
    strength_log_sd: float = 0.3
    """SD of the natural logarithm of `strength` over patients."""
    seizure_strength_log_sd: float = 0.25
    """SD of the natural logarithm of the strength over the seizures of a patient."""
    largest_change: float = 2.6
    """Limit that the size approaches, log amplitude; recorded bands grow by up to 3.8."""
    early_profile: Bands = (-0.42, -0.32, 0.06, 1.04, 1.18, 0.9)
    """Factor on the size by band in the first seconds."""
    late_profile: Bands = (0.36, 0.4, 0.35, 0.66, 0.58, 0.48)
    """Factor on the size by band once the seizure has built up."""
    pattern_weight: float = 0.3
    """Factor on the difference of an onset pattern from the mean profile
    (`epilens.simulation.physiology.PATTERNS`)."""
    own_change_sd: Bands = (0.7, 0.55, 0.5, 0.08, 0.08, 0.2)
    """SD of a contact's own change in a seizure, log amplitude of each band; also in contacts
    outside the onset zone."""
    global_change_sd: float = 0.15
    """SD over patients of a change of all contacts and bands alike, log amplitude."""
    rhythm_factor: float = 1.6
    """Amplitude of the ictal rhythm, as a factor on the growth of its band."""

    # Spikes.
    spikes_per_min: float = 0.3
    """Mean rate per minute at rest, outside the onset zone."""
    onset_spike_factor: float = 22.0
    """Factor on `spikes_per_min` in the onset zone."""
    ictal_spikes_per_s: float = 0.2
    """Additional rate per second and unit of ictal change (log amplitude)."""
    spike_rms: float = 5.2
    """Median height of a spike at rest, in RMS."""
    spike_growth: float = 0.5
    """Growth of the log height of spikes per unit of ictal change (log amplitude)."""
    inverted_spike_share: float = 0.1
    """Share of a contact's spikes that have the opposite polarity."""

    # Artefacts, and the error of the annotated onset.
    drift_rms: float = 0.5
    """Mean amplitude of the slow waves (7 to 50 s long) that every contact drifts by, in RMS."""
    muscle: float = 0.15
    """Mean size of muscle noise late in a seizure, in some (mostly lateral) contacts, in units of
    `epilens.simulation.signals.MUSCLE_UNIT_RMS`."""
    movement_rms: float = 0.6
    """Mean size of slow artefacts while the seizure lasts, in some contacts, in RMS."""
    lead_s: float = 3.0
    """Mean time in s from the true start of a seizure to its annotated onset."""
    lead_sd_s: float = 4.0
    """SD of that time in s over seizures; a negative time is an annotation that is too early."""


FITTED = Dynamics()
"""The parameters of every cohort that `simulate` writes."""
