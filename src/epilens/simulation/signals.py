"""Signals of a simulated run: background, seizure, spikes, artefacts, recording noise.

The signal of a contact is noise split into bands. A seizure multiplies the bands by amplitudes that
follow the contact's change, and adds a rhythm, spikes, muscle and movement. docs/simulation.md
states what is imitated and what is not, with references. The constants of this module are typical
values that were set by hand; the calibration has no goal for any of them alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from epilens.simulation.dynamics import BAND_EDGES_HZ
from epilens.simulation.implant import Implant
from epilens.simulation.noise import (
    GRID_HZ,
    BandNoise,
    Interpolation,
    Signal,
    Spectrum,
    autoregressive,
)
from epilens.simulation.physiology import Mask, Physiology, Rng, Values
from epilens.simulation.seizures import Seizure

Times = TypeVar("Times", Values, Signal)

# How much of a change a band takes, (band,).
SLOW_BANDS = (1.0, 1.0, 1.0, 1.0, 0.3, 0.0)
"""Activity below 30 Hz."""
FAST_BURST_BANDS = (0.0, 0.0, 0.4, 1.0, 1.0, 0.8)
"""A fast burst."""
FAST_MODULATION_BANDS = (1.0, 1.0, 0.6, 0.5, 0.5, 0.5)
"""Irregular slow waves."""

# Time course of the background.
SLOW_MODULATION_S = 8.0
"""Time in s between the knots of slow changes: windows of several seconds differ."""
FAST_MODULATION_S, SPINDLE_S = 0.1, 0.6
"""Time constants in s of irregular slow waves and of spindles."""
BURST_S = (0.5, 2.0)
"""Range of the half duration of bursts, in s."""
BURST_GAMMA = (4.0, 0.25)
"""Shape and scale (mean 1) of the factor by which the sizes of bursts differ."""
DRIFT_WAVES, DRIFT_HZ = 3, (0.02, 0.15)
"""A contact drifts by so many sine waves, with frequencies in this range, in Hz."""

# Time course of a seizure.
BUILDING_S, ENDING_S = 6.0, 3.0
"""Time in s in which the late profile replaces the early one, and in which a seizure ends."""
AROUSAL_DELAY_S, AROUSAL_RISE_S = 1.0, 4.0
"""Start and rise of the change of all contacts alike, in s."""
SUPPRESSION = 0.7
"""Largest post-ictal decrease, log amplitude."""
SLOWING_PER_S, SLOWING_ENDS_S = 0.004, 40.0
"""The ictal rhythm turns slower by twice this share per second, until this time in s."""
HARMONIC = 0.45
"""Size of the second harmonic of the ictal rhythm, relative to the first."""

# Spikes and artefacts.
SPIKING_FACTOR = 2.0
"""Factor on the rate of ictal spikes if the onset pattern is "spiking"."""
SPIKE_LOG_SD = 0.35
"""SD of the natural logarithm of the heights of spikes."""
MUSCLE_UNIT_RMS = 0.2
"""Unit of `Physiology.muscle`, in RMS."""
MOVEMENT_DELAY_S, MOVEMENT_RISE_S, MOVEMENT_EXPONENT = 2.0, 4.0, 4.0
"""Start and rise of movement in s, and the exponent of its 1/f power spectrum."""

# Recording.
NEIGHBOUR_CORRELATION = 0.5
"""Correlation of the background of successive contacts on an electrode."""
REFERENCE_EXPONENT = 2.0
"""Exponent of the 1/f power spectrum of what all contacts share through the reference."""
MAINS_UV = 1.5
"""Mean amplitude of the mains in a contact, in µV."""
DEAD_UV, LOOSE_FACTOR, BROADBAND_UV = 0.3, 15, 200
"""Bad contacts: RMS of a dead one in µV, factor on a loose one, added RMS in µV of a noisy one."""
# A random phase starts between 0 and about 2π. More digits would change every simulated file.
_MAINS_PHASE, _RHYTHM_PHASE = 6.28, 6.3


@dataclass(frozen=True)
class RecordingSetup:
    """How a run is recorded."""

    fs: float
    """Sampling rate in Hz."""
    samples: int
    """Length of the recording, in samples."""
    starts_s: float
    """Time in the recording when the seizure truly starts, in s."""
    mains_hz: int
    """Frequency of the mains, in Hz."""
    reference_noise: float
    """RMS of what all contacts share through the reference, relative to a typical contact."""


def make_signal(
    rng: Rng, implant: Implant, p: Physiology, seizure: Seizure, setup: RecordingSetup
) -> Signal:
    """All contacts of one run, (contact, time) in µV."""
    run = _RunSignal(rng, p, seizure, setup)
    typical_uv = np.median(p.gain_uv)
    reference = setup.reference_noise * typical_uv * run.noise.colored(rng, REFERENCE_EXPONENT)
    mains = np.sin(2 * np.pi * setup.mains_hz * run.t + rng.uniform(0, _MAINS_PHASE))
    mains = mains.astype(np.float32, copy=False)
    x = np.empty((len(implant.names), setup.samples), np.float32)
    white: Spectrum | None = None
    for contact in range(len(x)):
        first = contact == 0 or implant.shaft[contact] != implant.shaft[contact - 1]
        white = _similar_noise(run.noise.white(rng), None if first else white)
        run.write_contact(contact, white, x[contact])
        x[contact] *= p.gain_uv[contact]
        x[contact] += reference
        x[contact] += np.float32(rng.exponential(MAINS_UV)) * mains
        x[contact] += p.amplifier_noise_uv * rng.standard_normal(setup.samples, dtype=np.float32)
    _spoil_bad_contacts(rng, x, implant.good)
    return x


def _similar_noise(white: Spectrum, previous: Spectrum | None) -> Spectrum:
    """White noise that correlates with the one of the previous contact of the electrode."""
    if previous is None:
        return white
    r = NEIGHBOUR_CORRELATION
    return np.float32(r) * previous + np.float32((1 - r**2) ** 0.5) * white


def _spoil_bad_contacts(rng: Rng, x: Signal, good: Mask) -> None:
    """Make every bad contact dead, loose, or full of broadband noise."""
    for contact in np.flatnonzero(~good):
        match rng.integers(3):
            case 0:
                noise = rng.standard_normal(x.shape[1], dtype=np.float32)
                x[contact] = noise * np.float32(DEAD_UV)
            case 1:
                x[contact] *= np.float32(LOOSE_FACTOR)
            case _:
                noise = rng.standard_normal(x.shape[1], dtype=np.float32)
                x[contact] += noise * np.float32(BROADBAND_UV)


class _RunSignal:
    """Signal of one run, contact by contact; sizes in units of a contact's RMS at rest.

    Time is in s from the true start of the seizure: `t` at every sample, `grid` at the points of
    the coarse grid.
    """

    def __init__(self, rng: Rng, p: Physiology, seizure: Seizure, setup: RecordingSetup) -> None:
        self.rng, self.p, self.seizure, self.fs = rng, p, seizure, setup.fs
        n = setup.samples
        self.t = (np.arange(n) / setup.fs - setup.starts_s).astype(np.float32)
        self.grid = np.arange(0, n / setup.fs + 2 / GRID_HZ, 1 / GRID_HZ) - setup.starts_s
        self.noise, self.at_samples = BandNoise(n, setup.fs), Interpolation(n, setup.fs)
        self.built_up = _rise(self.t, seizure.builds_s, BUILDING_S)
        self.lasting = _fall(self.t, seizure.duration_s, ENDING_S)
        self.spike = _spike(setup.fs)
        # A separate stream: drifts must not change what else is drawn.
        self.drift_rng = rng.spawn(1)[0]

    def write_contact(self, contact: int, white: Spectrum, out: Signal) -> None:
        """Write one contact's signal into `out`."""
        parts, rms = self.noise.bands(white * self.noise.resting_amplitude(self.p, contact))
        involved = self.involvement(contact)
        change = self.at_samples(involved * self.seizure.size[contact])
        amplitudes = np.exp(self.log_amplitudes(contact, involved))
        out[:] = self.at_samples.weighted_sum(parts, amplitudes)
        out += self.ictal_rhythm(contact, change, rms)
        out += self.at_samples(self.drift())
        self.add_spikes(contact, change, out)
        self.add_artefacts(contact, out)

    def involvement(self, contact: int) -> Values:
        """How far a contact is in the seizure, 0 to 1, (grid,)."""
        s = self.seizure
        joined = _rise(self.grid, s.joins_s[contact], s.rise_s[contact])
        smooth = joined * joined * (3 - 2 * joined)
        return smooth * _fall(self.grid, s.duration_s, ENDING_S)

    def log_amplitudes(self, contact: int, involved: Values) -> Values:
        """Log amplitude of every band over time, (band, grid)."""
        p, s, grid = self.p, self.seizure, self.grid
        late = _rise(grid, s.builds_s, BUILDING_S)
        profile = p.early_profile[:, None] * (1 - late) + p.late_profile[:, None] * late
        change = involved * (s.size[contact] * profile + s.own_change[contact][:, None])
        aroused = _rise(grid, AROUSAL_DELAY_S, AROUSAL_RISE_S) * _fall(grid, s.duration_s, ENDING_S)
        change = change + p.global_change[:, None] * aroused
        slow = p.slow[contact] * np.array(SLOW_BANDS)[:, None]
        ended = _rise(grid, s.duration_s, ENDING_S) * min(s.size[contact], 1.0)
        return change + self.background(contact) + slow - SUPPRESSION * ended

    def background(self, contact: int) -> Values:
        """Changes of the log amplitudes that have nothing to do with the seizure, (band, grid)."""
        d, grid, rng = self.p.dynamics, self.grid, self.rng
        knots = np.arange(grid[0], grid[-1] + SLOW_MODULATION_S, SLOW_MODULATION_S)
        slow_sd = np.array(d.slow_modulation_sd)[:, None]
        slow = rng.normal(size=(len(slow_sd), len(knots))) * slow_sd
        change = np.stack([np.interp(grid, knots, band) for band in slow])
        # A log-normal factor raises the power; what is subtracted keeps the RMS of the contact.
        fast_sd = self.p.fast_modulation_sd[contact] * np.array(FAST_MODULATION_BANDS)[:, None]
        change += fast_sd * autoregressive(rng, (len(grid),), FAST_MODULATION_S) - fast_sd**2
        spindle_sd = np.array(d.spindle_sd)[:, None]
        change += spindle_sd * autoregressive(rng, change.shape, SPINDLE_S) - spindle_sd**2
        for _ in range(rng.poisson(d.bursts_per_min * len(grid) / GRID_HZ / 60)):
            change += self.burst()
        return change

    def burst(self) -> Values:
        """A burst of fast activity or of all bands, log amplitude, (band, grid)."""
        rng, grid = self.rng, self.grid
        is_fast = rng.random() < 0.5
        bands = np.array(FAST_BURST_BANDS) if is_fast else np.ones(len(FAST_BURST_BANDS))
        away = (grid - rng.uniform(grid[0], grid[-1])) / rng.uniform(*BURST_S)
        size = self.p.dynamics.burst_size * rng.gamma(*BURST_GAMMA)
        return bands[:, None] * (size * np.exp(-(away**4)))

    def drift(self) -> Values:
        """Slow drift of an electrode, before the seizure and in it, (grid,)."""
        amplitudes = self.drift_rng.exponential(self.p.dynamics.drift_rms, DRIFT_WAVES)
        cycles = self.drift_rng.uniform(*DRIFT_HZ, DRIFT_WAVES)[:, None] * self.grid
        phases = self.drift_rng.random((DRIFT_WAVES, 1))
        return amplitudes @ np.sin(2 * np.pi * (cycles + phases))

    def ictal_rhythm(self, contact: int, change: Signal, rms: Signal) -> Signal:
        """A rhythm that slows down and grows with its band once the seizure has built up."""
        p = self.p
        band = int(np.searchsorted(BAND_EDGES_HZ, p.ictal_rhythm_hz))
        since = np.clip(self.t, 0, SLOWING_ENDS_S)
        cycles = np.float32(p.ictal_rhythm_hz) * (since - np.float32(SLOWING_PER_S) * since**2)
        phase = np.float32(2 * np.pi) * cycles + np.float32(self.rng.uniform(0, _RHYTHM_PHASE))
        # The harmonic makes sharp peaks on one side, the side of the contact's spikes.
        wave = np.sin(phase) - np.float32(HARMONIC * p.polarity[contact]) * np.cos(2 * phase)
        growth = np.expm1(np.float32(p.late_profile[band]) * change)
        return np.float32(p.dynamics.rhythm_factor * rms[band]) * growth * self.built_up * wave

    def add_spikes(self, contact: int, change: Signal, x: Signal) -> None:
        """Add spikes at rest, and more and larger ones with the contact's ictal change."""
        p, d, rng = self.p, self.p.dynamics, self.rng
        factor = SPIKING_FACTOR if p.pattern == "spiking" else 1.0
        per_s = p.spikes_per_min[contact] / 60 + factor * d.ictal_spikes_per_s * change
        expected = np.cumsum(per_s[: len(x) - len(self.spike)] / self.fs)
        n = int(rng.poisson(expected[-1]))
        starts = np.searchsorted(expected, np.sort(rng.uniform(0, expected[-1], n)))
        signs = np.where(rng.random(n) < d.inverted_spike_share, -1.0, 1.0) * p.polarity[contact]
        heights = signs * d.spike_rms * np.exp(rng.normal(0, SPIKE_LOG_SD, n))
        heights = heights * np.exp(d.spike_growth * change[starts])
        for start, height in zip(starts, heights, strict=True):
            x[start : start + len(self.spike)] += np.float32(height) * self.spike

    def add_artefacts(self, contact: int, x: Signal) -> None:
        """Add muscle late in a seizure, and slow movement while it lasts."""
        if muscle := self.p.muscle[contact]:
            noise = self.rng.standard_normal(len(x), dtype=np.float32)
            x += np.float32(MUSCLE_UNIT_RMS * muscle) * self.built_up * self.lasting * noise
        if movement := self.seizure.movement[contact]:
            moving = _rise(self.t, MOVEMENT_DELAY_S, MOVEMENT_RISE_S) * self.lasting
            noise = self.noise.colored(self.rng, MOVEMENT_EXPONENT)
            x += np.float32(movement) * moving * noise


def _rise(t: Times, start_s: float, length_s: float) -> Times:
    """0 until the start, then a line to 1 over the length."""
    return np.clip((t - start_s) / length_s, 0, 1)


def _fall(t: Times, start_s: float, length_s: float) -> Times:
    """A line that reaches 0 at `start_s`; 1 earlier than the length before it."""
    return np.clip((start_s - t) / length_s, 0, 1)


def _spike(fs: float) -> Signal:
    """A sharp wave of 40 ms with height 1, and a slow wave of 250 ms after it."""
    t = np.arange(-0.1, 0.4, 1 / fs, dtype=np.float32)
    sharp = np.exp(-0.5 * (t / np.float32(0.008)) ** 2)
    slow = np.exp(-0.5 * ((t - np.float32(0.13)) / np.float32(0.07)) ** 2)
    return sharp - np.float32(0.1) * slow
