"""Traces of the raw methods: the nearest segments, each filtered by itself, robustly scaled."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal

from epilens.evidence.describe import audit_of
from epilens.evidence.traces import make_traces, robust_scale
from epilens.plan import Plan
from epilens.testing import make_recording

RECORDED = Plan().override(traces={"mains": "recorded"})
WHOLE = Plan().override(traces={"filtered": "recording"})


def noise(fs, channels=2, seconds=70.0, seed=3):
    x = np.random.default_rng(seed).normal(0, 30, size=(channels, round(seconds * fs)))
    return x.astype(np.float32)


def scaled_by_hand(x):
    low, median, high = np.quantile(x, [0.25, 0.5, 0.75], axis=-1, keepdims=True)
    return np.clip((x - median) / (high - low), -8, 8)


def filtered_by_scipy(x, fs, notches, padlen):
    """Forwards and backwards; 80 Hz is left out where it comes close to Nyquist."""
    edges = ([0.5, 80.0], "bandpass") if 0.45 * fs > 80 else (0.5, "highpass")
    sos = scipy.signal.butter(4, *edges, fs=fs, output="sos")
    y = scipy.signal.sosfiltfilt(sos, x.astype(float), padlen=padlen)
    for hz in notches:
        y = scipy.signal.filtfilt(*scipy.signal.iirnotch(hz, 30, fs), y, padlen=padlen)
    return y


def test_five_segments_of_four_seconds_centred_on_onset():
    traces = make_traces([make_recording(fs=512.0)], Plan())
    np.testing.assert_allclose(traces["trace_start_s"], [[-10, -6, -2, 2, 6]])
    assert traces["trace"].dims == ("seizure", "segment", "channel", "time")
    assert traces["trace"].shape == (1, 5, 6, 800)
    assert traces["trace_valid"].all()
    assert audit_of(traces) == []


@pytest.mark.parametrize(
    ("start_s", "stop_s", "windows"),
    [
        (-35.0, 5.0, [-18, -14, -10, -6, -2]),  # ends early: [2, 6] is not whole
        (-35.0, 6.0, [-14, -10, -6, -2, 2]),
        (-35.0, 1.9, [-22, -18, -14, -10, -6]),
        (-7.0, 35.0, [-6, -2, 2, 6, 10]),  # starts late
        (-1.0, 35.0, [2, 6, 10, 14, 18]),
        (-10.0, 10.0, [-10, -6, -2, 2, 6]),  # exactly 20 s
    ],
)
@pytest.mark.parametrize("fs", [200.0, 256.0, 999.41])
def test_the_five_nearest_windows_inside_the_recording_are_taken(fs, start_s, stop_s, windows):
    traces = make_traces([make_recording(fs=fs, start_s=start_s, stop_s=stop_s)], Plan())
    np.testing.assert_allclose(traces["trace_start_s"], [windows])
    assert traces["trace_valid"].all()
    assert np.abs(traces["trace"]).max("time").min() > 0


def test_every_seizure_has_windows_of_its_own():
    whole, early = make_recording(run="run-1"), make_recording(run="run-2", stop_s=5.0)
    traces = make_traces([whole, early], Plan())
    wanted = [[-10, -6, -2, 2, 6], [-18, -14, -10, -6, -2]]
    np.testing.assert_allclose(traces["trace_start_s"], wanted)


def test_a_short_recording_has_fewer_segments_and_the_audit_says_so():
    traces = make_traces([make_recording(start_s=-7.0, stop_s=3.0, run="run-3")], Plan())
    np.testing.assert_allclose(traces["trace_start_s"][0], [-6, -2, np.nan, np.nan, np.nan])
    assert traces["trace_valid"].values[0, :, 0].tolist() == [True, True, False, False, False]
    assert (traces["trace"].values[0, 2:] == 0).all()
    [row] = audit_of(traces)
    assert (row.run, row.effect) == ("run-3", "noted")
    assert row.why == "has 2 whole segments around onset in place of 5"


def test_a_channel_without_any_segment_is_masked_with_an_audit_row():
    parts = []
    for seed, run in enumerate(["run-01", "run-02"]):
        r = make_recording(run=run, seed=seed)
        missing = np.zeros(r.signal.shape, bool)
        missing[3, ::500] = True  # in every segment
        missing[1, round((-r.start_s + 3) * r.fs)] = True  # in [2, 6]
        parts.append(make_recording(run=run, seed=seed, missing=missing))
    traces = make_traces(parts, Plan())
    valid = traces["trace_valid"].values
    assert not valid[:, :, 3].any()
    assert valid[0, :, 1].tolist() == [True, True, True, False, True]
    assert valid[:, :, [0, 2, 4, 5]].all()
    assert (traces["trace"].values[~valid] == 0).all()
    rows = [(row.run, row.channel, row.why, row.effect) for row in audit_of(traces)]
    some = "samples are missing in {} of 5 segments around onset; they are not used"
    never = "has no whole segment around onset in any seizure; raw-iEEG methods score it as neutral"
    assert rows == [
        ("run-01", "A2", some.format(1), "noted"),
        ("run-01", "A4", some.format(5), "noted"),
        ("run-02", "A2", some.format(1), "noted"),
        ("run-02", "A4", some.format(5), "noted"),
        ("", "A4", never, "noted"),
    ]


def test_where_no_channel_was_recorded_there_is_no_window():
    r = make_recording()
    missing = np.zeros(r.signal.shape, bool)
    missing[:, round((-r.start_s + 5) * r.fs) :] = True
    traces = make_traces([make_recording(missing=missing)], Plan())
    np.testing.assert_allclose(traces["trace_start_s"], [[-18, -14, -10, -6, -2]])
    assert traces["trace_valid"].all()


@pytest.mark.parametrize("fs", [128.0, 256.0, 512.0, 999.41, 2000.0])
@pytest.mark.parametrize("kind", ["noise", "slow"])
def test_a_segment_is_what_scipy_makes_of_it_alone(fs, kind):
    """Cut, filter by scipy.signal with ends reflected for the whole 4 s, resample, scale by hand.

    Where the reflected ends end, SciPy starts from a steady state, and ours joins the two ends. A
    0.5 Hz edge carries that difference inwards: a few hundredths of the interquartile range for
    noise, up to a tenth for a random walk, and more in the first and last half second.
    """
    changes = {"signal": noise(fs)} if kind == "noise" else {}
    r = make_recording(fs=fs, channels=2, ez=1, **changes)
    traces, samples = make_traces([r], Plan()), round(4 * fs)
    for ours, start_s in zip(traces["trace"].values[0], [-10, -6, -2, 2, 6], strict=True):
        first = int((start_s - r.start_s) * fs + 1e-6)
        x = r.signal[:, first : first + samples]
        y = filtered_by_scipy(x, fs, [50.0], padlen=samples - 1)
        wanted = scaled_by_hand(scipy.signal.resample(y, 800, axis=-1))
        atol = 0.03 if kind == "noise" else 0.1
        np.testing.assert_allclose(ours[:, 100:-100], wanted[:, 100:-100], rtol=0, atol=atol)
        np.testing.assert_allclose(ours, wanted, rtol=0, atol=2 * atol)


def test_a_segment_does_not_know_what_lies_outside_of_it():
    r = make_recording()
    loud = r.signal.copy()
    first, last = (round((s - r.start_s) * r.fs) for s in (-2, 2))
    loud[:, :first] *= -50
    loud[:, last:] += 4000
    loud = make_recording(signal=loud)
    ours, other = (make_traces([part], Plan())["trace"].values[0, 2] for part in (r, loud))
    np.testing.assert_array_equal(ours, other)
    ours, other = (make_traces([part], WHOLE)["trace"].values[0, 2] for part in (r, loud))
    assert np.abs(ours - other).max() > 1


@pytest.mark.parametrize("fs", [256.0, 999.41, 2000.0])
def test_the_plan_can_filter_the_whole_recording_before_it_is_cut(fs):
    """Resampled by interpolation at the wanted times."""
    r = make_recording(fs=fs, channels=2, ez=1)
    y = filtered_by_scipy(r.signal, fs, [50.0], padlen=None)
    t = r.start_s + np.arange(y.shape[1]) / fs
    wanted = -2 + np.arange(800) / 200
    expected = scaled_by_hand(np.array([np.interp(wanted, t, row) for row in y]))
    ours = make_traces([r], WHOLE)["trace"].values[0, 2]
    for mine, theirs in zip(ours, expected, strict=True):
        assert np.corrcoef(mine, theirs)[0, 1] > 0.98


def share_of(x, hz, rate=200.0):
    """Share of the power of 800 samples within 1 Hz of a frequency."""
    f, power = np.fft.rfftfreq(800, 1 / rate), np.abs(np.fft.rfft(x * np.hanning(800))) ** 2
    return power[np.abs(f - hz) <= 1].sum() / power.sum()


def with_tones(mains_hz, **about):
    """Noise with strong tones at 25, 50 and 60 Hz; mains as the sidecar says."""
    signal = noise(512.0)
    t = np.arange(signal.shape[1]) / 512
    signal += sum(40 * np.sin(2 * np.pi * hz * t) for hz in (25, 50, 60)).astype(np.float32)
    return make_recording(fs=512.0, channels=2, signal=signal, mains_hz=mains_hz, **about)


@pytest.mark.parametrize(
    ("changes", "mains_hz", "removed"),
    [
        ({}, 60.0, {50}),  # 50 Hz for all centers, and no more of it
        ({}, None, {50}),
        ({"mains_hz": 25.0}, 60.0, {25}),  # no harmonics: 50 Hz stays
        ({"mains": "recorded"}, 60.0, {60}),
        ({"mains": "recorded"}, 25.0, {25, 50}),  # with harmonics
        ({"mains": "recorded"}, None, {50}),
    ],
)
def test_mains_are_fixed_or_those_of_the_recording(changes, mains_hz, removed):
    plan = Plan().override(traces=changes)
    middle = make_traces([with_tones(mains_hz)], plan)["trace"].values[0, 2, 0]
    shares = {hz: share_of(middle, hz) for hz in (25, 50, 60)}
    assert {hz for hz, share in shares.items() if share < 0.03} == removed
    assert {hz for hz, share in shares.items() if share > 0.1} == {25, 50, 60} - removed


@pytest.mark.parametrize("plan", [Plan(), WHOLE, RECORDED], ids=["paper", "recording", "recorded"])
@pytest.mark.parametrize("fs", [60.0, 90.3, 101.0, 128.0])
def test_a_notch_above_nyquist_is_left_out(fs, plan):
    traces = make_traces([make_recording(fs=fs, start_s=-31.0, stop_s=31.0)], plan)
    assert traces["trace"].shape == (1, 5, 6, 800)
    assert traces["trace_valid"].all()
    assert np.isfinite(traces["trace"]).all()
    assert traces["trace"].std("time").min() > 0.1


def test_both_ways_to_filter_show_the_same_seconds():
    r = make_recording(fs=999.41, start_s=-33.0)
    ours, other = (make_traces([r], plan) for plan in (Plan(), WHOLE))
    np.testing.assert_array_equal(ours["trace_start_s"], other["trace_start_s"])
    fast = scipy.signal.butter(4, 10, "highpass", fs=200, output="sos")
    for one, two in zip(ours["trace"].values[0, 3], other["trace"].values[0, 3], strict=True):
        pair = [scipy.signal.sosfiltfilt(fast, x)[100:-100] for x in (one, two)]
        assert np.corrcoef(*pair)[0, 1] > 0.97


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
