"""Verdicts know noise: intervals decide, and nothing is said of nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from epilens.analyses import (
    bootstrap,
    centers,
    demographics,
    loco_bootstrap,
    main,
    permutation,
    quantile,
    ranking,
    rich_inputs,
    sentence,
    training_free,
)
from epilens.analyses.result import AnalysisResult
from epilens.analyses.verdicts import (
    FEWEST,
    ClaimOutcome,
    Verdict,
    in_words,
    outcome_of,
    versus,
    versus_best,
)
from epilens.evaluation.resampling import Comparison
from epilens.evaluation.run import Run


def comparison(low, high, patients=20):
    middle = (low + high) / 2
    return Comparison("cdel", "prq", "macro_f1", middle, low, high, patients, 0.5, 100)


@pytest.mark.parametrize(
    ("intervals", "outcome"),
    [
        ([(0.01, 0.03)], ClaimOutcome.AGREE),
        ([(0.01, 0.03), (0.001, 0.2)], ClaimOutcome.AGREE),
        ([(-0.03, -0.01)], ClaimOutcome.DIFFER),
        ([(0.01, 0.03), (-0.03, -0.01)], ClaimOutcome.DIFFER),
        ([(0.01, 0.03), (-0.01, 0.03)], ClaimOutcome.UNCLEAR),
        ([(-0.0004, 0.0008)], ClaimOutcome.UNCLEAR),
        ([], ClaimOutcome.NOT_COMPARABLE),
    ],
)
def test_intervals_decide_and_not_point_estimates(intervals, outcome):
    assert outcome_of(comparison(*one) for one in intervals) is outcome


def test_nothing_is_said_of_nothing():
    assert outcome_of([None]) is ClaimOutcome.NOT_COMPARABLE
    assert outcome_of([comparison(np.nan, np.nan)]) is ClaimOutcome.NOT_COMPARABLE
    assert outcome_of([comparison(0.1, 0.2, FEWEST - 1)]) is ClaimOutcome.NOT_COMPARABLE
    assert in_words(None) == "not defined"


def scores(gap, noise=0.01, patients=30):
    """Two methods on the same patients, `a` better by `gap` give or take `noise`."""
    rng = np.random.default_rng(0)
    base = rng.uniform(0.4, 0.6, patients)
    rows = [
        {"method": method, "seed": seed, "patient": f"p{i:02d}", "macro_f1": value}
        for seed in (1, 2)
        for i in range(patients)
        for method, value in (("b", base[i]), ("a", base[i] + gap + rng.normal(0, noise)))
    ]
    return pd.DataFrame(rows)


def test_a_difference_within_the_noise_is_no_agreement():
    assert outcome_of([versus(scores(0.05), "a", "b", "macro_f1")]) is ClaimOutcome.AGREE
    assert (
        outcome_of([versus(scores(0.0, noise=0.1), "a", "b", "macro_f1")]) is ClaimOutcome.UNCLEAR
    )
    assert outcome_of([versus_best(scores(-0.05), "a", "macro_f1")]) is ClaimOutcome.DIFFER


def test_the_best_of_the_others_is_what_a_method_is_held_against():
    table = scores(0.05)
    worse = table[table["method"] == "b"].assign(method="worse")
    worse["macro_f1"] -= 0.2
    best = versus_best(pd.concat([table, worse]), "a", "macro_f1")
    assert best.b == "b"
    assert versus_best(table[table["method"] == "a"], "a", "macro_f1") is None


def test_a_verdict_is_a_sentence_with_the_paper_first():
    agreement = Verdict(ClaimOutcome.AGREE, "two", "two")
    assert str(agreement) == "The paper: two. Here: two. They agree."


@pytest.mark.parametrize(
    ("p", "outcome"),
    [(0.001, "AGREE"), (0.4, "UNCLEAR"), (0.99, "DIFFER"), (np.nan, "NOT_COMPARABLE")],
)
def test_a_p_value_that_says_nothing_is_no_disagreement(p, outcome):
    row = {"metric": "macro_f1", "observed": 0.6, "null_mean": 0.59, "p": p}
    assert permutation.claim(pd.DataFrame([row])).outcome is ClaimOutcome[outcome]


def test_richer_inputs_that_may_be_better_are_not_called_better():
    def outcome(low, high):
        frame = pd.DataFrame({"method": ["rich/hfo", "cdel"], "gap": [(low + high) / 2, 0.0]})
        return rich_inputs.claim(frame, (comparison(low, high),)).outcome

    assert outcome(-0.1, -0.05) is ClaimOutcome.AGREE
    assert outcome(-0.1, 0.05) is ClaimOutcome.AGREE
    assert outcome(-0.05, 0.1) is ClaimOutcome.UNCLEAR
    assert outcome(0.05, 0.1) is ClaimOutcome.DIFFER


def test_a_claim_that_something_hardly_matters_is_held_to_the_paper_s_size():
    def outcome(low, high, patients=20):
        frame = pd.DataFrame({"quantile": [0.05, 0.10, 0.20], "macro_f1": [0.5, 0.5, 0.5]})
        return quantile.claim(frame, (comparison(low, high, patients),)).outcome

    assert outcome(-0.0009, 0.0011) is ClaimOutcome.AGREE
    assert outcome(0.0001, 0.0011) is ClaimOutcome.AGREE  # told apart, and as small as in the paper
    assert outcome(-0.1, 0.2) is ClaimOutcome.UNCLEAR  # that nobody can tell is no agreement
    assert outcome(0.01, 0.02) is ClaimOutcome.DIFFER
    assert outcome(-0.0009, 0.0011, FEWEST - 1) is ClaimOutcome.NOT_COMPARABLE


@pytest.mark.parametrize("analysis", [centers, loco_bootstrap])
def test_centers_with_few_patients_are_not_counted(analysis):
    rows = [("A", "prq", 0.5, False), ("A", "cdel", 0.6, True)]
    frame = pd.DataFrame(rows, columns=["center", "method", "macro_f1", "best"])
    few = analysis.claim(frame, (comparison(0.1, 0.2, FEWEST - 1),))
    assert few.outcome is ClaimOutcome.NOT_COMPARABLE
    assert "fewer than 5 patients, too few for an interval" in str(few)
    assert "0 of 0" not in str(few)
    enough = analysis.claim(frame, (comparison(0.1, 0.2),))
    assert "in 1 of 1 with 5 patients or more" in str(enough)


def test_a_verdict_says_what_lies_on_the_other_side():
    values = {m: [0.5, 0.4, 0.6] for m in ranking.METRICS}
    frame = pd.DataFrame({"method": ["prq", "bcr", "cdel"], **values})
    found = ranking.claim(frame, (comparison(-0.2, -0.1), comparison(0.1, 0.2)))
    assert found.outcome is ClaimOutcome.DIFFER
    assert "1 are in the paper's direction and 1 against it" in found.here
    rows = [vars(comparison(-0.1, 0.02)), vars(comparison(-0.2, -0.1))]
    frame = pd.DataFrame(rows).assign(metric=["macro_f1", "ez_f1"])
    assert "above zero in none, below zero in 1 (EZ-F1) of 2" in str(bootstrap.claim(frame))


def test_patients_whom_the_paper_does_not_name_are_not_compared():
    frame = pd.DataFrame({"patient": ["sub-X1", "sub-X2"], "modality": ["SEEG", "SEEG"]})
    found = demographics.claim(frame)
    assert found.outcome is ClaimOutcome.NOT_COMPARABLE
    assert "0 of" not in str(found)


def test_leading_without_the_smallest_bias_is_no_agreement():
    def outcome(cdel, prq):
        values = {metric: [0.6, 0.5] for metric in main.CLAIMED}
        frame = pd.DataFrame({"method": ["cdel", "prq"], **values, main.BIAS: [cdel, prq]})
        return main.claim(frame, (comparison(0.1, 0.2),) * 3).outcome

    assert outcome(0.01, -0.02) is ClaimOutcome.AGREE
    assert outcome(0.02, -0.01) is ClaimOutcome.UNCLEAR


def test_a_comparison_of_few_patients_has_no_interval():
    text = in_words(comparison(0.1, 0.2, FEWEST - 1))
    assert text == "CDEL − PRQ-Net +0.150 (4 patients, too few for an interval)"


def test_chance_is_not_counted_among_the_training_free_methods():
    names = ["random", "line-length-spread", "random/shaft"]
    frame = pd.DataFrame({"method": names, "auroc": [0.9, 0.6, 0.9], "gain": [np.nan, np.nan, 0.1]})
    assert training_free.claim(frame) == (
        "Beyond the paper. Highest AUROC of 1 training-free methods: Line-length spread (0.600)."
    )


def test_ranking_metrics_say_whom_they_exclude():
    class OneUndefined(Run):
        undefined_patients = 1

    result = AnalysisResult(pd.DataFrame({"auroc": [0.6]}), "Here.")
    run = OneUndefined(Path("nowhere"))
    expected = "1 patient has EZ or NEZ contacts only; ranking metrics exclude them."
    assert sentence(result, run) == f"Here. {expected}"
    assert sentence(replace(result, frame=pd.DataFrame({"ez_f1": [0.6]})), run) == "Here."


def test_one_interval_below_zero_is_a_difference():
    rows = [vars(comparison(0.01, 0.02)), vars(comparison(-0.2, -0.1))]
    frame = pd.DataFrame(rows).assign(metric=["macro_f1", "ez_f1"])
    assert bootstrap.claim(frame).outcome is ClaimOutcome.DIFFER
