"""`lens`: contacts compared with the others of their patient, in the context of their electrode.

The method that EpiLENS trains and localizes with by default. Its design was
chosen on development cohorts and recorded features (docs/developer/lens.md), then frozen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import expit

from epilens.core.provenance import resolve
from epilens.core.types import Bools, Floats
from epilens.evidence.contact_table import ContactTable
from epilens.methods import (
    Method,
    Scorer,
    Training,
    evidence_counts,
    prediction_rows,
    seen_labels,
)
from epilens.networks.lens import Lens


@dataclass(frozen=True)
class LensSettings:
    """What is chosen inside the fit patients, and how."""

    lens: str = "epilens.networks.lens:Lens"
    """Class of the lens, as `module:class`."""
    penalties: tuple[float, ...] = (0.003, 0.01, 0.03, 0.1)
    """Inverse strengths (scikit-learn's C). The mean of their weights is used: few patients cannot
    show which is best, and a wrong choice costs more than the right one gains."""
    inner_folds: int = 5
    """Parts of the fit patients, each scored by the others."""


Labelled = Sequence[tuple[ContactTable, Bools]]


def fit_lens(settings: LensSettings, training: Training) -> Scorer:
    """Weights from the fit patients; the threshold from scores of patients that were not fitted.

    These are the validation patients, and the fit patients scored by lenses of the others: many
    more than the validation patients alone, so the threshold depends less on chance.
    """
    table = resolve(settings.lens).table
    fit = [(table(cube), seen_labels(cube)) for cube in training.fit]
    lens, crossed = learn(fit, settings)
    unseen = [
        *zip(training.fit, (expit(-logit) for logit in crossed), strict=True),
        *((cube, lens.p_nez(cube)) for cube in training.validation),
    ]
    rows = [prediction_rows(cube, p).assign(is_ez=seen_labels(cube)) for cube, p in unseen]
    return Scorer(
        lens.p_nez,
        threshold_from="fit patients out of fold, and validation patients",
        threshold_scores=pd.concat(rows, ignore_index=True),
        notes={"counts": evidence_counts([*training.fit, *training.validation])},
        tensors=lens.tensors(),
        predictor=lambda: lens,
    )


def learn(patients: Labelled, settings: LensSettings) -> tuple[Lens, list[Floats]]:
    """A calibrated lens, and the calibrated out-of-fold log odds of the patients.

    Classes and patients weigh the same in the fit; what that does to the log odds, and what the
    penalty does, is undone by a slope and a shift from the out-of-fold log odds.
    """
    crossed = cross_fitted(patients, settings)
    slope, shift = calibration(crossed, [is_ez for _, is_ez in patients])
    lens = fit_weights(patients, settings.penalties)
    weight, intercept = slope * lens.weight, slope * lens.intercept + shift
    calibrated = resolve(settings.lens)(lens.mean, weight, intercept)
    return calibrated, [slope * logit + shift for logit in crossed]


def cross_fitted(patients: Labelled, settings: LensSettings) -> list[Floats]:
    """Log odds of every patient by a lens of the others."""
    folds = min(settings.inner_folds, len(patients))
    scores: dict[int, Floats] = {}
    for fold in range(folds):
        held_out = range(fold, len(patients), folds)
        others = [patient for i, patient in enumerate(patients) if i not in held_out]
        lens = fit_weights(others, settings.penalties)
        scores |= {i: lens.logit(patients[i][0]) for i in held_out}
    return [scores[i] for i in range(len(patients))]


def calibration(scores: Sequence[Floats], labels: Sequence[Bools]) -> tuple[float, float]:
    """Slope and shift that make log odds those of EZ, patients weighing the same.

    Where higher scores do not mean EZ out of fold, the scores stay as they are.
    """
    from sklearn.linear_model import LogisticRegression

    x, is_ez = np.concatenate(list(scores)), np.concatenate(list(labels))
    if is_ez.all() or not is_ez.any():
        return 1.0, 0.0
    weight = np.concatenate([np.full(len(score), 1 / len(score)) for score in scores])
    model = LogisticRegression(C=1e6).fit(x[:, None], is_ez, weight * len(x) / weight.sum())
    slope, shift = float(model.coef_[0, 0]), float(model.intercept_[0])
    return (slope, shift) if slope > 0 else (1.0, 0.0)


def fit_weights(patients: Labelled, penalties: Sequence[float]) -> Lens:
    """Logistic regression in which patients weigh the same, and so do the classes within each.

    Mean of the weights over the penalties.
    """
    tables = [table for table, _ in patients]
    x = np.concatenate([table.flat for table in tables])
    is_ez = np.concatenate([labels for _, labels in patients])
    weight = np.concatenate([balanced(labels) for _, labels in patients])
    fits = [penalized(x, is_ez, weight, C) for C in penalties]
    mean, shape = fits[0][0], tables[0].x.shape[1:]
    scaled = np.mean([weights for _, weights, _ in fits], axis=0)
    intercept = float(np.mean([at_mean for _, _, at_mean in fits]))
    return Lens(mean.reshape(shape), scaled.reshape(shape), intercept)


def balanced(is_ez: Bools) -> Floats:
    """Weights of one patient's contacts, the same in all for each class; they add up to 1."""
    weight = np.where(is_ez, 1 / max(is_ez.sum(), 1), 1 / max((~is_ez).sum(), 1))
    return weight / weight.sum()


def penalized(x: Floats, is_ez: Bools, weight: Floats, C: float) -> tuple[Floats, Floats, float]:
    """Column means, weights per unit of x, and the log odds at the means.

    Columns are standardized for the penalty. Weights are scaled to a mean of 1, so `C` means what
    it does in scikit-learn. Where one class is missing, all are as likely.
    """
    from sklearn.linear_model import LogisticRegression

    weight = weight * len(weight) / weight.sum()
    mean = np.average(x, axis=0, weights=weight)
    scale = np.sqrt(np.average((x - mean) ** 2, axis=0, weights=weight))
    scale = np.where(scale < 1e-9, np.inf, scale)
    if is_ez.all() or not is_ez.any():
        return mean, np.zeros(x.shape[1]), 0.0
    model = LogisticRegression(C=C, max_iter=2000).fit((x - mean) / scale, is_ez, weight)
    return mean, model.coef_[0] / scale, float(model.intercept_[0])


LENS = Method(
    name="lens",
    title="EpiLENS lens",
    input="cube",
    reference="beyond the paper",
    fitter=fit_lens,
    settings=LensSettings(),
    requires=("sklearn",),
    seeded=False,
    prevalence_tolerance=0.02,
)
ENTRIES = (
    LENS,
    replace(
        LENS,
        name="lens/features",
        title="EpiLENS lens on contact features",
        input="features",
        settings=LensSettings("epilens.networks.lens:FeatureLens"),
    ),
)
