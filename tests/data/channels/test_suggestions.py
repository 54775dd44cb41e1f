"""Channels that look bad: each kind is made, and nothing else may be named."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.ndimage

from epilens.data.channels.suggestions import suggest_channels
from epilens.testing import make_recording

FS = 256.0
NAMES = tuple(f"A{i + 1}" for i in range(12))


@pytest.fixture(scope="module")
def clean():
    return make_recording(channels=12, fs=FS, ez=2).signal.copy()


def found(signal):
    return {s.channel: s for s in suggest_channels(make_recording(channels=12, signal=signal))}


def spoilt(clean, how):
    x = clean.copy()
    x[6] = how(x[6])
    return x


def noise(size):
    return size * np.random.default_rng(3).normal(size=round(70 * FS))


def mains(size):
    return size * np.sin(2 * np.pi * 50 * np.arange(round(70 * FS)) / FS)


def test_contacts_of_a_seizure_are_not_suggested(clean):
    assert found(clean) == {}


@pytest.mark.parametrize(
    ("what", "how", "low", "high"),
    [
        ("flat", lambda x: 0 * x + 17.0, 1.0, 1.0),
        ("clipped", lambda x: np.clip(x, -30, 30), 0.05, 0.9),
        ("mains", lambda x: x + mains(300.0), 0.9, 1.0),
        ("large", lambda x: 20 * x, 10.0, 40.0),
        ("small", lambda x: 0.02 * x, 0.01, 0.05),
    ],
)
def test_a_bad_channel_is_suggested_with_its_amount(clean, what, how, low, high):
    suggestions = found(spoilt(clean, how))
    assert set(suggestions) == {"A7"}
    assert suggestions["A7"].what == what
    assert low <= suggestions["A7"].amount <= high


def test_fast_noise_is_rough(clean):
    """The others are smooth here, as brains are beside a broken contact."""
    x = scipy.ndimage.gaussian_filter1d(clean, 4, axis=1)
    x[6] += noise(3.0)
    (row,) = found(x).values()
    assert (row.channel, row.what) == ("A7", "rough")
    assert row.amount > 3


def test_a_gain_of_all_channels_changes_nothing(clean):
    x = spoilt(clean, lambda x: 20 * x)
    assert {s.what for s in found(40 * x).values()} == {"large"}


def test_samples_that_are_no_numbers_are_counted(clean):
    missing = np.zeros(clean.shape, bool)
    missing[2, : missing.shape[1] // 2] = True
    record = make_recording(channels=12, signal=clean, missing=missing)
    (row,) = [s for s in suggest_channels(record) if s.what == "missing"]
    assert row.channel == "A3"
    assert row.amount == pytest.approx(0.5, abs=0.05)


def test_the_words_say_how_much(clean):
    row = found(spoilt(clean, lambda x: 0 * x))["A7"]
    assert row.words == "constant for 100% of the time"


def test_a_burst_of_noise_is_no_bad_channel(clean):
    """What holds for a few seconds can be a seizure."""
    x = clean.copy()
    x[6, : round(10 * FS)] *= 30
    assert found(x) == {}


def test_two_channels_say_nothing_about_what_is_usual():
    x = make_recording(channels=2, fs=FS).signal.copy()
    x[1] *= 100
    assert suggest_channels(make_recording(channels=2, signal=x)) == ()


def test_a_dead_array_is_flat_and_nothing_else():
    rows = suggest_channels(make_recording(channels=3, signal=np.zeros((3, 5000), np.float32)))
    assert [row.what for row in rows] == ["flat"] * 3


def test_a_short_recording_will_do():
    x = np.random.default_rng(0).normal(size=(5, 40)).astype(np.float32)
    assert suggest_channels(make_recording(channels=5, signal=x)) == ()


def test_only_some_of_a_long_recording_is_read(monkeypatch, clean):
    long = np.tile(clean, 20)
    ticks = []
    suggest_channels(make_recording(channels=12, signal=long), tick=lambda note, n: ticks.append(n))
    assert sum(ticks) == 24
