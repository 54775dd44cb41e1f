"""`lens`: its contract, its parts against other ways to compute them, and what it learns from."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from epilens.core.decisions import GRID, selected_threshold
from epilens.evaluation.execution import one_thread
from epilens.evidence.contact_table import ContactTable, contact_table
from epilens.evidence.cube import blind
from epilens.methods import METHODS, Training, seen_labels
from epilens.methods.lens import (
    LensSettings,
    balanced,
    calibration,
    cross_fitted,
    fit_weights,
    learn,
    penalized,
)
from epilens.networks.lens import Lens
from epilens.networks.predictor import Layout
from epilens.plan import PAPER_NINE
from epilens.testing import check_method, make_cube

SHAPE = (3, 2, 2)
TRUE = np.random.default_rng(7).normal(size=SHAPE)


def table_of(x) -> ContactTable:
    names = tuple(f"A{i + 1}" for i in range(len(x)))
    return ContactTable(names, np.zeros((1, len(x), *SHAPE[1:])), x)


def known_patients(n, contacts=60, seed=0, size=1.0, shift=-1.0):
    """Tables whose log odds of EZ are `size` times the true weights, and `shift`."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        x = rng.normal(size=(contacts, *SHAPE))
        p = expit(size * (x * TRUE).sum(axis=(1, 2, 3)) + shift)
        made.append((table_of(x), rng.random(contacts) < p))
    return made


@pytest.fixture(autouse=True, scope="module")
def alone():
    """Matrices are tiny, and the cores are shared."""
    with one_thread():
        yield


@pytest.fixture(scope="module")
def cubes():
    """Seven patients with an EZ of one to three channels, hidden in part by its labels."""
    made = []
    for i in range(7):
        cube = make_cube(f"sub-{i:02d}", 1 + i % 2, seed=10 * i, fs=128.0, ez=1 + i % 3, channels=8)
        is_ez = cube["is_ez"].copy()
        is_ez[3 + i % 4] = True  # a contact that shows nothing
        made.append(cube.assign(is_ez=is_ez))
    return made


def fitted_on(fit, validation):
    return METHODS["lens"].fit(Training(fit, validation))


def test_the_row_keeps_the_contract():
    check_method("lens")


@pytest.mark.parametrize("C", [0.003, 0.1, 3.0])
def test_the_weights_minimize_the_penalized_loss(C):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(80, 5)) * [1, 10, 0.1, 1, 0] + [0, 5, -2, 1, 4]
    is_ez = rng.random(80) < expit(x[:, 0] - 0.1 * x[:, 1])
    weight = rng.random(80)

    share = weight / weight.sum()
    mean = share @ x
    sd = np.sqrt(share @ (x - mean) ** 2)
    z = (x - mean)[:, :4] / sd[:4]

    def loss(w):
        margin = np.where(is_ez, 1, -1) * (z @ w[:4] + w[4])
        return w[:4] @ w[:4] / 2 + C * 80 * share @ np.logaddexp(0, -margin)

    best = minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-9}).x
    at, scaled, intercept = penalized(x, is_ez, weight, C)
    np.testing.assert_allclose(at, mean)
    np.testing.assert_allclose(scaled[:4] * sd[:4], best[:4], atol=2e-3 * np.abs(best).max())
    assert scaled[4] == 0
    assert intercept == pytest.approx(best[4], abs=2e-3)


def test_where_one_class_is_missing_all_are_as_likely():
    x = np.random.default_rng(0).normal(size=(9, 3))
    for is_ez in (np.zeros(9, bool), np.ones(9, bool)):
        mean, scaled, intercept = penalized(x, is_ez, np.ones(9), 1.0)
        np.testing.assert_allclose(mean, x.mean(axis=0))
        assert not scaled.any()
        assert intercept == 0


@pytest.mark.parametrize("n", [1, 3, 9])
def test_classes_weigh_the_same_within_a_patient_and_patients_add_up_to_one(n):
    is_ez = np.arange(10) < n
    weight = balanced(is_ez)
    assert weight.sum() == pytest.approx(1)
    assert weight[is_ez].sum() == pytest.approx(weight[~is_ez].sum())
    assert len(set(weight[is_ez])) == len(set(weight[~is_ez])) == 1


@pytest.mark.parametrize("all_ez", [False, True])
def test_a_patient_of_one_class_weighs_as_much_as_another(all_ez):
    np.testing.assert_allclose(balanced(np.full(4, all_ez)), 0.25)


def test_a_patient_s_weight_does_not_grow_with_its_contacts():
    few, many = known_patients(2, seed=3)
    twice = (table_of(np.repeat(many[0].x, 2, axis=0)), np.repeat(many[1], 2))
    # In units of all contacts: the mean weight is 1.
    ours = fit_weights([few, many], [0.1])
    theirs = fit_weights([few, twice], [0.1 * 120 / 180])
    np.testing.assert_allclose(theirs.weight, ours.weight, rtol=1e-3, atol=1e-4)


def test_calibration_recovers_a_known_slope_and_shift():
    rng = np.random.default_rng(2)
    scores = [rng.normal(0, 2, n) for n in (3000, 6000, 9000)]
    labels = [rng.random(len(s)) < expit(0.4 * s - 1.5) for s in scores]
    slope, shift = calibration(scores, labels)
    assert slope == pytest.approx(0.4, abs=0.03)
    assert shift == pytest.approx(-1.5, abs=0.06)


def test_patients_weigh_the_same_in_the_calibration():
    rng = np.random.default_rng(3)
    scores = [rng.normal(0, 1, n) for n in (200, 20_000)]
    labels = [rng.random(len(s)) < share for s, share in zip(scores, (0.8, 0.1), strict=True)]
    slope, shift = calibration([s + is_ez for s, is_ez in zip(scores, labels, strict=True)], labels)
    mean_share = np.mean([is_ez.mean() for is_ez in labels])
    expected = [expit(slope * (s + e) + shift).mean() for s, e in zip(scores, labels, strict=True)]
    assert np.mean(expected) == pytest.approx(mean_share, abs=1e-3)


def test_scores_that_point_the_wrong_way_or_have_one_class_stay_as_they_are():
    score = np.linspace(-2, 2, 40)
    assert calibration([score], [score < 0.3 * np.sin(9 * score)]) == (1.0, 0.0)
    assert calibration([score], [np.zeros(40, bool)]) == (1.0, 0.0)


def test_no_patient_is_scored_by_a_lens_that_was_fitted_on_it():
    patients = known_patients(7, contacts=30)
    settings = LensSettings(penalties=(0.1,), inner_folds=3)
    before = cross_fitted(patients, settings)
    for i in range(7):
        changed = list(patients)
        changed[i] = patients[i][0], ~patients[i][1]
        after = cross_fitted(changed, settings)
        same = [np.array_equal(a, b) for a, b in zip(before, after, strict=True)]
        assert same == [j % 3 == i % 3 for j in range(7)]  # those of its fold, as it is held too


def test_weights_are_the_mean_over_the_penalties():
    patients = known_patients(6, contacts=30, seed=1)
    single = [fit_weights(patients, [C]) for C in (0.01, 1.0)]
    both = fit_weights(patients, [0.01, 1.0])
    np.testing.assert_allclose(both.weight, (single[0].weight + single[1].weight) / 2)
    assert both.intercept == pytest.approx((single[0].intercept + single[1].intercept) / 2)
    assert np.abs(single[0].weight).sum() < np.abs(single[1].weight).sum()


def test_probabilities_are_those_of_a_known_model():
    lens, crossed = learn(known_patients(40), LensSettings())
    assert np.corrcoef(lens.weight.ravel(), TRUE.ravel())[0, 1] > 0.98
    new = known_patients(40, seed=1)
    p_ez = np.concatenate([1 - lens.p_nez_of(table) for table, _ in new])
    true = np.concatenate([expit((t.x * TRUE).sum(axis=(1, 2, 3)) - 1) for t, _ in new])
    assert np.abs(p_ez - true).mean() < 0.04
    is_ez = np.concatenate([labels for _, labels in new])
    for low in np.arange(0, 1, 0.2):
        inside = (p_ez >= low) & (p_ez < low + 0.2)
        assert is_ez[inside].mean() == pytest.approx(p_ez[inside].mean(), abs=0.07)
    taught = np.concatenate([is_ez for _, is_ez in known_patients(40)])
    assert expit(np.concatenate(crossed)).mean() == pytest.approx(taught.mean(), abs=0.01)


def test_the_parts_of_a_score_add_up():
    lens = fit_weights(known_patients(4), [0.1])
    table = known_patients(1, seed=5)[0][0]
    parts = [(table.flat[3] - lens.mean.ravel()) * lens.weight.ravel()]
    assert lens.logit(table)[3] == pytest.approx(lens.intercept + np.sum(parts))
    np.testing.assert_allclose(lens.p_nez_of(table), 1 - expit(lens.logit(table)))
    average = table_of(lens.mean[None])
    assert lens.logit(average)[0] == pytest.approx(lens.intercept)


def test_a_lens_survives_its_tensors(cubes):
    fitted = fitted_on(cubes[:4], cubes[4:5])
    lens, layout = fitted.predictor(), Layout("lens", descriptors=PAPER_NINE)
    again = Lens.open(lens.tensors(), layout)
    np.testing.assert_array_equal(again.weight, lens.weight)
    np.testing.assert_array_equal(again.mean, lens.mean)
    assert again.intercept == lens.intercept
    lens.tensors()["weight"][:] = 0
    assert lens.weight.any()  # tensors are copies
    np.testing.assert_array_equal(
        Lens.open(fitted.weights(), layout).p_nez(cubes[6]), fitted.predict([cubes[6]])["p_nez"]
    )


def test_the_ez_of_another_patient_is_found(cubes):
    fitted = fitted_on(cubes[:5], cubes[5:6])
    rows = fitted.predict([blind(cubes[6])])
    assert rows["p_nez"].idxmin() == 0
    called = rows["p_nez"] < fitted.threshold
    assert called[0]
    assert called.sum() <= 2  # one of eight is EZ here and in the patients that chose


def test_the_threshold_is_from_patients_that_were_not_fitted(cubes):
    fit, validation = cubes[:5], cubes[5:6]
    fitted = fitted_on(fit, validation)
    kept = fitted.threshold_scores
    assert kept["patient"].unique().tolist() == [c.attrs["patient"] for c in (*fit, *validation)]
    assert fitted.threshold == selected_threshold(kept, METHODS["lens"].prevalence_tolerance)
    off = [
        abs((kept["p_nez"] < t).mean() - kept["is_ez"].mean()) for t in (fitted.threshold, *GRID)
    ]
    assert off[0] <= max(0.02, min(off)) + 1e-12
    by_patient = {name: rows["p_nez"].to_numpy() for name, rows in kept.groupby("patient")}
    np.testing.assert_array_equal(by_patient["sub-05"], fitted.predictor().p_nez(validation[0]))
    _, crossed = learn([(contact_table(c), seen_labels(c)) for c in fit], LensSettings())
    for cube, logit in zip(fit, crossed, strict=True):
        found = by_patient[cube.attrs["patient"]]
        np.testing.assert_allclose(found, expit(-logit))
        assert not np.allclose(found, fitted.predictor().p_nez(cube), atol=1e-3)


def test_labels_of_validation_patients_choose_the_threshold_and_nothing_else(cubes):
    other = [c.assign(is_ez=~c["is_ez"]) for c in cubes[3:]]
    ours, theirs = (fitted_on(cubes[:3], patients) for patients in (cubes[3:], other))
    assert not ours.threshold_scores["is_ez"].equals(theirs.threshold_scores["is_ez"])
    assert ours.threshold_scores["p_nez"].equals(theirs.threshold_scores["p_nez"])
    assert ours.threshold != theirs.threshold
    np.testing.assert_array_equal(ours.predictor().weight, theirs.predictor().weight)


def test_labels_of_other_patients_never_matter(cubes):
    fitted = fitted_on(cubes[:5], cubes[5:6])
    other = cubes[6].assign(is_ez=~cubes[6]["is_ez"])
    assert fitted.predict([cubes[6]]).equals(fitted.predict([other]))


def test_the_order_of_contacts_within_a_patient_does_not_matter(cubes):
    rng = np.random.default_rng(0)
    mixed = [c.isel(channel=rng.permutation(c.sizes["channel"])) for c in cubes[:6]]
    ours, theirs = fitted_on(cubes[:5], cubes[5:6]), fitted_on(mixed[:5], mixed[5:6])
    np.testing.assert_allclose(
        ours.predict([cubes[6]])["p_nez"], theirs.predict([cubes[6]])["p_nez"], rtol=1e-5
    )
    assert ours.threshold == theirs.threshold


def test_the_same_patients_give_the_same_bits(cubes):
    ours, theirs = (fitted_on(cubes[:5], cubes[5:6]) for _ in range(2))
    for name, tensor in ours.weights().items():
        np.testing.assert_array_equal(tensor, theirs.weights()[name])
    assert ours.threshold == theirs.threshold


def test_a_patient_without_ez_does_not_stand_in_the_way(cubes):
    none = cubes[1].assign(is_ez=False & cubes[1]["is_ez"])
    fitted = fitted_on([cubes[0], none, *cubes[2:5]], cubes[5:6])
    rows = fitted.predict([blind(cubes[6])])
    assert np.isfinite(rows["p_nez"]).all()
    assert rows["p_nez"].idxmin() == 0


def test_two_patients_are_enough(cubes):
    none = cubes[1].assign(is_ez=False & cubes[1]["is_ez"])
    fitted = fitted_on([cubes[0], none], cubes[5:6])
    assert np.isfinite(fitted.predict([blind(cubes[6])])["p_nez"]).all()
