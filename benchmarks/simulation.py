"""How hard the simulated cohort is: logistic regression with and without patient-wise z-scores.

Five patient-wise folds over the channel table; AUROC within each patient, then the mean. Written
with scikit-learn alone, so that it does not depend on the methods that it is to judge.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.timing import row
from epilens.data.bids import read_bids
from epilens.data.simulate import simulate
from epilens.evidence.files import open_cohort
from epilens.evidence.store import describe_cohort
from epilens.evidence.views import channel_table
from epilens.plan import Plan


def patient_auroc(tables: list[np.ndarray], labels: list[np.ndarray], seed: int = 0) -> np.ndarray:
    """Out-of-fold AUROC of each patient."""
    fold = np.random.default_rng(seed).permutation(len(tables)) % 5
    auroc = np.empty(len(tables))
    for f in range(5):
        fit = np.flatnonzero(fold != f)
        model = make_pipeline(
            StandardScaler(),
            LogisticRegression(solver="liblinear", class_weight="balanced", max_iter=2000),
        )
        model.fit(
            np.concatenate([tables[i] for i in fit]), np.concatenate([labels[i] for i in fit])
        )
        for i in np.flatnonzero(fold == f):
            auroc[i] = roc_auc_score(labels[i], model.decision_function(tables[i]))
    return auroc


def within_patient(table: np.ndarray) -> np.ndarray:
    spread = table.std(axis=0)
    return (table - table.mean(axis=0)) / np.where(spread > 0, spread, 1)


def measure() -> list[dict[str, Any]]:
    rows = []
    for seed in (0, 1):
        with tempfile.TemporaryDirectory() as place:
            root = Path(place)
            simulate(root / "cohort", "paper", seed, jobs=2)
            parts = [
                read_bids(p, "simulated") for p in sorted((root / "cohort").iterdir()) if p.is_dir()
            ]
            describe_cohort(parts, root / "cubes", Plan(), jobs=2)
            cubes = list(open_cohort(root / "cubes").values())
        frames = [channel_table(cube) for cube in cubes]
        labels = [
            c["is_ez"].sel(channel=f.index.tolist()).values
            for c, f in zip(cubes, frames, strict=True)
        ]
        plain = patient_auroc([f.values for f in frames], labels).mean()
        relative = patient_auroc([within_patient(f.values) for f in frames], labels).mean()
        rows += [
            row(
                f"seed {seed}: patient AUROC, logistic + patient-wise z-score, at least",
                relative,
                "",
                least=0.65,
            ),
            row(f"seed {seed}: the same, at most", relative, "", most=0.82),
            row(f"seed {seed}: patient AUROC, logistic without z-score", plain, ""),
            row(f"seed {seed}: what the z-score adds", relative - plain, "", least=0.03),
        ]
    return rows
