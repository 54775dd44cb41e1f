"""Montages: pairs along a shaft, averages, and what they cannot keep."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import NAMES, codes, noise, write_electrodes, write_tree

from epilens.core.errors import DataError
from epilens.data.bids import read_bids
from epilens.data.electrodes.positions import Positions
from epilens.data.montage import apply_montage
from epilens.data.onsets.onset import Onset
from epilens.data.recording import Recording
from epilens.plan import Plan

SCHEMES = ("as-recorded", "bipolar", "shaft-average", "common-average")


def recording(names, signal=None, ez=None, mm=None, missing=None) -> Recording:
    names = tuple(names)
    signal = noise(len(names), duration_s=1) if signal is None else signal
    return Recording(
        patient="sub-01",
        center="here",
        run="run-01",
        signal=np.asarray(signal, np.float32),
        fs=200.0,
        channels=names,
        start_s=-0.5,
        onset=Onset(40.0, None, "onset", "onset marker"),
        is_ez=None if ez is None else tuple(name in ez for name in names),
        positions=Positions(mm or {}, "fsaverage"),
        modality="SEEG",
        mains_hz=60.0,
        source=Path("x.edf"),
        missing=missing,
    )


def montage(scheme: str, source: Recording, trusted=None):
    trusted = np.ones(len(source.channels), bool) if trusted is None else np.array(trusted)
    return apply_montage(source, scheme, trusted)


# --- as recorded ---


def test_as_recorded_changes_nothing():
    source = recording(NAMES, ez=["A1"])
    assert montage("as-recorded", source) == (source, [])


# --- bipolar ---


def test_bipolar_pairs_follow_the_shaft():
    done, rows = montage("bipolar", recording(NAMES))
    assert done.channels == ("A1-A2", "A2-A3", "A3-A4", "B1-B2")
    assert rows == []


def test_bipolar_is_the_first_minus_the_second():
    source = recording(NAMES)
    done, _ = montage("bipolar", source)
    np.testing.assert_array_equal(done.signal[1], source.signal[1] - source.signal[2])


def test_bipolar_does_not_bridge_a_gap():
    done, rows = montage("bipolar", recording(["A1", "A2", "A4", "A5"]))
    assert done.channels == ("A1-A2", "A4-A5")
    assert rows == []


def test_bipolar_does_not_join_shafts_that_differ_in_capitals():
    made, _ = apply_montage(recording(["a1", "A1", "a2", "A2"]), "bipolar", np.ones(4, bool))
    assert set(made.channels) == {"a1-a2", "A1-A2"}


def test_bipolar_does_not_join_shafts():
    done, _ = montage("bipolar", recording(["A1", "A2", "B3", "B4"]))
    assert done.channels == ("A1-A2", "B3-B4")


def test_a_prime_is_another_shaft():
    done, _ = montage("bipolar", recording(["A1", "A'2", "A2", "A'3"]))
    assert set(done.channels) == {"A1-A2", "A'2-A'3"}


def test_lone_contacts_are_audit_rows():
    done, rows = montage("bipolar", recording(["A1", "A2", "A9", "C1", "ECGX"]))
    assert done.channels == ("A1-A2",)
    assert [(row.what, row.channel, row.effect) for row in rows] == [
        ("channel", "A9", "excluded"),
        ("channel", "C1", "excluded"),
        ("channel", "ECGX", "excluded"),
    ]


def test_the_order_of_names_does_not_matter():
    source = recording(NAMES)
    order = [5, 2, 0, 4, 3, 1]
    mixed = recording([NAMES[i] for i in order], source.signal[order])
    done, again = montage("bipolar", source)[0], montage("bipolar", mixed)[0]
    here = dict(zip(done.channels, done.signal, strict=True))
    there = dict(zip(again.channels, again.signal, strict=True))
    assert here.keys() == there.keys()
    for name, signal in here.items():
        np.testing.assert_array_equal(signal, there[name])


def test_contact_ten_comes_after_nine():
    done, _ = montage("bipolar", recording(["A10", "A9", "A8"]))
    assert done.channels == ("A8-A9", "A9-A10")


def test_spellings_with_zeros_and_suffixes_are_paired():
    done, _ = montage("bipolar", recording(["EEG LF 02-Ref", "EEG LF 01-Ref"]))
    assert done.channels == ("EEG LF 01-Ref-EEG LF 02-Ref",)


def test_a_pair_is_ez_when_either_contact_is():
    done, _ = montage("bipolar", recording(NAMES, ez=["A2"]))
    assert done.is_ez == (True, True, False, False)


def test_a_pair_without_labels_has_none():
    assert montage("bipolar", recording(NAMES))[0].is_ez is None


def test_a_pair_lies_in_the_middle_of_its_contacts():
    mm = {name: (5.0 * i, 0.0, 1.0) for i, name in enumerate(NAMES)}
    done, _ = montage("bipolar", recording(NAMES, mm=mm))
    assert done.positions.mm["A1-A2"] == (2.5, 0.0, 1.0)


def test_a_pair_with_one_known_position_has_none():
    done, _ = montage("bipolar", recording(["A1", "A2", "A3"], mm={"A1": (0.0, 0.0, 0.0)}))
    assert done.positions.mm == {}
    assert done.channels == ("A1-A2", "A2-A3")


def grid(rows: int, columns: int, pitch: float = 10.0):
    return {
        f"G{r * columns + c + 1}": (pitch * c, pitch * r, 0.0)
        for r in range(rows)
        for c in range(columns)
    }


def test_a_grid_is_not_paired_across_the_ends_of_its_rows():
    mm = grid(3, 8)
    done, _ = montage("bipolar", recording(mm, mm=mm))
    assert len(done.channels) == 3 * 7
    assert not {"G8-G9", "G16-G17"} & set(done.channels)


def test_a_grid_without_positions_is_paired_by_number():
    done, _ = montage("bipolar", recording(grid(3, 8)))
    assert len(done.channels) == 23


def test_missing_samples_of_either_contact_are_missing_in_the_pair():
    missing = np.zeros((3, 200), bool)
    missing[1, 5:9] = True
    done, _ = montage("bipolar", recording(["A1", "A2", "A3"], missing=missing))
    assert done.missing is not None
    assert done.missing.sum() == 8


def test_missing_samples_are_zero_in_the_pair():
    """As everywhere: `signal` is 0 where `missing`."""
    missing = np.zeros((2, 200), bool)
    missing[1, 5:9] = True
    signal = np.where(missing, 0, noise(2, duration_s=1) + 100)
    done, _ = montage("bipolar", recording(["A1", "A2"], signal, missing=missing))
    assert (done.signal[0, 5:9] == 0).all()


def test_bipolar_without_any_pair_is_refused():
    source = recording(["A1", "B1", "C7"])
    with pytest.raises(DataError, match="found none among 3 channels"):
        montage("bipolar", source)


@given(
    st.lists(st.floats(-1e3, 1e3, width=16), min_size=4, max_size=4),
    st.floats(-1e3, 1e3, width=16),
    st.integers(0, 99),
)
def test_bipolar_does_not_see_what_all_contacts_share(gains, offset, seed):
    shared = np.random.default_rng(seed).normal(size=50) * gains[0] + offset
    done, _ = montage("bipolar", recording(NAMES[:4], np.tile(shared, (4, 1))))
    np.testing.assert_array_equal(done.signal, 0)


@given(st.lists(st.integers(-1000, 1000), min_size=4, max_size=4))
def test_bipolar_of_constant_signals_is_constant(levels):
    signal = np.repeat(np.array(levels, float)[:, None], 20, axis=1)
    done, _ = montage("bipolar", recording(NAMES[:4], signal))
    np.testing.assert_array_equal(np.diff(done.signal, axis=1), 0)


# --- averages ---


def test_the_shaft_average_sums_to_zero_on_each_shaft():
    done, rows = montage("shaft-average", recording(NAMES))
    np.testing.assert_allclose(done.signal[:4].sum(axis=0), 0, atol=1e-3)
    np.testing.assert_allclose(done.signal[4:].sum(axis=0), 0, atol=1e-3)
    assert (done.channels, rows) == (NAMES, [])


def test_a_contact_alone_on_its_shaft_is_an_audit_row():
    done, rows = montage("shaft-average", recording(["A1", "C1", "A2"], ez=["A2"]))
    assert (done.channels, done.is_ez) == (("A1", "A2"), (False, True))
    assert [row.channel for row in rows] == ["C1"]


def test_a_name_without_a_number_has_no_shaft_to_average():
    done, rows = montage("shaft-average", recording(["A1", "A2", "LEFT", "RIGHT"]))
    assert done.channels == ("A1", "A2")
    assert {row.channel for row in rows} == {"LEFT", "RIGHT"}


def test_a_flagged_contact_does_not_enter_the_average_of_its_shaft():
    signal = noise(4, duration_s=1)
    signal[3] = 1e6
    done, _ = montage(
        "shaft-average", recording(NAMES[:4], signal), trusted=[True, True, True, False]
    )
    np.testing.assert_allclose(done.signal[:3].sum(axis=0), 0, atol=1e-3)


def test_shafts_of_single_contacts_are_refused():
    source = recording(["A1", "B1"])
    with pytest.raises(DataError, match="expected shafts with two or more contacts"):
        montage("shaft-average", source)


def test_the_common_average_excludes_flagged_channels():
    signal = noise(6, duration_s=1)
    signal[5] = 1e6
    done, rows = montage("common-average", recording(NAMES, signal), trusted=[True] * 5 + [False])
    np.testing.assert_allclose(done.signal[:5].sum(axis=0), 0, atol=1e-3)
    assert (done.channels, rows) == (NAMES, [])


def test_the_common_average_of_one_trusted_channel_is_refused():
    source = recording(NAMES)
    with pytest.raises(DataError, match=r"two or more unflagged channels.*found 1"):
        montage("common-average", source, trusted=[True] + [False] * 5)


def test_the_common_average_is_over_the_samples_that_are_there():
    signal = np.tile(np.array([[3.0], [5.0], [0.0]]), (1, 10))
    missing = np.zeros((3, 10), bool)
    missing[2] = True
    done, _ = montage("common-average", recording(["A1", "A2", "A3"], signal, missing=missing))
    np.testing.assert_array_equal(done.signal[:, 0], [-1, 1, 0])


@given(n=st.integers(2, 12), seed=st.integers(0, 999), offset=st.floats(-1e3, 1e3, width=16))
def test_the_common_average_sums_to_zero(n, seed, offset):
    signal = np.random.default_rng(seed).normal(scale=50, size=(n, 30)) + offset
    done, _ = montage("common-average", recording([f"A{i}" for i in range(n)], signal))
    np.testing.assert_allclose(done.signal.sum(axis=0), 0, atol=1e-2)


@given(seed=st.integers(0, 999))
def test_the_common_average_does_not_see_what_all_channels_share(seed):
    rng = np.random.default_rng(seed)
    signal, shared = rng.normal(scale=50, size=(5, 30)), rng.normal(scale=500, size=30)
    plain, _ = montage("common-average", recording(NAMES[:5], signal))
    moved, _ = montage("common-average", recording(NAMES[:5], signal + shared))
    np.testing.assert_allclose(plain.signal, moved.signal, atol=1e-2)


# --- through the whole reading ---


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_montage_can_be_read_from_a_tree(tmp_path, scheme):
    plan = Plan().override(montage={"scheme": scheme})
    [done] = read_bids(write_tree(tmp_path), plan=plan)
    assert done.signal.shape[0] == len(done.channels) == len(done.is_ez or ())


def test_a_flat_channel_of_a_file_does_not_enter_the_common_average(tmp_path):
    uv = noise()
    uv[5] = 300.0
    plan = Plan().override(montage={"scheme": "common-average"})
    [done] = read_bids(write_tree(tmp_path, data=uv), plan=plan)
    np.testing.assert_allclose(done.signal[:5].sum(axis=0), 0, atol=1e-3)


def test_a_dropped_channel_is_in_no_pair(tmp_path):
    uv = noise()
    uv[1] = 0.0
    plan = Plan().override(montage={"scheme": "bipolar"}, quality={"drop": ["flat"]})
    recordings = read_bids(write_tree(tmp_path, data=uv), plan=plan)
    [done] = recordings
    assert done.channels == ("A3-A4", "B1-B2")
    assert codes(recordings, channel="A1") == ["channel-montage"]


def test_a_run_that_the_montage_cannot_take_is_an_audit_row(tmp_path):
    plan = Plan().override(montage={"scheme": "bipolar"})
    recordings = read_bids(write_tree(tmp_path, names=("A1", "B1")), plan=plan)
    assert list(recordings) == []
    assert codes(recordings, what="seizure")[0] == "channel-montage"


def test_positions_of_a_tree_keep_grid_rows_apart(tmp_path):
    mm = grid(2, 4)
    write_electrodes(write_tree(tmp_path, names=tuple(mm)), mm)
    [done] = read_bids(tmp_path, plan=Plan().override(montage={"scheme": "bipolar"}))
    assert "G4-G5" not in done.channels
    assert len(done.channels) == 6
