"""Band limits against SciPy's forward-backward filter; the grid of windows around onset."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal

from epilens.evidence.cube import is_reference
from epilens.evidence.describe import describe
from epilens.evidence.windows import band_limit, response, window_count, window_grid
from epilens.plan import FilterPlan, Plan, WindowPlan
from epilens.testing import make_recording


def sosfiltfilt(x, fs, plan):
    if plan.high_hz >= 0.9 * fs / 2:
        sos = scipy.signal.butter(plan.order, plan.low_hz, "highpass", fs=fs, output="sos")
    else:
        edges = [plan.low_hz, plan.high_hz]
        sos = scipy.signal.butter(plan.order, edges, "bandpass", fs=fs, output="sos")
    return scipy.signal.sosfiltfilt(sos, x, axis=-1)


@pytest.mark.parametrize("fs", [249.85, 256.0, 512.0, 999.41, 2000.0])
def test_the_band_limits_are_scipy_s_forward_backward_butterworth(fs):
    rng = np.random.default_rng(0)
    x = 40 * np.cumsum(rng.normal(size=(3, round(40 * fs))), axis=1) / np.sqrt(fs)
    ours = band_limit(x.astype(np.float32), fs, FilterPlan())
    theirs = sosfiltfilt(x, fs, FilterPlan())
    inner = slice(round(5 * fs), -round(5 * fs))
    np.testing.assert_allclose(
        ours[:, inner], theirs[:, inner], rtol=0, atol=5e-6 * np.abs(x).max()
    )


@pytest.mark.parametrize("pad_s", [0.5, 5.0])
def test_a_margin_of_five_seconds_makes_the_ends_irrelevant(pad_s):
    """What rings from the ends has died after the margin that is read around the interval."""
    fs = 512.0
    x = 40 * np.cumsum(np.random.default_rng(2).normal(size=(2, round(80 * fs))), axis=1) / 22
    whole = band_limit(x.astype(np.float32), fs, FilterPlan())
    part = band_limit(
        x[:, round(5 * fs) : -round(5 * fs)].astype(np.float32), fs, FilterPlan(), pad_s=pad_s
    )
    inner = slice(round(5 * fs), -round(5 * fs))
    ours = whole[:, round(5 * fs) : -round(5 * fs)][:, inner]
    np.testing.assert_allclose(part[:, inner], ours, rtol=0, atol=1e-4 * ours.std())


def test_only_the_lower_edge_is_applied_near_nyquist():
    f = np.array([0.2, 1.0, 10.0, 120.0])
    np.testing.assert_allclose(response(f, 256.0, FilterPlan()), [0, 0.5, 1, 1], atol=1e-5)
    np.testing.assert_allclose(response(np.array([150.0]), 1000.0, FilterPlan()), [0.5])


def test_the_notch_is_only_there_when_the_plan_asks():
    fs = 1000.0
    t = np.arange(round(20 * fs)) / fs
    x = np.sin(2 * np.pi * 50 * t).astype(np.float32)[None]
    kept = band_limit(x, fs, FilterPlan(), mains_hz=50.0)
    removed = band_limit(x, fs, FilterPlan(notch="auto"), mains_hz=50.0)
    inner = slice(8000, 12000)
    assert kept[:, inner].std() == pytest.approx(x.std(), rel=1e-3)
    assert removed[:, inner].std() < 0.01


@pytest.mark.parametrize("fs", [249.85, 256.0, 500.0, 999.41, 1000.0, 2048.0])
def test_there_are_59_windows_of_two_seconds_at_every_rate(fs):
    grid = window_grid(make_recording(fs=fs, channels=1, ez=0), WindowPlan())
    assert window_count(WindowPlan()) == 59
    assert len(grid.start) == 59
    assert grid.inside.all()
    assert grid.length == round(2 * fs)
    assert set(np.diff(grid.start)) == {round(fs)}
    assert grid.start_s[0] == pytest.approx(-30, abs=1 / fs)
    assert grid.start_s[0] <= -30
    np.testing.assert_allclose(grid.stop_s - grid.start_s, grid.length / fs)


def test_windows_outside_of_the_recording_are_masked():
    cube = describe([make_recording(start_s=-12.0, stop_s=10.5)])
    valid = cube["valid"].values[0, :, 0]
    assert not valid[:18].any()
    assert valid[18:39].all()
    assert not valid[39:].any()


@pytest.mark.parametrize("fs", [249.85, 256.0, 999.41, 1000.0])
def test_no_sample_after_onset_enters_the_reference(fs):
    cube = describe([make_recording(fs=fs)])
    assert (cube["stop_s"].values[is_reference(cube).values] <= 0).all()
    assert is_reference(cube).values.sum() in (28, 29)


def test_the_reference_can_be_windows_that_merely_start_before_onset():
    plan = Plan().override(windows={"reference": "starts-before"})
    assert is_reference(describe([make_recording()], plan)).values.sum() == 30
    assert is_reference(describe([make_recording()])).values.sum() == 29


def test_what_happens_after_onset_does_not_change_the_reference_windows():
    """Far enough from onset that the zero-phase filter does not reach back."""
    quiet, loud = make_recording(ez=0), make_recording(ez=6)
    one, other = describe([quiet]), describe([loud])
    early = one["stop_s"].values[0] <= -4
    np.testing.assert_allclose(
        one["x"].values[0, early], other["x"].values[0, early], rtol=2e-3, atol=2e-3
    )
