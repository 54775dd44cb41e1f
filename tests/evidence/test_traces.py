"""Traces of the raw methods: five segments, 800 samples, robustly scaled."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal

from epilens.evidence.traces import make_traces, robust_scale, starts_s
from epilens.plan import Plan, TracePlan
from epilens.testing import make_recording


def test_five_segments_of_four_seconds_centred_on_onset():
    np.testing.assert_allclose(starts_s(TracePlan()), [-10, -6, -2, 2, 6])
    traces = make_traces([make_recording(fs=512.0)], Plan())
    assert traces["trace"].dims == ("seizure", "segment", "channel", "time")
    assert traces["trace"].shape == (1, 5, 6, 800)
    assert traces["trace_valid"].all()


def test_segments_outside_of_the_recording_are_masked_and_zero():
    traces = make_traces([make_recording(stop_s=5.0)], Plan())
    assert traces["trace_valid"].values[0, :, 0].tolist() == [True, True, True, False, False]
    assert (traces["trace"].values[0, 3:] == 0).all()


@pytest.mark.parametrize("fs", [256.0, 999.41, 2000.0])
def test_a_segment_is_what_scipy_would_make_of_the_whole_signal(fs):
    """Filter by scipy.signal, resample by interpolation at the wanted times, scale by hand."""
    r = make_recording(fs=fs, channels=2, ez=1)
    sos = scipy.signal.butter(4, [0.5, 80.0], "bandpass", fs=fs, output="sos")
    y = scipy.signal.sosfiltfilt(sos, r.signal.astype(float))
    for hz in np.arange(50.0, fs / 2 - 1, 50.0):
        y = scipy.signal.filtfilt(*scipy.signal.iirnotch(hz, 30, fs), y)
    t = r.start_s + np.arange(y.shape[1]) / fs
    wanted = -2 + np.arange(800) / 200
    expected = np.array([np.interp(wanted, t, row) for row in y])
    low, median, high = np.quantile(expected, [0.25, 0.5, 0.75], axis=1, keepdims=True)
    expected = np.clip((expected - median) / (high - low), -8, 8)
    ours = make_traces([r], Plan())["trace"].values[0, 2]
    for mine, theirs in zip(ours, expected, strict=True):
        assert np.corrcoef(mine, theirs)[0, 1] > 0.98


def test_robust_scaling_has_median_zero_and_iqr_one_and_clips():
    x = np.random.default_rng(0).normal(3, 50, size=(2, 800)).astype(np.float32)
    x[0, 5] = 1e6
    z = robust_scale(x)
    assert np.median(z, axis=1) == pytest.approx([0, 0], abs=1e-3)
    assert np.subtract(*np.quantile(z, [0.75, 0.25], axis=1)) == pytest.approx([1, 1], rel=1e-5)
    assert z.max() == 8
    assert (robust_scale(np.full((1, 800), 7.0, np.float32)) == 0).all()


def test_channels_are_matched_by_name_over_seizures():
    one = make_recording(run="run-01", channels=["A1", "A2"], ez=1)
    two = make_recording(run="run-02", channels=["A3", "A1"], ez=1, seed=4)
    traces = make_traces([one, two], Plan())
    assert traces["channel"].values.tolist() == ["A1", "A2", "A3"]
    assert traces["trace_valid"].values[:, 0].tolist() == [[True, True, False], [True, False, True]]
