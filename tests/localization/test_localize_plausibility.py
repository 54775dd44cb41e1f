"""The plausibility check: when it fires, what the page then says and shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from epilens.evidence.cube import joined
from epilens.evidence.describe import describe
from epilens.evidence.signals import make_signals
from epilens.localization.compare import compare_with
from epilens.localization.plausibility import disagrees, implausible
from epilens.localization.timing import time_evidence
from epilens.plan import Plan
from epilens.report.patient.localize import localize
from epilens.testing import make_recording

NAMES = [f"{shaft}{i}" for shaft in "ABC" for i in range(1, 7)]
RECORDINGS = [make_recording(run=f"run-{i}", seed=i, fs=256.0, channels=NAMES) for i in (1, 2)]


def ranks(*first: int) -> np.ndarray:
    """p_nez of 18 contacts, these lowest, the others in their order."""
    order = [*first, *(i for i in range(18) if i not in first)]
    return np.argsort(order) / 18


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (ranks(), ranks(), False),
        (ranks(), ranks(4, 3, 2), False),
        (ranks(), 1 - ranks(), True),  # the other way round
        (ranks(), ranks(5, 6, 7, 8, 9), True),  # correlated, but another top five
    ],
)
def test_rankings_disagree_by_correlation_or_by_their_top_five(ours, theirs, expected):
    assert disagrees(compare_with("other", "Other", theirs, ours, 5), ours) is expected


def test_a_plausible_ranking_has_no_doubts_and_a_reversed_one_has():
    cube = describe(RECORDINGS)
    timing, shown = time_evidence(cube), cube["valid"].any("window").values
    right, wrong = ranks(0, 1), 1 - ranks(0, 1)
    others = [compare_with(name, name, right, right, 5) for name in ("first", "second")]
    assert implausible(right, others, timing, shown) == []
    others = [replace(other, correlation=-1.0) for other in others]
    (reason,) = implausible(wrong, others, timing, shown)
    assert reason.startswith("Check this ranking: it disagrees with first (rank correlation -1.00)")
    # One score that agrees is enough.
    assert (
        implausible(wrong, [*others, compare_with("c", "c", wrong, wrong, 5)], timing, shown) == []
    )
    still = replace(timing, deviates=np.zeros_like(timing.deviates))
    (reason,) = implausible(right, [], still, shown)
    assert "in 100 % of the seizures none of its top 5 contacts leaves" in reason
    one = replace(timing, deviates=still.deviates[:1])
    (reason,) = implausible(right, [], one, shown[:1])
    assert "in the only seizure none of its top 5 contacts leaves" in reason


def test_the_page_says_it_first_and_shows_both_rankings():
    whole = joined(describe(RECORDINGS), make_signals(RECORDINGS, Plan()))
    found = localize(whole, "random")
    assert found.caveats[0].startswith("Check this ranking: it disagrees with Line-length spread")
    shown = [other.name for other in found.comparisons]
    assert shown == ["line-length-spread", "epileptogenicity-index"]
    good = localize(whole, "line-length-spread")
    assert not any("Check this ranking" in sentence for sentence in good.caveats)
    assert good.comparisons == ()
