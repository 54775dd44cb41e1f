"""Bootstrap and permutation against enumeration, loops and scikit-learn; and laws they keep."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statistics_by_hand as hand
from hypothesis import given, settings
from hypothesis import strategies as st
from ledgers import random_ledger, rows
from scipy.stats import ttest_1samp

from epilens.core.errors import LedgerError
from epilens.evaluation import resampling
from epilens.evaluation.ledger import fuse
from epilens.evaluation.resampling import (
    Permutation,
    bootstrap,
    compare,
    interval,
    metrics_of_rows,
    permute_within_patients,
    rank_rows,
)
from epilens.evaluation.scoring import METRICS, RANKING, ranking_metrics, score, summarise

MORE = settings(max_examples=60, deadline=None)


@pytest.fixture(scope="module")
def ledger():
    prq, bcr = random_ledger(0), random_ledger(1, "bcr")
    return pd.concat([prq, bcr, fuse(prq, bcr)], ignore_index=True)


def test_bootstrap_means_have_the_distribution_of_all_resamples():
    values = [0.0, 0.1, 0.7]
    exact = hand.all_resample_means(values)
    drawn = bootstrap(values, draws=60_000, seed=3)
    for mean in sorted({round(m, 12) for m in exact}):
        share = np.isclose(exact, mean).mean()
        # Four standard errors of a share.
        slack = 4 * np.sqrt(share * (1 - share) / len(drawn))
        assert abs(np.isclose(drawn, mean).mean() - share) < slack


def test_the_interval_is_the_one_of_sorted_values():
    means = bootstrap(np.random.default_rng(0).normal(size=9), draws=501)
    low, high = interval(means)
    assert low == pytest.approx(hand.quantile(means.tolist(), 0.025), abs=1e-15)
    assert high == pytest.approx(hand.quantile(means.tolist(), 0.975), abs=1e-15)


def test_draws_do_not_depend_on_how_they_are_cut_into_blocks(monkeypatch, ledger):
    values = np.random.default_rng(0).normal(size=7)
    whole, null = bootstrap(values, 100, 1), permute_within_patients(ledger, 50, 1).null
    monkeypatch.setattr(resampling, "BLOCK", 40)
    np.testing.assert_array_equal(bootstrap(values, 100, 1), whole)
    again = permute_within_patients(ledger, 50, 1).null
    for name in METRICS:
        np.testing.assert_allclose(again[name], null[name], atol=1e-14)


def test_few_patients_get_the_t_interval(ledger):
    found = compare(ledger, "cdel", "prq", "macro_f1", draws=200)
    by_patient = score(ledger).groupby(["method", "patient"])["macro_f1"].mean()
    differences = (by_patient["cdel"] - by_patient["prq"]).tolist()
    exact = ttest_1samp(differences, 0).confidence_interval(0.95)
    assert found.interval == "t"
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-12)


def test_a_single_patient_has_no_interval():
    assert resampling.t_interval([0.3]) == (-np.inf, np.inf)


def test_compare_averages_seeds_first_and_pairs_patients(ledger, monkeypatch):
    monkeypatch.setattr(resampling, "SMALL", 0)
    found = compare(ledger, "cdel", "prq", "macro_f1", draws=2000, seed=5)
    by_patient = score(ledger).groupby(["method", "patient"])["macro_f1"].mean()
    differences = [
        by_patient["cdel", name] - by_patient["prq", name] for name in sorted({*ledger["patient"]})
    ]
    assert found.estimate == pytest.approx(hand.mean(differences), abs=1e-15)
    exact = hand.all_resample_means(differences)
    assert found.low == pytest.approx(hand.quantile(exact, 0.025), abs=0.02)
    assert found.high == pytest.approx(hand.quantile(exact, 0.975), abs=0.02)
    below = sum(value < 0 for value in exact) / len(exact)
    assert found.below_zero == pytest.approx(below, abs=0.05)
    assert (found.patients, found.draws) == (4, 2000)


def test_a_method_compared_with_itself_is_zero_exactly(ledger):
    found = compare(ledger, "prq", "prq", "ez_auprc", draws=200)
    assert (found.estimate, found.low, found.high, found.below_zero) == (0, 0, 0, 0)


def test_exchanging_the_methods_turns_the_interval_around(ledger):
    one, other = (
        compare(ledger, *pair, "ez_f1", 500, 2) for pair in (("cdel", "prq"), ("prq", "cdel"))
    )
    assert one.estimate == pytest.approx(-other.estimate, abs=1e-15)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low), abs=1e-12)


def test_the_order_of_the_rows_does_not_matter(ledger):
    shuffled = ledger.sample(frac=1, random_state=0)
    assert compare(ledger, "cdel", "prq", "ez_f1", 200) == compare(
        shuffled, "cdel", "prq", "ez_f1", 200
    )
    one, other = (permute_within_patients(each, 20) for each in (ledger, shuffled))
    for name in METRICS:
        np.testing.assert_allclose(one.null[name], other.null[name], atol=1e-14)


def test_patients_with_one_class_are_left_out_of_a_ranking_metric_and_not_counted(ledger):
    plain = ledger.assign(is_ez=ledger["is_ez"] & (ledger["patient"] != "sub-04"))
    assert compare(plain, "cdel", "prq", "auroc", 50).patients == 3
    assert compare(plain, "cdel", "prq", "macro_f1", 50).patients == 4
    found = permute_within_patients(plain, 5)
    expected = summarise(score(plain[plain["method"] == "cdel"])).iloc[0]
    for name in METRICS:
        assert found.observed[name] == pytest.approx(expected[name], abs=1e-12)
    nobody = permute_within_patients(ledger.assign(is_ez=False), 5)
    assert np.isnan(nobody.observed["auroc"])
    assert np.isnan(nobody.p("auroc"))
    assert np.isfinite(nobody.null["accuracy"]).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("cdel", "prq", "f1"), "expected a metric, found 'f1'. Known: .*, macro_f1, "),
        (("cdel", "prq", "aurok"), "expected a metric, found 'aurok'. Did you mean 'auroc'"),
        (("cdel", "svm", "ez_f1"), "the method 'svm' in the ledger.* Known: bcr, cdel, prq"),
    ],
)
def test_compare_refuses_what_it_does_not_know(ledger, arguments, message):
    with pytest.raises(LedgerError, match=message):
        compare(ledger, *arguments)


def test_compare_refuses_methods_that_tested_other_patients(ledger):
    gone = ledger[(ledger["method"] != "prq") | (ledger["patient"] != "sub-02")]
    with pytest.raises(LedgerError, match="the same patients for cdel and prq, found 4 and 3"):
        compare(gone, "cdel", "prq", "ez_f1")


def test_permute_refuses_a_ledger_without_a_branch(ledger):
    with pytest.raises(LedgerError, match="expected the method 'bcr' in the ledger"):
        permute_within_patients(ledger[ledger["method"] != "bcr"])


def test_shuffles_average_to_the_mean_over_all_orders():
    """Five channels have 120 orders: their exact mean, within four standard errors."""
    is_ez = [True, False, True, False, False]
    prq = rows([0.20, 0.35, 0.43, 0.58, 0.90], is_ez)
    bcr = rows([0.11, 0.83, 0.27, 0.69, 0.42], is_ez).assign(method="bcr")
    cdel = prq.assign(method="cdel", threshold=0.44)
    ledger = pd.concat([prq, bcr, cdel], ignore_index=True)
    found = permute_within_patients(ledger, 4000, seed=1, weight=0.5)
    exact = hand.every_shuffle(prq["p_nez"], bcr["p_nez"], is_ez, 0.44, 0.5)
    for name, value in exact.items():
        null = found.null[name]
        assert null.mean() == pytest.approx(value, abs=4 * null.std() / np.sqrt(len(null)) + 1e-9)


def test_the_observed_value_is_that_of_score(ledger):
    found = permute_within_patients(ledger, 3)
    expected = summarise(score(ledger[ledger["method"] == "cdel"])).iloc[0]
    for name in METRICS:
        assert found.observed[name] == pytest.approx(expected[name], abs=1e-12)
        assert found.null[name].shape == (3,)


def test_shuffling_a_constant_changes_nothing_and_p_is_one(ledger):
    flat = ledger.assign(p_nez=ledger["p_nez"].where(ledger["method"] != "bcr", 0.4))
    found = permute_within_patients(flat, 20)
    for name in METRICS:
        np.testing.assert_allclose(found.null[name], found.observed[name], atol=1e-12)
        assert found.p(name) == 1


def test_weight_zero_is_prq_alone_however_bcr_is_shuffled(ledger):
    found = permute_within_patients(ledger, 10, weight=0.0)
    for name in METRICS:
        assert np.ptp(found.null[name]) == 0


def test_p_is_one_sided_and_corrected():
    null = np.array([0.1, 0.2, 0.2, 0.3])
    for observed in (0.05, 0.2, 0.25, 0.4):
        found = Permutation({"ez_f1": observed}, {"ez_f1": null})
        assert found.p("ez_f1") == hand.corrected_p(observed, null.tolist())
    assert Permutation({"ez_f1": 0.4}, {"ez_f1": null}).p("ez_f1") == 1 / 5


@MORE
@given(
    scores=st.lists(st.lists(st.integers(0, 4), min_size=7, max_size=7), min_size=1, max_size=4),
    is_ez=st.lists(st.booleans(), min_size=7, max_size=7).filter(lambda v: any(v) and not all(v)),
)
def test_rows_with_ties_have_the_metrics_of_one_patient_at_a_time(scores, is_ez):
    p_nez, flags = np.array(scores) / 4, np.array(is_ez)
    together = rank_rows(p_nez, flags)
    for i, row in enumerate(p_nez):
        alone = ranking_metrics(row, flags)
        for name in RANKING:
            assert together[name][i] == pytest.approx(alone[name], abs=1e-12)


def test_rows_without_ties_have_the_metrics_of_scikit_learn():
    rng = np.random.default_rng(0)
    p_nez, is_ez = rng.random((20, 30)), rng.random(30) < 0.3
    together = metrics_of_rows(p_nez, is_ez, 0.4)
    for i, row in enumerate(p_nez):
        for name, value in hand.sklearn_metrics(row, is_ez, 0.4).items():
            assert together[name][i] == pytest.approx(value, abs=1e-12)


def test_scores_that_differ_in_the_last_bit_are_not_tied():
    low = 0.3
    high = np.nextafter(low, 1)
    is_ez = np.array([True, False])
    assert rank_rows(np.array([[low, high]]), is_ez)["auroc"] == [1.0]
    assert rank_rows(np.array([[high, low]]), is_ez)["auroc"] == [0.0]
    assert rank_rows(np.array([[low, low]]), is_ez)["auroc"] == [0.5]
    assert rank_rows(np.array([[-0.0, 0.0]]), is_ez)["auroc"] == [0.5]
