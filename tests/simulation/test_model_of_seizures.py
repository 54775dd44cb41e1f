"""Parts of simulated signals whose answers are known: ictal change, noise, interpolation."""

from __future__ import annotations

import numpy as np
import pytest

from epilens.simulation.dynamics import FITTED
from epilens.simulation.noise import GRID_HZ, BandNoise, Interpolation, autoregressive
from epilens.simulation.physiology import PATTERNS
from epilens.simulation.seizures import ictal_size


def test_the_ictal_change_grows_with_drive_and_saturates():
    size = ictal_size(np.linspace(-8, 8, 50), 1.4, FITTED)
    assert (np.diff(size) > 0).all()
    assert size[0] == pytest.approx(0, abs=1e-6)
    assert size[-1] < FITTED.largest_change
    assert ictal_size(np.array([100.0]), 1.4, FITTED) == pytest.approx(FITTED.largest_change)


def test_shares_of_onset_patterns_add_up_to_all_patients():
    assert sum(pattern.share for pattern in PATTERNS.values()) == pytest.approx(1)


def test_bands_add_up_to_noise_with_an_rms_of_one():
    noise = BandNoise(20_000, 500.0)
    parts, rms = noise.bands(noise.white(np.random.default_rng(0)))
    assert parts.sum(axis=0).std() == pytest.approx(1, abs=0.02)
    assert parts.std(axis=1) == pytest.approx(rms, rel=0.05)


def test_autoregressive_noise_has_variance_one_and_the_stated_memory():
    x = autoregressive(np.random.default_rng(0), (200_000,), 0.6)
    assert x.std() == pytest.approx(1, abs=0.02)
    lag = round(0.6 * GRID_HZ)
    assert np.corrcoef(x[lag:], x[:-lag])[0, 1] == pytest.approx(np.exp(-1), abs=0.02)


def test_interpolation_is_linear_between_points_of_the_grid():
    at_samples = Interpolation(100, 50.0)
    assert at_samples(np.arange(12.0)) == pytest.approx(np.arange(100) * GRID_HZ / 50)
