"""Kappa against scikit-learn and against a count by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from epilens.review.agreement import cohen, fleiss, measure_agreement

WORDS = ("agree", "disagree", "unsure")


def random_answers(readers, seed, contacts=40):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, contacts)
    noise = rng.integers(0, 3, (readers, contacts))
    kept = rng.random((readers, contacts)) < 0.6
    chosen = np.where(kept, truth, noise)
    return {
        f"R{r}": {f"A{c}": WORDS[chosen[r, c]] for c in range(contacts)} for r in range(readers)
    }


def fleiss_by_hand(answers):
    """Share of agreeing pairs of readers, contact by contact, against chance."""
    readers, contacts = list(answers), list(next(iter(answers.values())))
    couples = list(combinations(readers, 2))
    seen = [
        sum(answers[a][name] == answers[b][name] for a, b in couples) / len(couples)
        for name in contacts
    ]
    said = [answers[reader][name] for reader in readers for name in contacts]
    chance = sum((said.count(word) / len(said)) ** 2 for word in WORDS)
    return (sum(seen) / len(seen) - chance) / (1 - chance)


@pytest.mark.parametrize("seed", range(5))
def test_two_readers_get_the_kappa_of_scikit_learn(seed):
    answers = random_answers(2, seed)
    found = measure_agreement(answers, WORDS)
    a, b = (list(of.values()) for of in answers.values())
    assert found.kappa == pytest.approx(cohen_kappa_score(a, b), abs=1e-12)
    assert found.kind == "Cohen"
    assert sum(map(sum, found.counts)) == found.contacts == 40
    assert found.same == sum(x == y for x, y in zip(a, b, strict=True))
    assert found.counts[0][1] == sum(
        x == "agree" and y == "disagree" for x, y in zip(a, b, strict=True)
    )


@pytest.mark.parametrize("readers", [3, 5])
def test_more_readers_get_the_kappa_of_fleiss(readers):
    answers = random_answers(readers, readers)
    found = measure_agreement(answers, WORDS)
    assert found.kappa == pytest.approx(fleiss_by_hand(answers), abs=1e-12)
    assert found.kind == "Fleiss"
    assert sum(found.counts[0]) == readers * 40


def test_the_table_of_fleiss_1971_as_it_is_usually_printed():
    votes = np.array(
        [
            *([0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0]),
            *([2, 2, 8, 1, 1], [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2]),
            *([6, 5, 2, 1, 0], [0, 2, 2, 3, 7]),
        ]
    )
    assert fleiss(votes) == pytest.approx(0.210, abs=5e-4)


def test_only_contacts_that_all_judged_count():
    answers = {"A": {"x": "agree", "y": "unsure"}, "B": {"x": "agree", "z": "disagree"}}
    found = measure_agreement(answers, WORDS)
    assert (found.contacts, found.left_out, found.same) == (1, 2, 1)


def test_one_answer_everywhere_and_no_contact_have_no_kappa():
    same = {"x": "agree", "y": "agree"}
    assert measure_agreement({"A": same, "B": same}, WORDS).kappa is None
    assert measure_agreement({"A": same, "B": same, "C": same}, WORDS).kappa is None
    assert measure_agreement({"A": same, "B": {}}, WORDS).kappa is None
    assert measure_agreement({"A": same, "B": {}, "C": {}}, WORDS).kappa is None


def test_one_reader_agrees_with_nobody():
    assert measure_agreement({"A": {"x": "agree"}}, WORDS) is None
    assert measure_agreement({}, WORDS) is None


def test_complete_disagreement_is_below_chance():
    assert cohen(np.array([[0, 5], [5, 0]])) == pytest.approx(-1)
