"""Conventional classifiers: the appendix's settings, and the same numbers without our pipeline."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import zscore
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from epilens.core.errors import MethodError
from epilens.evidence.cube import blind
from epilens.evidence.views import channel_table
from epilens.methods import METHODS, Training
from epilens.methods.classical import patient_z_score
from epilens.plan import Plan
from epilens.testing import make_cube


@pytest.fixture(scope="module")
def cubes():
    return [make_cube(f"sub-{i}", seed=7 * i, fs=128.0, channels=10, ez=3) for i in range(4)]


def tables(cubes, relative=False):
    raw = [channel_table(cube).to_numpy() for cube in cubes]
    return [np.nan_to_num(zscore(t, axis=0)) for t in raw] if relative else raw


@pytest.mark.parametrize("relative", [False, True])
def test_logistic_regression_without_our_pipeline(cubes, relative):
    """Means and scales of fit patients, then scikit-learn's estimator, applied by hand."""
    fitted = METHODS["logistic-z" if relative else "logistic"].fit(
        Training(cubes[:3], cubes[3:], 0, Plan())
    )
    train, (test,) = np.vstack(tables(cubes[:3], relative)), tables(cubes[3:], relative)
    is_nez = ~np.concatenate([cube["is_ez"].values for cube in cubes[:3]])
    mean, scale = train.mean(axis=0), train.std(axis=0)
    scale[scale == 0] = 1
    estimator = LogisticRegression(
        solver="liblinear", C=1, class_weight="balanced", max_iter=2000, random_state=0
    ).fit((train - mean) / scale, is_nez)
    by_hand = expit((test - mean) / scale @ estimator.coef_[0] + estimator.intercept_[0])
    np.testing.assert_allclose(fitted.predict([blind(cubes[3])])["p_nez"], by_hand, rtol=1e-3)


def test_the_svm_s_order_is_the_decision_function_s(cubes):
    fitted = METHODS["rbf-svm"].fit(Training(cubes[:3], cubes[3:], 0, Plan()))
    train, (test,) = np.vstack(tables(cubes[:3])), tables(cubes[3:])
    is_nez = ~np.concatenate([cube["is_ez"].values for cube in cubes[:3]])
    mean, scale = train.mean(axis=0), train.std(axis=0)
    scale[scale == 0] = 1
    machine = SVC(C=1, gamma="scale", class_weight="balanced").fit((train - mean) / scale, is_nez)
    decision = machine.decision_function((test - mean) / scale)
    ours = fitted.predict([blind(cubes[3])])["p_nez"]
    assert np.argsort(ours, kind="stable").tolist() == np.argsort(decision, kind="stable").tolist()


def estimator(name):
    return METHODS[name].settings.make(seed=1, rarest=9)


def test_the_settings_are_the_appendix_s():
    forest, boosting = (estimator(n).get_params() for n in ("random-forest", "lightgbm"))
    wanted = {"n_estimators": 300, "max_depth": 5, "min_samples_leaf": 2, "max_features": "sqrt"}
    assert wanted.items() <= forest.items()
    assert forest["class_weight"] == "balanced_subsample"
    wanted = {"n_estimators": 300, "num_leaves": 7, "max_depth": 3, "learning_rate": 0.05}
    assert (
        wanted | {"min_child_samples": 10, "class_weight": "balanced"}
    ).items() <= boosting.items()
    wanted = {"C": 1.0, "solver": "liblinear", "max_iter": 2000, "class_weight": "balanced"}
    assert wanted.items() <= estimator("logistic").get_params().items()
    wanted = {"C": 1.0, "gamma": "scale", "kernel": "rbf", "class_weight": "balanced"}
    assert wanted.items() <= estimator("rbf-svm").estimator.get_params().items()


def test_the_patient_z_score_is_scipy_s_and_0_where_nothing_varies():
    table = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [3.0, 3.0, 3.0]})
    ours = patient_z_score(table)
    np.testing.assert_allclose(ours["a"], zscore(table["a"]))
    assert (ours["b"] == 0).all()


@pytest.mark.parametrize("name", ["logistic-z", "rbf-svm-z"])
def test_patient_relative_rows_do_not_see_a_patient_s_gain(name, cubes):
    """ABS columns scale with gain; the z-score across channels takes it away again."""
    fitted = METHODS[name].fit(Training(cubes[:3], cubes[3:], 0, Plan()))
    shifted = cubes[3].assign(x=(cubes[3]["x"] * 2).where(cubes[3]["valid"], 0))
    ours, other = (fitted.predict([blind(c)])["p_nez"] for c in (cubes[3], shifted))
    np.testing.assert_allclose(other, ours, atol=2e-2)


def test_too_few_channels_of_a_class_are_refused(cubes):
    few = [c.assign(is_ez=("channel", np.arange(10) < (i == 0))) for i, c in enumerate(cubes)]
    with pytest.raises(MethodError, match="two or more channels of each class"):
        METHODS["rbf-svm"].fit(Training(few[:3], few[3:], 0, Plan()))


def test_the_notes_name_every_column(cubes):
    notes = METHODS["lightgbm"].fit(Training(cubes[:3], cubes[3:], 0, Plan())).notes
    assert len(notes["columns"]) == 88
    assert (notes["channels"], notes["ez_channels"]) == (30, 9)
