"""Contact features of recorded seizures: every row that can be computed from them.

`python -m benchmarks real [FIT.parquet [TEST.parquet]]`. With one file (or none: the one next to
the repository, if it is there), each patient is scored by methods that were fitted on the others;
with two, the patients of the second file by methods fitted on the first. `--model FOLDER` adds a
model that exists, e.g. `--model recorded`, and needs two files. `--build FOLDER` instead writes the
shipped model from the patients of one file (`benchmarks.recorded`). Labels are the onset contacts
that clinicians marked.

Everything that is chosen (thresholds, weights of the smoothing) is chosen on the patients that
teach, by their own out-of-fold scores. Classifiers have the settings of EpiLENS's rows; their
columns are the 33 features, z-scored or ranked within each seizure, then averaged over seizures.
`lens` is fitted by its own code; the features stand where its terms of descriptors do.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.seizure_features import auroc
from benchmarks.timing import row
from epilens.core.console import say
from epilens.core.decisions import select_threshold
from epilens.evaluation.execution import one_thread
from epilens.evaluation.resampling import compare_scores
from epilens.evaluation.scoring import score, summarise
from epilens.evidence.contact_features import FEATURES, compared
from epilens.evidence.contact_table import ContactTable
from epilens.methods import METHODS
from epilens.methods.lens import learn
from epilens.methods.shaft import smoothed
from epilens.networks.model import open_model
from epilens.plan import ShaftPlan

DEFAULT = Path(__file__).parents[2] / "shared/data/real/ds003029_contact_features.parquet"
CLASSIFIERS = ("logistic", "rbf-svm", "random-forest", "lightgbm")
REFERENCE = "line-length-spread"
GIVE = "Give a file with the columns of the published table (epilens.evidence.contact_features)."
INNER_FOLDS = 4
WEIGHTS = [
    ShaftPlan(own=round(1 - near - shaft, 2), neighbours=near, shaft=shaft)
    for near, shaft in product((0.0, 0.15, 0.3, 0.45), repeat=2)
]
"""Weights of the smoothing that are tried; the first smooths nothing."""

Scores = dict[str, np.ndarray]
"""Patient → p_nez of its channels."""


@dataclass(frozen=True)
class Patient:
    """One patient's channels: features relative to the seizure, averaged over seizures."""

    channels: list[str]
    is_soz: np.ndarray
    z: np.ndarray
    rank: np.ndarray
    table: ContactTable


Patients = dict[str, Patient]
Fit = Callable[[Patients], Callable[[Patient], np.ndarray]]


def read(path: Path) -> Patients:
    """The patients of a file with the columns of the published table."""
    if not path.exists():
        raise SystemExit(f"{path}: expected a parquet file of contact features, found none. {GIVE}")
    try:
        table = pd.read_parquet(path)
    except (ValueError, OSError) as error:
        raise SystemExit(f"{path}: expected a parquet file, found another. {GIVE}") from error
    missing = {"patient", "run", "channel", "is_soz", *FEATURES} - set(table.columns)
    if missing:
        names = ", ".join(sorted(missing))
        raise SystemExit(f"{path}: expected the columns {names}, found none. {GIVE}")
    return patients_of(table)


def patients_of(table: pd.DataFrame) -> Patients:
    """The patients of a table of contact features, compared within each seizure."""
    patients = {}
    for name, part in table.groupby("patient"):
        runs = part.groupby("run")[list(FEATURES)]
        z = runs.transform(lambda v: (v - v.mean()) / (v.std(ddof=0) or np.inf))
        means = [v.groupby(part["channel"]).mean() for v in (z, runs.rank(pct=True))]
        channels = means[0].index.tolist()
        is_soz = part.groupby("channel")["is_soz"].first().loc[channels].to_numpy(bool)
        # z-scored, as they come in V²: to `compared`, which expects µV, some would have no spread.
        by_run = (
            z[part["run"] == run].set_axis(part.loc[part["run"] == run, "channel"])
            for run in runs.groups
        )
        seizures = np.stack([run.reindex(channels).to_numpy(np.float64) for run in by_run])
        own = (np.nan_to_num(mean.to_numpy()) for mean in means)
        patients[str(name)] = Patient(channels, is_soz, *own, compared(tuple(channels), seizures))
    return patients


def single_feature(name: str) -> Fit:
    """Nothing to learn: the larger, the likelier."""
    column = FEATURES.index(name)

    def fit(_: Patients) -> Callable[[Patient], np.ndarray]:
        return lambda patient: as_p_nez(patient.z[:, column])

    return fit


def as_p_nez(score: np.ndarray) -> np.ndarray:
    """Ranks within the patient, the largest score lowest."""
    return 1 - pd.Series(score).rank(pct=True).to_numpy()


def classifier(name: str, columns: str) -> Fit:
    """A row of EpiLENS with its settings, on these columns."""
    settings = METHODS[name].settings

    def fit(patients: Patients) -> Callable[[Patient], np.ndarray]:
        x = np.concatenate([getattr(p, columns) for p in patients.values()])
        is_nez = ~np.concatenate([p.is_soz for p in patients.values()])
        model = settings.pipeline(0, int((~is_nez).sum())).fit(x, is_nez)
        return lambda patient: model.predict_proba(getattr(patient, columns))[:, 1]

    return fit


def lens(patients: Patients) -> Callable[[Patient], np.ndarray]:
    """`lens` with its settings."""
    fitted, _ = learn([(p.table, p.is_soz) for p in patients.values()], METHODS["lens"].settings)
    return lambda patient: fitted.p_nez_of(patient.table)


def rows() -> Iterator[tuple[str, Fit, bool]]:
    """Name, fit, and whether it learns."""
    yield REFERENCE, single_feature("ll_std"), False
    yield "lens", lens, True
    for name, columns in product(CLASSIFIERS, ("z", "rank")):
        yield f"{name}-{columns}", classifier(name, columns), True


def out_of_fold(fit: Fit, patients: Patients, learns: bool) -> Scores:
    """Scores of the patients that teach, each by the others."""
    names = list(patients)
    if not learns:
        scorer = fit(patients)
        return {name: scorer(patients[name]) for name in names}
    scores = {}
    for fold in range(INNER_FOLDS):
        held = names[fold::INNER_FOLDS]
        scorer = fit({n: patients[n] for n in names if n not in held})
        scores |= {name: scorer(patients[name]) for name in held}
    return scores


def smoothing(patients: Patients, scores: Scores) -> ShaftPlan:
    """The weights with the best mean AUROC on the patients that teach."""

    def mean_auroc(plan: ShaftPlan) -> float:
        mixed = ((patients[n], smoothed(patients[n].channels, p, plan)) for n, p in scores.items())
        return float(np.nanmean([auroc(-p_nez, patient.is_soz) for patient, p_nez in mixed]))

    return max(WEIGHTS, key=mean_auroc)


def ledger_rows(method: str, patients: Patients, scores: Scores, threshold: float) -> pd.DataFrame:
    """Rows of a ledger."""
    parts = []
    for name, p_nez in scores.items():
        patient = patients[name]
        channels = {"channel": patient.channels, "is_ez": patient.is_soz, "p_nez": p_nez}
        parts.append(pd.DataFrame(channels).assign(patient=name))
    cell = {"method": method, "seed": 0, "fold": 0, "partition": "test", "center": "real"}
    return pd.concat(parts, ignore_index=True).assign(threshold=threshold, **cell)


def judged(name: str, fit: Fit, learns: bool, teach: Patients, test: Patients) -> pd.DataFrame:
    """Test rows of one method, and of the same smoothed along shafts."""
    inner, scorer = out_of_fold(fit, teach, learns), fit(teach)
    parts = []
    for suffix, weights in (("", WEIGHTS[0]), ("/shaft", smoothing(teach, inner))):
        mixed = [smoothed(teach[n].channels, p, weights) for n, p in inner.items()]
        tolerance = METHODS["lens"].prevalence_tolerance if name + suffix == "lens" else None
        threshold, _ = select_threshold(mixed, [teach[n].is_soz for n in inner], tolerance)
        tested = {n: smoothed(p.channels, scorer(p), weights) for n, p in test.items()}
        parts.append(ledger_rows(name + suffix, test, tested, threshold))
    return pd.concat(parts)


def ledger(fit: Patients, test: Patients | None) -> pd.DataFrame:
    """Every row on every test patient; without any, each patient is tested by the others."""
    parts, todo = [], list(rows())
    splits = (
        [(fit, test)]
        if test is not None
        else [
            ({n: p for n, p in fit.items() if n != left_out}, {left_out: fit[left_out]})
            for left_out in fit
        ]
    )
    for i, (name, method, learns) in enumerate(todo, 1):
        say(f"real: {name} ({i} of {len(todo)} rows)")
        parts += [judged(name, method, learns, teach, tested) for teach, tested in splits]
    return pd.concat(parts, ignore_index=True)


def single_features(patients: Patients) -> pd.DataFrame:
    """Mean AUROC of every feature alone."""
    parts = []
    for feature in FEATURES:
        scorer = single_feature(feature)(patients)
        scores = {name: scorer(patient) for name, patient in patients.items()}
        parts.append(ledger_rows(feature, patients, scores, 0.5))
    return summarise(score(pd.concat(parts))).set_index("method")[["auroc", "ez_auprc"]]


def asked_of(arguments: Sequence[str]) -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser("python -m benchmarks real")
    parser.add_argument("files", nargs="*", type=Path, help="FIT.parquet [TEST.parquet]")
    parser.add_argument("--model", help="a model to evaluate on the second file")
    parser.add_argument("--build", type=Path, metavar="FOLDER", help="write the shipped model")
    asked = parser.parse_args(arguments)
    most = 1 if asked.build else 2
    if len(asked.files) > most or (asked.model and len(asked.files) != 2):
        wanted = "one file" if asked.build else "two files" if asked.model else "one or two files"
        raise SystemExit(f"real: expected {wanted}, found {len(asked.files)}. {GIVE}")
    return asked


def of_model(given: str, test: Patients) -> pd.DataFrame:
    """A model as it is, on the test patients, with its own threshold."""
    model = open_model(given)
    if model.kind != "lens/features":
        raise SystemExit(f"{given}: expected a model on contact features, found {model.kind}.")
    lenses: list[Any] = [member.parts["lens/features"] for member in model.members]
    scores = {n: np.mean([one.p_nez_of(p.table) for one in lenses], 0) for n, p in test.items()}
    return ledger_rows("model", test, scores, model.threshold)


def measure(*arguments: str) -> list[dict[str, Any]]:
    """The tables as rows of a benchmark."""
    asked = asked_of(arguments)
    fit, *others = [read(Path(p)) for p in asked.files or (DEFAULT,)]
    test = others[0] if others else None
    if test is not None and (both := set(fit) & set(test)):
        raise SystemExit(f"real: expected other patients in the second file, found {sorted(both)}.")
    if asked.build:
        from benchmarks.recorded import build

        return build(fit, asked.build)
    with one_thread():
        tested = ledger(fit, test)
        if asked.model and test is not None:
            tested = pd.concat([tested, of_model(asked.model, test)], ignore_index=True)
        scores = score(tested)
    print(f"\nReal patients ({len(test or fit)}); labels are clinicians' onset contacts\n")
    out = print_methods(scores)
    print_features(single_features(test or fit))
    return out


def print_methods(scores: pd.DataFrame) -> list[dict[str, Any]]:
    """Methods with their metrics and their difference from the reference; rows of a benchmark."""
    heads = [f"{metric} − {REFERENCE} (95 %)" for metric in ("AUROC", "EZ-AUPRC")]
    print(f"| row | AUROC | EZ-AUPRC | Macro-F1 | bias | {' | '.join(heads)} |")
    print("|---|---|---|---|---|---|---|")
    rows, table = [], summarise(scores).set_index("method")
    for name, line in table.sort_values("auroc", ascending=False).iterrows():
        against = (compare_scores(scores, str(name), REFERENCE, m) for m in ("auroc", "ez_auprc"))
        values = " | ".join(f"{line[m]:.3f}" for m in ("auroc", "ez_auprc", "macro_f1"))
        gains = " | ".join(f"{a.estimate:+.3f} ({a.low:+.3f} to {a.high:+.3f})" for a in against)
        print(f"| `{name}` | {values} | {line['ez_fraction_bias']:+.3f} | {gains} |")
        rows += [row(f"{name}: AUROC", line["auroc"], "")]
        rows += [row(f"{name}: EZ-AUPRC", line["ez_auprc"], "")]
    return rows


def print_features(alone: pd.DataFrame) -> None:
    print("\n| feature alone, AUROC | mean | std | max |\n|---|---|---|---|")
    for base in dict.fromkeys(f.rsplit("_", 1)[0] for f in FEATURES):
        cells = [f"{alone.loc[f'{base}_{s}', 'auroc']:.2f}" for s in ("mean", "std", "max")]
        print(f"| {base} | {' | '.join(cells)} |")
