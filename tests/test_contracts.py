"""Every registered method keeps the contract: a new method is tested by being registered."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from epilens.evidence.cube import blind
from epilens.methods import METHODS
from epilens.plan import Plan
from epilens.testing import make_cube

PLAN = Plan().override(training={"epochs": 2, "least_epochs": 1})
FITTED = [name for name in METHODS if METHODS[name].fitter is not None]


@pytest.fixture(scope="module")
def cubes():
    kinds = [
        {"seizures": 2},
        {"seizures": 1},
        {"seizures": 3, "fs": 250.0},
        {"seizures": 2, "ez": 6},
    ]
    return [
        make_cube(f"sub-{i:02d}", seed=10 * i, **{"fs": 128.0} | kind)
        for i, kind in enumerate(kinds)
    ]


def fit(name, cubes, seed=0):
    return METHODS[name].fit(cubes[:2], cubes[2:3], seed, PLAN)


def test_the_contract_s_rows_are_there():
    wanted = "prq bcr cdel prq/base prq/temporal prq/absolute prq/q05 prq/q20 prq/released".split()  # noqa: SIM905
    wanted += "bcr/base bcr/q10 bcr/boundary bcr/coverage bcr/released".split()  # noqa: SIM905
    assert set(wanted) <= set(METHODS)
    assert len({METHODS[name].spec for name in METHODS}) == len(METHODS), "rows differ in something"


@pytest.mark.parametrize("name", FITTED)
def test_a_method_keeps_the_contract(name, cubes):
    once, again = (fit(name, cubes).predict([blind(c) for c in cubes]) for _ in "ab")
    pd.testing.assert_frame_equal(once, again)  # same seed, same bits
    assert once["p_nez"].between(0, 1).all()
    assert not once.duplicated(["patient", "channel"]).any()
    assert len(once) == sum(int(c["valid"].any(["seizure", "window"]).sum()) for c in cubes)
    other = fit(name, cubes, seed=1).predict([blind(c) for c in cubes])
    assert not np.array_equal(other["p_nez"], once["p_nez"]), "the seed matters"


@pytest.mark.parametrize("name", FITTED)
def test_predictions_do_not_depend_on_test_labels(name, cubes):
    fitted = fit(name, cubes)
    flipped = cubes[3].assign(is_ez=~cubes[3]["is_ez"])
    pd.testing.assert_frame_equal(fitted.predict([cubes[3]]), fitted.predict([flipped]))


@pytest.mark.parametrize("name", FITTED)
def test_a_patient_s_scores_do_not_depend_on_the_others(name, cubes):
    fitted = fit(name, cubes)
    together = fitted.predict([blind(c) for c in cubes])
    alone = fitted.predict([blind(cubes[2])])
    there = together[together["patient"] == "sub-02"].reset_index(drop=True)
    pd.testing.assert_frame_equal(there, alone)


@pytest.mark.parametrize("name", FITTED)
def test_the_history_tells_every_epoch_and_which_was_kept(name, cubes):
    history = fit(name, cubes).history
    assert history["epoch"].tolist() == [1, 2]
    assert np.isfinite(history["loss"]).all()
    assert history["selected"].iloc[0]
    assert history["threshold"].between(0, 1).all()
