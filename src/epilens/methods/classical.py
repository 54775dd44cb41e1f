"""Conventional classifiers on the channel table; settings as in the paper, not tuned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from epilens.core.errors import MethodError
from epilens.core.provenance import resolve
from epilens.evidence.views import channel_table
from epilens.methods import Method, Scorer, Training, evidence_counts, seen_labels


@dataclass(frozen=True)
class Classifier:
    """An estimator of scikit-learn's kind, and all that it is given in addition to the seed."""

    estimator: str
    """Class of the estimator, as `module:class`."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    platt_folds: int = 0
    """Inner folds for Platt's probabilities, as libsvm makes them; 0: the estimator's own."""
    scaled: bool = True
    """Columns standardized on the fit patients."""
    relative: bool = False
    """Columns z-scored across the channels of each patient first."""

    def make(self, seed: int, rarest: int) -> Any:
        """An unfitted estimator for data whose rarer class has `rarest` channels."""
        estimator = resolve(self.estimator)(**self.arguments, random_state=seed)
        if not self.platt_folds:
            return estimator
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.model_selection import StratifiedKFold

        folds = StratifiedKFold(min(self.platt_folds, rarest), shuffle=True, random_state=seed)
        return CalibratedClassifierCV(estimator, method="sigmoid", cv=folds, ensemble=False)

    def pipeline(self, seed: int, rarest: int) -> Any:
        """Imputation by means of the fit patients, scaling, and the estimator."""
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        steps = [SimpleImputer(keep_empty_features=True)] + [StandardScaler()] * self.scaled
        return make_pipeline(*steps, self.make(seed, rarest))


def patient_z_score(table: pd.DataFrame) -> pd.DataFrame:
    """z-score every column across the channels of one patient; a constant column becomes 0."""
    spread = table.std(ddof=0)
    return (table - table.mean()) / spread.where(spread > 1e-12, np.inf)


def fit_table(
    classifier: Classifier, table_of: Callable[[xr.Dataset], pd.DataFrame], training: Training
) -> Scorer:
    """Fit an estimator on the tables of the fit patients; only the threshold is chosen later."""
    table = pd.concat([table_of(patient) for patient in training.fit])
    is_nez = ~np.concatenate([seen_labels(patient) for patient in training.fit])  # paper's y = 1
    rarest = int(min(is_nez.sum(), (~is_nez).sum()))
    if rarest < 2:
        raise MethodError(
            "classifier: expected two or more channels of each class among the fit patients, "
            f"found {rarest}. Add patients."
        )
    fitted = classifier.pipeline(training.seed, rarest).fit(table.to_numpy(), is_nez)
    notes = {
        "columns": list(table.columns),
        "channels": len(table),
        "ez_channels": int((~is_nez).sum()),
        "counts": evidence_counts([*training.fit, *training.validation]),
    }

    def p_nez(patient: xr.Dataset) -> np.ndarray:
        return fitted.predict_proba(table_of(patient).to_numpy())[:, 1]

    return Scorer(p_nez, notes=notes)


def relative_table(patient: xr.Dataset) -> pd.DataFrame:
    """The channel table, z-scored across the patient's channels."""
    return patient_z_score(channel_table(patient))


def fit_classifier(settings: Classifier, training: Training) -> Scorer:
    """A classifier on the channel table."""
    return fit_table(settings, relative_table if settings.relative else channel_table, training)


def _row(name: str, title: str, settings: Classifier, seeded: bool = True) -> Method:
    package = settings.estimator.partition(":")[0].partition(".")[0]
    return Method(
        name,
        title,
        "cube",
        "the paper",
        fit_classifier,
        settings,
        requires=tuple(dict.fromkeys(("sklearn", package))),
        seeded=seeded,
    )


def _both(name: str, title: str, z: str, settings: Classifier, seeded: bool) -> Iterator[Method]:
    """The row, and the one on z-scores across each patient's channels."""
    yield _row(name, title, settings, seeded)
    yield _row(f"{name}-z", f"{z} + patient-wise z-score", replace(settings, relative=True), seeded)


LOGISTIC = Classifier(
    "sklearn.linear_model:LogisticRegression",
    {"solver": "liblinear", "C": 1.0, "class_weight": "balanced", "max_iter": 2000},
)
ENTRIES = (
    *_both("logistic", "Logistic regression", "Logistic", LOGISTIC, seeded=False),
    *_both(
        "rbf-svm",
        "RBF-SVM",
        "RBF-SVM",
        Classifier(
            "sklearn.svm:SVC",
            {"C": 1.0, "gamma": "scale", "class_weight": "balanced"},
            platt_folds=5,
        ),
        seeded=True,
    ),
    _row(
        "random-forest",
        "Random forest",
        Classifier(
            "sklearn.ensemble:RandomForestClassifier",
            {
                "n_estimators": 300,
                "max_depth": 5,
                "min_samples_leaf": 2,
                "max_features": "sqrt",
                "class_weight": "balanced_subsample",
                "n_jobs": 1,
            },
            scaled=False,
        ),
    ),
    _row(
        "lightgbm",
        "LightGBM",
        Classifier(
            "lightgbm:LGBMClassifier",
            {
                "n_estimators": 300,
                "num_leaves": 7,
                "max_depth": 3,
                "learning_rate": 0.05,
                "min_child_samples": 10,
                "class_weight": "balanced",
                "deterministic": True,
                "force_row_wise": True,
                "n_jobs": 1,
                "verbose": -1,
            },
            scaled=False,
        ),
        seeded=False,
    ),
)
