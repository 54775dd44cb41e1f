"""Mains by the spectrum, where a notch is asked for and nothing states them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from trees import FS, codes, noise, whys, write_edf, write_tree

from epilens.data.bids import read_bids
from epilens.data.channels.measures import mains_of
from epilens.data.load_patient import PatientInput, load_patient
from epilens.plan import Plan

REAL = Path(__file__).parents[4] / "shared" / "data" / "real" / "pt01_run01_raw_m15p1.npz"
AUTO = Plan().override(filter={"notch": "auto"})
NOTHING = "no mains frequency is stated and none stands out of the spectrum; nothing is notched"


def hum(hz: float, uv: float = 5.0, fs: float = FS, n: int = 6):
    x = noise(n, fs)
    return x + uv * np.sin(2 * np.pi * hz * np.arange(x.shape[1]) / fs)


@pytest.mark.parametrize("fs", [200, 256, 999.41])
@pytest.mark.parametrize("hz", [50.0, 60.0])
def test_a_clear_peak_is_found(fs, hz):
    assert mains_of(hum(hz, fs=fs).astype(np.float32), fs) == hz


@pytest.mark.parametrize("signal", [noise(), hum(55.0), np.zeros((6, 16000))])
def test_without_a_clear_peak_nothing_is_said(signal):
    assert mains_of(signal.astype(np.float32), FS) is None


def test_two_equal_peaks_say_nothing():
    assert mains_of((hum(50.0) + hum(60.0)).astype(np.float32), FS) is None


def test_a_peak_in_every_third_channel_is_enough():
    x = noise(6)
    x[:2] = hum(60.0)[:2]
    assert mains_of(x.astype(np.float32), FS) == 60.0


def test_a_rhythm_of_the_seizure_is_no_mains():
    x, t = noise(6), np.arange(16000) / FS
    x[:, 8000:12000] += 60 * np.sin(2 * np.pi * 50 * t[8000:12000])
    assert mains_of(x.astype(np.float32), FS) is None


@pytest.mark.parametrize(("fs", "seconds"), [(128, 80), (200, 5)])
def test_too_slow_or_too_short_a_signal_says_nothing(fs, seconds):
    assert mains_of(noise(6, fs, seconds).astype(np.float32), fs) is None


@pytest.mark.data
@pytest.mark.skipif(not REAL.exists(), reason="the real clip is not there")
def test_the_mains_of_a_real_recording():
    clip = np.load(REAL)
    assert mains_of(clip["data"], float(clip["sfreq"])) == 60.0


@pytest.mark.parametrize("stated", [None, 0, "n/a"])
def test_a_tree_that_states_no_mains_is_told_what_was_taken(tmp_path, stated):
    fields = {"PowerLineFrequency": stated}
    recordings = read_bids(write_tree(tmp_path, data=hum(50.0), fields=fields), plan=AUTO)
    [recording] = recordings
    assert recording.mains_hz == 50.0
    assert "no mains frequency is stated; 50 Hz by the spectrum" in whys(recordings, what="run")


def test_a_plain_file_is_told_that_nothing_was_done(tmp_path):
    write_edf(tmp_path / "a.edf", noise())
    loaded = load_patient(PatientInput(tmp_path / "a.edf", onsets=(40.0,)), AUTO)
    assert loaded.recordings[0].mains_hz is None
    assert NOTHING in [row.why for row in loaded.rows]


def test_stated_mains_are_taken_as_they_are(tmp_path):
    recordings = read_bids(write_tree(tmp_path, data=hum(50.0)), plan=AUTO)
    assert [r.mains_hz for r in recordings] == [60.0]
    assert "mains-not-stated" not in codes(recordings)


def test_without_a_notch_nothing_is_estimated(tmp_path):
    fields = {"PowerLineFrequency": None}
    recordings = read_bids(write_tree(tmp_path, data=hum(50.0), fields=fields))
    assert [r.mains_hz for r in recordings] == [None]
    assert "mains-not-stated" not in codes(recordings)
