"""Epileptogenicity Index, fragility and plain changes: by hand, by construction, by law."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import training_free_by_hand as hand
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata, spearmanr

from epilens.core.errors import MethodError
from epilens.data.electrodes.positions import Positions
from epilens.evidence.cube import blind, joined
from epilens.evidence.describe import describe
from epilens.evidence.signals import Piece, make_signals, signal_of
from epilens.evidence.views import views
from epilens.methods import METHODS, Training, memoize
from epilens.methods.epileptogenicity_index import (
    AS_RECORDED,
    MEASURED,
    PUBLISHED,
    Index,
    energy_ratio,
    energy_rise,
    epileptogenicity_index,
    normalised_index,
    page_hinkley,
    seizure_index,
)
from epilens.methods.fragility import (
    fragility,
    fragility_map,
    linear_model,
    smallest_perturbation,
    spectral_radius,
    stable_model,
)
from epilens.methods.plain import as_ranks, change_after_onset
from epilens.plan import FragilityPlan, IndexPlan, Plan
from epilens.testing import make_patient, make_recording

INDEX, FRAGILITY = IndexPlan(), FragilityPlan()
PUBLISHED_PLAN = INDEX.changed(PUBLISHED.changes)


def bursts(starts_s, fs=200.0, seconds=40.0, amplitude=8.0, seed=0):
    """Slow noise from -30 s on in which channel i becomes fast at starts_s[i] (None: never)."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(seconds * fs)) / fs - 30
    x = np.array([3 * np.sin(2 * np.pi * 6 * t + p) for p in rng.uniform(0, 6, len(starts_s))])
    x += 0.3 * rng.normal(size=x.shape)
    for row, start in zip(x, starts_s, strict=True):
        if start is not None:
            row += np.where(t >= start, amplitude * np.sin(2 * np.pi * 30 * t), 0)
    return piece_of(x, fs)


def piece_of(x, fs, mains_hz=None):
    return Piece(x, fs, -30.0, np.ones(len(x), bool), mains_hz)


def with_burst(piece, row, start_s, seconds=1.0, amplitude=30.0):
    """The piece with a short loud burst of fast activity in one row."""
    t = piece.start_s + np.arange(piece.x.shape[1]) / piece.fs
    inside = (t >= start_s) & (t < start_s + seconds)
    x = piece.x.copy()
    x[row] += np.where(inside, amplitude * np.sin(2 * np.pi * 35 * t), 0)
    return piece._replace(x=x)


# Epileptogenicity Index


@pytest.mark.parametrize(("fs", "mains_hz"), [(128.0, None), (199.7, None), (200.0, 50.0)])
def test_the_energy_ratio_is_the_transcription(fs, mains_hz):
    piece = bursts([None, -28.0], fs=fs, seconds=4.0)._replace(mains_hz=mains_hz)
    ours, at_s = energy_ratio(piece, INDEX)
    by_hand = [hand.energy_ratio(row, fs, 1.0, 0.1, mains_hz) for row in piece.x]
    np.testing.assert_allclose(ours, by_hand, rtol=1e-6)
    np.testing.assert_allclose(at_s, -30 + np.arange(len(at_s)) * round(0.1 * fs) / fs)


def test_mains_do_not_hide_a_rise():
    piece = bursts([0.0, None])
    t = np.arange(piece.x.shape[1]) / piece.fs
    loud = piece._replace(x=piece.x + 20 * np.sin(2 * np.pi * 60 * t), mains_hz=60.0)
    quiet = seizure_index(piece, INDEX)
    assert seizure_index(loud, INDEX)[0] > 0.5 * quiet[0]
    assert seizure_index(loud._replace(mains_hz=None), INDEX)[0] < 0.01 * quiet[0]


@given(st.integers(0, 10_000), st.floats(0, 2), st.floats(0.05, 4))
@settings(max_examples=60, deadline=None)
def test_page_hinkley_is_the_transcription(seed, bias, threshold):
    rng = np.random.default_rng(seed)
    ratio = rng.gamma(1.0, 1.0, (5, 60)) + np.where(np.arange(60) > rng.integers(10, 70), 3, 0)
    plan = IndexPlan(bias=bias, threshold=threshold)
    by_hand = [hand.page_hinkley(row, 0.1, bias, threshold) for row in ratio]
    assert page_hinkley(ratio, 0.1, plan).tolist() == [-1 if n is None else n for n in by_hand]


def test_the_published_index_of_a_seizure_is_the_transcription():
    piece = bursts([0.0, 2.0, None, 0.5])
    ratio, at_s = energy_ratio(piece, PUBLISHED_PLAN, PUBLISHED)
    searched = ratio[:, at_s >= -5 - 1e-9].tolist()
    by_hand = hand.index(searched, 0.1, 0.5, 1.2, 5.0, 1.0)
    ours = seizure_index(piece, PUBLISHED_PLAN, PUBLISHED)
    np.testing.assert_allclose(ours, by_hand, rtol=1e-9)
    assert by_hand[2] == 0 < min(by_hand[0], by_hand[1], by_hand[3])


def test_the_measured_index_of_a_seizure_is_the_transcription():
    piece = with_burst(bursts([0.0, 2.0, None, 0.5]), 2, -7.0)
    ratio, at_s = energy_ratio(piece, INDEX)
    before = [i for i, s in enumerate(at_s) if s + 1 <= -5 + 1e-9]
    first = int(np.argmax(at_s >= -10 - 1e-9))
    own = [hand.relative(row, before) for row in ratio.tolist()]
    seen = [hand.running_median(row, 51)[first:] for row in own]
    by_hand = hand.index([r[first:] for r in own], 0.1, 0.5, 3.75, 5.0, 1.0, seen)
    np.testing.assert_allclose(seizure_index(piece, INDEX), by_hand, rtol=1e-9)
    assert by_hand[2] == 0 < min(by_hand[0], by_hand[1], by_hand[3])


@pytest.mark.parametrize("row", [MEASURED, PUBLISHED], ids=["measured", "published"])
def test_early_channels_have_a_larger_index(row):
    piece = bursts([4.0, 0.0, 8.0, None], seconds=60.0)
    index = seizure_index(piece, INDEX.changed(row.changes), row)
    assert np.argsort(-index).tolist() == [1, 0, 2, 3]


def test_strong_channels_have_a_larger_index():
    weak, strong = (bursts([0.0], amplitude=a).x for a in (4.0, 8.0))
    index = seizure_index(piece_of(np.concatenate([weak, strong]), 200.0), INDEX)
    assert index[1] > 2 * index[0] > 0


@pytest.mark.parametrize("start_s", [-9.0, -6.5, -4.0])
def test_a_false_alarm_before_the_seizure_does_not_set_the_first_time(start_s):
    """Delays refer to the first change: a burst in a channel that never seizes must not be it."""
    clean = bursts([0.0, 2.0, None])
    alarmed = with_burst(clean, 2, start_s)
    np.testing.assert_allclose(
        seizure_index(alarmed, INDEX)[:2], seizure_index(clean, INDEX)[:2], rtol=1e-9
    )
    assert seizure_index(alarmed, INDEX)[2] == 0
    at_once = IndexPlan(sustained_s=0.0)
    assert seizure_index(alarmed, at_once)[0] < 0.5 * seizure_index(clean, at_once)[0]


def test_a_change_before_the_mark_that_lasts_is_found():
    index = seizure_index(bursts([-4.0, 0.0, None]), INDEX)
    assert index[0] > 2 * index[1] > 0


def test_gain_does_not_change_the_index():
    piece = bursts([0.0, 2.0])
    louder = piece._replace(x=np.array([[3.0], [0.1]]) * piece.x)
    np.testing.assert_allclose(seizure_index(louder, INDEX), seizure_index(piece, INDEX), rtol=1e-5)


def test_a_channel_s_own_level_does_not_change_its_index():
    """Twice the slow activity throughout is a quarter of the ratio throughout."""
    piece = bursts([0.0, 0.0], amplitude=20.0, seed=3)
    t = np.arange(piece.x.shape[1]) / piece.fs
    slow = piece.x.copy()
    slow[1] = piece.x[0] + 9 * np.sin(2 * np.pi * 6 * t)
    ours, published = (
        seizure_index(piece._replace(x=slow), INDEX.changed(row.changes), row)
        for row in (MEASURED, PUBLISHED)
    )
    assert abs(np.log(ours[1] / ours[0])) < abs(np.log(published[1] / published[0]))


def test_a_flat_channel_and_a_short_piece_have_no_index():
    piece = bursts([0.0, 2.0])
    piece.x[1] = 0
    assert seizure_index(piece, INDEX)[1] == 0
    assert not seizure_index(piece._replace(x=piece.x[:, :50]), INDEX).any()


def test_one_channel_leads_its_seizure():
    assert normalised_index(bursts([0.0]), INDEX, AS_RECORDED).tolist() == [1.0]


def test_a_recording_that_begins_late_has_what_it_has_as_baseline():
    whole = bursts([0.0, 2.0])
    late = whole._replace(x=whole.x[:, round(24.5 * 200) :], start_s=-5.5)
    index = seizure_index(late, INDEX)
    assert index[0] > index[1] > 0


def test_seizures_are_joined_by_median_or_maximum_and_the_patient_s_largest_is_one():
    patient = make_patient(seizures=3, fs=256.0)
    median, largest = (
        epileptogenicity_index(patient, INDEX, Index(over, montage="as-recorded"))
        for over in ("median", "max")
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
    alone = epileptogenicity_index(second, INDEX, AS_RECORDED)
    assert alone[0] > 0
    assert np.isfinite(epileptogenicity_index(partly, INDEX, AS_RECORDED)).all()


def pairs_patient(**about):
    """A1-A3 neighbours, B7 alone; only A3 becomes fast."""
    recording = make_recording(
        fs=256.0, channels=["A1", "A2", "A3", "B7"], ez=0, positions=Positions(), **about
    )
    t = recording.start_s + np.arange(recording.signal.shape[1]) / 256.0
    recording.signal[2] += np.where(t > 0, 60 * np.sin(2 * np.pi * 40 * t), 0)
    return joined(describe([recording]), make_signals([recording], Plan()))


def test_a_contact_has_the_mean_of_its_pairs_and_one_without_a_neighbour_is_neutral():
    patient = pairs_patient()
    index = epileptogenicity_index(patient, INDEX)
    assert np.isnan(index[3])
    # A1-A2 does not change, A2-A3 does: A1 has nothing, A2 half, A3 all.
    np.testing.assert_allclose(index[:3], [0, 0.5, 1])
    fitted = METHODS["epileptogenicity-index"].fit(Training())
    p_nez = fitted.predict([blind(patient)])["p_nez"].to_numpy()
    np.testing.assert_allclose(p_nez, [1, 0.5, 0, 0.5])
    assert fitted.notes == {"without_neighbour": {"sub-01": ["B7"]}}


def test_a_patient_that_was_described_in_pairs_is_taken_as_it_is():
    patient = pairs_patient()
    patient.attrs["montage"] = "bipolar"
    np.testing.assert_allclose(
        epileptogenicity_index(patient, INDEX), epileptogenicity_index(patient, INDEX, AS_RECORDED)
    )


def test_the_energy_ratio_alone_ranks_by_the_rise_at_onset():
    patient = pairs_patient()
    rise = energy_rise(patient, INDEX, AS_RECORDED)
    assert rise.argmax() == 2
    assert rise[2] > np.log(2) > np.abs(rise[:2]).max()
    p_nez = METHODS["epileptogenicity-index/energy-ratio"].fit(Training()).predict([patient])
    assert p_nez.set_index("channel")["p_nez"].idxmin() == "A3"


def real_pieces(shared_data):
    """Four recorded seizures of one patient; 10 s before and 10 s of each, put together."""
    with np.load(shared_data / "real" / "ecog_four_seizures_400hz.npz") as file:
        for k in (1, 3, 5, 7):
            parts = [file[f"seizure_{k}_{part}"] for part in ("before", "ictal")]
            x = np.concatenate(parts, axis=1).astype(np.float32)
            yield Piece(x, 400.0, -10.0, np.ones(len(x), bool), 60.0)


@pytest.mark.data
def test_recorded_seizures_agree_better_with_each_other_than_by_the_published_settings(shared_data):
    """No labels here: but seizures of one patient begin alike, and nothing begins 5 s before."""

    def agreement(row):
        found = [
            seizure_index(piece, INDEX.changed(row.changes), row)
            for piece in real_pieces(shared_data)
        ]
        rho = [spearmanr(a, b).statistic for a, b in combinations(found, 2)]
        return np.mean(rho)

    before = PUBLISHED.changes | {"start_s": -10.0}
    as_it_was = Index("median", "absolute", "as-recorded", 0.0, changes=before)
    assert agreement(AS_RECORDED) > 0.70
    assert agreement(as_it_was) < agreement(PUBLISHED) < agreement(AS_RECORDED)


@pytest.mark.data
def test_ten_seconds_before_recorded_seizures_raise_almost_no_alarm(shared_data):
    before = [piece._replace(x=piece.x[:, :4000]) for piece in real_pieces(shared_data)]
    lasting, at_once = (
        np.mean([seizure_index(piece, plan) > 0 for piece in before])
        for plan in (INDEX, IndexPlan(sustained_s=0.0))
    )
    assert lasting < 0.04 < 0.08 < at_once


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
    windows, radius = fragility_map(x, 500.0, FragilityPlan(window_s=2.0, step_s=1.0))
    assert (radius < 1).all()
    assert windows.shape == (11, 6)
    assert ((windows >= 0) & (windows <= 1)).all()
    assert windows.mean(axis=0).argmax() == 4


def test_one_gain_for_all_channels_does_not_change_fragility():
    x = np.random.default_rng(5).normal(size=(5, 600)).cumsum(axis=1)
    ours, louder = (fragility_map(k * x, 250.0, FRAGILITY)[0] for k in (1.0, 50.0))
    np.testing.assert_allclose(louder, ours, rtol=1e-6, atol=1e-9)


def test_flat_channels_give_finite_fragility():
    x = np.random.default_rng(6).normal(size=(4, 500))
    x[1] = 0
    assert np.isfinite(fragility_map(x, 250.0, FRAGILITY)[0]).all()
    assert np.isfinite(fragility_map(np.zeros((3, 500)), 250.0, FRAGILITY)[0]).all()


def test_fragility_leaves_out_channels_that_a_seizure_lacks():
    patient = make_patient(seizures=2, fs=220.0)
    scores, said = fragility(blind(patient), FRAGILITY)
    assert (scores.shape, said) == ((6,), "")
    parts = []
    for s in range(2):
        first = round((FRAGILITY.start_s - float(patient["signal_start_s"][s])) * 220)
        x = signal_of(patient, s)[:, first : first + 20 * 220]
        parts.append(fragility_map(x, 220.0, FRAGILITY)[0].mean(axis=0))
    np.testing.assert_allclose(scores, np.mean(parts, axis=0), rtol=1e-6)


@pytest.mark.parametrize("radius", [1.0, 1.5])
def test_ranks_for_a_given_system_are_exactly_those_of_the_transcription(radius):
    A = np.random.default_rng(8).normal(size=(12, 12))
    A *= 0.95 / spectral_radius(A)
    by_hand = [np.linalg.norm(hand.smallest_perturbation(A, i, radius, 17)[0]) for i in range(12)]
    ours = smallest_perturbation(A, radius, 17)
    assert rankdata(ours).tolist() == rankdata(by_hand).tolist()


def test_the_circle_to_which_an_eigenvalue_is_moved_changes_ranks():
    A = np.random.default_rng(9).normal(size=(20, 20))
    A *= 0.99 / spectral_radius(A)
    unit, outer = (rankdata(smallest_perturbation(A, r, 17)) for r in (1.0, 1.5))
    assert FRAGILITY.radius == 1.5
    assert FRAGILITY.changed(METHODS["fragility/unit"].settings.changes).radius == 1.0
    assert spearmanr(unit, outer).statistic < 0.95


def growing(seconds=4.0, fs=250.0):
    """A network that is unstable, as far as a few samples can tell."""
    rng = np.random.default_rng(10)
    A = np.diag([1.01, 0.9, 0.8, 0.7])
    x = np.zeros((4, round(seconds * fs)))
    x[:, 0] = 1
    for t in range(1, x.shape[1]):
        x[:, t] = A @ x[:, t - 1] + 0.01 * rng.normal(size=4)
    return x


def test_an_unstable_model_gets_more_ridge_until_it_is_stable():
    x = growing()[None, :, :60]
    assert spectral_radius(linear_model(x, FRAGILITY.ridge))[0] >= 1
    A, radius = stable_model(x, FRAGILITY)
    assert radius[0] == spectral_radius(A)[0] < 1
    calm = np.random.default_rng(11).normal(size=(1, 4, 60))
    np.testing.assert_array_equal(
        stable_model(calm, FRAGILITY)[0], linear_model(calm, FRAGILITY.ridge)
    )


def test_a_model_that_stays_unstable_is_said_in_the_notes():
    patient = make_patient(seizures=1, fs=220.0, channels=4)
    first = round((-10 - float(patient["signal_start_s"][0])) * 220)
    x = patient["signal"].values.copy()
    x[:, first : first + 300] = growing(fs=220.0)[:, :300]
    patient = patient.assign(signal=(("channel", "sample"), x))
    plan = Plan().override(fragility={"most_ridge": 1e-5})
    fitted = METHODS["fragility"].fit(Training(plan=plan))
    fitted.predict([patient])
    said = fitted.notes["not_stable"]["sub-01"]
    assert said.startswith("A is not stable in ")
    assert "of 156 windows (spectral radius up to 1." in said
    fitted = METHODS["fragility"].fit(Training())
    fitted.predict([patient])
    assert fitted.notes == {"not_stable": {}}


def test_fragility_can_be_referred_to_the_common_average():
    x = np.random.default_rng(12).normal(size=(5, 600)).cumsum(axis=1)
    common = np.random.default_rng(13).normal(size=600).cumsum()
    plan = FRAGILITY.changed(METHODS["fragility/common-average"].settings.changes)
    ours, other = (fragility_map(y, 250.0, plan)[0] for y in (x, x + 30 * common))
    np.testing.assert_allclose(other, ours, atol=1e-6)
    assert np.abs(fragility_map(x, 250.0, FRAGILITY)[0] - ours).max() > 0.01


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


def test_scores_of_a_stored_patient_are_computed_once_and_a_selection_again():
    calls = []

    def count(patient):
        calls.append(patient.sizes["channel"])
        return np.zeros(patient.sizes["channel"])

    score, patient = memoize("some settings", count), make_patient(fs=128.0)
    score(patient), score(patient)
    assert calls == [6, 6]  # in memory: no key
    patient.attrs["key"] = "a store's"
    for _ in range(3):
        score(patient)
        score(blind(patient))
        score(patient.isel(channel=[0, 1]))
    assert calls == [6, 6, 6, 2]
    memoize("other settings", count)(patient)
    assert calls[-1] == 6
