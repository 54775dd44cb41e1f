"""Small ledgers for the tests of this folder."""

from __future__ import annotations

import numpy as np
import pandas as pd

CENTER = {"sub-01": "ghent", "sub-02": "ghent", "sub-03": "lyon", "sub-04": "lyon"}
PARTITION = {
    "0": {"sub-01": "test", "sub-03": "test", "sub-02": "validation", "sub-04": "validation"},
    "1": {"sub-02": "test", "sub-04": "test", "sub-01": "validation", "sub-03": "validation"},
}


def rows(
    p_nez, is_ez, *, patient="sub-01", seed=42, fold="0", partition="test", threshold=0.5
) -> pd.DataFrame:
    """The channels A1, A2, … of one patient."""
    return pd.DataFrame(
        {
            "method": "prq",
            "seed": seed,
            "fold": fold,
            "partition": partition,
            "patient": patient,
            "channel": [f"A{i + 1}" for i in range(len(p_nez))],
            "center": CENTER.get(patient, "ghent"),
            "is_ez": np.asarray(is_ez, bool),
            "p_nez": np.asarray(p_nez, float),
            "threshold": threshold,
        }
    )


def random_ledger(seed: int = 0, method: str = "prq", channels: int = 8) -> pd.DataFrame:
    """Two seeds, two folds, two test and two validation patients in each.

    The labels are the same whatever the seed: ledgers of two methods belong together.
    """
    rng = np.random.default_rng(seed)
    is_ez = np.arange(channels) % 3 == 0
    parts = [
        rows(
            np.clip(rng.normal(0.7 - 0.3 * is_ez, 0.2), 0, 1),
            is_ez,
            patient=patient,
            seed=network_seed,
            fold=fold,
            partition=partition,
            threshold=0.4 if fold == "0" else 0.6,
        )
        for network_seed in (42, 52)
        for fold, patients in PARTITION.items()
        for patient, partition in patients.items()
    ]
    return pd.concat(parts, ignore_index=True).assign(method=method)
