"""`python -m benchmarks learning`: one setting changed, paired with the paper's."""

from __future__ import annotations

import pytest
from benchmarks import learning

from epilens.testing import make_cohort


@pytest.mark.parametrize("label", learning.CHANGES)
def test_every_change_is_one_that_the_plan_allows(label):
    changed = learning.PAPER.override(**learning.CHANGES[label])
    assert changed.digest != learning.PAPER.digest
    assert changed.methods == learning.PAPER.methods


def test_differences_are_zero_where_nothing_that_matters_changes(tmp_path):
    cohort = make_cohort(tmp_path / "cubes", patients=6, channels=6, ez=2)
    paper = learning.PAPER.override(
        methods=("prq",), splits={"folds": 2}, training={"epochs": 2, "least_epochs": 1}
    )
    changes = {
        "more patience": {"training": {"patience": 9}},
        "rate": {"training": {"learning_rate": 0.05}},
    }
    rows = list(learning.differences(cohort, tmp_path / "runs", paper, changes))
    assert [r["what"].split(":")[0] for r in rows] == ["prq, more patience"] * 2 + ["prq, rate"] * 2
    same, other = rows[0], rows[2]
    assert (same["value"], same["low"], same["high"], same["patients"]) == (0, 0, 0, 6)
    assert other["value"] != 0
    assert other["low"] <= other["value"] <= other["high"]
