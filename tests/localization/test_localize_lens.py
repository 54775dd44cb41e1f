"""A lens localizes: its scores, each seizure alone, and contributions that can be checked."""

from __future__ import annotations

import numpy as np
import pytest
from new_patients import CONTACTS, cohort_cubes, the_files, write_edf

from epilens.core.errors import DataError
from epilens.evidence.contact_table import ALL_THE_TIME, PLACES, TERMS, placed_windows
from epilens.localization import DEFAULT, FALLBACK
from epilens.localization.sources import ModelSource, open_source
from epilens.methods import METHODS, Training
from epilens.networks.lens import Lens
from epilens.networks.model import Member, Model
from epilens.report.patient.localize import localize
from epilens.testing import make_cube


@pytest.fixture(scope="module")
def model():
    cubes = cohort_cubes()
    parts = (cubes[::2], cubes[1::2])
    lenses = [METHODS["lens"].fit(Training(fit, cubes[:1])).predictor() for fit in parts]
    members = tuple(Member(0, str(i), {"lens": lens}) for i, lens in enumerate(lenses))
    return Model(members, 0.5, 0.2, {"source": "test", "simulated": True})


@pytest.fixture(scope="module")
def cube():
    return cohort_cubes(2)[1]


@pytest.fixture(scope="module")
def told(model, cube):
    return model.explain(cube, np.arange(cube.sizes["channel"]))


def test_contributions_add_up_to_the_difference_of_the_scores(told, model, cube):
    np.testing.assert_allclose(told.score, 1 - model.predict(cube)["p_nez"], atol=1e-12)
    wanted = told.score - told.baseline
    np.testing.assert_allclose(told.by_feature.sum(axis=(1, 2)), wanted, atol=1e-9)
    np.testing.assert_allclose(told.by_seizure.sum(axis=1), wanted, atol=1e-9)
    assert told.residual < 1e-9
    assert told.by_feature.shape[1] == len(told.views) == len(TERMS)


def test_a_seizure_pushes_the_way_that_it_scores_alone(model, cube, told):
    """The joint log odds are the mean of those of the seizures, so signs cannot contradict."""
    one = Model(model.members[:1], 0.5, 0.2, {})
    scores = ModelSource(one).score(cube)
    alone, joint = 1 - scores.per_seizure, 1 - scores.p_nez
    assert (joint <= alone.max(axis=0) + 1e-12).all()
    assert (joint >= alone.min(axis=0) - 1e-12).all()
    parts = one.explain(cube, np.arange(cube.sizes["channel"]))
    by_seizure = parts.by_seizure
    np.testing.assert_array_equal(np.sign(by_seizure), np.sign(alone.T - parts.baseline[:, None]))


def test_the_responsible_term_window_and_seizure_are_named(cube):
    weight = np.zeros((len(PLACES), len(TERMS), cube.sizes["descriptor"]))
    weight[0, TERMS.index("early"), 6] = 1.0
    lens = Lens(np.zeros_like(weight), weight, 0.0)
    model = Model((Member(0, "0", {"lens": lens}),), 0.5, 0.2, {})
    x = cube["x"].copy()
    inside = (cube["start_s"][1] >= -2) & (cube["stop_s"][1] <= 6)
    x[1, :, 2, 6] = x[1, :, 2, 6] * np.where(inside, 50.0, 1.0)
    x[0, :, 2, 6] = x[0, 0, 2, 6]
    told = model.explain(cube.assign(x=x), np.arange(cube.sizes["channel"]))
    features = np.abs(told.by_feature[2])
    assert np.unravel_index(features.argmax(), features.shape) == (TERMS.index("early"), 6)
    windows = told.by_window[2]
    assert windows[1].sum() > abs(windows[0].sum())
    assert not windows[1][~inside.values].any()


def test_a_peak_and_a_beginning_are_told_at_their_windows(cube):
    x = cube["x"].copy()
    at = int(np.flatnonzero(cube["start_s"][1].values >= 7)[0])
    x[1, at : at + 4, 2, 7] = x[1, at : at + 4, 2, 7] * np.array([50.0, 60.0, 90.0, 50.0])
    share = placed_windows(cube.assign(x=x))
    peak, begins = (share[1, TERMS.index(term), :, 2, 7] for term in ("peak", "begins"))
    assert (peak.argmax(), peak.max()) == (at + 2, 1)
    assert (begins.argmax(), begins.max()) == (at, 1)
    totals = share.sum(axis=2)
    np.testing.assert_allclose(totals[:, [i for i, t in enumerate(TERMS) if t in ALL_THE_TIME]], 0)
    told = [i for i, term in enumerate(TERMS) if term not in ALL_THE_TIME]
    np.testing.assert_allclose(totals[:, told], 1, atol=1e-5)


def test_little_is_told_before_onset_where_nothing_happens_there(model, cube, told):
    before = (cube["stop_s"].values <= 0)[None]
    size = np.abs(told.by_window[:2])  # the two that burst at onset
    assert (size * before).sum() < 0.15 * size.sum()


def test_a_contact_that_no_window_shows_in_a_seizure_still_adds_up(model, cube):
    valid = cube["valid"].copy()
    valid[0, :, 2] = False
    told = model.explain(cube.assign(valid=valid, x=cube["x"].where(valid, 0)), np.arange(6))
    assert told.residual < 1e-9


def test_one_seizure_of_one_contact_has_a_score(model):
    cube = make_cube(channels=1, seizures=1, ez=0, fs=128.0)
    assert np.isfinite(model.predict(cube)["p_nez"]).all()


def test_the_page_of_a_lens_tells_terms(model):
    found = localize(the_files(), model, onsets=[40, 40, 40])
    assert found.source.title == "EpiLENS model (lens)"
    assert found.scores.parts == {}
    assert any("average contact" in line for line in found.words[found.order[0]])


def test_without_a_model_the_default_ranks_with_another_beside_it(tmp_path):
    path = write_edf(tmp_path / "one.edf", CONTACTS)
    found = localize([path], onsets=[40])
    assert found.source.name == DEFAULT
    assert [o.name for o in found.comparisons] == ["line-length-spread", "epileptogenicity-index"]
    assert open_source(FALLBACK).method.training_free


def test_a_recording_that_is_too_short_for_the_default_model_is_ranked_without_training(tmp_path):
    path = write_edf(tmp_path / "one.edf", CONTACTS)
    found = localize([path], onsets=[12])
    assert found.source.name == FALLBACK
    # The seizure begins at 40 s: that is said first.
    onset, unused = found.certainty.cautions[:2]
    assert onset.text.startswith("Check the onset of seizure 1.")
    assert unused.level == "caution"
    assert "The model recorded is not used, because it needs a recording from 18 s" in unused.text
    with pytest.raises(DataError, match=r"expected a recording from 18 s before to 18 s after"):
        localize([path], "recorded", onsets=[12])
