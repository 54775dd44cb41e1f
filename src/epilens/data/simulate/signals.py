"""Simulated seizures: background, recruitment after a published onset pattern, spread, artefacts.

What is imitated and what is not is in docs/simulation.md, with references.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.fft
import scipy.signal
from numpy.typing import NDArray

from epilens.data.simulate.implant import Implant

Rng = np.random.Generator
Signal = NDArray[np.float32]

_EDGES_HZ = (4.0, 10.0, 30.0, 80.0)
PATTERNS = ("low-voltage-fast", "rhythmic", "spiking", "slow-shift-fast")


@dataclass(frozen=True)
class Physiology:
    """What stays the same over a patient's seizures; per-contact arrays in the implant's order."""

    gain_uv: NDArray[np.float64]
    slope: NDArray[np.float64]
    rhythm_hz: NDArray[np.float64]
    rhythm_size: NDArray[np.float64]
    spikes_per_min: NDArray[np.float64]
    reactive: NDArray[np.float64]
    """Contacts outside the EZ that change with arousal and movement, and how much."""
    pattern: str
    fast_hz: float
    rhythmic_hz: float
    strength: float
    """Size of the ictal change in EZ contacts; patients differ."""
    global_change: NDArray[np.float64]
    """Change that all contacts share at onset (arousal) between the edges in `_EDGES_HZ`: gain - 1.

    Between patients it differs by more than EZ and other contacts differ within a patient.
    """
    muscle: float
    floor_uv: float
    """Noise of the amplifier; it hides fast activity in some patients."""
    speed_mm_s: float


@dataclass(frozen=True)
class Seizure:
    """One seizure: how long it lasts, when each contact joins (inf: never), and how strongly."""

    duration_s: float
    joins_s: NDArray[np.float64]
    size: NDArray[np.float64]


def make_physiology(rng: Rng, implant: Implant, center_gain: float) -> Physiology:
    """Draw a patient; gains between patients differ by far more than the EZ effect."""
    n = len(implant.names)
    # Epileptic tissue is abnormal before the seizure too, but only by its patient's own measure.
    ez = implant.is_true_ez
    patient_gain = 45.0 * center_gain * np.exp(rng.normal(0, 0.9))
    reactive = rng.random(n) < 0.25
    return Physiology(
        gain_uv=patient_gain * np.exp(rng.normal(0, 0.5, n) + 0.35 * ez),
        slope=rng.normal(2.0, 0.35) + rng.normal(0, 0.25, n) - 0.12 * ez,
        rhythm_hz=rng.choice([6.0, 9.5, 18.0], n) * np.exp(rng.normal(0, 0.08, n)),
        rhythm_size=rng.exponential(0.35, n),
        spikes_per_min=np.where(ez, rng.gamma(1.5, 3.0, n), rng.gamma(0.7, 2.0, n)),
        reactive=np.where(reactive & ~ez, rng.exponential(0.6, n), 0.0),
        pattern=str(rng.choice(PATTERNS, p=[0.4, 0.25, 0.2, 0.15])),
        fast_hz=rng.uniform(45, 110),
        rhythmic_hz=rng.uniform(4.5, 11),
        strength=0.6 * np.exp(rng.normal(0, 0.4)),
        global_change=np.exp(rng.normal(0.0, 0.5, len(_EDGES_HZ) + 1)) - 1,
        muscle=rng.exponential(0.25),
        floor_uv=1.2 * np.exp(rng.normal(0, 0.7)),
        speed_mm_s=rng.uniform(3, 15),
    )


def make_seizure(rng: Rng, implant: Implant, physiology: Physiology) -> Seizure:
    """Recruitment: part of the EZ at once, the neighbourhood later and sometimes more strongly."""
    n = len(implant.names)
    ez = implant.is_true_ez
    expressed = ez & (rng.random(n) < (0.9 if rng.random() < 0.6 else 0.45))
    if not expressed.any():
        expressed[rng.choice(np.flatnonzero(ez))] = True
    distance = np.linalg.norm(implant.mm[:, None] - implant.mm[expressed][None], axis=2).min(axis=1)
    reach_mm = rng.uniform(6, 22)
    spread = ~expressed & (rng.random(n) < 0.85 * np.exp(-distance / reach_mm))
    joins = np.where(expressed, rng.gamma(1.5, 0.8, n), np.inf)
    joins = np.where(spread, 1.5 + distance / physiology.speed_mm_s + rng.gamma(2, 1.0, n), joins)
    size = physiology.strength * np.exp(rng.normal(0, 0.5, n))
    size = np.where(spread, size * np.exp(rng.normal(-0.1, 0.6, n)), size)
    return Seizure(float(rng.uniform(18, 80)), joins, size)


def make_signal(
    rng: Rng,
    implant: Implant,
    physiology: Physiology,
    seizure: Seizure | None,
    setup: RecordingSetup,
) -> Signal:
    """All contacts of one run, (contact, time) in µV."""
    p, n = physiology, setup.samples
    t = (np.arange(n) / setup.fs - setup.onset_s).astype(np.float32)
    x = _background(rng, implant, p, setup)
    _add_spikes(rng, x, p.spikes_per_min, setup.fs)
    if seizure is not None:
        _add_arousal(rng, x, t, p, seizure, setup.fs)
        for contact in np.flatnonzero(np.isfinite(seizure.joins_s)):
            _recruit(rng, x[contact], t, p, seizure, contact, setup.fs)
    common = _shaped(rng, n, setup.fs, 2.0) * (setup.reference_noise * np.median(p.gain_uv))
    mains = np.sin(2 * np.pi * setup.mains_hz * t + rng.uniform(0, 6.28))
    # One contact at a time: the whole array is there once, and no copy of it.
    for contact, hum in enumerate(rng.exponential(1.5, len(x))):
        x[contact] *= p.gain_uv[contact]
        x[contact] += common + hum * mains
        x[contact] += p.floor_uv * rng.standard_normal(n, dtype=np.float32)
    _spoil(rng, x, implant.good)
    return x


@dataclass(frozen=True)
class RecordingSetup:
    """How a run is recorded."""

    fs: float
    samples: int
    onset_s: float
    mains_hz: int
    reference_noise: float


def _background(rng: Rng, implant: Implant, p: Physiology, setup: RecordingSetup) -> Signal:
    """1/f noise with a rhythm of its own in every contact, correlated along shafts; unit RMS."""
    n = scipy.fft.next_fast_len(setup.samples, real=True)
    f = scipy.fft.rfftfreq(n, 1 / setup.fs).astype(np.float32)[:, None].T
    x = np.empty((len(implant.names), setup.samples), np.float32)
    before: NDArray[np.complex64] | None = None
    for contact in range(len(x)):
        white = rng.standard_normal((f.size, 2), dtype=np.float32).view(np.complex64)[:, 0]
        same_shaft = contact > 0 and implant.shaft[contact] == implant.shaft[contact - 1]
        if same_shaft and before is not None:
            white = np.float32(0.5) * before + np.float32(0.75**0.5) * white
        before = white
        power = (f[0] + 0.8) ** -p.slope[contact]
        hz = p.rhythm_hz[contact]
        bump = np.exp(-0.5 * ((f[0] - hz) / (0.12 * hz)) ** 2) * p.rhythm_size[contact]
        power += bump * power.sum() / max(float(bump.sum()), 1e-6) * p.rhythm_size[contact]
        power[0] = 0.0
        part = scipy.fft.irfft(white * np.sqrt(power), n)[: setup.samples]
        x[contact] = part / part.std()
    return x


def _shaped(
    rng: Rng, n: int, fs: float, slope: float, band: tuple[float, float] | None = None
) -> Signal:
    """Unit-RMS noise with a 1/f^slope spectrum, or flat inside a band."""
    m = scipy.fft.next_fast_len(n, real=True)
    f = scipy.fft.rfftfreq(m, 1 / fs).astype(np.float32)
    white = rng.standard_normal((f.size, 2), dtype=np.float32).view(np.complex64)[:, 0]
    if band is None:
        shape = (f + np.float32(0.8)) ** np.float32(-slope / 2)
    else:
        low, high = band
        shape = np.exp(-0.5 * (2 * (f - (low + high) / 2) / (high - low)) ** 4).astype(np.float32)
    shape[0] = 0.0
    x = scipy.fft.irfft(white * shape, m)[:n].astype(np.float32)
    return x / x.std()


def _spike(fs: float) -> Signal:
    """A sharp negative wave of 70 ms and a slow positive one of 250 ms."""
    t = np.arange(-0.1, 0.4, 1 / fs, dtype=np.float32)
    return -np.exp(-0.5 * (t / 0.014) ** 2) + np.float32(0.35) * np.exp(
        -0.5 * ((t - 0.13) / 0.07) ** 2
    )


def _add_spikes(rng: Rng, x: Signal, per_min: NDArray[np.float64], fs: float) -> None:
    spike = _spike(fs)
    for contact, rate in enumerate(per_min):
        for at in rng.integers(
            0, x.shape[1] - len(spike), rng.poisson(rate * x.shape[1] / fs / 60)
        ):
            x[contact, at : at + len(spike)] += spike * np.float32(rng.uniform(2, 5))


def _ramp(t: Signal, start: float, rise: float, stop: float, fall: float) -> Signal:
    """0 before `start`, 1 after `rise` seconds, back to 0 within `fall` seconds after `stop`."""
    up = np.clip((t - np.float32(start)) / np.float32(rise), 0, 1)
    down = np.clip((np.float32(stop) - t) / np.float32(fall) + 1, 0, 1)
    return up * down


def _add_arousal(
    rng: Rng, x: Signal, t: Signal, p: Physiology, seizure: Seizure, fs: float
) -> None:
    """What changes outside the EZ too: all contacts a little, reactive ones more, muscle later."""
    on = _ramp(t, rng.uniform(-1, 3), 2.0, seizure.duration_s, 4.0)
    own = p.reactive * rng.choice([-0.5, 1.0], len(x))
    for contact, bands in enumerate(_bands(x, fs)):
        change = p.global_change * (1 + rng.normal(0, 0.2, len(p.global_change))) + own[contact]
        for part, c in zip(bands, np.clip(change, -0.7, 3).astype(np.float32), strict=True):
            x[contact] += c * on * part
    muscle = _ramp(t, rng.uniform(4, 15), 3.0, seizure.duration_s, 3.0)
    for contact, size in enumerate(
        p.muscle * 0.25 * rng.exponential(1.0, len(x)) * (rng.random(len(x)) < 0.4)
    ):
        burst = rng.standard_normal(len(t), dtype=np.float32)
        x[contact] += np.float32(size) * muscle * burst
    silent = _ramp(t, seizure.duration_s, 2.0, 1e6, 1.0)
    depth = np.where(np.isfinite(seizure.joins_s), rng.uniform(0.1, 0.6, len(x)), 0.05)
    for contact, share in enumerate(depth):
        x[contact] *= 1 - share * silent


def _bands(x: Signal, fs: float) -> Iterator[list[Signal]]:
    """Each contact's signal between neighbouring edges; the parts add up to it."""
    n = scipy.fft.next_fast_len(x.shape[1], real=True)
    f = scipy.fft.rfftfreq(n, 1 / fs)
    below = [(1 / (1 + (f / edge) ** 8)).astype(np.float32) for edge in _EDGES_HZ]
    for row in x:
        spectrum = scipy.fft.rfft(row, n)
        sums = [scipy.fft.irfft(spectrum * part, n)[: len(row)] for part in below]
        yield [upper - lower for lower, upper in pairwise([np.zeros_like(row), *sums, row.copy()])]


def _recruit(
    rng: Rng, x: Signal, t: Signal, p: Physiology, seizure: Seizure, contact: int, fs: float
) -> None:
    """Ictal activity of one contact, in place; sizes are relative to the contact's own RMS."""
    joins, size = seizure.joins_s[contact], np.float32(seizure.size[contact])
    if joins >= seizure.duration_s:
        return
    on = _ramp(t, joins, rng.uniform(1, 4), seizure.duration_s, 2.0)
    swell = 1 + np.float32(0.3) * np.sin(2 * np.pi * np.float32(rng.uniform(0.05, 0.2)) * t)
    top = 0.45 * fs
    if p.pattern == "low-voltage-fast":
        x *= 1 - np.float32(0.3) * _ramp(t, joins, 0.5, joins + 6, 4.0)
        x += np.float32(0.2) * size * on * swell * _fast(rng, t, fs, p.fast_hz, top)
        x += (
            np.float32(0.5)
            * size
            * _ramp(t, joins + 8, 5, seizure.duration_s, 2)
            * _rhythm(t, p.rhythmic_hz)
        )
    elif p.pattern == "rhythmic":
        x += np.float32(1.0) * size * on * swell * _rhythm(t, p.rhythmic_hz)
    elif p.pattern == "spiking":
        x += size * on * _spike_train(rng, t, fs, rng.uniform(1.5, 4))
    else:
        shift = _ramp(t, joins, 1.5, joins + 3, 5.0)
        x -= np.float32(2.5) * size * shift
        x += np.float32(0.2) * size * on * _fast(rng, t, fs, 0.6 * p.fast_hz, top)


def _fast(rng: Rng, t: Signal, fs: float, hz: float, top: float) -> Signal:
    low, high = 0.75 * min(hz, top / 1.3), 1.3 * min(hz, top / 1.3)
    return _shaped(rng, len(t), fs, 0, (low, high))


def _rhythm(t: Signal, hz: float) -> Signal:
    """A rhythm that slows down while the seizure lasts, with a harmonic."""
    phase = 2 * np.pi * hz * (t - np.float32(0.004) * np.clip(t, 0, None) ** 2)
    return (np.sin(phase) + np.float32(0.4) * np.sin(2 * phase + 0.7)).astype(np.float32)


def _spike_train(rng: Rng, t: Signal, fs: float, per_s: float) -> Signal:
    train = np.zeros(len(t), np.float32)
    times = np.cumsum(
        np.clip(rng.normal(1 / per_s, 0.15 / per_s, int(len(t) / fs * per_s)), 0.1, None)
    )
    at = (times * fs).astype(int)
    train[at[at < len(t)]] = rng.uniform(2, 4, (at < len(t)).sum())
    return scipy.signal.fftconvolve(train, _spike(fs), mode="same").astype(np.float32)


def _spoil(rng: Rng, x: Signal, good: NDArray[np.bool_]) -> None:
    """Bad contacts: dead, noisy, or full of mains."""
    for contact in np.flatnonzero(~good):
        kind = rng.integers(3)
        if kind == 0:
            x[contact] = rng.standard_normal(x.shape[1], dtype=np.float32) * np.float32(0.3)
        elif kind == 1:
            x[contact] *= np.float32(15)
        else:
            x[contact] += rng.standard_normal(x.shape[1], dtype=np.float32) * np.float32(200)
