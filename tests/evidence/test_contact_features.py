"""Contact features: as described by hand, and what recordings of many kinds allow."""

from __future__ import annotations

import numpy as np
import pytest
from tests.by_hand import contact_features_by_hand as by_hand

from epilens.core.errors import DataError
from epilens.data.audit import AuditRow
from epilens.evidence.contact_features import (
    FEATURES,
    MEASURES,
    Preparation,
    check_features,
    contact_features,
    feature_table,
    features_shown,
    has_features,
    make_features,
    window_measures,
)
from epilens.evidence.cube import joined
from epilens.evidence.describe import describe
from epilens.plan import Plan
from epilens.testing import make_recording


@pytest.mark.parametrize("fs", [301.0, 512.0])
def test_features_are_those_written_by_hand(fs):
    r = make_recording(fs=fs, channels=3, start_s=-38.0, stop_s=38.0)
    # Without slow drifts: how their ring dies at both ends is not part of the definition.
    x = np.diff(r.signal, axis=1, prepend=r.signal[:, :1])
    ours = contact_features(x, fs, r.start_s, 50.0)
    wanted = np.array(by_hand.features(x, fs, r.start_s, 50.0))
    scale = np.abs(wanted).mean(axis=0)
    np.testing.assert_allclose(ours / scale, wanted / scale, atol=1e-2)


def test_measures_of_a_filtered_window_are_exact():
    fs = 256.0
    plain = Preparation(reference="as-recorded")
    # A sine in the middle of a band has its power there, whatever the filter does elsewhere.
    t = np.arange(round(72 * fs)) / fs
    sine = np.tile(20 * np.sin(2 * np.pi * 10 * t), (2, 1)).astype(np.float32)
    values = dict(zip(MEASURES, window_measures(sine, fs, -36.0, None, plain)[2, 0], strict=True))
    gain = values["var"] / 200
    assert 0.79 < gain < 1.01  # 0.5 dB of ripple, forwards and backwards
    assert values["alpha"] == pytest.approx(values["var"], rel=1e-3)
    assert values["kurt"] == pytest.approx(-1.5, abs=1e-3)
    assert values["ll"] == pytest.approx(4 * 10 * 20 * np.sqrt(gain) / fs, rel=0.01)


def test_a_contact_that_changes_stands_out_in_what_varies():
    fs = 300.0
    x = np.random.default_rng(0).normal(size=(8, round(70 * fs)))
    x[3, round(40 * fs) :] *= 4
    found = dict(zip(FEATURES, contact_features(x, fs, -35.0, 60.0).T, strict=True))
    others = np.delete(found["ll_std"], 3)
    assert np.argmax(found["ll_std"]) == np.argmax(found["beta_max"]) == 3
    assert found["ll_std"][3] > 5 * others.max()


def test_threads_and_gain_change_nothing_that_counts():
    r = make_recording(fs=256.0, channels=11)
    one, two = (window_measures(r.signal, r.fs, r.start_s, 50.0, threads=n) for n in (1, 2))
    np.testing.assert_array_equal(one, two)
    louder = window_measures(10 * r.signal, r.fs, r.start_s, 50.0)
    skew = MEASURES.index("skew")
    np.testing.assert_allclose(louder[..., skew], one[..., skew], atol=1e-4)
    np.testing.assert_allclose(louder[..., 0], 100 * one[..., 0], rtol=1e-3)


def patient(*recordings):
    return joined(describe(recordings), make_features(recordings, Plan()))


def notes_of(*recordings) -> list[str]:
    rows = [AuditRow(**row) for row in make_features(recordings, Plan()).attrs["audit"]]
    assert all(row.effect == "noted" for row in rows)
    return [row.why for row in rows]


def test_an_ordinary_recording_allows_everything_and_needs_no_note():
    seizures = [make_recording(run=f"run-{i}", seed=i, fs=512.0) for i in range(3)]
    made = patient(*seizures)
    assert made["features"].shape == (3, 6, 33)
    assert made["features_valid"].values.all()
    assert notes_of(*seizures) == []
    assert has_features(made)
    assert not has_features(made.drop_vars("features"))
    table = feature_table(made)
    assert table.x.shape == (6, 3, 3, 11)
    assert set(np.argsort(-table.x[:, 0, 1, MEASURES.index("ll")])[:2]) == {0, 1}


@pytest.mark.parametrize(
    ("start_s", "stop_s", "windows"), [(-35, 35, 5), (-20, 35, 4), (-35, 20, 4), (-19, 19, 3)]
)
def test_fewer_windows_are_used_and_reported(start_s, stop_s, windows):
    r = make_recording(start_s=float(start_s), stop_s=float(stop_s), fs=512.0)
    assert features_shown(patient(r)).all()
    expected = [f"contact features are computed from {windows} of 5 windows of 12 s"]
    assert notes_of(r) == (expected if windows < 5 else [])


@pytest.mark.parametrize(("start_s", "stop_s"), [(-17.0, 35.0), (-35.0, 17.0)])
def test_too_few_windows_are_refused_with_what_is_needed_and_what_works(start_s, stop_s):
    r = make_recording(start_s=start_s, stop_s=stop_s, fs=512.0)
    with pytest.raises(DataError, match=r"from 18 s before to 18 s after.*epileptogenicity-index"):
        check_features(patient(r))
    assert any("has no contact features" in why for why in notes_of(r))


def test_a_seizure_without_features_leaves_the_others_as_they_are():
    good, short = make_recording(fs=512.0), make_recording(run="run-2", fs=512.0, stop_s=15.0)
    alone, both = feature_table(patient(good)), feature_table(patient(good, short))
    np.testing.assert_allclose(both.x, alone.x)
    assert np.isnan(both.of_seizure[1]).all()


def test_low_rates_drop_the_bands_that_they_do_not_reach():
    r = make_recording(fs=256.0)
    made = patient(r)
    lost = [name for name in FEATURES if not made["features_valid"].sel(feature=name).any()]
    assert lost == ["hfo_mean", "hfo_std", "hfo_max"]
    assert notes_of(r) == ["sampled at 256 Hz: contact features leave out 80-150 Hz"]
    assert (feature_table(made).x[..., MEASURES.index("hfo")] == 0).all()


def test_bipolar_recordings_get_no_common_average():
    names = [f"A{i}-A{i + 1}" for i in range(1, 7)]
    r = make_recording(channels=names, fs=512.0)
    assert notes_of(r) == ["bipolar recording: contact features have no common average"]
    ours = make_features([r], Plan())["features"].values[0]
    plain = contact_features(r.signal, r.fs, r.start_s, 50.0, Preparation(reference="as-recorded"))
    np.testing.assert_allclose(ours, plain)


def test_missing_samples_cost_a_channel_its_window_or_its_features():
    r = make_recording(fs=512.0)
    missing = np.zeros(r.signal.shape, bool)
    missing[0, : round(10 * r.fs)] = True  # the first window
    missing[1, : round(30 * r.fs)] = True  # all before onset
    r = make_recording(fs=512.0, missing=missing)
    made = patient(r)
    assert features_shown(made)[0].tolist() == [True, False, True, True, True, True]
    assert any("misses samples around onset" in why for why in notes_of(r))


@pytest.mark.parametrize("count", [2, 10, 300])
def test_any_number_of_contacts_is_compared(count):
    r = make_recording(channels=count, fs=256.0, ez=1)
    table = feature_table(patient(r))
    assert table.x.shape == (count, 3, 3, 11)
    assert np.isfinite(table.x).all()


def test_one_contact_per_electrode_stands_for_its_neighbours():
    r = make_recording(channels=["A1", "B1", "C1", "D1", "reference"], fs=256.0)
    x = feature_table(patient(r)).x
    np.testing.assert_array_equal(x[:, 0], x[:, 1])
    np.testing.assert_array_equal(x[:, 0], x[:, 2])


def test_a_constant_channel_has_finite_features():
    r = make_recording(fs=256.0)
    signal = r.signal.copy()
    signal[:] = 5.0
    made = patient(make_recording(fs=256.0, signal=signal))
    assert np.isfinite(made["features"].values).all()


def test_rates_differ_between_seizures_of_one_patient():
    made = patient(make_recording(fs=249.85), make_recording(run="run-2", fs=999.41))
    shown = made["features_valid"].sel(feature="hfo_std").values
    assert shown.any(axis=1).tolist() == [False, True]
    assert np.isfinite(feature_table(made).x).all()
