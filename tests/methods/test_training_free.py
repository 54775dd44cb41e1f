"""Epileptogenicity Index, fragility and plain changes: by hand, by construction, by law."""

from __future__ import annotations

import numpy as np
import pytest
import training_free_by_hand as hand
from hypothesis import given, settings
from hypothesis import strategies as st

from epilens.errors import MethodError
from epilens.evidence.cube import blind
from epilens.evidence.signals import signal_of
from epilens.evidence.views import views
from epilens.methods import METHODS, Training, once_per_patient
from epilens.methods.epileptogenicity_index import (
    Index,
    energy_ratio,
    epileptogenicity_index,
    page_hinkley,
    seizure_index,
)
from epilens.methods.fragility import (
    fragility,
    fragility_map,
    linear_model,
    smallest_perturbation,
)
from epilens.methods.plain import as_ranks, change_after_onset
from epilens.plan import FragilityPlan, IndexPlan, Plan
from epilens.testing import make_patient

INDEX, FRAGILITY = IndexPlan(), FragilityPlan()


def bursts(starts_s, fs=200.0, seconds=30.0, amplitude=8.0, seed=0):
    """Slow noise in which channel i becomes fast at starts_s[i] (None: never)."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(seconds * fs)) / fs
    x = np.array([3 * np.sin(2 * np.pi * 6 * t + p) for p in rng.uniform(0, 6, len(starts_s))])
    x += 0.3 * rng.normal(size=x.shape)
    for row, start in zip(x, starts_s, strict=True):
        if start is not None:
            row += np.where(t >= start, amplitude * np.sin(2 * np.pi * 30 * t), 0)
    return x, fs


# Epileptogenicity Index


@pytest.mark.parametrize("fs", [128.0, 199.7])
def test_the_energy_ratio_is_the_transcription(fs):
    x, _ = bursts([None, 2.0], fs=fs, seconds=4.0)
    ours = energy_ratio(x, fs, INDEX)
    by_hand = [hand.energy_ratio(row, fs, 1.0, 0.1) for row in x]
    np.testing.assert_allclose(ours, by_hand, rtol=1e-6)


@given(st.integers(0, 10_000), st.floats(0, 2), st.floats(0.05, 4))
@settings(max_examples=60, deadline=None)
def test_page_hinkley_is_the_transcription(seed, bias, threshold):
    rng = np.random.default_rng(seed)
    ratio = rng.gamma(1.0, 1.0, (5, 60)) + np.where(np.arange(60) > rng.integers(10, 70), 3, 0)
    plan = IndexPlan(bias=bias, threshold=threshold)
    by_hand = [hand.page_hinkley(row, 0.1, bias, threshold) for row in ratio]
    assert page_hinkley(ratio, 0.1, plan).tolist() == [-1 if n is None else n for n in by_hand]


def test_the_index_of_a_seizure_is_the_transcription():
    x, fs = bursts([10.0, 12.0, None, 10.5])
    ratios = energy_ratio(x, fs, INDEX)
    by_hand = hand.index(ratios.tolist(), 0.1, 0.5, 1.2, 5.0, 1.0)
    np.testing.assert_allclose(seizure_index(x, fs, INDEX), by_hand, rtol=1e-9)
    assert by_hand[2] == 0 < min(by_hand[0], by_hand[1], by_hand[3])


def test_early_channels_have_a_larger_index():
    x, fs = bursts([15.0, 10.0, 20.0, None])
    index = seizure_index(x, fs, INDEX)
    assert np.argsort(-index).tolist() == [1, 0, 2, 3]


def test_gain_does_not_change_the_index():
    x, fs = bursts([10.0, 12.0])
    gains = np.array([[3.0], [0.1]])
    np.testing.assert_allclose(
        seizure_index(gains * x, fs, INDEX), seizure_index(x, fs, INDEX), rtol=1e-5
    )


def test_a_flat_channel_and_a_short_piece_have_no_index():
    x, fs = bursts([10.0, 12.0])
    x[1] = 0
    assert seizure_index(x, fs, INDEX)[1] == 0
    assert not seizure_index(x[:, :50], fs, INDEX).any()


def test_seizures_are_joined_by_median_or_maximum_and_the_patient_s_largest_is_one():
    patient = make_patient(seizures=3, fs=256.0)
    median, largest = (
        epileptogenicity_index(patient, INDEX, Index(over)) for over in ("median", "max")
    )
    assert median.max() == largest.max() == 1
    assert (largest >= median - 1e-12).all()
    assert set(np.argsort(-median)[:2]) == {0, 1}  # the EZ of these patients


def test_seizures_that_lack_a_channel_do_not_count_for_it():
    patient = make_patient(seizures=2, fs=256.0)
    valid = patient["valid"].copy()
    valid[0, :, 0] = False
    partly = patient.assign(valid=valid, x=patient["x"].where(valid, 0))
    second = partly.isel(seizure=[1])
    alone = epileptogenicity_index(second, INDEX)
    assert alone[0] > 0
    assert np.isfinite(epileptogenicity_index(partly, INDEX)).all()


# Fragility


@pytest.mark.parametrize("ridge", [1e-5, 1e-2])
def test_the_linear_model_is_the_transcription(ridge):
    x = np.random.default_rng(1).normal(size=(5, 40)).cumsum(axis=1)
    np.testing.assert_allclose(linear_model(x, ridge), hand.linear_model(x, ridge), rtol=1e-6)


def test_the_linear_model_finds_the_system_that_made_the_signal():
    rng = np.random.default_rng(2)
    A = rng.normal(size=(4, 4))
    A *= 0.9 / np.abs(np.linalg.eigvals(A)).max()
    x = np.zeros((4, 4000))
    for t in range(1, 4000):
        x[:, t] = A @ x[:, t - 1] + rng.normal(size=4)
    np.testing.assert_allclose(linear_model(x, 1e-8), A, atol=0.06)


@pytest.mark.parametrize(("radius", "angles"), [(1.0, 17), (1.5, 8)])
def test_the_smallest_perturbation_is_the_transcription(radius, angles):
    A = 0.25 * np.random.default_rng(3).normal(size=(3, 6, 6))
    ours = smallest_perturbation(A, radius, angles)
    for w in range(3):
        for i in range(6):
            Γ, λ = hand.smallest_perturbation(A[w], i, radius, angles)
            np.testing.assert_allclose(ours[w, i], np.linalg.norm(Γ), rtol=1e-8)
            changed = A[w].copy()
            changed[:, i] += Γ
            assert np.abs(np.linalg.eigvals(changed) - λ).min() < 1e-7  # it gets there


def test_the_fragile_node_of_a_known_system_is_found():
    """A chain in which node 2 holds the only eigenvalue close to the circle."""
    A = np.diag([0.2, 0.3, 0.97, 0.1, 0.25])
    norm = smallest_perturbation(A, 1.0, 17)
    np.testing.assert_allclose(norm, 1 - np.diag(A), rtol=1e-6)  # each pushes its own pole to 1
    assert norm.argmin() == 2


def test_the_fragile_channel_of_a_simulated_network_is_ranked_first():
    rng = np.random.default_rng(4)
    A = 0.05 * rng.normal(size=(6, 6)) + np.diag([0.4, 0.4, 0.4, 0.4, 0.99, 0.4])
    x = np.zeros((6, 6000))
    for t in range(1, 6000):
        x[:, t] = A @ x[:, t - 1] + rng.normal(size=6)
    windows = fragility_map(x, 500.0, FragilityPlan(window_s=2.0, step_s=1.0))
    assert windows.shape == (11, 6)
    assert ((windows >= 0) & (windows <= 1)).all()
    assert windows.mean(axis=0).argmax() == 4


def test_one_gain_for_all_channels_does_not_change_fragility():
    x = np.random.default_rng(5).normal(size=(5, 600)).cumsum(axis=1)
    ours, louder = (fragility_map(k * x, 250.0, FRAGILITY) for k in (1.0, 50.0))
    np.testing.assert_allclose(louder, ours, rtol=1e-6, atol=1e-9)


def test_flat_channels_give_finite_fragility():
    x = np.random.default_rng(6).normal(size=(4, 500))
    x[1] = 0
    assert np.isfinite(fragility_map(x, 250.0, FRAGILITY)).all()
    assert np.isfinite(fragility_map(np.zeros((3, 500)), 250.0, FRAGILITY)).all()


def test_fragility_leaves_out_channels_that_a_seizure_lacks():
    patient = make_patient(seizures=2, fs=220.0)
    scores = fragility(blind(patient), FRAGILITY)
    assert scores.shape == (6,)
    parts = []
    for s in range(2):
        first = round((FRAGILITY.start_s - float(patient["signal_start_s"][s])) * 220)
        x = signal_of(patient, s)[:, first : first + 20 * 220]
        parts.append(fragility_map(x, 220.0, FRAGILITY).mean(axis=0))
    np.testing.assert_allclose(scores, np.mean(parts, axis=0), rtol=1e-6)


# Plain changes


@pytest.mark.parametrize("descriptor", ["line_length", "log_high_gamma_power"])
def test_change_after_onset_is_the_median_over_seizures_of_the_mean_by_hand(descriptor):
    patient = make_patient(seizures=3, fs=220.0)
    z = views(patient).sel(view="z_delta", descriptor=descriptor).values
    wanted = []
    for c in range(6):
        means = []
        for s in range(3):
            after = [w for w in range(59) if patient["start_s"].values[s, w] >= 0]
            means.append(np.mean([z[s, w, c] for w in after]))
        wanted.append(np.median(means))
    np.testing.assert_allclose(change_after_onset(patient, descriptor), wanted, rtol=1e-5)
    if descriptor == "line_length":
        assert set(np.argsort(wanted)[-2:]) == {0, 1}  # their 40 Hz burst is not high gamma


@pytest.mark.parametrize("name", ["line-length-change", "high-frequency-change"])
def test_a_patient_without_the_descriptor_is_refused(name):
    patient = make_patient(fs=128.0).sel(descriptor=["rms", "variance"])
    descriptor = METHODS[name].settings.descriptor
    with pytest.raises(MethodError, match=f"sub-01: expected the descriptor {descriptor}, found r"):
        METHODS[name].fit(Training()).predict([patient])


def test_ranks_share_ties_and_never_reach_0_or_1():
    np.testing.assert_allclose(as_ranks(np.array([5.0, 1.0, 5.0])), [1.5 / 4, 3 / 4, 1.5 / 4])


def test_the_defaults_are_the_plan_s():
    assert Plan().epileptogenicity_index == INDEX
    assert Plan().fragility == FRAGILITY
    assert (FRAGILITY.window_s, FRAGILITY.step_s) == (0.25, 0.125)


def test_scores_of_a_stored_patient_are_computed_once_and_a_selection_anew():
    calls = []

    def count(patient):
        calls.append(patient.sizes["channel"])
        return np.zeros(patient.sizes["channel"])

    score, patient = once_per_patient("some settings", count), make_patient(fs=128.0)
    score(patient), score(patient)
    assert calls == [6, 6]  # in memory: no key
    patient.attrs["key"] = "a store's"
    for _ in range(3):
        score(patient)
        score(blind(patient))
        score(patient.isel(channel=[0, 1]))
    assert calls == [6, 6, 6, 2]
    once_per_patient("other settings", count)(patient)
    assert calls[-1] == 6
