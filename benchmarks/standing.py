"""Results of every method of a run on a simulated cohort.

`python -m benchmarks standing RUN COHORT` prints the table of docs/results.md: metrics, patients
weighing the same, against the annotated EZ; AUROC also against the true onset zone; the best
other method of each metric against `lens` by a paired bootstrap over patients; and the
training-free scores in the ECoG-like center, whose goals were set on recorded patients. Last, what
labels allow:
the AUROC of an oracle that knows the true onset zone, per center, and sets that contain the zone.
Differences between the paper's methods are given with their intervals.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from benchmarks.seizure_features import auroc
from benchmarks.timing import row
from epilens.evaluation.certainty import covering_set
from epilens.evaluation.resampling import compare_scores
from epilens.evaluation.run import Run, open_run
from epilens.evaluation.scoring import summarise
from epilens.evidence.contact_table import context_weights

FOUR = {"macro_f1": "Macro-F1", "ez_f1": "EZ-F1", "auroc": "AUROC", "ez_auprc": "EZ-AUPRC"}
PUBLISHED = {
    "logistic": 0.593,
    "rbf-svm": 0.608,
    "random-forest": 0.588,
    "lightgbm": 0.594,
    "deepsets": 0.630,
    "mlp-rank": 0.638,
    "logistic-z": 0.684,
    "rbf-svm-z": 0.680,
    "prq": 0.742,
    "bcr": 0.739,
    "cdel": 0.747,
}
ECOG = "east"


def onset_zones(cohort: Path) -> pd.DataFrame:
    """Patient and channel of every true onset contact, and the folder of its center."""
    parts = []
    for truth in sorted(cohort.glob("*/derivatives/simulation-truth/truth.tsv")):
        table = pd.read_csv(truth, sep="\t")
        parts.append(table.assign(place=truth.parents[2].name))
    return pd.concat(parts, ignore_index=True)


def against_truth(run: Run, zones: pd.DataFrame) -> pd.DataFrame:
    """AUROC against the true onset zone: method, patient, place."""
    test = run.ledger[run.ledger["partition"] == "test"]
    zones = zones.rename(columns={"is_onset": "onset"})[["patient", "channel", "onset", "place"]]
    merged = test.merge(zones, on=["patient", "channel"], how="left", validate="m:1")
    rows = []
    for (method, patient), part in merged.groupby(["method", "patient"], sort=False):
        by_seed = part.groupby("seed")
        values = [auroc(-p["p_nez"].to_numpy(), p["onset"].to_numpy(bool)) for _, p in by_seed]
        rows.append((method, patient, part["place"].iloc[0], np.nanmean(values)))
    return pd.DataFrame(rows, columns=["method", "patient", "place", "auroc"])


def table(run: Run, truth: pd.DataFrame) -> str:
    """Markdown, best AUROC first."""
    means = summarise(run.scores).sort_values("auroc", ascending=False, kind="stable")
    true = truth.groupby("method")["auroc"].mean()
    lines = [
        "| method | Macro-F1 | EZ-F1 | AUROC | EZ-AUPRC | AUROC, true onset zone | "
        "bias of the EZ fraction | published AUROC |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for r in means.to_dict("records"):
        cells = [_with_sd(r[m], r[f"{m}_sd"]) for m in FOUR]
        published = PUBLISHED.get(r["method"])
        cells += [f"{true[r['method']]:.3f}", f"{r['ez_fraction_bias']:+.3f}".replace("-", "−")]
        lines.append(f"| `{r['method']}` | {' | '.join(cells)} | {published or ''} |")
    return "\n".join(lines)


def _with_sd(mean: float, sd: float) -> str:
    return f"{mean:.3f}" if np.isnan(sd) or sd < 5e-4 else f"{mean:.3f} ± {sd:.3f}"


def ahead(run: Run, leader: str = "lens") -> list[str]:
    """The leader against the best method that is not derived from it, metric by metric."""
    means = summarise(run.scores).set_index("method")
    if leader not in means.index:
        return []
    others = [m for m in means.index if m.split("/")[0] != leader]
    lines = []
    for metric, name in FOUR.items():
        best = str(means.loc[others, metric].idxmax())
        c = compare_scores(run.scores, leader, best, metric)
        lines.append(
            f"{name}: {leader} {means.loc[leader, metric]:.3f}, best of {len(others)} others "
            f"`{best}` {means.loc[best, metric]:.3f}: {c.estimate:+.3f} ({c.low:+.3f} to "
            f"{c.high:+.3f})"
        )
    return lines


ORDERS = (("logistic-z", "logistic"), ("rbf-svm-z", "rbf-svm"), ("cdel", "logistic-z"))
"""Differences that the paper reports: patient-relative above absolute, CDEL above logistic-z."""


def orders(run: Run) -> list[str]:
    """The paper's differences in AUROC, with intervals; of the methods that were run."""
    lines = []
    for a, b in ORDERS:
        if {a, b} <= set(run.methods):
            c = compare_scores(run.scores, a, b, "auroc")
            lines.append(f"{a} − {b}: {c.estimate:+.3f} ({c.low:+.3f} to {c.high:+.3f})")
    return lines


def tested(run: Run, method: str, zones: pd.DataFrame) -> pd.DataFrame:
    """Test rows of a method's first seed, with the true onset zone in `onset`."""
    test = run.ledger[run.ledger["partition"].eq("test") & run.ledger["method"].eq(method)]
    test = test[test["seed"] == test["seed"].iloc[0]]
    zones = zones.rename(columns={"is_onset": "onset"})[["patient", "channel", "onset"]]
    merged = test.merge(zones, on=["patient", "channel"], how="left", validate="1:1")
    return merged.assign(onset=merged["onset"].fillna(0).astype(bool))


def oracle(test: pd.DataFrame) -> pd.DataFrame:
    """The same contacts, scored by the annotated EZ's odds given the true onset zone around them.

    In and next to the zone, on its electrode: the context that `lens` has, with perfect evidence,
    and weights fitted to the same patients that are scored.
    """
    parts = []
    for _, part in test.groupby("patient", sort=False):
        onset = part["onset"].to_numpy(float)
        neighbours, electrode = context_weights(part["channel"].tolist())
        near = neighbours @ onset
        parts.append(np.stack([onset, near, neighbours @ near, electrode @ onset], axis=1))
    test = pd.concat([part for _, part in test.groupby("patient", sort=False)])
    weight = 1 / test.groupby("patient")["channel"].transform("size").to_numpy()
    x, is_ez = np.concatenate(parts), test["is_ez"].to_numpy()
    model = LogisticRegression(C=1e3, max_iter=1000).fit(x, is_ez, weight * len(x) / weight.sum())
    return test.assign(p_nez=model.predict_proba(x)[:, 0])


def mean_auroc(test: pd.DataFrame, labels: str) -> float:
    """Over patients."""
    patients = (part for _, part in test.groupby("patient"))
    values = [auroc(-part["p_nez"].to_numpy(), part[labels].to_numpy()) for part in patients]
    return float(np.nanmean(values))


def covering(test: pd.DataFrame, labels: str = "is_ez") -> tuple[float, float]:
    """Shares of the labelled and of all contacts in the 80 % set, cut by the other folds."""
    patients = [
        (fold, part["p_nez"].to_numpy(), part[labels].to_numpy())
        for (fold, _), part in test.groupby(["fold", "patient"])
    ]
    held, share = [], []
    for fold in test["fold"].unique():
        others = [(p, ez) for other, p, ez in patients if other != fold]
        cut = covering_set([p for p, _ in others], [ez for _, ez in others], 0.8)
        own = [(cut.holds(p), ez) for other, p, ez in patients if other == fold and ez.any()]
        held += [float(inside[ez].mean()) for inside, ez in own]
        share += [float(inside.mean()) for inside, _ in own]
    return float(np.mean(held)), float(np.mean(share))


def measure(folder: str, cohort: str) -> list[dict[str, Any]]:
    run, zones = open_run(folder), onset_zones(Path(cohort))
    truth = against_truth(run, zones)
    print(table(run, truth), *ahead(run), *orders(run), sep="\n")
    by_center = run.scores.groupby(["method", "center"])["auroc"].mean().unstack()
    print(by_center.sort_values(by_center.columns[0], ascending=False).round(3).to_string())
    east = truth[truth["place"].str.contains(ECOG)].groupby("method")["auroc"]
    rows = [row(f"{m}: AUROC, annotated", v, "") for m, v in by_center.mean(axis=1).items()]
    rows += [
        row(f"{m}: median AUROC, onset zone, ECoG-like", v, "") for m, v in east.median().items()
    ]
    for method in [m for m in ("lens", "cdel") if m in run.methods]:
        test = tested(run, method, zones)
        held, share = covering(test)
        rows.append(row(f"{method}: EZ in the 80 % set", 100 * held, "%"))
        rows.append(row(f"{method}: contacts in the 80 % set", 100 * share, "%", most=45))
        held, share = covering(test, "onset")
        rows.append(row(f"{method}: onset zone in the 80 % set of it", 100 * held, "%"))
        rows.append(row(f"{method}: contacts in the 80 % set of the onset zone", 100 * share, "%"))
    return rows + allowed(tested(run, run.methods[0], zones))


def allowed(test: pd.DataFrame) -> list[dict[str, Any]]:
    """What the annotated labels allow an oracle that knows the onset zone."""
    annotated = test[test["is_ez"]].groupby("patient")["onset"].mean()
    best = oracle(test)
    return [
        row("annotated EZ that is true onset zone", 100 * float(annotated.mean()), "%"),
        row("oracle that knows the onset zone: AUROC", mean_auroc(best, "is_ez"), ""),
        *(
            row(f"oracle that knows the onset zone: AUROC, {center}", mean_auroc(part, "is_ez"), "")
            for center, part in best.groupby("center")
        ),
        row("oracle: contacts in the 80 % set", 100 * covering(best)[1], "%"),
    ]
