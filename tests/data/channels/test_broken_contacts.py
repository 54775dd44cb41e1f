"""Contacts that cannot be trusted in a seizure: each defect is made, and nothing else is named."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d

from epilens.data.channels.broken_contacts import check_contacts, repair_impossible
from epilens.plan import Plan, QualityPlan, shipped_plans
from epilens.testing import make_recording

FS, ONSET = 256.0, round(35 * 256.0)
T = np.arange(round(70 * FS)) / FS


def checked(change=None, keep=(), **about):
    signal = make_recording(channels=12, fs=FS).signal.copy()
    if change is not None:
        signal[6] = change(signal[6])
    recording = make_recording(channels=12, fs=FS, signal=signal, **about)
    trusted, rows = check_contacts(recording, QualityPlan(), keep)
    return [recording.channels[i] for i in np.flatnonzero(np.logical_not(trusted))], list(
        rows.values()
    )


def noise(size):
    return size * np.random.default_rng(3).normal(size=T.size)


@pytest.mark.parametrize("seed", range(5))
def test_contacts_of_a_seizure_are_trusted(seed):
    recording = make_recording(channels=12, fs=FS, ez=5, seed=seed)
    assert check_contacts(recording, QualityPlan()) == ([True] * 12, {})


@pytest.mark.parametrize(
    ("defect", "change"),
    [
        ("flat before onset", lambda x: np.where(T < 35, 0, x)),
        ("flat before onset", lambda x: 0 * x),
        ("flat after onset", lambda x: np.where(T < 37, x, 5)),
        ("noise before onset", lambda x: 20 * x),
        ("almost flat before onset", lambda x: 0.01 * x),
        ("almost flat after onset", lambda x: np.where(T < 35, x, 0.01 * x)),
        ("clipped before onset", lambda x: 20 * np.sign(np.sin(12 * T))),
        ("mains before onset", lambda x: x + 3000 * np.sin(2 * np.pi * 50 * T)),
    ],
)
def test_a_broken_contact_is_excluded_with_its_reason(defect, change):
    names, rows = checked(change)
    assert names == ["A7"]
    assert [(row.channel, row.code, row.effect, row.found) for row in rows] == [
        ("A7", "channel-quality", "excluded", defect)
    ]


def test_a_plan_can_keep_broken_contacts_with_a_note():
    recording = make_recording(channels=12, fs=FS)
    recording.signal[6] *= 20
    trusted, rows = check_contacts(recording, QualityPlan(note_broken=True))
    assert all(trusted)
    assert [(row.effect, row.found) for row in rows.values()] == [("noted", "noise before onset")]
    assert "kept by the plan" in rows["A7"].why


def test_the_paper_s_plans_use_all_channels_that_the_sidecars_call_good():
    plans = {name: Plan.load(path) for name, path in shipped_plans().items()}
    keep = {name for name, plan in plans.items() if plan.quality.note_broken}
    assert keep == {"paper", "public", "raw", "loco", "loco-raw"}


@pytest.mark.parametrize(
    "change",
    [
        lambda x: np.where(T < 35, x, 15 * x),
        lambda x: np.where(T < 35, x, x + noise(100.0)),
        lambda x: 3 * x,
        lambda x: 0.2 * x,
        lambda x: x + 400,
        lambda x: np.clip(x, -70, 70),
        lambda x: np.where((T > 10) & (T < 13), 0, x),
    ],
    ids=["large ictal", "fast ictal", "large", "small", "offset", "clipped", "brief dropout"],
)
def test_what_seizures_and_electrodes_do_is_no_defect(change):
    assert checked(change) == ([], [])


def test_white_noise_among_smooth_signals_is_a_defect():
    signal = gaussian_filter1d(make_recording(channels=12, fs=FS, ez=0).signal, 4, axis=1)
    signal[6] = noise(3 * signal[0].std() / 10)
    recording = make_recording(channels=12, fs=FS, signal=signal.astype(np.float32))
    trusted, rows = check_contacts(recording, QualityPlan())
    assert trusted == [i != 6 for i in range(12)]
    assert [row.found for row in rows.values()] == ["fast noise before onset"]


def test_white_noise_after_onset_is_a_defect_where_the_rate_can_show_it():
    names, found = [], []
    for fs in (256.0, 512.0):
        made = make_recording(channels=12, fs=fs)
        smooth = gaussian_filter1d(made.signal, fs / 128, axis=1)
        smooth *= made.signal.std() / smooth.std()
        onset = round(-made.start_s * fs)
        draw = np.random.default_rng(1).normal(size=smooth.shape[1] - onset)
        smooth[6, onset:] += 20 * smooth.std() * draw
        recording = make_recording(channels=12, fs=fs, signal=smooth)
        names.append(list(check_contacts(recording, QualityPlan())[1]))
        found += [row.found for row in check_contacts(recording, QualityPlan())[1].values()]
    assert names == [[], ["A7"]]
    assert found == ["noise after onset"]


def test_a_contact_without_its_samples_before_onset_is_a_defect():
    made = make_recording(channels=12, fs=FS)
    missing = np.zeros(made.signal.shape, bool)
    missing[6, :ONSET] = True
    recording = make_recording(channels=12, fs=FS, missing=missing)
    (row,) = check_contacts(recording, QualityPlan())[1].values()
    assert (row.channel, row.found) == ("A7", "incomplete before onset")
    missing[:, :ONSET] = True
    recording = make_recording(channels=12, fs=FS, missing=missing)
    assert not check_contacts(recording, QualityPlan())[1]


def test_a_contact_that_the_user_keeps_is_only_noted():
    names, (row,) = checked(lambda x: 0 * x, keep=("a7",))
    assert names == []
    assert (row.effect, row.found) == ("noted", "flat before onset")
    assert "kept by the user" in row.why


def test_a_contact_close_to_the_limit_is_used_and_noted():
    excluded, [row] = checked(lambda x: 8 * x)
    assert not excluded
    assert (row.effect, row.found) == ("noted", "very large before onset")
    assert checked(lambda x: 4 * x) == ([], [])


def test_a_gap_of_all_contacts_is_no_defect_of_any():
    signal = make_recording(channels=12, fs=FS).signal.copy()
    signal[:, : round(12 * FS)] = 0
    recording = make_recording(channels=12, fs=FS, signal=signal)
    assert check_contacts(recording, QualityPlan()) == ([True] * 12, {})


def test_samples_that_are_missing_are_not_flat():
    missing = np.zeros((12, T.size), bool)
    missing[6, : round(20 * FS)] = True
    recording = make_recording(channels=12, fs=FS)
    recording.signal[missing] = 0
    changed = make_recording(channels=12, fs=FS, signal=recording.signal, missing=missing)
    assert check_contacts(changed, QualityPlan()) == ([True] * 12, {})


def test_one_impossible_sample_is_replaced_by_its_neighbours():
    clean = make_recording(channels=12, fs=FS).signal
    signal = clean.copy()
    signal[3, 5000] = 1e12
    signal, replaced = repair_impossible(signal)
    assert replaced == {3: 1}
    expected = (clean[3, 4999] + clean[3, 5001]) / 2
    assert signal[3, 5000] == pytest.approx(expected)
    others = np.delete(signal, 5000, axis=1)
    np.testing.assert_array_equal(others, np.delete(clean, 5000, axis=1))


def test_a_recording_in_a_wrong_unit_is_not_repaired():
    signal = 1e6 * make_recording(channels=12, fs=FS).signal
    repaired, replaced = repair_impossible(signal)
    assert replaced == {}
    np.testing.assert_array_equal(repaired, signal)
