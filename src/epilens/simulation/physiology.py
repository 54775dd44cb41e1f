"""What stays the same over the seizures of a simulated patient.

Each contact has a gain, a background and a drive; the patient has an onset pattern. Values that are
fitted to recorded patients are in `epilens.simulation.dynamics`. The constants of this module are
typical values that were set by hand; the calibration has no goal for any of them alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from epilens.simulation.dynamics import Bands, Dynamics
from epilens.simulation.implant import Implant

Rng = np.random.Generator
Mask = NDArray[np.bool_]
Values = NDArray[np.float64]


class OnsetPattern(NamedTuple):
    """How often an onset looks so, and what distinguishes it."""

    share: float
    """Share of patients with this pattern."""
    tilt: Bands
    """Difference of its profile (a factor by band) from the mean of all patterns; it is weighted
    with `Dynamics.pattern_weight`."""


PATTERNS = {
    "low-voltage-fast": OnsetPattern(0.40, (-0.6, -0.4, -0.2, 0.3, 0.5, 0.4)),
    "rhythmic": OnsetPattern(0.25, (0.1, 0.6, 0.5, 0.0, -0.4, -0.5)),
    "spiking": OnsetPattern(0.20, (0.5, 0.2, 0.0, 0.1, -0.1, -0.2)),
    "slow-shift-fast": OnsetPattern(0.15, (0.6, -0.2, -0.3, 0.0, 0.4, 0.5)),
}
"""Four patterns of onset (docs/simulation.md, references 1 and 2)."""
LATE_TILT = 0.3
"""Share of a pattern's tilt that is left once the seizure has built up."""
PROFILE_SD = 0.10
"""SD over patients of each band of the early and late profiles (factors on the change)."""
GLOBAL_BAND_SD = 0.15
"""SD over patients of the change of all contacts by band, log amplitude."""

TYPICAL_RMS_UV = 45.0
"""Median RMS of a contact at rest in a center with gain 1, in µV."""
PATIENT_GAIN_SD = 1.1
"""SD of the gain over patients, log amplitude: far more than between contacts of one patient."""
EXPONENT_SD, CONTACT_EXPONENT_SD = 0.3, 0.2
"""SD of the exponent of the 1/f spectrum over patients, and over the contacts of one."""
RHYTHMS_HZ = (6.0, 9.5, 18.0)
"""Rhythms at rest in Hz: theta, alpha, beta; each contact has one of them."""
RHYTHM_LOG_SD = 0.08
"""SD of the natural logarithm of a contact's rhythm (Hz) around these."""
RHYTHM_SIZE = 0.3
"""Mean amplitude of the rhythm at rest relative to the 1/f background."""
SPIKE_GAMMA = (0.8, 1.25)
"""Shape and scale (mean 1) of the factor by which the spike rates of contacts differ."""
POLARITY_SHARES = (0.46, 0.54)
"""Shares of contacts whose spikes point down and up."""
ICTAL_RHYTHM_HZ = (4.5, 11.0)
"""Range over patients of the rhythm in a seizure, in Hz."""
LATERAL_MM = 50.0
"""Contacts farther than this from the midplane, in mm, are near the temporal muscle."""
MUSCLE_SHARE, LATERAL_MUSCLE_SHARE = 0.1, 0.5
"""Shares of deep and of lateral contacts that record muscle."""
AMPLIFIER_NOISE_UV, AMPLIFIER_NOISE_LOG_SD = 0.4, 0.5
"""Median of the amplifier noise (RMS in µV), and SD of its natural logarithm over patients."""
SPEED_MM_S = (8.0, 40.0)
"""Range over patients of the speed at which a seizure propagates, in mm/s."""


@dataclass(frozen=True)
class ContactField:
    """Random numbers with variance 1 that are similar in neighbouring contacts."""

    root: Values
    """Cholesky factor of the correlation between contacts, (contact, contact)."""
    onset: Mask
    """Contacts of the onset zone."""
    onset_share: float
    """Share of the mean over the onset zone that is kept (`Dynamics.onset_field_share`)."""

    def draw(self, rng: Rng) -> Values:
        """Draw one number per contact."""
        drawn = self.root @ rng.normal(size=len(self.root))
        return drawn - self.onset * (1 - self.onset_share) * drawn[self.onset].mean()

    def draw_bands(self, rng: Rng, bands: int) -> Values:
        """Draw one number per contact and band; the mean over the onset zone is kept."""
        return self.root @ rng.normal(size=(len(self.root), bands))


@dataclass(frozen=True)
class Physiology:
    """What stays the same over a patient's seizures.

    Arrays have one value per contact, in the order of the implant, if nothing else is stated.
    """

    dynamics: Dynamics
    """Fitted parameters that the other values are drawn with."""
    onset: Mask
    """Contacts in which seizures start."""
    field: ContactField
    """Source of random numbers that are similar in neighbours."""

    gain_uv: Values
    """RMS at rest, in µV."""
    slow: Values
    """Additional log amplitude at rest below 30 Hz; 0 outside the onset zone."""
    exponent: Values
    """Exponent of the 1/f power spectrum at rest."""
    rhythm_hz: Values
    """Frequency of the contact's rhythm at rest, in Hz."""
    rhythm_size: Values
    """Amplitude of that rhythm relative to the 1/f background."""
    fast_modulation_sd: Values
    """SD of changes within a tenth of a second at rest, log amplitude."""
    spikes_per_min: Values
    """Rate of spikes at rest, per minute."""
    polarity: Values
    """Direction of spikes, -1 or 1: it depends on how a contact lies to its source."""
    amplifier_noise_uv: float
    """RMS of the amplifier noise in µV; it hides fast activity in some patients."""

    drive: Values
    """How much a contact takes part in every seizure of this patient (no unit)."""
    strength: float
    """Size of the ictal change per unit of drive, log amplitude."""
    pattern: str
    """Name of the onset pattern, a key of `PATTERNS`."""
    early_profile: Values
    """Factor on the ictal change in the first seconds, (band,)."""
    late_profile: Values
    """Factor on the ictal change once the seizure has built up, (band,)."""
    global_change: Values
    """Change of every contact in a seizure (arousal, reference), log amplitude, (band,)."""
    ictal_rhythm_hz: float
    """Frequency of the rhythm at the start of a seizure, in Hz."""
    muscle: Values
    """Size of muscle noise in a seizure, in units of `signals.MUSCLE_UNIT_RMS`; mostly 0."""
    speed_mm_s: float
    """Speed at which a seizure propagates, in mm/s; faster to contacts with a large change."""


def make_physiology(
    rng: Rng, implant: Implant, onset: Mask, center_gain: float, dynamics: Dynamics
) -> Physiology:
    """Draw a patient. The order of the draws is part of what a seed stands for."""
    d, n = dynamics, len(implant.names)
    field = _contact_field(implant, onset, d)
    gain = _draw_gain(rng, field, center_gain, d)
    drive = _draw_drive(rng, field, distance_to_onset(implant, onset), d)
    shares = [pattern.share for pattern in PATTERNS.values()]
    pattern = str(rng.choice(list(PATTERNS), p=shares))
    tilt = d.pattern_weight * np.array(PATTERNS[pattern].tilt)
    bands = len(tilt)
    return Physiology(
        dynamics=d,
        onset=onset,
        field=field,
        gain_uv=np.exp(gain),
        slow=np.where(onset, d.onset_slow_sd * rng.normal(), 0.0),
        exponent=_draw_exponent(rng, onset, d),
        rhythm_hz=rng.choice(RHYTHMS_HZ, n) * np.exp(rng.normal(0, RHYTHM_LOG_SD, n)),
        rhythm_size=rng.exponential(RHYTHM_SIZE, n),
        fast_modulation_sd=d.fast_modulation_sd
        * np.exp(rng.normal(0, d.fast_modulation_log_sd, n)),
        spikes_per_min=_draw_spike_rates(rng, onset, d),
        polarity=rng.choice([-1.0, 1.0], n, p=POLARITY_SHARES),
        drive=drive,
        strength=d.strength * float(np.exp(d.strength_log_sd * rng.normal())),
        pattern=pattern,
        early_profile=np.array(d.early_profile) + tilt + rng.normal(0, PROFILE_SD, bands),
        late_profile=np.array(d.late_profile) + LATE_TILT * tilt + rng.normal(0, PROFILE_SD, bands),
        global_change=d.global_change_sd * rng.normal() + GLOBAL_BAND_SD * rng.normal(size=bands),
        ictal_rhythm_hz=rng.uniform(*ICTAL_RHYTHM_HZ),
        muscle=_draw_muscle(rng, implant, d),
        amplifier_noise_uv=AMPLIFIER_NOISE_UV
        * float(np.exp(rng.normal(0, AMPLIFIER_NOISE_LOG_SD))),
        speed_mm_s=rng.uniform(*SPEED_MM_S),
    )


def distance_to_onset(implant: Implant, onset: Mask) -> Values:
    """Distance of every contact to the nearest onset contact, in mm."""
    between = np.linalg.norm(implant.mm[:, None] - implant.mm[onset][None], axis=2)
    return between.min(axis=1)


def _contact_field(implant: Implant, onset: Mask, d: Dynamics) -> ContactField:
    """Correlation between contacts: a part that an electrode shares, a part that distance ends."""
    between_mm = np.linalg.norm(implant.mm[:, None] - implant.mm[None], axis=2)
    same_electrode = implant.shaft[:, None] == implant.shaft[None]
    shared = d.electrode_correlation
    correlation = shared * same_electrode + (1 - shared) * np.exp(-between_mm / d.correlation_mm)
    # Two contacts at one place would make the matrix singular.
    correlation = correlation + 1e-6 * np.eye(len(correlation))
    root: Values = np.asarray(np.linalg.cholesky(correlation), np.float64)
    return ContactField(root, onset, d.onset_field_share)


def _draw_gain(rng: Rng, field: ContactField, center_gain: float, d: Dynamics) -> Values:
    """Natural logarithm of the RMS at rest in µV: of center, patient, contact, and onset zone."""
    n = len(field.onset)
    gain = np.log(TYPICAL_RMS_UV * center_gain) + rng.normal(0, PATIENT_GAIN_SD)
    gain = gain + d.contact_gain_sd * rng.normal(size=n) + d.neighbour_gain_sd * field.draw(rng)
    return gain + field.onset * (d.onset_gain + d.onset_gain_sd * rng.normal())


def _draw_drive(rng: Rng, field: ContactField, onset_mm: Values, d: Dynamics) -> Values:
    """Drive in all seizures: of the patient, of neighbours, of the contact, and of the onset zone.

    Contacts outside the onset zone have more of it, the nearer (`onset_mm`) they are.
    """
    general = d.general_drive + d.general_drive_sd * rng.normal()
    lasting = d.lasting_drive_sd * field.draw(rng)
    drive = general + lasting + d.contact_drive_sd * rng.normal(size=len(onset_mm))
    onset_drive = d.onset_drive + d.onset_drive_sd * rng.normal()
    propagation = d.propagation_drive * np.exp(-onset_mm / d.propagation_mm)
    return drive + np.where(field.onset, onset_drive, propagation)


def _draw_exponent(rng: Rng, onset: Mask, d: Dynamics) -> Values:
    patient = rng.normal(d.spectral_exponent, EXPONENT_SD)
    contacts = patient + rng.normal(0, CONTACT_EXPONENT_SD, len(onset))
    return contacts - d.onset_flattening * onset


def _draw_spike_rates(rng: Rng, onset: Mask, d: Dynamics) -> Values:
    rates = d.spikes_per_min * rng.gamma(*SPIKE_GAMMA, len(onset))
    return rates * np.where(onset, d.onset_spike_factor, 1.0)


def _draw_muscle(rng: Rng, implant: Implant, d: Dynamics) -> Values:
    """Muscle noise: in half of the contacts near the temporal muscle, and in few others."""
    lateral = np.abs(implant.mm[:, 0]) > LATERAL_MM
    size = d.muscle * rng.exponential(1.0, len(lateral))
    return size * (rng.random(len(lateral)) < np.where(lateral, LATERAL_MUSCLE_SHARE, MUSCLE_SHARE))
