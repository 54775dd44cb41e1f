"""Contributions add up to the score, and mean what they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from new_patients import FS, cohort_cubes, make_model, the_model

from epilens.evidence.describe import describe
from epilens.evidence.views import VIEWS
from epilens.localization.sources import ModelSource
from epilens.networks import gradients as module
from epilens.networks.gradients import spanning
from epilens.plan import PAPER_NINE
from epilens.testing import make_cube, make_recording


@pytest.fixture(scope="module")
def model():
    return the_model()


@pytest.fixture(scope="module")
def cube():
    return cohort_cubes(2)[1]


@pytest.fixture(scope="module")
def told(model, cube):
    return model.explain(cube, np.arange(cube.sizes["channel"]))


def test_contributions_add_up_to_the_difference_of_the_scores(told, model, cube):
    score = 1 - model.predict(cube)["p_nez"].to_numpy()
    np.testing.assert_allclose(told.score, score, atol=1e-5)
    wanted = told.score - told.baseline - told.together
    np.testing.assert_allclose(told.by_feature.sum(axis=(1, 2)), wanted, atol=1e-3)
    parts = told.by_window.sum(axis=(1, 2)) + told.steady.sum(axis=1)
    np.testing.assert_allclose(parts, wanted, atol=1e-3)
    assert told.residual < 1e-3


def against_others(model, cube):
    """Each seizure's score alone, less the mean of the other five contacts' (S, C)."""
    alone = 1 - ModelSource(model).score(cube).per_seizure
    return alone - (alone.sum(axis=1, keepdims=True) - alone) / 5


def test_a_seizures_part_can_be_looked_up(model, cube, told):
    """Six contacts: the five that a contact is compared with are all the others."""
    np.testing.assert_allclose(
        told.by_seizure, against_others(model, cube).T / cube.sizes["seizure"], atol=1e-3
    )
    alone = 1 - ModelSource(model).score(cube).per_seizure
    np.testing.assert_allclose(told.together, told.score - alone.mean(axis=0), atol=1e-5)


@pytest.mark.parametrize("seed", [3, 4])
def test_a_part_has_the_sign_of_the_seizures_own_score(seed):
    """Also where the two seizures are nearly the same, which made the spread's gradients oppose."""
    one = make_recording(fs=FS, channels=6, seed=seed)
    noise = 0.01 * np.random.default_rng(seed).normal(size=one.signal.shape)
    two = replace(one, run="run-02", signal=(one.signal + noise).astype(np.float32))
    cube = describe([one, two])
    model = make_model([cube], members=2)
    told = model.explain(cube, np.arange(6))
    apart = against_others(model, cube).T
    clear = np.abs(apart) > 2e-3
    assert clear.any()
    np.testing.assert_array_equal(np.sign(told.by_seizure)[clear], np.sign(apart)[clear])
    assert np.corrcoef(told.by_seizure.T)[0, 1] > 0.9


def only(model, feature):
    """The model, blind to all but one feature of the evidence."""
    for member in model.members:
        for branch in member.parts.values():
            weight = branch.network.encoder.window_mlp[1].weight
            keep = weight.data[:, feature].clone()
            weight.data.zero_()
            weight.data[:, feature] = keep
    return model


def alike(cube, where):
    """The cube with the first contact's evidence in all contacts, in some windows (S, W)."""
    first = cube["x"].isel(channel=0).values[:, :, None]
    return cube["x"].copy(data=np.where(where[..., None, None], first, cube["x"].values))


def test_the_responsible_seizure_and_time_are_found():
    """One contact is like all the others, but for some seconds of one seizure."""
    cube = make_cube(seizures=2, channels=8, ez=0, seed=5, fs=FS)
    x, d = alike(cube, np.ones((2, 59), bool)), list(PAPER_NINE).index("line_length")
    start = cube["start_s"][1].values
    inside = (start >= 4) & (start < 12)
    x[1, :, 3, d] = x[1, :, 3, d] * np.where(inside, 40.0, 1.0)
    model = only(make_model([cube], members=2), VIEWS.index("z_delta") * 9 + d)
    told = model.explain(cube.assign(x=x), np.arange(8))
    size = np.abs(told.by_window[3])
    assert size[1, inside].sum() > 0.99 * size.sum() > 0
    assert np.abs(told.by_seizure[3, 0]) < 1e-6 < np.abs(told.by_seizure[3, 1])
    features = np.abs(told.by_feature[3])
    assert np.unravel_index(features.argmax(), features.shape) == (VIEWS.index("z_delta"), d)


def test_little_is_told_before_onset_where_nothing_happens_there():
    """Contacts are alike before onset; then two of six burst, and the others are noise."""
    cube = make_cube(seizures=2, seed=1, fs=FS)
    before = cube["stop_s"].values <= 0
    cube = cube.assign(x=alike(cube, before))
    told = make_model([cube], members=2).explain(cube, np.arange(6))
    size = np.abs(told.by_window)
    assert (size * before[None]).sum() < 0.05 * size.sum()
    assert np.abs(told.steady).sum() < 0.25 * np.abs(told.by_seizure).sum()


def test_single_windows_long_before_onset_are_not_told(told, cube):
    early = cube["start_s"].values < -10
    assert not told.by_window[:, early].any()
    assert told.by_window[:, ~early].any()


def test_a_contact_is_compared_with_others_that_span_the_ranking():
    order, shown = np.array([7, 2, 5, 0, 1, 3, 9, 8, 6, 4]), np.ones(10, bool)
    against = spanning(np.array([7, 4]), order, shown)
    assert against.T.tolist() == [[2, 0, 3, 8, 4], [7, 5, 1, 9, 6]]
    shown[[2, 5, 0, 1, 3, 9, 8]] = False
    assert spanning(np.array([7]), order, shown).T.tolist() == [[6, 4]]
    assert spanning(np.array([7]), order, np.arange(10) == 7).shape == (0, 1)


def test_a_seizure_that_shows_one_contact_tells_nothing_of_it():
    cube = make_cube(seizures=2, fs=FS)
    valid = cube["valid"].copy()
    valid[1, :, 1:] = False
    cube = cube.assign(valid=valid, x=cube["x"].where(valid, 0))
    told = make_model([cube], members=1).explain(cube, np.arange(6))
    assert not told.by_seizure[:, 1].any()
    assert told.residual < 1e-3


def test_a_wrong_sum_would_be_seen(told):
    broken = module.Explanation(
        *(told.contacts, told.by_feature * 1.5, told.by_window, told.steady),
        *(told.together, told.baseline, told.score),
    )
    assert broken.residual > 1e-3


def test_a_feature_that_the_networks_do_not_read_contributes_nothing(cube):
    model = make_model([cube], members=1)
    for branch in model.members[0].parts.values():
        layer = branch.network.encoder.window_mlp[1]
        layer.weight.data[:, 9:18] = 0  # the view Δ
    told = model.explain(cube, np.arange(cube.sizes["channel"]))
    assert np.abs(told.by_feature[:, 1]).max() < 1e-12
    assert np.abs(told.by_feature[:, 0]).max() > 1e-6


def test_windows_that_are_not_valid_contribute_nothing(model, cube):
    valid = cube["valid"].copy()
    valid[0, 50:, 2] = False
    cut = cube.assign(valid=valid, x=cube["x"].where(valid, 0))
    told = model.explain(cut, np.arange(6))
    assert not told.by_window[2, 0, 50:].any()
    assert told.by_window[2, 0, 20:50].any()
    assert told.residual < 1e-3


def test_the_leading_contacts_are_explained_when_not_all_can_be(model, cube, monkeypatch):
    monkeypatch.setattr(module, "BUDGET", 0)
    monkeypatch.setattr(module, "LEAST", 2)
    order = np.array([4, 1, 0, 2, 3, 5])
    told = model.explain(cube, order)
    assert told.contacts.tolist() == [4, 1]


def test_contacts_are_explained_alike_whoever_is_explained_with_them(
    model, cube, told, monkeypatch
):
    monkeypatch.setattr(module, "BUDGET", 0)
    monkeypatch.setattr(module, "LEAST", 2)
    few = model.explain(cube, np.array([4, 1, 0, 2, 3, 5]))
    for position, contact in enumerate((4, 1)):
        np.testing.assert_allclose(few.by_feature[position], told.by_feature[contact], atol=1e-5)
        np.testing.assert_allclose(few.by_window[position], told.by_window[contact], atol=1e-5)


def test_scores_agree_with_the_models_own_prediction(model, cube):
    scores, frame = ModelSource(model).score(cube), model.predict(cube)
    for mine, column in (
        (scores.p_nez, "p_nez"),
        *((p, f"p_{n}") for n, p in scores.parts.items()),
    ):
        np.testing.assert_allclose(mine, frame[column], atol=1e-5)
    np.testing.assert_allclose(scores.member_sd, frame["spread"], atol=1e-5)
    alone = model.predict(cube.isel(seizure=[1]))
    np.testing.assert_allclose(scores.per_seizure[1], alone["p_nez"], atol=1e-5)
