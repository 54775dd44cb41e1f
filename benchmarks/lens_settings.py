"""Settings of `lens` on development cohorts: the table of docs/developer/lens.md.

`python -m benchmarks lens_settings CUBES…` pools the simulated cohorts (seeds 10 to 12; never the
cohorts of a report), scores every patient by a lens of the other four folds, and compares each
alternative with the present settings, patient by patient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from scipy.special import expit

from benchmarks.timing import row
from epilens.core.types import Bools, Floats
from epilens.evaluation.execution import one_thread
from epilens.evaluation.resampling import compare_patients
from epilens.evaluation.scoring import ranking_metrics
from epilens.evidence.contact_table import BOUND, TERMS, relative, seizure_terms, table_of
from epilens.evidence.files import open_cohort
from epilens.methods import seen_labels
from epilens.methods.lens import LensSettings, fit_weights

FOLDS = 5
LEVELS = ("mean", "rest", "level")
CHANGES = ("early", "middle", "late", "change", "peak", "begins")


@dataclass(frozen=True)
class Alternative:
    """What is changed; the rest is as it is."""

    penalties: tuple[float, ...] = LensSettings().penalties
    bound: float = BOUND
    terms: tuple[str, ...] = TERMS


ALTERNATIVES = {
    "penalties 0.001, 0.003, 0.01": Alternative(penalties=(0.001, 0.003, 0.01)),
    "penalties 0.0003, 0.001, 0.003": Alternative(penalties=(0.0003, 0.001, 0.003)),
    "penalties 0.01, 0.03, 0.1, 0.3": Alternative(penalties=(0.01, 0.03, 0.1, 0.3)),
    "penalty 0.01 alone": Alternative(penalties=(0.01,)),
    "penalty 0.1 alone": Alternative(penalties=(0.1,)),
    "bound 2": Alternative(bound=2.0),
    "bound 5": Alternative(bound=5.0),
    "without levels": Alternative(terms=tuple(t for t in TERMS if t not in LEVELS)),
    "changes alone": Alternative(terms=CHANGES),
}


@dataclass(frozen=True)
class LabelledTerms:
    """A patient's terms (seizure, channel, term, descriptor) and annotated EZ."""

    name: str
    center: str
    channels: tuple[str, ...]
    terms: Floats
    is_ez: Bools


def read_patients(folders: Sequence[str]) -> list[LabelledTerms]:
    """Patients of all cohorts; terms are computed once."""
    patients = []
    for folder in folders:
        for name, cube in open_cohort(folder).items():
            seen = cube["valid"].any(["seizure", "window"]).values
            channels = tuple(map(str, cube["channel"].values[seen]))
            terms, center = seizure_terms(cube)[:, seen], str(cube.attrs["center"])
            labels = seen_labels(cube)
            patients.append(LabelledTerms(f"{folder}/{name}", center, channels, terms, labels))
    return sorted(patients, key=lambda patient: patient.center)


def evaluate(patients: Sequence[LabelledTerms], settings: Alternative) -> pd.DataFrame:
    """Ranking metrics of every patient by a lens of the other folds; folds mix the centers."""
    index = [TERMS.index(term) for term in settings.terms]
    tables = [
        table_of(p.channels, relative(p.terms[:, :, index], settings.bound)) for p in patients
    ]
    labelled = [(table, p.is_ez) for table, p in zip(tables, patients, strict=True)]
    metrics = {}
    for fold in range(FOLDS):
        others = [pair for i, pair in enumerate(labelled) if i % FOLDS != fold]
        lens = fit_weights(others, settings.penalties)
        for patient, (table, is_ez) in list(zip(patients, labelled, strict=True))[fold::FOLDS]:
            metrics[patient.name] = ranking_metrics(expit(-lens.logit(table)), is_ez)
    return pd.DataFrame(metrics).T


def measure(*folders: str) -> list[dict[str, Any]]:
    """Differences of AUROC and EZ-AUPRC from the present settings, with intervals."""
    with one_thread():
        patients = read_patients(folders)
        present = evaluate(patients, Alternative())
        rows = [row(f"present settings: {m}", present[m].mean(), "") for m in ("auroc", "ez_auprc")]
        for name, alternative in ALTERNATIVES.items():
            changed = evaluate(patients, alternative)
            for metric in ("auroc", "ez_auprc"):
                difference = (changed[metric] - present[metric]).dropna()
                c = compare_patients(difference, name, "present", metric)
                print(f"{name}, {metric}: {c.estimate:+.3f} ({c.low:+.3f} to {c.high:+.3f})")
                rows.append(row(f"{name}: {metric}, difference", c.estimate, ""))
    return rows
