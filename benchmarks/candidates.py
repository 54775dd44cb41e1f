"""What else `lens` could be made of, on a development cohort.

`python -m benchmarks candidates RUN CUBES`: RUN has `lens`, `prq` and `bcr` of a simulated cohort
that no report uses (seeds 10-12). Three ideas, each against `lens` as it is, patient by patient,
out of fold:

- the networks as inputs: log odds of PRQ-Net and BCR-Net beside those of `lens`, weights fitted on
  the patients of the other folds (whose scores come from networks that have seen this fold's
  patients: a little too good, if anything);
- labels of two kinds: contacts that are onset zone and resection count fully, those that are one
  of the two half, or not at all;
- an operating point that adapts: the share of contacts to call, predicted from a patient's scores;
  and the true share, which nobody has, as the most that this could gain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import expit, logit
from sklearn.linear_model import LinearRegression, LogisticRegression

from benchmarks.timing import row
from epilens.core.decisions import confusion_metrics, select_threshold
from epilens.evaluation.resampling import bootstrap, interval
from epilens.evaluation.run import Run, open_run
from epilens.evaluation.scoring import ranking_metrics
from epilens.evidence.contact_table import ContactTable, contact_table
from epilens.methods import seen_labels
from epilens.methods.lens import LensSettings, balanced, penalized
from epilens.networks.lens import Lens

DRAWS = 10_000


@dataclass(frozen=True)
class Patient:
    """A patient's evidence, labels and out-of-fold log odds of EZ by `lens`, `prq`, `bcr`."""

    name: str
    fold: str
    is_ez: np.ndarray
    odds: np.ndarray
    """(channel, 3)"""
    table: ContactTable
    sure: np.ndarray
    """In the onset zone and the resection, as far as both are known."""


def patients_of(run: Run) -> list[Patient]:
    """Everybody who is tested, in the order of the folds."""
    test = run.ledger[run.ledger["partition"] == "test"]
    seed = test["seed"].iloc[0]
    found = []
    for (fold, name), part in test[test["seed"] == seed].groupby(["fold", "patient"], sort=True):
        cube = run.cube(str(name))
        table = contact_table(cube)
        wide = part.pivot(index="channel", columns="method", values="p_nez")
        p_nez = wide.loc[list(table.channels), ["lens", "prq", "bcr"]].to_numpy()
        odds = -logit(np.clip(p_nez, 1e-6, 1 - 1e-6))
        found.append(Patient(name, fold, seen_labels(cube), odds, table, _sure(cube)))
    return found


def _sure(cube: xr.Dataset) -> np.ndarray:
    seen = cube["valid"].any(["seizure", "window"]).values
    known = [cube[k].values[seen] for k in ("is_soz", "is_resected") if k in cube]
    return np.logical_and.reduce(known) if known else np.ones(int(seen.sum()), bool)


Scores = dict[str, np.ndarray]
"""Patient → probability of EZ."""


def stacked(patients: Sequence[Patient]) -> Scores:
    """`lens`, PRQ-Net and BCR-Net, weighed on the patients of the other folds."""
    scores = {}
    for fold in {p.fold for p in patients}:
        others = [p for p in patients if p.fold != fold]
        x = np.concatenate([p.odds for p in others])
        weight = np.concatenate([np.full(len(p.is_ez), 1 / len(p.is_ez)) for p in others])
        is_ez = np.concatenate([p.is_ez for p in others])
        model = LogisticRegression(C=1e3).fit(x, is_ez, weight * len(x) / weight.sum())
        here = [p for p in patients if p.fold == fold]
        scores |= {p.name: expit(model.decision_function(p.odds)) for p in here}
    return scores


def relabelled(patients: Sequence[Patient], doubtful: float) -> Scores:
    """`lens` fitted with EZ contacts of one kind only counting `doubtful`; not calibrated."""
    scores = {}
    for fold in {p.fold for p in patients}:
        lens = _fit([p for p in patients if p.fold != fold], doubtful)
        here = [p for p in patients if p.fold == fold]
        scores |= {p.name: 1 - lens.p_nez_of(p.table) for p in here}
    return scores


def _fit(patients: Sequence[Patient], doubtful: float) -> Lens:
    x = np.concatenate([p.table.flat for p in patients])
    is_ez = np.concatenate([p.is_ez for p in patients])
    weight = [balanced(p.is_ez) * np.where(p.is_ez & ~p.sure, doubtful, 1) for p in patients]
    fits = [penalized(x, is_ez, np.concatenate(weight), C) for C in LensSettings().penalties]
    mean, weights, intercept = (np.mean([f[i] for f in fits], axis=0) for i in range(3))
    shape = patients[0].table.x.shape[1:]
    return Lens(mean.reshape(shape), weights.reshape(shape), float(intercept))


def by_threshold(patients: Sequence[Patient], scores: Scores) -> Scores:
    """Who is called EZ at the best threshold of the other folds' patients."""
    called = {}
    for fold in {p.fold for p in patients}:
        others = [p for p in patients if p.fold != fold]
        cut, _ = select_threshold([1 - scores[p.name] for p in others], [p.is_ez for p in others])
        here = [p for p in patients if p.fold == fold]
        called |= {p.name: 1 - scores[p.name] < cut for p in here}
    return called


def by_share(patients: Sequence[Patient], scores: Scores, share: Callable[..., float]) -> Scores:
    """Who is called EZ when a share of each patient's contacts is."""
    called = {}
    for patient in patients:
        p = scores[patient.name]
        k = round(float(np.clip(share(patient), 0, 1)) * len(p))
        called[patient.name] = np.argsort(np.argsort(-p, kind="stable")) < k
    return called


def predicted_share(patients: Sequence[Patient], scores: Scores) -> Callable[[Patient], float]:
    """Share of EZ from how a patient's probabilities lie, learned from the other folds."""

    def about(patient: Patient) -> list[float]:
        p = scores[patient.name]
        return [p.mean(), p.std(), *np.quantile(p, (0.5, 0.9)), np.log(len(p))]

    models = {}
    for fold in {p.fold for p in patients}:
        others = [p for p in patients if p.fold != fold]
        shares = [p.is_ez.mean() for p in others]
        models[fold] = LinearRegression().fit([about(p) for p in others], shares)
    return lambda patient: float(models[patient.fold].predict([about(patient)])[0])


def judged(patients: Sequence[Patient], scores: Scores, called: Scores) -> pd.DataFrame:
    """AUROC, EZ-AUPRC, Macro-F1, EZ-F1 of each patient."""
    rows = []
    for p in patients:
        ranked = ranking_metrics(1 - scores[p.name], p.is_ez)
        c, ez = called[p.name], p.is_ez
        counts = [(c & ez).sum(), (c & ~ez).sum(), (~c & ez).sum(), (~c & ~ez).sum()]
        decided = {k: float(v) for k, v in confusion_metrics(*counts).items()}
        rows.append({"patient": p.name, **ranked, **decided})
    return pd.DataFrame(rows).set_index("patient")[["auroc", "ez_auprc", "macro_f1", "ez_f1"]]


def variants(patients: Sequence[Patient]) -> Iterator[tuple[str, pd.DataFrame]]:
    own = {p.name: expit(p.odds[:, 0]) for p in patients}
    yield "lens", judged(patients, own, by_threshold(patients, own))
    both = stacked(patients)
    yield "with PRQ and BCR", judged(patients, both, by_threshold(patients, both))
    for doubtful in (1.0, 0.5, 0.0):
        other = relabelled(patients, doubtful)
        name = f"one kind of label counts {doubtful:g}"
        yield name, judged(patients, other, by_threshold(patients, other))
    share = predicted_share(patients, own)
    yield "predicted share called", judged(patients, own, by_share(patients, own, share))
    true = by_share(patients, own, lambda p: float(p.is_ez.mean()))
    yield "true share called", judged(patients, own, true)


def measure(folder: str, cubes: str) -> list[dict[str, Any]]:
    patients = patients_of(open_run(folder, cubes))
    rows, base = [], None
    for name, table in variants(patients):
        for metric in table:
            rows.append(row(f"{name}: {metric}", table[metric].mean(), ""))
            if base is not None:
                apart = (table[metric] - base[metric]).dropna().to_numpy()
                low, high = interval(bootstrap(apart, DRAWS, 0))
                print(f"{name}: {metric} {apart.mean():+.4f} ({low:+.4f} to {high:+.4f})")
        base = table if base is None else base
    return rows
