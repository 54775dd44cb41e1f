"""Noise for simulated signals: in frequency bands, and slow changes on a coarse time grid."""

from __future__ import annotations

import numpy as np
import scipy.fft
import scipy.signal
from numpy.typing import NDArray

from epilens.simulation.dynamics import BAND_EDGES_HZ
from epilens.simulation.physiology import Physiology, Rng, Values

Signal = NDArray[np.float32]
Spectrum = NDArray[np.complex64]

GRID_HZ = 5.0
"""Points per second of the coarse grid: envelopes are computed there and interpolated."""
BAND_ORDER = 8
"""Steepness of the edges of bands (exponent of a Butterworth-like response)."""
RHYTHM_WIDTH = 0.12
"""SD of the peak of a rhythm in the spectrum, relative to its frequency."""
NOISE_KNEE_HZ = 0.8
"""Frequency in Hz below which the spectrum of `BandNoise.colored` is flat."""


class BandNoise:
    """Noise of the length of a run, split into the bands of `BAND_EDGES_HZ`."""

    def __init__(self, samples: int, fs: float) -> None:
        self.samples = samples
        self.padded = scipy.fft.next_fast_len(samples, real=True)
        self.hz = scipy.fft.rfftfreq(self.padded, 1 / fs).astype(np.float32)
        below = [1 / (1 + (self.hz / edge) ** BAND_ORDER) for edge in BAND_EDGES_HZ]
        masks = np.diff([np.zeros_like(self.hz), *below, np.ones_like(self.hz)], axis=0)
        self.masks = masks.astype(np.float32)  # (band, frequency); they add up to 1
        self.power_masks = self.masks**2

    def white(self, rng: Rng) -> Spectrum:
        """Spectrum of white noise."""
        return rng.standard_normal((self.hz.size, 2), dtype=np.float32).view(np.complex64)[:, 0]

    def resting_amplitude(self, p: Physiology, contact: int) -> Signal:
        """Amplitude spectrum of a contact at rest: 1/f with a knee, and a rhythm of its own."""
        power = (self.hz + np.float32(p.dynamics.knee_hz)) ** np.float32(-p.exponent[contact])
        rhythm_hz = p.rhythm_hz[contact]
        peak = np.exp(-0.5 * ((self.hz - rhythm_hz) / (RHYTHM_WIDTH * rhythm_hz)) ** 2)
        power = power + p.rhythm_size[contact] ** 2 * power.sum() / peak.sum() * peak
        power[0] = 0.0
        return np.sqrt(power).astype(np.float32)

    def bands(self, spectrum: Spectrum) -> tuple[Signal, Signal]:
        """Signals (band, time) whose sum has an RMS of 1, and the RMS of each band."""
        power = spectrum.real**2 + spectrum.imag**2
        scale = self.padded / np.sqrt(2 * power.sum())
        parts = scipy.fft.irfft(self.masks * (spectrum * scale), self.padded, axis=-1)
        rms = np.sqrt(self.power_masks @ power / power.sum())
        return parts[:, : self.samples], rms

    def colored(self, rng: Rng, exponent: float) -> Signal:
        """Noise with an RMS of 1 and a 1/f^exponent power spectrum."""
        amplitude = (self.hz + np.float32(NOISE_KNEE_HZ)) ** np.float32(-exponent / 2)
        amplitude[0] = 0.0
        x = scipy.fft.irfft(self.white(rng) * amplitude, self.padded)[: self.samples]
        return x / x.std()


class Interpolation:
    """Linear interpolation from the coarse grid to the samples of a run."""

    def __init__(self, samples: int, fs: float) -> None:
        at = np.arange(samples) * (GRID_HZ / fs)
        self.before = at.astype(np.intp)
        self.fraction = (at - self.before).astype(np.float32)

    def __call__(self, coarse: Values) -> Signal:
        """Values on the grid at every sample."""
        coarse = coarse.astype(np.float32)
        return coarse[self.before] + self.fraction * np.diff(coarse)[self.before]

    def weighted_sum(self, parts: Signal, coarse: Values) -> Signal:
        """Sum of the parts (band, time), each multiplied by its row of `coarse` (band, grid)."""
        total = parts[0] * self(coarse[0])
        for part, level in zip(parts[1:], coarse[1:], strict=True):
            total += part * self(level)
        return total


def autoregressive(rng: Rng, shape: tuple[int, ...], time_s: float) -> Values:
    """First-order autoregressive noise on the grid: variance 1, correlation 1/e after `time_s`."""
    memory = float(np.exp(-1 / (GRID_HZ * time_s)))
    drawn = rng.normal(size=shape)
    drawn[..., 0] /= np.sqrt(1 - memory**2)
    return np.sqrt(1 - memory**2) * scipy.signal.lfilter([1.0], [1.0, -memory], drawn, axis=-1)
