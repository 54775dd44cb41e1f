"""How sure a model is: against transcriptions, and against what must never happen."""

from __future__ import annotations

import copy
import json
import math

import localize_by_hand as by_hand
import numpy as np
import pytest
from new_patients import cohort_cubes

from epilens.core.errors import ModelError
from epilens.evaluation.certainty import Certainty, covering_set, learn_certainty, platt
from epilens.evaluation.novelty import (
    cohort_middle,
    distance,
    evidence_names,
    evidence_summary,
    score_summary,
    usual_limit,
)
from epilens.plan import PAPER_NINE
from epilens.testing import make_cube


def patients(n=12, seed=0, signal=1.5):
    """Scores that are lower for EZ contacts."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        ez = rng.random(rng.integers(8, 30)) < 0.25
        ez[0] = True
        made.append((1 / (1 + np.exp(-(rng.normal(size=len(ez)) + 1 - signal * ez))), ez))
    return [p for p, _ in made], [ez for _, ez in made]


def as_lists(p_nez, is_ez):
    return [(p.tolist(), ez.tolist()) for p, ez in zip(p_nez, is_ez, strict=True)]


@pytest.mark.parametrize("signal", [1.5, 0.1, 40.0])
def test_no_other_calibration_fits_better(signal):
    p_nez, is_ez = patients(signal=signal)
    fit = platt(p_nez, is_ez)
    cohort = as_lists(p_nez, is_ez)
    best = by_hand.platt_loss(fit.slope, fit.intercept, cohort)
    for ds, di in ((0.05, 0), (-0.05, 0), (0, 0.05), (0, -0.05), (0.03, -0.03)):
        assert by_hand.platt_loss(fit.slope + ds, fit.intercept + di, cohort) > best
    assert math.isfinite(fit.slope)


def test_scores_that_mean_the_opposite_get_the_base_rate():
    p_nez, is_ez = patients(signal=-2.0)
    fit = platt(p_nez, is_ez)
    assert fit.slope == 0
    p = fit.probability(np.array([0.1, 0.9]))
    weights = [1 / len(ez) for ez in is_ez]
    rate = sum(w * ez.sum() for w, ez in zip(weights, is_ez, strict=True)) / len(is_ez)
    np.testing.assert_allclose(p, rate, atol=0.01)


def test_calibration_keeps_the_ranking_and_helps():
    p_nez, is_ez = patients(40)
    fit = platt(p_nez, is_ez)
    grid = np.linspace(0, 1, 101)
    assert (np.diff(fit.probability(grid)) < 0).all()
    assert fit.brier < fit.brier_raw


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
def test_the_cut_is_that_of_conformal_risk_control(coverage):
    p_nez, is_ez = patients(15, seed=3)
    kept = covering_set(p_nez, is_ez, coverage)
    assert kept.cut == by_hand.covering_cut(as_lists(p_nez, is_ez), coverage)
    shares = [(p[ez] <= kept.cut).mean() for p, ez in zip(p_nez, is_ez, strict=True)]
    assert kept.reached == pytest.approx(np.mean(shares))
    assert kept.reached >= coverage


def test_too_few_patients_give_all_contacts():
    p_nez, is_ez = patients(5)
    kept = covering_set(p_nez, is_ez, 0.9)
    assert kept.cut is None
    assert kept.contains(p_nez[0]).all()


def test_new_patients_are_covered_as_stated():
    """The promise itself: over many draws, the mean share of EZ contacts in the set."""
    rng, shares = np.random.default_rng(1), []
    for _ in range(60):
        p_nez, is_ez = patients(21, seed=int(rng.integers(1 << 30)))
        cut = covering_set(p_nez[:-1], is_ez[:-1], 0.8).cut
        shares.append((p_nez[-1][is_ez[-1]] <= cut).mean())
    assert np.mean(shares) > 0.8 - 2 * np.std(shares) / math.sqrt(60)


def test_patients_without_ez_do_not_count_for_the_set():
    p_nez, is_ez = patients(12)
    with_none = [*is_ez, np.zeros(5, bool)]
    assert covering_set([*p_nez, np.full(5, 0.5)], with_none, 0.8) == covering_set(
        p_nez, is_ez, 0.8
    )


def test_distances_leave_the_patient_out():
    values = np.random.default_rng(2).normal(size=(9, 4))
    values[:, 3] = 7.0  # the same in all: neither MAD nor spread
    values[:6, 2] = 1.0  # the same in most: the spread stands in
    middle = cohort_middle("abcd", values)
    by = [
        by_hand.robust_distance(values[i], np.delete(values, i, axis=0).tolist()) for i in range(9)
    ]
    np.testing.assert_allclose(middle.distances, sorted(by), rtol=1e-9)
    new = np.array([3.0, -1, 2, 1e9])
    mine = distance(new, np.array(middle.middle), np.array(middle.scale))
    assert mine == pytest.approx(by_hand.robust_distance(new.tolist(), values.tolist()))


def test_the_limit_is_exceeded_by_few_of_the_cohort():
    assert usual_limit(range(1, 101)) == 96
    assert usual_limit([3.0, 1.0, 2.0]) == 3.0
    assert usual_limit([]) == math.inf


@pytest.fixture(scope="module")
def cohort():
    return cohort_cubes(8)


@pytest.fixture(scope="module")
def certainty(cohort):
    rng = np.random.default_rng(0)
    scores = [rng.random(c.sizes["channel"]) for c in cohort]
    return learn_certainty(cohort, scores, 0.5)


def test_certainty_is_plain_json_without_names(certainty):
    tree = certainty.to_json()
    text = json.dumps(tree)
    assert json.loads(text) == tree
    assert "sub-" not in text
    assert len(tree["evidence"]["middle"]) == len(evidence_names(PAPER_NINE)) == 27


def test_certainty_survives_json(certainty):
    assert Certainty.from_json(json.loads(json.dumps(certainty.to_json()))) == certainty


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tree: tree.pop("sets"), r"m: expected what training stores .*'sets' wrong \(Field"),
        (lambda tree: tree["calibration"].update(slope="1"), "'calibration.slope' wrong .*number"),
        (lambda tree: tree["calibration"].update(slope=math.nan), "'calibration.slope'.* finite"),
        (lambda tree: tree["calibration"].update(kind="isotonic"), "'calibration.kind' wrong"),
        (lambda tree: tree["sets"][1].update(more=1), "'sets.1.more' wrong"),
        (lambda tree: tree["scores"]["names"].pop(), "'scores' wrong .*differ in length"),
        (lambda tree: tree["evidence"]["scale"].__setitem__(0, 0.0), "scale is not positive"),
        (lambda tree: tree.update(seizures="abc"), "'seizures' wrong"),
        (lambda tree: tree.clear(), "'patients' wrong"),
    ],
)
def test_what_is_malformed_is_refused(certainty, change, message):
    tree = copy.deepcopy(certainty.to_json())
    change(tree)
    with pytest.raises(ModelError, match=message):
        Certainty.from_json(tree, who="m")


def test_a_patient_of_another_scale_is_unlike(cohort, certainty):
    usual = make_cube("sub-new", seizures=2, seed=77, fs=128.0)
    p = np.random.default_rng(9).random(6)
    distances = certainty.distances(usual, p, 0.5)
    assert [distance.what for distance in distances] == ["evidence", "scores"]
    assert not distances[0].is_unusual
    loud = usual.assign(x=(usual["x"] * 40).where(usual["valid"], 0))
    evidence, _ = certainty.distances(loud, p, 0.5)
    assert evidence.is_unusual


def test_scores_that_are_all_the_same_are_unlike(cohort, certainty):
    _, scores = certainty.distances(cohort[0], np.full(6, 0.999), 0.5)
    assert scores.is_unusual
    np.testing.assert_allclose(score_summary(np.full(6, 0.4), 0.5), [0.4, 0.4, 0, 1])


def test_a_larger_unit_moves_levels_and_leaves_changes_alone(cohort):
    cube = cohort[1]
    louder = cube.assign(x=cube["x"] * np.float32(4))
    names, before, after = (
        evidence_names(PAPER_NINE),
        evidence_summary(cube),
        evidence_summary(louder),
    )
    for name, a, b in zip(names, before, after, strict=True):
        if name == "level of log_high_gamma_power":
            assert a == b == 0  # above Nyquist
        elif name.startswith("level"):
            assert b > a
        else:
            assert b == pytest.approx(a, rel=1e-3, abs=1e-3)


def test_a_seizure_is_known_again_contact_by_contact(cohort):
    certainty = learn_certainty(cohort, [np.linspace(0, 1, 6)] * len(cohort), 0.5)
    cube = cohort[1]
    assert certainty.recognised(cube) == cube.sizes["seizure"] == 2
    assert certainty.recognised(cube.isel(channel=[3, 1, 0, 2])) == 2, "two channels were bad"
    last_bits = cube.assign(x=cube["x"] * np.float32(1 + 2e-7))
    assert certainty.recognised(last_bits) == 2, "another machine"
    assert certainty.recognised(cube.assign(x=cube["x"] * np.float32(1.01))) == 0
    mixed = cube.assign(x=cube["x"].copy())
    mixed["x"][1, :, :4] = mixed["x"][1, :, :4] * np.float32(1.5)
    assert certainty.recognised(mixed) == 1, "most contacts of the second are others"


def test_an_older_model_cannot_tell_whom_it_was_trained_on(cohort):
    tree = learn_certainty(cohort, [np.linspace(0, 1, 6)] * len(cohort), 0.5).to_json()
    older = Certainty.from_json(tree | {"contacts": [], "seizures": ["0123456789abcdef"]})
    assert older.recognised(cohort[1]) is None
