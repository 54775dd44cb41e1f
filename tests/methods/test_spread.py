"""Line-length spread: by hand, by construction, and where a recording is short or has gaps."""

from __future__ import annotations

import numpy as np
import pytest
import training_free_by_hand as hand

from epilens.evidence.cube import blind, joined
from epilens.evidence.describe import describe
from epilens.evidence.signals import Piece, make_signals
from epilens.methods import METHODS, Training
from epilens.methods.spread import Spread, line_length_spread, seizure_spread, windows_of
from epilens.plan import Plan, SpreadPlan
from epilens.testing import make_patient, make_recording

PLAN = SpreadPlan()


def piece_of(x, fs=50.0, start_s=-30.0):
    return Piece(np.asarray(x, np.float32), fs, start_s, np.ones(len(x), bool))


def spread_of(piece, plan=PLAN, settings=Spread()):  # noqa: B008
    whole = np.ones((len(windows_of(piece, plan)), len(piece.x)), bool)
    return seizure_spread(piece, whole, plan, settings)


def test_the_spread_of_a_seizure_is_the_transcription():
    x = np.random.default_rng(0).normal(size=(4, 3000))
    x *= np.linspace(1, 3, 3000) ** [[0], [1], [2], [0.5]]
    by_hand = hand.line_length_spread(np.float32(x).tolist(), 50.0, 12.0)
    np.testing.assert_allclose(spread_of(piece_of(x)), by_hand, rtol=1e-4, atol=1e-5)


def test_a_channel_that_is_faster_for_one_window_stands_out_and_a_common_signal_does_not():
    x = np.random.default_rng(1).normal(size=(6, 3000))
    x[3, 1500:2100] *= 5
    x += 50 * np.random.default_rng(2).normal(size=3000).cumsum()  # of the reference
    assert spread_of(piece_of(x)).argmax() == 3


def test_five_windows_of_the_interval_or_what_there_is_of_them():
    def starts_s(start_s, seconds):
        piece = piece_of(np.zeros((1, round(seconds * 50))), start_s=start_s)
        return [round(start_s + first / 50) for first, _ in windows_of(piece, PLAN)]

    assert starts_s(-30, 60) == [-30, -18, -6, 6, 18]
    assert starts_s(-28, 58) == [-18, -6, 6, 18]
    assert starts_s(-30, 41) == [-30, -18, -6]
    assert starts_s(-14, 25) == [-14, -2]  # one of the grid's windows: cut from the beginning
    assert starts_s(-8, 20) == [-8]


def test_one_window_tells_nothing():
    assert np.isnan(spread_of(piece_of(np.ones((3, 700)), start_s=-8.0))).all()


def test_channels_that_do_not_vary_are_alike():
    np.testing.assert_array_equal(spread_of(piece_of(np.zeros((3, 3000)))), np.zeros(3))


@pytest.mark.parametrize("gain", [0.01, 40.0])
def test_one_gain_for_all_channels_does_not_matter(gain):
    x = np.random.default_rng(3).normal(size=(5, 3000)) * np.linspace(1, 2, 3000)
    np.testing.assert_allclose(
        spread_of(piece_of(gain * x)), spread_of(piece_of(x)), rtol=1e-3, atol=1e-4
    )


def test_the_mean_over_seizures_ranks_the_ez_of_a_patient_first():
    patient = make_patient(seizures=3, fs=220.0)
    z = line_length_spread(patient, PLAN)
    alone = [line_length_spread(patient.isel(seizure=[s]), PLAN) for s in range(3)]
    np.testing.assert_allclose(z, np.mean(alone, axis=0), rtol=1e-6)
    assert set(np.argsort(-z)[:2]) == {0, 1}


def test_a_gap_in_a_channel_is_no_change_of_its_line_length():
    recording = make_recording(fs=200.0, ez=0, channels=8)
    missing = np.zeros(recording.signal.shape, bool)
    missing[5, (37 * 200) : (45 * 200)] = True  # 2 s to 10 s after onset
    recording.signal[missing] = 0
    patients = [
        joined(describe([r]), make_signals([r], Plan()))
        for r in (
            make_recording(fs=200.0, ez=0, channels=8, missing=missing, signal=recording.signal),
            make_recording(fs=200.0, ez=0, channels=8, signal=recording.signal),
        )
    ]
    known, unknown = (line_length_spread(patient, PLAN)[5] for patient in patients)
    assert unknown > 2 > known


def test_a_patient_without_two_windows_has_neutral_scores_and_a_note():
    recording = make_recording(fs=200.0, start_s=-9.0, stop_s=9.0)
    patient = joined(describe([recording]), make_signals([recording], Plan()))
    fitted = METHODS["line-length-spread"].fit(Training())
    assert (fitted.predict([blind(patient)])["p_nez"] == 0.5).all()
    assert len(fitted.notes["without_windows"]["sub-01"]) == 6
