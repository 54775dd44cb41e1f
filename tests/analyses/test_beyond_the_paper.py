"""Analyses that the paper does not have: reliability of probabilities, and cost."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import brier_score_loss

from epilens.analyses import analyse
from epilens.analyses.cost import compute
from epilens.analyses.reliability import EDGES, calibration_error, reliability
from epilens.core.errors import LedgerError
from epilens.evaluation.run import Run


def ledger(said, is_ez, patients):
    return pd.DataFrame(
        {
            "seed": 1,
            "patient": patients,
            "channel": [f"A{i}" for i in range(len(said))],
            "is_ez": is_ez,
            "p_nez": 1 - np.asarray(said, float),
        }
    )


def test_one_patient_s_brier_score_is_scikit_learn_s():
    rng = np.random.default_rng(0)
    said, is_ez = rng.uniform(size=60), rng.uniform(size=60) < 0.3
    numbers = reliability(ledger(said, is_ez, ["P"] * 60))
    assert numbers["brier"] == pytest.approx(brier_score_loss(is_ez, said), abs=1e-12)
    base = brier_score_loss(is_ez, np.full(60, is_ez.mean()))
    assert numbers["skill"] == pytest.approx(1 - numbers["brier"] / base, abs=1e-12)


def test_patients_weigh_the_same_however_many_contacts_they_have():
    small = ledger([0.0, 1.0], [True, False], ["small"] * 2)
    large = ledger([0.0] * 50, [False] * 50, ["large"] * 50)
    assert reliability(pd.concat([small, large]))["brier"] == pytest.approx((1.0 + 0.0) / 2)


def test_probabilities_that_are_right_have_no_calibration_error_and_constant_ones_no_skill():
    is_ez = np.array([True] * 3 + [False] * 7)
    numbers = reliability(ledger([0.3] * 10, is_ez, ["P"] * 10))
    assert numbers["calibration_error"] == pytest.approx(0, abs=1e-12)
    assert numbers["skill"] == pytest.approx(0, abs=1e-12)
    assert numbers["ez_of_20_40"] == pytest.approx(0.3)
    assert np.isnan(numbers["ez_of_40_60"])
    assert calibration_error(np.full(10, 0.8), is_ez, np.ones(10)) == pytest.approx(0.5)


def test_a_certain_score_is_in_the_last_class():
    numbers = reliability(ledger([1.0, 0.0], [True, False], ["P"] * 2))
    assert numbers["ez_of_80_100"] == 1
    assert numbers["ez_of_0_20"] == 0
    assert sum(name.startswith("ez_of_") for name in numbers) == len(EDGES) - 1


def test_reliability_lists_trained_rows_best_first(full):
    frame = analyse("reliability", full)
    assert {"prq", "bcr", "cdel"} <= set(frame["method"])
    assert "epileptogenicity-index" not in set(frame["method"])
    assert frame["brier"].is_monotonic_increasing


def test_cost_adds_up_to_all_of_the_time(small):
    frame = analyse("cost", small)
    assert frame["minutes"].sum() == pytest.approx(small.times["processor_s"].sum() / 60)
    assert frame["share"].sum() == pytest.approx(1)
    assert set(frame["method"]) == {"prq", "bcr"}
    assert frame["cells"].tolist() == [4, 4]


def test_a_run_without_times_says_what_to_do(small, tmp_path):
    bare = Run(tmp_path, small.cubes)
    with pytest.raises(LedgerError, match="expected the times of cells"):
        compute(bare)
