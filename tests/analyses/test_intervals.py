"""One rule for intervals: tables keep the paper's bootstrap, and a t interval decides below 30."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from epilens.analyses import analyse, bootstrap
from epilens.analyses.intervals import add_t_intervals, deciding
from epilens.analyses.verdicts import ClaimOutcome
from epilens.evaluation.resampling import SMALL, compare
from epilens.report.run.tables import page_columns


def test_a_small_cohort_has_the_interval_of_compare_next_to_the_paper_s(full):
    frame = analyse("bootstrap", full).set_index("metric")
    for metric in frame.index:
        found = compare(full.ledger, "cdel", "prq", metric)
        assert found.interval == "t"
        assert frame.loc[metric, ["t_low", "t_high"]].tolist() == [found.low, found.high]
        assert frame.loc[metric, "low"] != found.low


@pytest.mark.parametrize("name", ["cross-seizure", "loco-bootstrap"])
def test_every_interval_of_a_small_cohort_has_both_kinds(full, name):
    frame = analyse(name, full)
    assert (frame["t_low"].notna() == (frame["low"].notna() & (frame["patients"] > 1))).all()


def row(**limits):
    fixed = {"a": "cdel", "b": "prq", "metric": "macro_f1", "estimate": 0.1, "patients": 8}
    return pd.DataFrame(
        [fixed | {"below_zero": 0.0, "draws": 9, "interval": "percentile"} | limits]
    )


def test_the_t_interval_decides_a_verdict():
    one_kind, both = {"low": 0.01, "high": 0.2}, {"t_low": -0.01, "t_high": 0.21}
    assert bootstrap.claim(row(**one_kind)).outcome is ClaimOutcome.AGREE
    found = bootstrap.claim(row(**one_kind, **both))
    assert found.outcome is ClaimOutcome.UNCLEAR
    assert "t intervals, 8 patients" in found.here


def test_large_cohorts_have_the_paper_s_interval_only():
    frame = pd.DataFrame({"low": [0.1], "high": [0.2]})
    assert list(add_t_intervals(frame, [np.arange(SMALL)])) == ["low", "high"]
    assert deciding(frame).equals(frame)


def test_the_page_names_the_kind_of_every_interval():
    frame = row(low=0.01, high=0.2, t_low=-0.01, t_high=0.21)
    (analysis,) = bootstrap.ENTRIES
    columns = {column.heading: column.own for column in page_columns(frame, analysis)}
    assert columns["Difference (95 % bootstrap)"] == ["+0.1000 (+0.0100 to +0.2000)"]
    assert columns["95 % t interval"] == ["-0.0100 to +0.2100"]
