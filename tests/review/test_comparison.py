"""Two rankings side by side, against numbers that can be counted."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import spearmanr

from epilens.core.errors import DataError
from epilens.localization.run_spec import RunInputs
from epilens.review.comparison import RankedContact, Ranking, compare
from epilens.review.responses import comparison_to_json, contacts_to_json


def ranking(names, k=2):
    contacts = tuple(
        RankedContact(name=name, rank=rank, ez_score=1 / rank, decision="none")
        for rank, name in enumerate(names, 1)
    )
    return Ranking(title="M", k=k, contacts=contacts, cautions=())


def test_the_same_ranking_twice():
    found = compare(ranking("ABCD"), ranking("ABCD"))
    assert (found.shared, found.common, found.largest_shift) == (2, 4, 0)
    assert found.correlation == pytest.approx(1)


def test_places_up_are_positive():
    found = compare(ranking("ABCD"), ranking("DABC"))
    assert [(m.name, m.old, m.new, m.shift, m.top) for m in found.contacts] == [
        ("D", 4, 1, 3, "new"),
        ("A", 1, 2, -1, "both"),
        ("B", 2, 3, -1, "old"),
        ("C", 3, 4, -1, ""),
    ]
    assert (found.shared, found.largest_shift) == (1, 3)


def test_a_contact_that_was_left_out_shifts_nobody():
    found = compare(ranking("ABCDE"), ranking("BCDE"))
    assert [m.shift for m in found.contacts] == [0, 0, 0, 0, None]
    gone = found.contacts[-1]
    assert (gone.name, gone.old, gone.new, gone.top) == ("A", 1, None, "old")
    assert found.common == 4
    assert found.correlation == pytest.approx(1)


def test_the_lists_call_contacts_as_the_page_does():
    names = ("EEG LA 03-Ref", "EEG LA 04-Ref", "POL B1", "EEG B1")
    run = SimpleNamespace(
        ranking=ranking(names), inputs=RunInputs(patient="sub-P1", recordings=()), number=1
    )
    short = ["LA03", "LA04", "POL B1", "EEG B1"]
    assert [one["short"] for one in contacts_to_json(run)] == short
    found = comparison_to_json(run, run, {})["contacts"]
    assert [(one["short"], one["name"]) for one in found] == list(zip(short, names, strict=True))


@pytest.mark.parametrize("seed", range(3))
def test_the_correlation_is_that_of_scipy(seed):
    rng = np.random.default_rng(seed)
    names = [f"A{i}" for i in range(20)]
    a, b = rng.permutation(names).tolist(), rng.permutation(names).tolist()
    expected = spearmanr([a.index(n) for n in names], [b.index(n) for n in names])[0]
    assert compare(ranking(a), ranking(b)).correlation == pytest.approx(expected)


def test_the_smaller_k_counts_and_rankings_without_common_contacts_have_no_correlation():
    assert compare(ranking("ABCD", k=3), ranking("ABCD", k=1)).k == 1
    found = compare(ranking("AB"), ranking("CD"))
    assert (found.common, found.correlation, found.largest_shift) == (0, None, 0)


def test_a_damaged_ranking_is_refused():
    tree = {"title": "M", "k": 1, "contacts": [{"name": "A"}], "cautions": []}
    with pytest.raises(DataError, match="run 3: expected a value for rank, found none"):
        Ranking.from_json(tree, "run 3", "Run it again.")


def test_the_digest_of_a_ranking_is_that_of_earlier_versions():
    """Signed readings contain it."""
    tree = {
        "title": "Méthode",
        "k": 2,
        "contacts": [
            {"name": "A1", "rank": 1, "ez_score": 0.123457, "decision": "EZ"},
            {"name": "B'2", "rank": 2, "ez_score": 1.0, "decision": "none"},
        ],
        "cautions": ["Caution µ."],
        "problems": ["Not part of the digest."],
    }
    expected = "fbf7fa977e3b13291f4fadb78aa0a4d7ccd90871637610d972ca165aeaf3c1ec"
    assert Ranking.from_json(tree, "run 3", "Run it again.").digest == expected
