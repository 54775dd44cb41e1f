"""Metrics against scikit-learn and hand counts, ties by all orders, thresholds by exact search."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledgers import random_ledger, rows
from scoring_by_hand import RANKING_BY_HAND, best_threshold, tied_orders
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    ndcg_score,
    roc_auc_score,
)

from epilens.core.decisions import GRID, confusion_metrics, grid_metrics, select_threshold
from epilens.core.errors import LedgerError
from epilens.evaluation.scoring import (
    METRICS,
    RANKING,
    THRESHOLDED,
    per_seed_means,
    ranking_metrics,
    score,
    summarise,
)

FEW = settings(max_examples=25, deadline=None)
MORE = settings(max_examples=80, deadline=None)


def counts(is_ez, called):
    """True and false positives, false and true negatives."""
    return (
        (is_ez & called).sum(),
        (~is_ez & called).sum(),
        (is_ez & ~called).sum(),
        (~is_ez & ~called).sum(),
    )


def sklearn_decisions(is_ez, called) -> dict[str, float]:
    with warnings.catch_warnings():
        # scikit-learn remarks on decisions for a class that is not there.
        warnings.simplefilter("ignore")
        both = f1_score(is_ez, called, labels=[True, False], average=None, zero_division=0)
        return {
            "macro_f1": both.mean(),
            "ez_f1": both[0],
            "nez_f1": both[1],
            "accuracy": accuracy_score(is_ez, called),
            "balanced_accuracy": balanced_accuracy_score(is_ez, called),
        }


def with_both_classes(labels: list[bool]) -> list[bool]:
    return [True, False, *labels]


def patients_of(scores):
    """Scores and labels of one to four patients with one to seven channels."""
    patient = st.lists(st.tuples(scores, st.booleans()), min_size=1, max_size=7)
    return st.lists(patient, min_size=1, max_size=4).map(
        lambda found: (
            [np.array([p for p, _ in one]) for one in found],
            [np.array([ez for _, ez in one]) for one in found],
        )
    )


anywhere = st.floats(0, 1)
tied = st.sampled_from([0.2, 0.4, 0.6])
on_the_grid = st.integers(0, 200).map(lambda step: step / 200)
beside_the_grid = st.builds(
    lambda t, side: float(np.clip(np.nextafter(t, side), 0, 1)),
    st.sampled_from([0.0, 0.005, 0.3, 0.5, 0.7, 0.995, 1.0]),
    st.sampled_from([-1.0, 2.0]),
)
certain = st.sampled_from([0.0, 1.0])

few_channels = st.lists(st.tuples(tied, st.booleans()), min_size=1, max_size=5).map(
    # Two channels more, so that both classes are there.
    lambda found: (
        np.array([0.4, 0.6, *(p for p, _ in found)]),
        np.array([True, False, *(ez for _, ez in found)]),
    )
)
channels = st.lists(st.tuples(st.one_of(anywhere, tied), st.booleans()), min_size=1, max_size=30)


# --- decisions ---


@MORE
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_decisions_are_those_of_scikit_learn_also_with_one_class(pairs):
    is_ez, called = (np.array(column) for column in zip(*pairs, strict=True))
    ours = confusion_metrics(*counts(is_ez, called))
    assert {k: float(v) for k, v in ours.items()} == pytest.approx(
        sklearn_decisions(is_ez, called), abs=1e-12
    )


def test_decisions_counted_by_hand():
    ours = confusion_metrics(tp=3, fp=1, fn=2, tn=4)
    assert ours["ez_f1"] == pytest.approx(6 / 9)
    assert ours["nez_f1"] == pytest.approx(8 / 11)
    assert ours["macro_f1"] == pytest.approx((6 / 9 + 8 / 11) / 2)
    assert ours["accuracy"] == pytest.approx(7 / 10)
    assert ours["balanced_accuracy"] == pytest.approx((3 / 5 + 4 / 5) / 2)


@pytest.mark.parametrize(
    ("tp", "fp", "fn", "tn", "macro_f1", "balanced"),
    [
        pytest.param(0, 0, 0, 5, 0.5, 1.0, id="no EZ, none called"),
        pytest.param(0, 5, 0, 0, 0.0, 0.0, id="no EZ, all called"),
        pytest.param(5, 0, 0, 0, 0.5, 1.0, id="all EZ, all called"),
        pytest.param(0, 0, 5, 0, 0.0, 0.0, id="all EZ, none called"),
    ],
)
def test_one_class_gives_the_absent_class_f1_zero(tp, fp, fn, tn, macro_f1, balanced):
    ours = confusion_metrics(tp, fp, fn, tn)
    assert ours["macro_f1"] == macro_f1
    assert ours["balanced_accuracy"] == balanced


def test_counts_of_different_shapes_broadcast():
    ours = confusion_metrics(1.0, np.arange(3.0), 0.0, 2.0)
    assert ours["ez_f1"] == pytest.approx([2 / 2, 2 / 3, 2 / 4])


def test_the_grid_has_201_points_that_are_the_decimals_themselves():
    assert GRID.tolist() == [float(f"{step * 0.005:.3f}") for step in range(201)]


@FEW
@given(patients_of(st.one_of(anywhere, on_the_grid, beside_the_grid)))
def test_a_channel_is_called_ez_strictly_below_each_threshold(cohort):
    p_nez, is_ez = cohort
    found = grid_metrics(p_nez, is_ez)
    assert set(found) == set(THRESHOLDED)
    for i, (p, ez) in enumerate(zip(p_nez, is_ez, strict=True)):
        at_each = np.array([counts(ez, p < t) for t in GRID], float)
        expected = confusion_metrics(*at_each.T)
        for name in THRESHOLDED:
            assert found[name][i] == pytest.approx(expected[name], abs=1e-12)


# --- ranking ---


@MORE
@given(st.lists(st.booleans(), min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_ranking_without_ties_is_that_of_scikit_learn(labels, random):
    is_ez = np.array(with_both_classes(labels))
    p_nez = np.array(random.sample(range(1, 1000), len(is_ez))) / 1000
    ours = ranking_metrics(p_nez, is_ez)
    assert ours["auroc"] == pytest.approx(roc_auc_score(is_ez, -p_nez), abs=1e-12)
    assert ours["ez_auprc"] == pytest.approx(average_precision_score(is_ez, -p_nez), abs=1e-12)
    assert ours["ndcg_ez"] == pytest.approx(ndcg_score([is_ez], [-p_nez]), abs=1e-12)


@MORE
@given(channels)
def test_tied_auroc_and_ndcg_are_those_of_scikit_learn(found):
    p_nez = np.array([0.4, 0.6, *(p for p, _ in found)])
    is_ez = np.array(with_both_classes([ez for _, ez in found]))
    ours = ranking_metrics(p_nez, is_ez)
    assert ours["auroc"] == pytest.approx(roc_auc_score(is_ez, -p_nez), abs=1e-12)
    assert ours["ndcg_ez"] == pytest.approx(ndcg_score([is_ez], [-p_nez]), abs=1e-12)


def test_ranking_counted_by_hand():
    p_nez = np.array([0.9, 0.1, 0.2, 0.3, 0.8])
    is_ez = np.array([False, False, True, False, True])
    # From most to least EZ-like: NEZ, EZ, NEZ, EZ, NEZ.
    assert ranking_metrics(p_nez, is_ez) == pytest.approx(
        {
            "auroc": 3 / 6,
            "ez_auprc": (1 / 2 + 2 / 4) / 2,
            "ndcg_ez": (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3)),
            "mrr_ez": 1 / 2,
            "recall_at_k": 1 / 2,
            "top1_ez": 0.0,
        }
    )


@pytest.mark.parametrize("name", RANKING)
@settings(max_examples=30, deadline=None)
@given(few_channels)
def test_tied_channels_count_as_the_mean_over_all_their_orders(name, found):
    p_nez, is_ez = found
    orders = [RANKING_BY_HAND[name](labels) for labels in tied_orders(p_nez, is_ez)]
    assert ranking_metrics(p_nez, is_ez)[name] == pytest.approx(np.mean(orders), abs=1e-12)


@pytest.mark.parametrize("n_ez", [1, 3, 6])
def test_all_channels_equal_is_chance(n_ez):
    is_ez = np.arange(7) < n_ez
    ours = ranking_metrics(np.full(7, 0.5), is_ez)
    by_hand = {
        name: np.mean([metric(order) for order in tied_orders([0.5] * 7, is_ez)])
        for name, metric in RANKING_BY_HAND.items()
    }
    assert ours == pytest.approx(by_hand, abs=1e-12)
    assert ours["auroc"] == 0.5
    assert ours["top1_ez"] == pytest.approx(n_ez / 7)
    assert ours["recall_at_k"] == pytest.approx(n_ez / 7)


def test_many_tied_channels_stay_finite_and_fast():
    is_ez = np.arange(600) < 300
    ours = ranking_metrics(np.zeros(600), is_ez)
    assert all(0 <= value <= 1 for value in ours.values())
    assert ours["top1_ez"] == 0.5


def test_the_perfect_order_scores_one_in_every_metric():
    ours = ranking_metrics(np.array([0.1, 0.2, 0.8, 0.9]), np.array([True, True, False, False]))
    assert ours == pytest.approx(dict.fromkeys(RANKING, 1.0))


def test_ranking_reads_only_the_order_of_the_scores():
    rng = np.random.default_rng(0)
    p_nez, is_ez = rng.integers(0, 9, 30) / 10, np.arange(30) % 4 == 0
    assert ranking_metrics(p_nez**3, is_ez) == ranking_metrics(p_nez, is_ez)


@MORE
@given(channels, st.randoms(use_true_random=False))
def test_no_metric_depends_on_the_order_of_channels(found, random):
    order = random.sample(range(len(found)), len(found))
    p_nez, is_ez = (np.array(column) for column in zip(*found, strict=True))
    np.testing.assert_equal(
        ranking_metrics(p_nez[order], is_ez[order]), ranking_metrics(p_nez, is_ez)
    )
    np.testing.assert_equal(
        grid_metrics([p_nez[order]], [is_ez[order]]), grid_metrics([p_nez], [is_ez])
    )


@pytest.mark.parametrize("is_ez", [True, False])
def test_ranking_one_class_is_undefined(is_ez):
    ours = ranking_metrics(np.array([0.1, 0.5, 0.9]), np.full(3, is_ez))
    assert set(ours) == set(RANKING)
    assert all(math.isnan(value) for value in ours.values())


# --- the threshold ---


@pytest.mark.parametrize(
    "scores",
    [
        pytest.param(anywhere, id="anywhere"),
        pytest.param(tied, id="tied"),
        pytest.param(on_the_grid, id="on the grid"),
        pytest.param(beside_the_grid, id="beside the grid"),
        pytest.param(certain, id="0 or 1"),
        pytest.param(st.just(0.3), id="all 0.3"),
        pytest.param(st.one_of(anywhere, on_the_grid, certain), id="mixed"),
    ],
)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_the_threshold_is_that_of_an_exact_search(scores, data):
    p_nez, is_ez = data.draw(patients_of(scores))
    threshold, reached = select_threshold(p_nez, is_ez)
    expected, expected_reached = best_threshold(
        [p.tolist() for p in p_nez], [ez.tolist() for ez in is_ez]
    )
    assert threshold == expected
    assert reached == pytest.approx(expected_reached, abs=1e-11)


@pytest.mark.parametrize("prevalence_tolerance", [Fraction(0), Fraction(1, 50), Fraction(1, 5)])
@FEW
@given(data=st.data())
def test_a_threshold_near_the_true_share_is_that_of_an_exact_search(prevalence_tolerance, data):
    p_nez, is_ez = data.draw(patients_of(st.one_of(anywhere, on_the_grid, certain)))
    lists = [p.tolist() for p in p_nez], [ez.tolist() for ez in is_ez]
    expected, expected_reached = best_threshold(*lists, prevalence_tolerance)
    threshold, reached = select_threshold(p_nez, is_ez, float(prevalence_tolerance))
    assert threshold == expected
    assert reached == pytest.approx(expected_reached, abs=1e-11)


@pytest.mark.parametrize("label", [True, False])
@FEW
@given(data=st.data())
def test_the_threshold_with_one_class_is_that_of_an_exact_search(label, data):
    p_nez, is_ez = data.draw(patients_of(st.one_of(anywhere, on_the_grid, certain)))
    is_ez = [np.full(len(ez), label) for ez in is_ez]
    expected = best_threshold([p.tolist() for p in p_nez], [ez.tolist() for ez in is_ez])[0]
    assert select_threshold(p_nez, is_ez)[0] == expected


def test_the_threshold_is_the_best_by_scikit_learn():
    rng = np.random.default_rng(1)
    is_ez = [rng.random(12) < 0.3 for _ in range(3)]
    p_nez = [np.clip(rng.normal(0.7 - 0.3 * ez, 0.2), 0, 1) for ez in is_ez]
    means = [
        np.mean(
            [
                f1_score(ez, p < t, labels=[True, False], average="macro", zero_division=0)
                for p, ez in zip(p_nez, is_ez, strict=True)
            ]
        )
        for t in GRID
    ]
    threshold, (macro_f1, _, _) = select_threshold(p_nez, is_ez)
    assert macro_f1 == pytest.approx(max(means), abs=1e-11)
    assert means[round(threshold * 200)] == pytest.approx(max(means), abs=1e-11)


def one(p_nez, is_ez):
    return select_threshold([np.array(p_nez, float)], [np.array(is_ez, bool)])


@pytest.mark.parametrize(
    ("p_nez", "is_ez", "threshold"),
    [
        # Any threshold in (0.2, 0.8] is right: the middle one is taken.
        pytest.param([0.2, 0.8], [1, 0], 0.5, id="nearest to 0.5"),
        pytest.param([0.1, 0.3], [1, 0], 0.3, id="on the upper edge, which is allowed"),
        pytest.param([0.7, 0.9], [1, 0], 0.705, id="just above the lower edge"),
        pytest.param([0.3, 0.3], [1, 1], 0.5, id="all EZ: above them"),
        pytest.param([0.7, 0.7], [1, 1], 0.705, id="all EZ, high"),
        pytest.param([0.3, 0.3], [0, 0], 0.3, id="no EZ: not above them"),
        pytest.param([1.0, 1.0], [0, 0], 0.5, id="no EZ, certain"),
        pytest.param([0.0, 1.0], [1, 0], 0.5, id="certain and right"),
        pytest.param([1.0], [1], 0.5, id="p = 1 can never be called EZ"),
        pytest.param([0.0], [0], 0.0, id="p = 0 is spared by threshold 0 only"),
    ],
)
def test_thresholds_that_one_can_see(p_nez, is_ez, threshold):
    assert one(p_nez, is_ez)[0] == threshold


def test_of_two_thresholds_equally_near_the_middle_the_lower_is_taken():
    # Up to 0.4 patient 1 is right and patient 2 misses an EZ channel; above 0.595 patient 2 is
    # right and patient 1 has a false one: the same numbers. Between them both are wrong.
    p_nez = [np.array([0.0, 0.4, 1.0]), np.array([0.0, 0.595, 1.0])]
    is_ez = [np.array([True, False, False]), np.array([True, True, False])]
    lower, upper = (grid_metrics(p_nez, is_ez, np.array([t])) for t in (0.4, 0.6))
    for name in ("macro_f1", "ez_f1", "balanced_accuracy"):
        assert lower[name].mean() == pytest.approx(upper[name].mean(), abs=1e-15)
    assert select_threshold(p_nez, is_ez)[0] == 0.4


def test_a_tie_in_macro_f1_is_broken_by_ez_f1():
    # Patient 1: one EZ, one NEZ, in the wrong order. Below both and above both are worth 1/3 each,
    # but only the upper one finds the EZ channel; it lies farther from 0.5.
    threshold, reached = one([0.9, 0.4], [1, 0])
    assert threshold == 0.905
    assert reached == pytest.approx((1 / 3, 2 / 3, 1 / 2))


def test_every_patient_has_the_same_weight_in_the_threshold():
    # One patient with many channels wants 0.3, two with few want 0.7.
    big = np.r_[np.full(50, 0.2), np.full(50, 0.4)]
    small = np.array([0.6, 0.8])
    labels = [np.arange(100) < 50, np.array([True, False]), np.array([True, False])]
    # The small patients are right only in (0.6, 0.8]; the big one only in (0.2, 0.4].
    assert select_threshold([big, small, small], labels)[0] == 0.605


@FEW
@given(patients_of(st.one_of(anywhere, tied)), st.randoms(use_true_random=False))
def test_the_threshold_depends_on_no_order(cohort, random):
    p_nez, is_ez = cohort
    patients = random.sample(range(len(p_nez)), len(p_nez))
    orders = [np.array(random.sample(range(len(p_nez[i])), len(p_nez[i]))) for i in patients]
    shuffled = select_threshold(
        [p_nez[i][order] for i, order in zip(patients, orders, strict=True)],
        [is_ez[i][order] for i, order in zip(patients, orders, strict=True)],
    )
    assert shuffled == select_threshold(p_nez, is_ez)


def test_single_precision_scores_are_compared_as_what_they_are():
    p_nez = np.array([0.3], np.float32)  # 0.30000001: above 0.3, so 0.3 calls it NEZ
    at_030 = grid_metrics([p_nez], [np.array([True])], np.array([0.3, 0.305]))
    assert at_030["ez_f1"].tolist() == [[0.0, 1.0]]


# --- score and summarise ---

FOUR = rows([0.1, 0.4, 0.6, 0.9], [1, 0, 1, 0], patient="sub-01")
TWO = rows([0.2, 0.3], [0, 1], patient="sub-02")
NO_EZ = rows([0.6, 0.7, 0.8], [0, 0, 0], patient="sub-03", fold="1", threshold=0.5)


@pytest.fixture
def by_hand() -> pd.DataFrame:
    return pd.concat([FOUR, TWO, NO_EZ], ignore_index=True)


def test_score_has_one_row_per_test_patient_counted_by_hand(by_hand):
    scores = score(by_hand).set_index("patient")
    assert scores.index.tolist() == ["sub-01", "sub-02", "sub-03"]
    assert scores["center"].tolist() == ["ghent", "ghent", "lyon"]
    assert scores["fold"].tolist() == ["0", "0", "1"]
    assert scores["channels"].tolist() == [4, 2, 3]
    assert scores["ez_channels"].tolist() == [2, 1, 0]
    assert scores["called_ez"].tolist() == [2, 2, 0]
    assert scores["macro_f1"].tolist() == pytest.approx([1 / 2, 1 / 3, 1 / 2])
    assert scores["ez_f1"].tolist() == pytest.approx([1 / 2, 2 / 3, 0])
    assert scores["nez_f1"].tolist() == pytest.approx([1 / 2, 0, 1])
    assert scores["accuracy"].tolist() == pytest.approx([1 / 2, 1 / 2, 1])
    assert scores["balanced_accuracy"].tolist() == pytest.approx([1 / 2, 1 / 2, 1])
    assert scores["auroc"].tolist() == pytest.approx([3 / 4, 0, math.nan], nan_ok=True)
    assert scores["ez_auprc"].tolist() == pytest.approx([5 / 6, 1 / 2, math.nan], nan_ok=True)
    assert scores["mrr_ez"].tolist() == pytest.approx([1, 1 / 2, math.nan], nan_ok=True)
    assert scores["recall_at_k"].tolist() == pytest.approx([1 / 2, 0, math.nan], nan_ok=True)
    assert scores["top1_ez"].tolist() == pytest.approx([1, 0, math.nan], nan_ok=True)


def test_score_agrees_with_scikit_learn_on_a_whole_ledger():
    ledger = random_ledger()
    scores = score(ledger).set_index(["seed", "patient"])
    test = ledger[ledger["partition"] == "test"]
    assert len(scores) == 8
    for key, part in test.groupby(["seed", "patient"]):
        is_ez, p_nez = part["is_ez"].to_numpy(), part["p_nez"].to_numpy()
        expected = sklearn_decisions(is_ez, p_nez < part["threshold"].to_numpy())
        expected["auroc"] = roc_auc_score(is_ez, -p_nez)
        assert scores.loc[key, list(expected)].to_dict() == pytest.approx(expected, abs=1e-12)


def test_score_reads_test_rows_only(by_hand):
    other = by_hand.assign(partition="validation", p_nez=0.0)
    pd.testing.assert_frame_equal(
        score(pd.concat([by_hand, other], ignore_index=True)), score(by_hand)
    )


def test_score_uses_the_threshold_of_each_cell(by_hand):
    low = pd.concat([by_hand, by_hand.assign(seed=52, threshold=0.15)], ignore_index=True)
    called = score(low).set_index(["seed", "patient"])["called_ez"]
    assert called[42].tolist() == [2, 2, 0]
    assert called[52].tolist() == [1, 0, 0]


def test_a_score_at_the_threshold_is_nez():
    scores = score(rows([0.3, 0.6], [1, 0], threshold=0.3))
    assert scores["called_ez"].tolist() == [0]


@settings(max_examples=8, deadline=None)
@given(st.permutations(range(len(random_ledger()))))
def test_scores_do_not_depend_on_the_order_of_rows(order):
    ledger = random_ledger()
    key = ["method", "seed", "patient"]
    shuffled = score(ledger.iloc[order]).sort_values(key, ignore_index=True)
    pd.testing.assert_frame_equal(shuffled, score(ledger).sort_values(key, ignore_index=True))


def test_the_mean_gives_every_patient_the_same_weight(by_hand):
    means = per_seed_means(score(by_hand)).iloc[0]
    assert means["patients"] == 3
    assert means["macro_f1"] == pytest.approx((1 / 2 + 1 / 3 + 1 / 2) / 3)
    assert means["accuracy"] == pytest.approx((1 / 2 + 1 / 2 + 1) / 3)


def test_an_undefined_patient_is_left_out_of_that_mean_and_counted(by_hand):
    summary = summarise(score(by_hand)).iloc[0]
    assert summary["auroc"] == pytest.approx((3 / 4 + 0) / 2)
    assert summary["ez_auprc"] == pytest.approx((5 / 6 + 1 / 2) / 2)
    assert summary["undefined_patients"] == 1


def test_nobody_is_counted_as_undefined_where_all_are_defined():
    assert summarise(score(random_ledger()))["undefined_patients"].tolist() == [0]


def test_a_cohort_without_ez_has_decisions_but_no_ranking():
    summary = summarise(score(NO_EZ)).iloc[0]
    assert summary["macro_f1"] == 0.5
    assert math.isnan(summary["auroc"])
    assert summary["undefined_patients"] == 1


def test_the_bias_is_pooled_over_channels_not_averaged_over_patients(by_hand):
    summary = summarise(score(by_hand)).iloc[0]
    assert summary["ez_fraction_bias"] == pytest.approx((4 - 3) / 9)


def test_mean_and_sd_over_seeds_have_ddof_one(by_hand):
    thresholds = {42: 0.5, 52: 0.15, 62: 0.35}
    ledger = pd.concat([by_hand.assign(seed=s, threshold=t) for s, t in thresholds.items()])
    scores = score(ledger)
    summary = summarise(scores).iloc[0]
    assert summary["seeds"] == 3
    # Called EZ of 9 channels: 4, then 1, then 3; three are EZ.
    biases = [1 / 9, -2 / 9, 0.0]
    assert summary["ez_fraction_bias"] == pytest.approx(np.mean(biases))
    assert summary["ez_fraction_bias_sd"] == pytest.approx(np.std(biases, ddof=1))
    means = [scores[scores["seed"] == s]["macro_f1"].mean() for s in thresholds]
    assert len(set(means)) > 1
    assert summary["macro_f1"] == pytest.approx(np.mean(means))
    assert summary["macro_f1_sd"] == pytest.approx(np.std(means, ddof=1))
    assert summary["auroc_sd"] == 0


def test_one_seed_has_no_spread(by_hand):
    summary = summarise(score(by_hand)).iloc[0]
    assert summary["seeds"] == 1
    assert summary[[f"{name}_sd" for name in (*METRICS, "ez_fraction_bias")]].isna().all()


def test_methods_are_summarised_apart_and_keep_their_order():
    ledger = pd.concat([random_ledger(0, "prq"), random_ledger(1, "bcr")], ignore_index=True)
    both = summarise(score(ledger))
    assert both["method"].tolist() == ["prq", "bcr"]
    alone = summarise(score(random_ledger(1, "bcr")))
    pd.testing.assert_frame_equal(both[1:].reset_index(drop=True), alone)


def test_a_ledger_without_a_column_is_refused():
    with pytest.raises(LedgerError, match=r"score: expected columns .*, found no p_nez\."):
        score(random_ledger().drop(columns="p_nez"))
