"""Results of all methods on simulated cohorts: the tables of docs/results.md.

`python -m benchmarks cohort_results RUN COHORT [RUN COHORT …]` reads finished runs, each with the
simulated cohort that its cubes come from. Runs of one cohort with other seeds or methods follow
each other. Patients count the same; a patient's metric is averaged over seeds first; intervals
are 95 % bootstrap intervals over patients.

Against the annotated EZ: metrics of each method, AUROC by center, and the AUROC of an oracle that
knows the true onset zone, alone and with neighbours and electrode. Against the true onset zone:
AUROC of each method, and of the mean change of log beta power alone. Last, paired differences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.labels import PatientLabels, patient_statistics
from benchmarks.seizure_features import auroc
from benchmarks.timing import row
from epilens.evaluation.certainty import covering_set
from epilens.evaluation.resampling import bootstrap, compare_patients, interval
from epilens.evaluation.run import Run, open_run
from epilens.evaluation.scoring import score
from epilens.evidence.cube import is_reference
from epilens.evidence.views import views

METRICS = {"auroc": "AUROC", "ez_auprc": "EZ-AUPRC", "macro_f1": "Macro-F1"}
TRUE = "true_auroc"
DIFFERENCES = (
    *(("logistic-z", "logistic"), ("rbf-svm-z", "rbf-svm"), ("prq", "prq/absolute")),
    *(("cdel", "logistic-z"), ("prq", "logistic-z"), ("bcr", "logistic-z")),
    *(("cdel", "prq"), ("cdel", "bcr"), ("lens", "logistic-z"), ("lens", "cdel")),
)
"""Orders that the paper reports, and that of `lens`."""
ORACLES = {"alone": "oracle: true onset zone", "context": "oracle: with neighbours and electrode"}


def onset_zones(cohort: Path) -> pd.DataFrame:
    """Whether each channel of each patient is in the true onset zone: `onset`."""
    paths = sorted(cohort.glob("*/derivatives/simulation-truth/truth.tsv"))
    table = pd.concat([pd.read_csv(path, sep="\t") for path in paths], ignore_index=True)
    return table.assign(onset=table["is_onset"] == 1)[["patient", "channel", "onset"]]


def rows_with_zones(run: Run, zones: pd.DataFrame) -> pd.DataFrame:
    """Test rows of the ledger, with the true onset zone in `onset`."""
    test = run.ledger[run.ledger["partition"] == "test"]
    return test.merge(zones, on=["patient", "channel"], how="left", validate="m:1")


def patient_scores(test: pd.DataFrame) -> pd.DataFrame:
    """Metrics by method and patient, means over seeds; AUROC against the true onset zone too."""
    key = ["method", "patient", "center"]
    annotated = score(test).groupby(key)[list(METRICS)].mean()
    true = score(test.assign(is_ez=test["onset"])).groupby(key)["auroc"].mean()
    return annotated.assign(**{TRUE: true}).reset_index()


def oracle_scores(test: pd.DataFrame) -> pd.DataFrame:
    """AUROC of an oracle that knows the true onset zone, in the columns of `patient_scores`."""
    once = test.drop_duplicates(["patient", "channel"])
    rows = []
    for (patient, center), part in once.groupby(["patient", "center"]):
        is_ez, onset = part["is_ez"].to_numpy(bool), part["onset"].to_numpy(bool)
        labels = PatientLabels(tuple(part["channel"]), is_ez, np.zeros_like(is_ez), onset)
        reached = patient_statistics(labels, "soz", "onset")
        rows += [(ORACLES[name], patient, center, reached[name]) for name in ORACLES]
    return pd.DataFrame(rows, columns=["method", "patient", "center", "auroc"])


def beta_scores(run: Run, zones: pd.DataFrame) -> pd.DataFrame:
    """AUROC of the mean change of log beta power after onset, against the true onset zone."""
    onset, rows = zones[zones["onset"]].groupby("patient")["channel"].agg(set), []
    for patient, cube in run.cohort.items():
        ictal = cube["valid"].values & ~is_reference(cube).values[..., None]
        change = views(cube).sel(view="delta", descriptor="log_beta_power").values
        n = ictal.sum(axis=(0, 1))
        mean = np.where(ictal, change, 0).sum(axis=(0, 1))[n > 0] / n[n > 0]
        names = cube["channel"].values[n > 0]
        is_onset = np.array([name in onset.get(patient, ()) for name in names])
        is_ez = cube["is_ez"].values[n > 0]
        center = cube.attrs["center"]
        rows.append((patient, center, auroc(mean, is_ez), auroc(mean, is_onset)))
    frame = pd.DataFrame(rows, columns=["patient", "center", "auroc", TRUE])
    return frame.assign(method="mean change of log beta power")


def with_interval(values: pd.Series) -> str:
    """Mean over patients and its bootstrap interval."""
    known = values.dropna().to_numpy()
    if not len(known):
        return "–"
    low, high = interval(bootstrap(known))
    return f"{known.mean():.3f} ({low:.3f} to {high:.3f})"


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for cells in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(cells)} |"


def main_table(scores: pd.DataFrame) -> Iterator[str]:
    """Methods with their metrics, best AUROC first."""
    head = ["method", "patients", *METRICS.values(), "AUROC, true onset zone"]
    rows = (
        [method, str(len(part)), *(with_interval(part[name]) for name in (*METRICS, TRUE))]
        for method, part in _by_auroc(scores)
    )
    return _markdown(head, rows)


def center_table(scores: pd.DataFrame) -> Iterator[str]:
    """AUROC against the annotated EZ by center."""
    centers = sorted(scores["center"].unique())
    means = scores.groupby(["method", "center"])["auroc"].mean()
    rows = ([m, *(f"{means[m, c]:.3f}" for c in centers)] for m, _ in _by_auroc(scores))
    return _markdown(["method", *(center.split()[0] for center in centers)], rows)


def _by_auroc(scores: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    order = scores.groupby("method")["auroc"].mean().sort_values(ascending=False)
    for method in order.index:
        yield str(method), scores[scores["method"] == method]


def difference_table(cohorts: dict[str, pd.DataFrame]) -> Iterator[str]:
    """Paired differences of AUROC, over all cohorts and in each."""
    pooled = {"all cohorts": pd.concat(cohorts.values(), ignore_index=True)} | cohorts
    rows = (
        [f"{a} − {b}", *(_difference(scores, a, b) for scores in pooled.values())]
        for a, b in DIFFERENCES
    )
    return _markdown(["difference in AUROC", *pooled], (cells for cells in rows if any(cells[1:])))


def _difference(scores: pd.DataFrame, a: str, b: str) -> str:
    wide = scores[scores["method"].isin([a, b])].pivot(
        index="patient", columns="method", values="auroc"
    )
    if not {a, b} <= set(wide):
        return ""
    c = compare_patients((wide[a] - wide[b]).dropna(), a, b, "auroc")
    return f"{c.estimate:+.3f} ({c.low:+.3f} to {c.high:+.3f})".replace("-", "−")


def covering(test: pd.DataFrame) -> tuple[float, float]:
    """Fractions of EZ contacts and of all contacts in the 80 % set, cut by the other folds."""
    patients = [
        (fold, part["p_nez"].to_numpy(), part["is_ez"].to_numpy())
        for (fold, _), part in test.groupby(["fold", "patient"])
    ]
    inside, size = [], []
    for fold in test["fold"].unique():
        others = [(p, ez) for other, p, ez in patients if other != fold]
        cut = covering_set([p for p, _ in others], [ez for _, ez in others], 0.8)
        own = [(cut.contains(p), ez) for other, p, ez in patients if other == fold and ez.any()]
        inside += [float(members[ez].mean()) for members, ez in own]
        size += [float(members.mean()) for members, _ in own]
    return float(np.mean(inside)), float(np.mean(size))


def read_cohort(runs: Sequence[str], cohort: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Scores of methods, oracles and beta power (patients name their cohort); the test rows."""
    zones, opened = onset_zones(Path(cohort)), [open_run(folder) for folder in runs]
    test = pd.concat([rows_with_zones(run, zones) for run in opened], ignore_index=True)
    parts = [patient_scores(test), oracle_scores(test), beta_scores(opened[0], zones)]
    scores = pd.concat(parts, ignore_index=True)
    prefix = f"{Path(cohort).name}/"
    return scores.assign(patient=prefix + scores["patient"]), test


def measure(*arguments: str) -> list[dict[str, Any]]:
    """Print the tables; rows are the mean AUROC of each method."""
    if not arguments or len(arguments) % 2:
        raise SystemExit("cohort_results: expected RUN COHORT [RUN COHORT …]. Give them in pairs.")
    runs: dict[str, list[str]] = {}
    for folder, cohort in zip(arguments[::2], arguments[1::2], strict=True):
        runs.setdefault(cohort, []).append(folder)
    read = {Path(cohort).name: read_cohort(folders, cohort) for cohort, folders in runs.items()}
    cohorts = {name: scores for name, (scores, _) in read.items()}
    scores = pd.concat(cohorts.values(), ignore_index=True)
    print(f"{scores['patient'].nunique()} simulated patients: nothing here is clinical evidence.")
    for table in (main_table(scores), center_table(scores), difference_table(cohorts)):
        print("", *table, sep="\n")
    means = {method: part["auroc"].mean() for method, part in _by_auroc(scores)}
    rows = [row(f"{method}: AUROC, annotated EZ", mean, "") for method, mean in means.items()]
    for name, (_, test) in read.items():
        lens = test[test["method"] == "lens"]
        if len(lens):
            inside, size = covering(lens)
            rows.append(row(f"{name}, lens: EZ in the 80 % set", 100 * inside, "%"))
            rows.append(row(f"{name}, lens: contacts in the 80 % set", 100 * size, "%"))
    return rows
