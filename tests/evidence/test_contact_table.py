"""Contacts relative to their patient: by hand, and laws that hold for any patient."""

from __future__ import annotations

import contacts_by_hand as hand
import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from epilens.evidence.contact_table import (
    BOUND,
    PLACES,
    TERMS,
    contact_table,
    context_weights,
    finite_mean,
    relative,
    seizure_terms,
    with_context,
)
from epilens.evidence.cube import AXES
from epilens.evidence.describe import describe
from epilens.testing import make_cube, make_recording

KINDS = {
    "log_beta_power": "log",
    "rms": "magnitude",
    "line_length": "magnitude",
    "spectral_entropy": "",
}
CHANNELS = ["A1", "A2", "A4", "B1", "B2", "DC"]


def random_cube(seed: int = 0) -> xr.Dataset:
    """Two seizures with holes, the second short and without its first channel."""
    rng = np.random.default_rng(seed)
    start_s = np.stack([np.arange(-34.0, 34.0), np.arange(-34.0, 34.0) + 0.25])
    x = rng.lognormal(1.0, 0.5, (*start_s.shape, len(CHANNELS), len(KINDS)))
    rising = (start_s >= 3)[..., None] & (rng.random(len(CHANNELS)) < 0.5)
    rising[0, :, -1] = start_s[0] >= 32  # two windows: too late to last
    x = np.where(rising[..., None], 12 * x, x)
    valid = rng.random(x.shape[:3]) < 0.9
    valid[1, :, 0] = False
    valid[1, start_s[1] > 9] = False  # the block from 6 s has three windows at most
    valid[0, -3:, -1] = True
    return xr.Dataset(
        {
            "x": (AXES, np.where(valid[..., None], x, 0).astype(np.float32)),
            "valid": (AXES[:3], valid),
        },
        {
            "seizure": ["run-01", "run-02"],
            "channel": CHANNELS,
            "descriptor": list(KINDS),
            "start_s": (AXES[:2], start_s),
            "stop_s": (AXES[:2], start_s + 2),
        },
        {"patient": "sub-01"},
    )


def terms_by_hand(cube):
    arrays = (cube[name].values for name in ("x", "valid", "start_s", "stop_s"))
    return hand.seizure_terms(*arrays, list(KINDS.values()))


@pytest.fixture(scope="module")
def patient() -> xr.Dataset:
    """Two seizures of a patient whose first two channels are the EZ."""
    return make_cube(fs=200.0)


def close(a, b, **tolerance):
    np.testing.assert_allclose(a, b, **({"rtol": 1e-7, "atol": 1e-9} | tolerance))


@pytest.mark.parametrize("seed", range(4))
def test_the_terms_are_the_transcription(seed):
    cube = random_cube(seed)
    ours, by_hand = seizure_terms(cube), terms_by_hand(cube)
    assert hand.TERMS == TERMS
    assert (by_hand[0, :, TERMS.index("begins")] > 0).any()
    for t, name in enumerate(TERMS):
        np.testing.assert_allclose(ours[:, :, t], by_hand[:, :, t], 1e-9, 1e-9, err_msg=name)


def test_the_table_is_the_transcription():
    cube = random_cube()
    table = contact_table(cube)
    z = hand.relative(terms_by_hand(cube), BOUND)
    own = hand.mean_over_seizures(z)
    contacts = [("A", 1), ("A", 2), ("A", 4), ("B", 1), ("B", 2), None]
    near, shaft = (np.tensordot(w, own, 1) for w in hand.context_weights(contacts))
    assert np.isnan(z[1, 0]).all()
    close(table.of_seizure, z)
    close(table.x, np.stack([own, near, shaft], axis=1))
    assert table.x.shape == (len(CHANNELS), len(PLACES), len(TERMS), len(KINDS))
    close(table.flat[:, 0], own[:, 0, 0])


@given(st.integers(0, 10_000), st.integers(1, 14))
@settings(max_examples=60, deadline=None)
def test_neighbours_and_electrodes_are_the_transcription(seed, n):
    rng = np.random.default_rng(seed)
    contacts = [
        None if rng.random() < 0.2 else (str(rng.choice(["A", "B'"])), int(rng.integers(1, 9)))
        for _ in range(n)
    ]
    names = ["DC" if c is None else f"{c[0]}{c[1]}" for c in contacts]
    for ours, by_hand in zip(context_weights(names), hand.context_weights(contacts), strict=True):
        close(ours, by_hand)
        close(ours.sum(axis=1), 1)


def test_means_and_bounds_with_gaps_are_the_transcription():
    values = np.random.default_rng(0).standard_t(2, (3, 9, 4, 2))
    values[np.random.default_rng(1).random(values.shape) < 0.3] = np.nan
    values[:, 2, 1] = np.nan
    z = relative(values, 1.5)
    close(z, hand.relative(values, 1.5))
    assert np.nanmax(np.abs(z)) == 1.5
    close(finite_mean(z), hand.mean_over_seizures(z))


def test_a_column_without_spread_is_zero():
    values = np.random.default_rng(0).normal(size=(1, 7, 3))
    values[:, :, 1] = 1e6 / 3
    values[:, :, 2] = 1e-17 * values[:, :, 0]
    z = relative(values)
    assert (z[:, :, 1:] == 0).all()
    assert z[:, :, 0].std() == pytest.approx(1)


def test_every_number_is_bounded(patient):
    wild = patient.copy(deep=True)
    wild["x"][0, 40, 3] = 1e6
    assert np.abs(contact_table(wild).x).max() <= BOUND
    assert np.abs(contact_table(wild, bound=0.5).x).max() == pytest.approx(0.5)


@pytest.mark.parametrize("gain", [0.2, 30.0])
def test_one_gain_for_the_whole_patient_hardly_matters(gain):
    # Far above 1 µV², where the 1 of log(1 + power) does not count.
    quiet = make_recording(fs=200.0)
    loud = make_recording(fs=200.0, signal=np.float32(1000) * quiet.signal)
    other = make_recording(fs=200.0, signal=np.float32(1000 * gain) * quiet.signal)
    ours, theirs = (contact_table(describe([r])).x for r in (loud, other))
    close(ours, theirs, atol=0.02)
    assert np.abs(ours).max() > 1


def test_rows_follow_their_channels(patient):
    order = [3, 0, 5, 1, 4, 2]
    ours, other = contact_table(patient), contact_table(patient.isel(channel=order))
    assert other.channels == tuple(ours.channels[i] for i in order)
    close(other.x, ours.x[order])


def test_the_order_of_seizures_does_not_matter(patient):
    close(contact_table(patient).x, contact_table(patient.isel(seizure=[1, 0])).x)


def test_a_window_that_is_not_valid_changes_nothing(patient):
    empty = patient.isel(window=[-1]).copy(deep=True)
    empty["x"][:], empty["valid"][:] = 0, False
    late = empty.assign_coords(start_s=empty["start_s"] + 1, stop_s=empty["stop_s"] + 1)
    padded = xr.concat([patient, late], "window", data_vars="minimal")
    assert padded.sizes["window"] == patient.sizes["window"] + 1
    close(contact_table(padded).x, contact_table(patient).x)


def test_what_stands_where_windows_are_not_valid_changes_nothing():
    cube = random_cube()
    noisy = cube.assign(x=cube["x"].where(cube["valid"], 77.0))
    close(contact_table(noisy).x, contact_table(cube).x)


def test_a_channel_that_no_seizure_shows_changes_nothing(patient):
    unseen = patient.isel(channel=[2]).copy(deep=True).assign_coords(channel=["A9"])
    unseen["x"][:], unseen["valid"][:] = 0, False
    ours = contact_table(xr.concat([patient, unseen], "channel", data_vars="minimal"))
    assert ours.channels == contact_table(patient).channels
    close(ours.x, contact_table(patient).x)


def test_one_seizure_is_enough_and_the_mean_is_over_those_that_tell(patient):
    both = contact_table(patient)
    alone = [contact_table(patient.isel(seizure=[s])) for s in (0, 1)]
    assert np.abs(alone[0].x).max() > 1
    close(both.x, (alone[0].x + alone[1].x) / 2)
    hidden = patient.copy(deep=True)
    hidden["x"][1, :, 4], hidden["valid"][1, :, 4] = 0, False
    close(contact_table(hidden).x[4, 0], alone[0].x[4, 0])


def test_one_contact_is_like_the_average():
    assert (contact_table(make_cube(fs=128.0, channels=1)).x == 0).all()


def test_a_run_that_ends_before_the_late_windows_tells_nothing_of_them():
    table = contact_table(make_cube(fs=128.0, seizures=1, stop_s=12.0))
    late = TERMS.index("late")
    assert np.isnan(table.of_seizure[:, :, late]).all()
    assert np.isfinite(table.x).all()
    assert (table.x[:, :, late] == 0).all()
    assert np.abs(table.x[:, :, TERMS.index("early")]).max() > 1


def test_a_rest_of_one_window_tells_neither_noise_nor_beginnings():
    cube = make_cube(fs=128.0, seizures=1)
    few = (cube["stop_s"] > 0) | (cube["start_s"] == cube["start_s"].min())
    valid = cube["valid"] & few
    table = contact_table(cube.assign(valid=valid, x=cube["x"].where(valid, 0)))
    for name in ("change", "begins"):
        assert np.isnan(table.of_seizure[:, :, TERMS.index(name)]).all()
    assert np.isfinite(table.x).all()


def test_the_channels_that_change_at_onset_stand_out_and_begin_early(patient):
    x = contact_table(patient).x[:, 0]
    gamma = patient["descriptor"].values.tolist().index("log_low_gamma_power")
    for name in ("early", "late", "change", "waves", "largest", "peak", "begins"):
        assert x[:2, TERMS.index(name), gamma].min() > 1 > x[2:, TERMS.index(name), gamma].max()


def test_names_without_an_electrode_stand_for_themselves():
    near, shaft = context_weights(["DC", "ECG", "A1", "A2"])
    close(near[:2], np.eye(4)[:2])
    close(shaft[:2], np.eye(4)[:2])
    close(near[2], [0, 0, 0, 1])
    close(shaft[2], [0, 0, 0.5, 0.5])


def test_the_next_contacts_count_twice_as_much_as_those_after_them():
    near, shaft = context_weights(["A1", "A2", "A3", "A4", "A8", "B2"])
    close(near[0], [0, 2 / 3, 1 / 3, 0, 0, 0])
    close(near[4], [0, 0, 0, 0, 1, 0])  # too far from the others
    close(near[5], [0, 0, 0, 0, 0, 1])
    close(shaft[4], [0.2, 0.2, 0.2, 0.2, 0.2, 0])


def test_a_bipolar_name_lies_where_its_first_contact_does():
    bipolar = ["A1-A2", "A2-A3", "A4-A5", "B1-B2"]
    for ours, plain in zip(
        context_weights(bipolar), context_weights(["A1", "A2", "A4", "B1"]), strict=True
    ):
        close(ours, plain)


def test_context_is_next_to_what_is_the_contact_s_own():
    x = np.arange(8.0).reshape(4, 2)
    mixed = with_context(["A1", "A2", "A3", "ECG"], x)
    close(mixed[:, 0], x)
    close(mixed[1, 1], (x[0] + x[2]) / 2)
    close(mixed[0, 2], x[:3].mean(axis=0))
    close(mixed[3], [x[3]] * 3)
