"""Conventional classifiers on the 88-column channel table; settings as in the paper, not tuned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from epilens.errors import MethodError
from epilens.evidence.views import channel_table
from epilens.methods import Method, Scorer, seen_labels
from epilens.plan import Plan

Maker = Callable[[int, int], Any]
"""(seed, channels of the rarer class) → estimator."""


def patient_z_score(table: pd.DataFrame) -> pd.DataFrame:
    """Every column across the channels of one patient; a column without spread becomes 0."""
    spread = table.std(ddof=0)
    return (table - table.mean()) / spread.where(spread > 1e-12, np.inf)


def logistic(seed: int, rarest: int) -> Any:
    """ℓ2 logistic regression."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(
        solver="liblinear", C=1.0, class_weight="balanced", max_iter=2000, random_state=seed
    )


def rbf_svm(seed: int, rarest: int) -> Any:
    """RBF-SVM with Platt's probabilities from five inner folds, as libsvm makes them."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.model_selection import StratifiedKFold
    from sklearn.svm import SVC

    machine = SVC(C=1.0, gamma="scale", class_weight="balanced", random_state=seed)
    folds = StratifiedKFold(min(5, rarest), shuffle=True, random_state=seed)
    return CalibratedClassifierCV(machine, method="sigmoid", cv=folds, ensemble=False)


def random_forest(seed: int, rarest: int) -> Any:
    """300 shallow trees."""
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(
        n_estimators=300,
        max_depth=5,
        min_samples_leaf=2,
        max_features="sqrt",
        class_weight="balanced_subsample",
        random_state=seed,
        n_jobs=1,
    )


def lightgbm(seed: int, rarest: int) -> Any:
    """300 rounds of boosting with small trees."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        n_estimators=300,
        num_leaves=7,
        max_depth=3,
        learning_rate=0.05,
        min_child_samples=10,
        class_weight="balanced",
        random_state=seed,
        deterministic=True,
        force_row_wise=True,
        n_jobs=1,
        verbose=-1,
    )


def _pipeline(estimator: Any, scaled: bool) -> Any:
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    steps = [SimpleImputer(keep_empty_features=True)] + [StandardScaler()] * scaled
    return make_pipeline(*steps, estimator)


def fit_table(
    make: Maker,
    scaled: bool,
    table_of: Callable[[xr.Dataset], pd.DataFrame],
    fit: Sequence[xr.Dataset],
    seed: int,
) -> Scorer:
    """Fit an estimator on the tables of the fit patients; only the threshold is chosen later."""
    table = pd.concat([table_of(patient) for patient in fit])
    is_nez = ~np.concatenate([seen_labels(patient) for patient in fit])  # the paper's y = 1
    rarest = int(min(is_nez.sum(), (~is_nez).sum()))
    if rarest < 2:
        raise MethodError(
            "classifier: expected two or more channels of each class among the fit patients, "
            f"found {rarest}. Add patients."
        )
    fitted = _pipeline(make(seed, rarest), scaled).fit(table.to_numpy(), is_nez)
    notes = {
        "columns": list(table.columns),
        "channels": len(table),
        "ez_channels": int((~is_nez).sum()),
    }

    def p_nez(patient: xr.Dataset) -> np.ndarray:
        return fitted.predict_proba(table_of(patient).to_numpy())[:, 1]

    return Scorer(p_nez, notes=notes)


def _fit(
    make: Maker,
    scaled: bool,
    relative: bool,
    fit: Sequence[xr.Dataset],
    validation: Sequence[xr.Dataset],
    seed: int,
    plan: Plan,
) -> Scorer:
    return fit_table(make, scaled, _relative_table if relative else channel_table, fit, seed)


def _relative_table(patient: xr.Dataset) -> pd.DataFrame:
    return patient_z_score(channel_table(patient))


def _row(name: str, title: str, make: Maker, scaled: bool = True, relative: bool = False) -> Method:
    return Method(
        name=name,
        title=title,
        input="cube",
        reference="the paper",
        fitter=partial(_fit, make, scaled, relative),
        spec=f"{title}, scaled {scaled}, patient-wise z-score {relative}",
    )


ENTRIES = (
    _row("logistic", "Logistic regression", logistic),
    _row("rbf-svm", "RBF-SVM", rbf_svm),
    _row("random-forest", "Random forest", random_forest, scaled=False),
    _row("lightgbm", "LightGBM", lightgbm, scaled=False),
    _row("logistic-z", "Logistic + patient-wise z-score", logistic, relative=True),
    _row("rbf-svm-z", "RBF-SVM + patient-wise z-score", rbf_svm, relative=True),
)
