"""Simulated seizures: background, spikes, recruitment by a drive, artefacts.

Each contact's signal is noise split into bands; a seizure multiplies the bands by amplitudes that
follow the contact's drive, and adds a rhythm, spikes, muscle and movement. What is imitated and
what is not is in docs/simulation.md, with references.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.fft
import scipy.signal
from numpy.typing import NDArray

from epilens.simulation.dynamics import BAND_EDGES_HZ, Dynamics
from epilens.simulation.implant import Implant

Rng = np.random.Generator
Signal = NDArray[np.float32]
Values = NDArray[np.float64]

PATTERNS: dict[str, tuple[float, tuple[float, ...]]] = {
    "low-voltage-fast": (0.40, (-0.6, -0.4, -0.2, 0.3, 0.5, 0.4)),
    "rhythmic": (0.25, (0.1, 0.6, 0.5, 0.0, -0.4, -0.5)),
    "spiking": (0.20, (0.5, 0.2, 0.0, 0.1, -0.1, -0.2)),
    "slow-shift-fast": (0.15, (0.6, -0.2, -0.3, 0.0, 0.4, 0.5)),
}
"""How often an onset looks so, and how its bands differ from the mean of all."""

_SLOW = (1.0, 1.0, 1.0, 1.0, 0.3, 0.0)
"""How much a band belongs to what is below 30 Hz."""
_FAST = (0.0, 0.0, 0.4, 1.0, 1.0, 0.8)
"""How much a band belongs to a fast burst."""
_IRREGULAR = (1.0, 1.0, 0.6, 0.5, 0.5, 0.5)
"""How much a band takes part in irregular slow waves."""
_IRREGULAR_S, _SPINDLES_S = 0.1, 0.6
"""Time constants of the two kinds of changes within seconds."""
_GRID_HZ = 5.0
"""Envelopes are drawn this finely and interpolated."""


@dataclass(frozen=True)
class _Field:
    """Random numbers, similar in neighbours; of the mean over the onset zone a share is kept."""

    root: Values
    """Cholesky factor of the correlation between contacts."""
    onset: NDArray[np.bool_]
    luck: float

    def __call__(self, rng: Rng) -> Values:
        drawn = self.root @ rng.normal(size=len(self.root))
        return drawn - self.onset * (1 - self.luck) * drawn[self.onset].mean()


@dataclass(frozen=True)
class Physiology:
    """What stays the same over a patient's seizures; per-contact arrays in the implant's order."""

    dynamics: Dynamics
    onset: NDArray[np.bool_]
    gain_uv: Values
    slow: Values
    """Log amplitude at rest below 30 Hz, relative to faster activity."""
    slope: Values
    rhythm_hz: Values
    rhythm_size: Values
    irregular: Values
    """SD of fast changes of the log amplitude at rest."""
    spikes_per_min: Values
    polarity: Values
    """Which way spikes point: it depends on how a contact lies to its source."""
    drive: Values
    """How much a contact takes part in every seizure of this patient."""
    field: _Field
    strength: float
    pattern: str
    early: Values
    late: Values
    everywhere: Values
    """Change of every contact's bands in this patient's seizures: arousal, and the reference."""
    rhythmic_hz: float
    muscle: Values
    floor_uv: float
    """Noise of the amplifier; it hides fast activity in some patients."""
    speed_mm_s: float


@dataclass(frozen=True)
class Seizure:
    """One seizure, in seconds from its true start; bands in the columns of `own`."""

    duration_s: float
    joins_s: Values
    rise_s: Values
    builds_s: float
    """When the early pattern gives way to the late one."""
    size: Values
    """Log amplitude of a contact's change; 0: it takes no part."""
    own: Values
    movement: Values


@dataclass(frozen=True)
class RecordingSetup:
    """How a run is recorded."""

    fs: float
    samples: int
    starts_s: float
    """When the seizure starts, in the recording."""
    mains_hz: int
    reference_noise: float


def make_physiology(
    rng: Rng, implant: Implant, onset: NDArray[np.bool_], center_gain: float, dynamics: Dynamics
) -> Physiology:
    """Draw a patient; gains between patients differ by far more than contacts of one patient."""
    d, n = dynamics, len(implant.names)
    root: Values = np.asarray(np.linalg.cholesky(_similarity(implant, d)), np.float64)
    field = _Field(root, onset, d.onset_luck)
    gain = np.log(45.0 * center_gain) + rng.normal(0, 1.1)
    gain = gain + d.contact_gain * rng.normal(size=n) + d.field_gain * field(rng)
    gain = gain + onset * (d.onset_gain + d.onset_gain_sd * rng.normal())
    general = d.general + d.general_sd * rng.normal()
    drive = general + d.lasting * field(rng) + d.contact * rng.normal(size=n)
    apart = np.linalg.norm(implant.mm[:, None] - implant.mm[onset][None], axis=2).min(axis=1)
    drive = drive + np.where(
        onset,
        d.onset_drive + d.onset_drive_sd * rng.normal(),
        d.spread * np.exp(-apart / d.spread_mm),
    )
    name = str(rng.choice(list(PATTERNS), p=[share for share, _ in PATTERNS.values()]))
    tilt = d.pattern * np.array(PATTERNS[name][1])
    lateral = np.abs(implant.mm[:, 0]) > 50
    return Physiology(
        dynamics=d,
        onset=onset,
        gain_uv=np.exp(gain),
        slow=np.where(onset, d.onset_slow_sd * rng.normal(), 0.0),
        slope=rng.normal(d.slope, 0.3) + rng.normal(0, 0.2, n) - d.onset_fast * onset,
        rhythm_hz=rng.choice([6.0, 9.5, 18.0], n) * np.exp(rng.normal(0, 0.08, n)),
        rhythm_size=rng.exponential(0.3, n),
        irregular=d.irregular * np.exp(rng.normal(0, d.irregular_sd, n)),
        spikes_per_min=d.spikes * rng.gamma(0.8, 1.25, n) * np.where(onset, d.onset_spikes, 1.0),
        polarity=rng.choice([-1.0, 1.0], n, p=[0.46, 0.54]),
        drive=drive,
        field=field,
        strength=d.strength * float(np.exp(d.strength_sd * rng.normal())),
        pattern=name,
        early=np.array(d.early) + tilt + rng.normal(0, 0.10, len(d.early)),
        late=np.array(d.late) + 0.3 * tilt + rng.normal(0, 0.10, len(d.late)),
        everywhere=d.everywhere * rng.normal() + 0.15 * rng.normal(size=len(d.early)),
        rhythmic_hz=rng.uniform(4.5, 11),
        muscle=d.muscle * rng.exponential(1.0, n) * (rng.random(n) < np.where(lateral, 0.5, 0.1)),
        floor_uv=0.4 * float(np.exp(rng.normal(0, 0.5))),
        speed_mm_s=rng.uniform(8, 40),
    )


def _similarity(implant: Implant, d: Dynamics) -> Values:
    """Correlation between contacts: of one electrode, and by distance."""
    apart = np.linalg.norm(implant.mm[:, None] - implant.mm[None], axis=2)
    same = implant.shaft[:, None] == implant.shaft[None]
    correlation = d.share * same + (1 - d.share) * np.exp(-apart / d.reach_mm)
    return correlation + 1e-6 * np.eye(len(correlation))


def make_seizure(rng: Rng, implant: Implant, p: Physiology) -> Seizure:
    """Onset contacts first, others by distance; how much each takes part varies by seizure."""
    d, n = p.dynamics, len(implant.names)
    drive = p.drive + d.passing * p.field(rng)
    # Softplus: a contact with little drive takes hardly any part, and none takes a negative one.
    size = p.strength * np.exp(d.seizure_sd * rng.normal()) * np.log1p(np.exp(2 * drive)) / 2
    size = d.most * (1 - np.exp(-size / d.most))
    apart = np.linalg.norm(implant.mm[:, None] - implant.mm[p.onset][None], axis=2).min(axis=1)
    joins = np.where(
        p.onset,
        rng.gamma(1.2, 1.8, n),
        0.5 + apart / p.speed_mm_s / (0.3 + size) + rng.gamma(1.5, 1.5, n),
    )
    return Seizure(
        duration_s=float(rng.uniform(30, 90)),
        joins_s=joins,
        rise_s=rng.uniform(1, 5, n),
        builds_s=float(rng.uniform(9, 18)),
        size=size,
        own=np.array(d.own) * (p.field.root @ rng.normal(size=(n, len(d.own)))),
        movement=d.movement * rng.exponential(1.0, n) * (rng.random(n) < 0.3),
    )


def make_signal(
    rng: Rng, implant: Implant, p: Physiology, seizure: Seizure, setup: RecordingSetup
) -> Signal:
    """All contacts of one run, (contact, time) in µV."""
    n = setup.samples
    run = _RunSignal(rng, p, seizure, setup)
    common = setup.reference_noise * np.median(p.gain_uv) * run.split.noise(rng, 2.0)
    mains = np.sin(2 * np.pi * setup.mains_hz * run.t + rng.uniform(0, 6.28))
    x = np.empty((len(implant.names), n), np.float32)
    before: NDArray[np.complex64] | None = None
    for contact in range(len(x)):
        white = run.split.white(rng)
        if contact and implant.shaft[contact] == implant.shaft[contact - 1] and before is not None:
            white = np.float32(0.5) * before + np.float32(0.75**0.5) * white
        before = white
        run.contact(contact, white, x[contact])
        x[contact] *= p.gain_uv[contact]
        x[contact] += common
        x[contact] += np.float32(rng.exponential(1.5)) * mains.astype(np.float32, copy=False)
        x[contact] += p.floor_uv * rng.standard_normal(n, dtype=np.float32)
    _spoil(rng, x, implant.good)
    return x


class _RunSignal:
    """Signal of one run, contact by contact; sizes in units of a contact's RMS at rest."""

    def __init__(self, rng: Rng, p: Physiology, seizure: Seizure, setup: RecordingSetup) -> None:
        self.rng, self.p, self.seizure, self.fs = rng, p, seizure, setup.fs
        n = setup.samples
        self.t = (np.arange(n) / setup.fs - setup.starts_s).astype(np.float32)
        self.grid = np.arange(0, n / setup.fs + 2 / _GRID_HZ, 1 / _GRID_HZ) - setup.starts_s
        self.split, self.fine = _Split(n, setup.fs), _Fine(n, setup.fs)
        self.built = _clip((self.t - np.float32(seizure.builds_s)) / np.float32(6))
        self.lasts = _clip((np.float32(seizure.duration_s) - self.t) / np.float32(3))
        self.spike = _spike(setup.fs)
        # A stream of their own: drifts must not change what else is drawn.
        self.drifts = rng.spawn(1)[0]

    def contact(self, contact: int, white: NDArray[np.complex64], out: Signal) -> None:
        """Write one contact's signal into `out`."""
        parts, rms = self.split.bands(white * self.split.shape(self.p, contact))
        on = self.envelope(contact)
        ictal = self.fine(on * self.seizure.size[contact])
        out[:] = self.fine.weighted(parts, np.exp(self.log_amplitudes(contact, on)))
        out += self.rhythm(contact, ictal, rms)
        out += self.fine(self.drift())
        self.add_spikes(contact, ictal, out)
        self.add_artefacts(contact, out)

    def envelope(self, contact: int) -> Values:
        """How far a contact is in the seizure, 0 to 1, on the coarse grid."""
        s = self.seizure
        up = np.clip((self.grid - s.joins_s[contact]) / s.rise_s[contact], 0, 1)
        return up * up * (3 - 2 * up) * np.clip((s.duration_s - self.grid) / 3.0, 0, 1)

    def log_amplitudes(self, contact: int, on: Values) -> Values:
        """Log amplitude of every band over time, (band, grid)."""
        p, s, grid = self.p, self.seizure, self.grid
        late = np.clip((grid - s.builds_s) / 6.0, 0, 1)
        profile = p.early[:, None] * (1 - late) + p.late[:, None] * late
        change = on * (s.size[contact] * profile + s.own[contact][:, None])
        slow = p.slow[contact] * np.array(_SLOW)[:, None]
        roused = np.clip((grid - 1.0) / 4.0, 0, 1) * np.clip((s.duration_s - grid) / 3.0, 0, 1)
        change = change + p.everywhere[:, None] * roused
        after = np.clip((grid - s.duration_s) / 3.0, 0, 1) * min(s.size[contact], 1.0)
        return change + self.background(contact) + slow - 0.7 * after

    def background(self, contact: int) -> Values:
        """Changes of the log amplitudes that have nothing to do with the seizure, (band, grid)."""
        d, grid, rng = self.p.dynamics, self.grid, self.rng
        # Knots every 8 s, so that windows of several seconds differ.
        knots = np.arange(grid[0], grid[-1] + 8.0, 8.0)
        drawn = rng.normal(size=(len(d.restless), len(knots))) * np.array(d.restless)[:, None]
        change = np.stack([np.interp(grid, knots, v) for v in drawn])
        # A log-normal factor raises the power; what is subtracted keeps the RMS of the contact.
        size = self.p.irregular[contact] * np.array(_IRREGULAR)[:, None]
        change += size * _wandering(rng, (len(grid),), _IRREGULAR_S) - size**2
        spindles = np.array(d.spindles)[:, None]
        change += spindles * _wandering(rng, change.shape, _SPINDLES_S) - spindles**2
        for _ in range(rng.poisson(d.bursts * len(grid) / _GRID_HZ / 60)):
            bands = np.array(_FAST) if rng.random() < 0.5 else np.ones(len(_FAST))
            away = (grid - rng.uniform(grid[0], grid[-1])) / rng.uniform(0.5, 2.0)
            burst = d.burst_size * rng.gamma(4.0, 0.25) * np.exp(-(away**4))
            change += bands[:, None] * burst
        return change

    def drift(self) -> Values:
        """Electrodes drift slowly, before the seizure and in it; on the coarse grid."""
        sizes = self.drifts.exponential(self.p.dynamics.drift, 3)
        turns = self.drifts.uniform(0.02, 0.15, 3)[:, None] * self.grid
        return sizes @ np.sin(2 * np.pi * (turns + self.drifts.random((3, 1))))

    def rhythm(self, contact: int, ictal: Signal, rms: Signal) -> Signal:
        """A rhythm that slows down once the seizure has built up; as large as its band."""
        p = self.p
        band = int(np.searchsorted(BAND_EDGES_HZ, p.rhythmic_hz))
        later = np.clip(self.t, 0, 40)
        turns = np.float32(p.rhythmic_hz) * (later - np.float32(0.004) * later**2)
        phase = np.float32(2 * np.pi) * turns + np.float32(self.rng.uniform(0, 6.3))
        # The harmonic makes sharp peaks on one side, the side of the contact's spikes.
        wave = np.sin(phase) - np.float32(0.45 * p.polarity[contact]) * np.cos(2 * phase)
        size = np.float32(p.dynamics.rhythmic * rms[band])
        return size * np.expm1(np.float32(p.late[band]) * ictal) * self.built * wave

    def add_spikes(self, contact: int, ictal: Signal, x: Signal) -> None:
        """Spikes at rest, more of them in a seizure, and larger with the contact's change."""
        p, d = self.p, self.p.dynamics
        extra = 2.0 if p.pattern == "spiking" else 1.0
        per_s = p.spikes_per_min[contact] / 60 + extra * d.ictal_spikes * ictal
        chance = np.cumsum(per_s[: len(x) - len(self.spike)] / self.fs)
        many = int(self.rng.poisson(chance[-1]))
        starts = np.searchsorted(chance, np.sort(self.rng.uniform(0, chance[-1], many)))
        turns = np.where(self.rng.random(many) < d.spike_turns, -1.0, 1.0)
        sizes = turns * p.polarity[contact] * d.spike_size * np.exp(self.rng.normal(0, 0.35, many))
        for at, size in zip(starts, sizes * np.exp(d.spike_growth * ictal[starts]), strict=True):
            x[at : at + len(self.spike)] += np.float32(size) * self.spike

    def add_artefacts(self, contact: int, x: Signal) -> None:
        """Muscle late in a seizure, and slow movement while it lasts."""
        if muscle := self.p.muscle[contact]:
            noise = self.rng.standard_normal(len(x), dtype=np.float32)
            x += np.float32(0.2 * muscle) * self.built * self.lasts * noise
        if movement := self.seizure.movement[contact]:
            on = _clip((self.t - np.float32(2)) / np.float32(4)) * self.lasts
            x += np.float32(movement) * on * self.split.noise(self.rng, 4.0)


def _wandering(rng: Rng, shape: tuple[int, ...], time_s: float) -> Values:
    """Unit-variance noise on the coarse grid that forgets itself within `time_s`."""
    keeps = float(np.exp(-1 / (_GRID_HZ * time_s)))
    drawn = rng.normal(size=shape)
    drawn[..., 0] /= np.sqrt(1 - keeps**2)
    return np.sqrt(1 - keeps**2) * scipy.signal.lfilter([1.0], [1.0, -keeps], drawn, axis=-1)


def _clip(x: Signal) -> Signal:
    return np.clip(x, np.float32(0), np.float32(1))


def _spike(fs: float) -> Signal:
    """A sharp wave of 40 ms and a slow one of 250 ms after it."""
    t = np.arange(-0.1, 0.4, 1 / fs, dtype=np.float32)
    slow = np.exp(-0.5 * ((t - np.float32(0.13)) / np.float32(0.07)) ** 2)
    return np.exp(-0.5 * (t / np.float32(0.008)) ** 2) - np.float32(0.1) * slow


class _Fine:
    """Linear interpolation from the coarse grid to the samples of a run."""

    def __init__(self, samples: int, fs: float) -> None:
        at = np.arange(samples) * (_GRID_HZ / fs)
        self.before = at.astype(np.intp)
        self.share = (at - self.before).astype(np.float32)

    def __call__(self, coarse: Values) -> Signal:
        coarse = coarse.astype(np.float32)
        return coarse[self.before] + self.share * np.diff(coarse)[self.before]

    def weighted(self, parts: Signal, coarse: Values) -> Signal:
        """Sum of the parts, each times its own level."""
        total = parts[0] * self(coarse[0])
        for part, level in zip(parts[1:], coarse[1:], strict=True):
            total += part * self(level)
        return total


class _Split:
    """Noise of a run's length, split into the bands of `BAND_EDGES_HZ`."""

    def __init__(self, samples: int, fs: float) -> None:
        self.samples = samples
        self.n = scipy.fft.next_fast_len(samples, real=True)
        self.f = scipy.fft.rfftfreq(self.n, 1 / fs).astype(np.float32)
        below = [1 / (1 + (self.f / edge) ** 8) for edge in BAND_EDGES_HZ]
        self.masks = np.diff([np.zeros_like(self.f), *below, np.ones_like(self.f)], axis=0)
        self.masks = self.masks.astype(np.float32)
        self.powers = self.masks**2

    def white(self, rng: Rng) -> NDArray[np.complex64]:
        return rng.standard_normal((self.f.size, 2), dtype=np.float32).view(np.complex64)[:, 0]

    def shape(self, p: Physiology, contact: int) -> Signal:
        """Amplitude spectrum of a contact at rest: 1/f and a rhythm of its own."""
        power = (self.f + np.float32(p.dynamics.knee_hz)) ** np.float32(-p.slope[contact])
        hz = p.rhythm_hz[contact]
        bump = np.exp(-0.5 * ((self.f - hz) / (0.12 * hz)) ** 2)
        power = power + p.rhythm_size[contact] ** 2 * power.sum() / bump.sum() * bump
        power[0] = 0.0
        return np.sqrt(power).astype(np.float32)

    def bands(self, spectrum: NDArray[np.complex64]) -> tuple[Signal, Signal]:
        """Parts whose sum has an RMS of 1, and the RMS of each."""
        power = spectrum.real**2 + spectrum.imag**2
        scale = self.n / np.sqrt(2 * power.sum())
        parts = scipy.fft.irfft(self.masks * (spectrum * scale), self.n, axis=-1)
        rms = np.sqrt(self.powers @ power / power.sum())
        return parts[:, : self.samples], rms

    def noise(self, rng: Rng, slope: float) -> Signal:
        """Unit-RMS noise with a 1/f^slope spectrum."""
        shape = (self.f + np.float32(0.8)) ** np.float32(-slope / 2)
        shape[0] = 0.0
        x = scipy.fft.irfft(self.white(rng) * shape, self.n)[: self.samples]
        return x / x.std()


def _spoil(rng: Rng, x: Signal, good: NDArray[np.bool_]) -> None:
    """Bad contacts: dead, noisy, or full of broadband noise."""
    for contact in np.flatnonzero(~good):
        kind = rng.integers(3)
        if kind == 0:
            x[contact] = rng.standard_normal(x.shape[1], dtype=np.float32) * np.float32(0.3)
        elif kind == 1:
            x[contact] *= np.float32(15)
        else:
            x[contact] += rng.standard_normal(x.shape[1], dtype=np.float32) * np.float32(200)
