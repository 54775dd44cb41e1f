"""Permutation with full scoring beside a loop over scikit-learn; the bootstrap by itself."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    ndcg_score,
    roc_auc_score,
)

from benchmarks.timing import row, side_by_side
from epilens.evaluation.resampling import bootstrap, permute_within_patients

PATIENTS, CHANNELS, SEEDS, PERMUTATIONS, THRESHOLD = 80, 95, (42, 52, 62), 1000, 0.5


def make_ledger() -> pd.DataFrame:
    """Test rows of three models on a cohort of the paper's size."""
    rng, parts = np.random.default_rng(0), []
    for seed in SEEDS:
        for patient in range(PATIENTS):
            is_ez = rng.random(CHANNELS) < 0.23
            is_ez[:2] = True, False
            shared = {"seed": seed, "fold": "0", "partition": "test", "is_ez": is_ez}
            shared |= {"patient": f"sub-{patient:02d}", "center": "one", "threshold": THRESHOLD}
            shared |= {"channel": [f"A{i:03d}" for i in range(CHANNELS)]}
            prq, bcr = (np.clip(rng.normal(0.6 - 0.2 * is_ez, 0.15), 0, 1) for _ in range(2))
            for method, p in (("prq", prq), ("bcr", bcr), ("cdel", 0.8 * prq + 0.2 * bcr)):
                parts.append(pd.DataFrame(shared | {"method": method, "p_nez": p}))
    return pd.concat(parts, ignore_index=True)


def by_sklearn(is_ez: np.ndarray, prq: np.ndarray, bcr: np.ndarray) -> dict[str, float]:
    """One patient of one permutation: the metrics that scikit-learn has (eight of our eleven)."""
    fused = 0.8 * prq + 0.2 * bcr
    called, score = fused < THRESHOLD, 1 - fused
    nez_f1, ez_f1 = f1_score(is_ez, called, average=None, labels=[False, True], zero_division=0)
    return {
        "macro_f1": (ez_f1 + nez_f1) / 2,
        "accuracy": accuracy_score(is_ez, called),
        "balanced_accuracy": balanced_accuracy_score(is_ez, called),
        "auroc": roc_auc_score(is_ez, score),
        "ez_auprc": average_precision_score(is_ez, score),
        "ndcg_ez": ndcg_score([is_ez], [score]),
    }


def seconds_by_sklearn(ledger: pd.DataFrame, shuffles: int = 2) -> float:
    """Of all permutations, from a few: the loop takes the same time for each."""
    rng = np.random.default_rng(1)
    wide = ledger[ledger["seed"] == SEEDS[0]].pivot(
        index=["patient", "channel"], columns="method", values="p_nez"
    )
    labels = ledger[(ledger["seed"] == SEEDS[0]) & (ledger["method"] == "prq")]
    labels = labels.set_index(["patient", "channel"])["is_ez"].loc[wide.index]
    patients = [
        (labels.to_numpy()[at], wide["prq"].to_numpy()[at], wide["bcr"].to_numpy()[at])
        for at in wide.groupby("patient").indices.values()
    ]
    start = time.perf_counter()
    for _ in range(shuffles):
        for is_ez, prq, bcr in patients:
            by_sklearn(is_ez, prq, rng.permutation(bcr))
    once = (time.perf_counter() - start) / shuffles
    return once * len(SEEDS) * PERMUTATIONS


def measure() -> list[dict[str, Any]]:
    ledger, values = make_ledger(), np.random.default_rng(0).normal(size=PATIENTS)
    ours = side_by_side(
        {
            "permutation": lambda: permute_within_patients(ledger, PERMUTATIONS),
            "bootstrap": lambda: bootstrap(values, 10_000),
        },
        3,
    )
    loop = min(seconds_by_sklearn(ledger) for _ in range(3))
    where = f"{PATIENTS} patients × {len(SEEDS)} seeds"
    return [
        row(
            f"{where}: 1,000 permutations, faster than scikit-learn",
            loop / ours["permutation"],
            least=500,
        ),
        row(f"{where}: 1,000 permutations, every metric", ours["permutation"], "s"),
        row(f"{PATIENTS} patients: 10,000 bootstrap draws", ours["bootstrap"], "s", most=1),
    ]
