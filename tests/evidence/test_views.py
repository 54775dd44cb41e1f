"""Four views by hand, their laws, the standardizer and the channel table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from evidence_by_hand import table_by_hand, views_by_hand
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata

from epilens.evidence.cube import is_reference
from epilens.evidence.describe import describe
from epilens.evidence.views import VIEWS, Standardizer, channel_table, state_descriptors, views
from epilens.plan import PAPER_NINE
from epilens.testing import make_cube, make_recording


@pytest.fixture(scope="module")
def gappy() -> xr.Dataset:
    """Two seizures of unequal rates; one starts late, one lacks a channel and has a hole."""
    one = make_recording(run="run-01", start_s=-20.0, channels=["A1", "A2", "A3", "A4"])
    missing = np.zeros((3, 70 * 512), bool)
    missing[1, 40 * 512 : 41 * 512] = True
    two = make_recording(
        run="run-02", fs=512.0, channels=["A4", "A1", "A3"], seed=3, missing=missing
    )
    return describe([one, two])


def by_hand(cube: xr.Dataset) -> np.ndarray:
    return views_by_hand(cube["x"].values, cube["valid"].values, is_reference(cube).values)


def test_the_views_are_the_equations(gappy):
    np.testing.assert_allclose(views(gappy).values, by_hand(gappy), rtol=1e-5, atol=1e-5)


def test_the_masks_of_the_gappy_patient_are_as_built(gappy):
    valid = gappy["valid"]
    assert gappy["channel"].values.tolist() == ["A1", "A2", "A3", "A4"]
    assert not valid.sel(seizure="run-02", channel="A2").any()
    assert valid.sel(seizure="run-02", channel="A4").all()
    hole = valid.sel(seizure="run-02", channel="A1").values
    # The hole lies from +5 to +6 s: windows that start at 3.x to 5.x touch it.
    assert np.flatnonzero(~hole).tolist() == [34, 35]
    assert not valid.sel(seizure="run-01").values[:10].any()


def test_what_is_not_valid_is_zero_in_every_view(gappy):
    φ = views(gappy)
    assert (φ.where(~gappy["valid"], 0) == 0).all()
    assert np.isfinite(φ).all()


def test_a_reference_that_does_not_vary_gives_z_zero():
    cube = make_cube(seizures=1)
    x = cube["x"].values.copy()
    x[:, is_reference(cube).values[0], 0, :] = (
        0.1  # not a binary fraction: rounding must not matter
    )
    φ = views(cube.assign(x=cube["x"].copy(data=x)))
    assert (φ.sel(view="z_delta").isel(channel=0) == 0).all()
    assert (φ.sel(view="delta").isel(channel=0) != 0).any()


@given(gain=st.floats(0.05, 20))
@settings(deadline=None, max_examples=12)
def test_gain_moves_abs_and_delta_as_predicted_and_leaves_z_and_ranks_alone(gain):
    """RMS, line length scale with g, variance with g²; entropy not at all."""
    recording = make_recording()
    louder = replace(recording, signal=(recording.signal * np.float32(gain)))
    one, other = (views(describe([r])) for r in (recording, louder))
    for name, power in (("rms", 1), ("line_length", 1), ("variance", 2), ("spectral_entropy", 0)):
        for view in ("abs", "delta"):
            a, b = (φ.sel(view=view, descriptor=name).values for φ in (one, other))
            np.testing.assert_allclose(b, a * gain**power, rtol=2e-3, atol=2e-3 * np.abs(b).max())
        a, b = (φ.sel(view="z_delta", descriptor=name).values for φ in (one, other))
        np.testing.assert_allclose(b, a, rtol=1e-2, atol=1e-2)
        late = one["window"].size - 5
        np.testing.assert_array_equal(rankdata(a[0, late]), rankdata(b[0, late]))


@given(order=st.permutations(range(6)))
@settings(deadline=None, max_examples=10)
def test_channel_order_is_irrelevant(order):
    recording = make_recording()
    order = list(order)
    shuffled = replace(
        recording,
        signal=recording.signal[order],
        channels=tuple(recording.channels[i] for i in order),
        is_ez=tuple(recording.is_ez[i] for i in order),
    )
    one, other = describe([recording]), describe([shuffled])
    xr.testing.assert_equal(one["x"], other["x"].sel(channel=one["channel"]))
    xr.testing.assert_equal(one["is_ez"], other["is_ez"].sel(channel=one["channel"]))


def test_a_channel_s_views_do_not_change_when_another_channel_changes():
    recording = make_recording()
    signal = recording.signal.copy()
    signal[3] *= 100
    one, other = (views(describe([r])) for r in (recording, replace(recording, signal=signal)))
    kept = [0, 1, 2, 4, 5]
    xr.testing.assert_equal(one.isel(channel=kept), other.isel(channel=kept))
    assert not one.isel(channel=3).equals(other.isel(channel=3))


@given(axis=st.sampled_from(["seizure", "window", "channel"]), extra=st.integers(1, 3))
@settings(deadline=None, max_examples=12)
def test_padding_changes_nothing(axis, extra):
    cube = make_cube()
    grown = cube.sizes[axis] + extra
    padded = cube[["x", "valid", "start_s", "stop_s"]].reset_coords()
    padded = padded.pad({axis: (0, extra)}, constant_values=0)
    padded["valid"] = padded["valid"].astype(bool)
    if axis in ("seizure", "channel"):
        padded[axis] = [*cube[axis].values.tolist(), *(f"pad{i}" for i in range(extra))]
    padded = padded.assign_coords(descriptor=cube["descriptor"]).assign_attrs(cube.attrs)
    assert padded.sizes[axis] == grown
    ours = views(padded).isel({axis: slice(0, cube.sizes[axis])}).values
    np.testing.assert_array_equal(ours, views(cube).values)


def test_the_standardizer_is_mean_and_population_scale_over_valid_windows(gappy):
    other = make_cube("sub-02", seed=9)
    standardizer = Standardizer.fit([gappy, other])
    rows = np.concatenate([by_hand(c)[c["valid"].values] for c in (gappy, other)])
    np.testing.assert_allclose(standardizer.mean, rows.mean(axis=0), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(standardizer.scale, rows.std(axis=0), rtol=1e-4)
    z = standardizer.transform(gappy)
    assert (z.where(~gappy["valid"], 0) == 0).all()
    expected = (by_hand(gappy)[0, 20, 0] - rows.mean(axis=0)) / rows.std(axis=0)
    np.testing.assert_allclose(z.values[0, 20, 0], expected, rtol=1e-3, atol=1e-3)


def test_a_scale_that_is_almost_zero_counts_as_one():
    cube = make_cube(seizures=1)
    flat = cube.assign(x=cube["x"] * 0 + cube["valid"].astype("float32"))
    np.testing.assert_array_equal(Standardizer.fit([flat]).scale, 1)


def test_the_channel_table_has_88_labelled_columns(gappy):
    table = channel_table(gappy)
    assert table.shape == (4, 88)
    assert table.columns[0] == "mean/abs/log_delta_power"
    assert table.columns[43] == "mean/state_abs_delta/variance"
    assert table.columns[44] == "std/abs/log_delta_power"
    assert table.columns.is_unique
    columns = [list(PAPER_NINE).index(name) for name in state_descriptors(PAPER_NINE)]
    expected = table_by_hand(by_hand(gappy), gappy["valid"].values, columns)
    np.testing.assert_allclose(table.values, expected, rtol=1e-4, atol=1e-4)
    assert VIEWS == ("abs", "delta", "z_delta", "log_ratio")


def test_one_seizure_has_no_spread_over_seizures():
    table = channel_table(make_cube(seizures=1))
    assert (table.filter(like="std/") == 0).all().all()


def test_channels_that_are_never_valid_have_no_row():
    cube = make_cube()
    valid = cube["valid"].copy()
    valid[:, :, 2] = False
    cube = cube.assign(valid=valid, x=cube["x"].where(valid, 0))
    assert "A3" not in channel_table(cube).index
    assert len(channel_table(cube)) == 5
