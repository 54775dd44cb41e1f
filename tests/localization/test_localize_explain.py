"""Contributions add up to the score, and mean what they say."""

from __future__ import annotations

import numpy as np
import pytest
from new_patients import cohort_cubes, make_model, the_model

from epilens.localization import explain as module
from epilens.localization.explain import explain
from epilens.localization.sources import ModelSource


@pytest.fixture(scope="module")
def model():
    return the_model()


@pytest.fixture(scope="module")
def cube():
    return cohort_cubes(2)[1]


@pytest.fixture(scope="module")
def told(model, cube):
    return explain(model, cube, np.arange(cube.sizes["channel"]))


def test_contributions_add_up_to_the_difference_of_the_scores(told, model, cube):
    score = 1 - model.predict(cube)["p_nez"].to_numpy()
    np.testing.assert_allclose(told.score, score, atol=1e-5)
    wanted = told.score - told.baseline
    np.testing.assert_allclose(told.by_feature.sum(axis=(1, 2)), wanted, atol=1e-3)
    np.testing.assert_allclose(told.by_window.sum(axis=(1, 2)), wanted, atol=1e-3)
    assert told.residual < 1e-3


def test_a_wrong_sum_would_be_seen(told):
    broken = module.Explanation(
        told.contacts, told.by_feature * 1.5, told.by_window, told.baseline, told.score
    )
    assert broken.residual > 1e-3


def test_a_feature_that_the_networks_do_not_read_contributes_nothing(cube):
    model = make_model([cube], members=1)
    for branch in (model.members[0].prq, model.members[0].bcr):
        layer = branch.network.encoder.window_mlp[1]
        layer.weight.data[:, 9:18] = 0  # the view Δ
    told = explain(model, cube, np.arange(cube.sizes["channel"]))
    assert np.abs(told.by_feature[:, 1]).max() < 1e-12
    assert np.abs(told.by_feature[:, 0]).max() > 1e-6


def test_windows_that_are_not_valid_contribute_nothing(model, cube):
    valid = cube["valid"].copy()
    valid[0, 50:, 2] = False
    cut = cube.assign(valid=valid, x=cube["x"].where(valid, 0))
    told = explain(model, cut, np.arange(6))
    assert not told.by_window[2, 0, 50:].any()
    assert told.by_window[2, 0, :50].any()
    assert told.residual < 1e-3


def test_the_leading_contacts_are_explained_when_not_all_can_be(model, cube, monkeypatch):
    monkeypatch.setattr(module, "BUDGET", 0)
    monkeypatch.setattr(module, "LEAST", 2)
    order = np.array([4, 1, 0, 2, 3, 5])
    told = explain(model, cube, order)
    assert told.contacts.tolist() == [4, 1]


def test_contacts_are_explained_alike_whoever_is_explained_with_them(
    model, cube, told, monkeypatch
):
    monkeypatch.setattr(module, "BUDGET", 0)
    monkeypatch.setattr(module, "LEAST", 2)
    few = explain(model, cube, np.array([4, 1, 0, 2, 3, 5]))
    for position, contact in enumerate((4, 1)):
        np.testing.assert_allclose(few.by_feature[position], told.by_feature[contact], atol=1e-5)
        np.testing.assert_allclose(few.by_window[position], told.by_window[contact], atol=1e-5)


def test_scores_agree_with_the_models_own_prediction(model, cube):
    scores, frame = ModelSource(model).score(cube), model.predict(cube)
    for mine, column in ((scores.p_nez, "p_nez"), (scores.p_prq, "p_prq"), (scores.p_bcr, "p_bcr")):
        np.testing.assert_allclose(mine, frame[column], atol=1e-5)
    np.testing.assert_allclose(scores.spread, frame["spread"], atol=1e-5)
    alone = model.predict(cube.isel(seizure=[1]))
    np.testing.assert_allclose(scores.per_seizure[1], alone["p_nez"], atol=1e-5)
