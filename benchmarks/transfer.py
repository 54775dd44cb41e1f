"""Transfer as a test of realism: trained on simulated patients, tested on recorded ones.

`python -m benchmarks transfer COHORT [TEST.parquet]` computes the 33 contact features from the
files of a simulated cohort, fits `lens` on them with the true onset zone as label, and scores
recorded patients (default: the public features next to the repository), whose labels are
clinicians' onset contacts. Nothing of the simulation is tuned to this number.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.real import DEFAULT, Patients, lens, patients_of, read, single_feature
from benchmarks.seizure_features import auroc
from benchmarks.simulation import features_of_files
from benchmarks.timing import row
from epilens.data.sidecars import datasets_in
from epilens.evaluation.execution import one_thread

JOBS = 2


def true_features(root: Path) -> pd.DataFrame:
    """Contact features of a center's files, labelled by the true onset zone."""
    return features_of_files(root, root.name, "is_onset")


def simulated_patients(cohort: Path) -> Patients:
    """All patients of a simulated cohort."""
    with ProcessPoolExecutor(JOBS) as pool:
        parts = list(pool.map(true_features, datasets_in(cohort), chunksize=1))
    return patients_of(pd.concat(parts, ignore_index=True))


def average_precision(p_nez: np.ndarray, is_soz: np.ndarray) -> float:
    """Of the onset contacts; ties by average."""
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(is_soz, -p_nez))


def measure(cohort: str, test: str = "") -> list[dict[str, Any]]:
    """AUROC and EZ-AUPRC on recorded patients; goals 0.84 and 0.65."""
    recorded = read(Path(test) if test else DEFAULT)
    with one_thread():
        fits = {"lens": lens(simulated_patients(Path(cohort)))}
    fits["line-length-spread"] = single_feature("ll_std")(recorded)
    rows = []
    for name, scorer in fits.items():
        scored = [(scorer(patient), patient.is_soz) for patient in recorded.values()]
        goal = (0.84, 0.65) if name == "lens" else (None, None)
        aurocs = [auroc(-p_nez, is_soz) for p_nez, is_soz in scored]
        precisions = [average_precision(p_nez, is_soz) for p_nez, is_soz in scored]
        rows.append(row(f"{name}: AUROC", np.mean(aurocs), "", least=goal[0]))
        rows.append(row(f"{name}: EZ-AUPRC", np.mean(precisions), "", least=goal[1]))
    return rows
