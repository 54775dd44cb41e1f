"""Metrics per patient and patient-equal means. Thresholds are chosen in `core.decisions`.

Scores are `p_nez`; a channel is flagged where `p_nez` < threshold. Ranking metrics sort by
falling EZ score and average over all orders of tied channels: their order never matters.
"""

from __future__ import annotations

from math import comb

import numpy as np
import pandas as pd

from epilens.core.decisions import confusion_metrics
from epilens.core.errors import LedgerError
from epilens.core.types import Bools, Floats
from epilens.evaluation.ledger import missing_column

THRESHOLDED = ("macro_f1", "ez_f1", "nez_f1", "accuracy", "balanced_accuracy")
RANKING = ("auroc", "ez_auprc", "ndcg_ez", "mrr_ez", "recall_at_k", "top1_ez")
METRICS = THRESHOLDED + RANKING


def ranking_metrics(p_nez: Floats, is_ez: Bools) -> dict[str, float]:
    """Threshold-free metrics of one patient; NaN where a class is missing (undefined)."""
    K, n = int(is_ez.sum()), len(is_ez)
    if K == 0 or n == K:
        return dict.fromkeys(RANKING, float("nan"))
    groups = _tied_groups(p_nez, is_ez)
    return {
        "auroc": _auroc(groups, K, n),
        "ez_auprc": _average_precision(groups, K),
        "ndcg_ez": _ndcg(groups, K, n),
        "mrr_ez": expected_reciprocal_rank(*next(group for group in groups if group[2])[:3]),
        "recall_at_k": _recall_at_k(groups, K),
        "top1_ez": groups[0][2] / groups[0][1],
    }


Group = tuple[int, int, int, int]
"""Channels ahead, channels in the group, EZ in the group, EZ ahead."""


def _tied_groups(p_nez: Floats, is_ez: Bools) -> list[Group]:
    """Groups of equal scores, most EZ-like first."""
    _, which = np.unique(p_nez, return_inverse=True)
    size = np.bincount(which)
    ez = np.bincount(which, weights=is_ez).astype(int)
    ahead, ez_ahead = np.cumsum(size) - size, np.cumsum(ez) - ez
    return list(zip(ahead.tolist(), size.tolist(), ez.tolist(), ez_ahead.tolist(), strict=True))


def _auroc(groups: list[Group], K: int, n: int) -> float:
    """Share of EZ-NEZ pairs in the right order; a tie counts half."""
    right = 0.0
    nez = n - K
    for ahead, size, ez, ez_ahead in groups:
        nez_behind = nez - (ahead - ez_ahead) - (size - ez)
        right += ez * (nez_behind + 0.5 * (size - ez))
    return right / (K * nez)


def _average_precision(groups: list[Group], K: int) -> float:
    """Expected mean precision at the EZ channels, over all orders of tied channels."""
    total = 0.0
    for ahead, size, ez, ez_ahead in groups:
        if not ez:
            continue
        rank = np.arange(1, size + 1)
        # Given an EZ channel at a rank, each rank before it has another EZ with this chance.
        others = (ez - 1) / (size - 1) if size > 1 else 0.0
        precision = (ez_ahead + 1 + (rank - 1) * others) / (ahead + rank)
        total += ez / size * float(precision.sum())
    return total / K


def _ndcg(groups: list[Group], K: int, n: int) -> float:
    """Expected normalised discounted gain of the whole list; gain 1 for EZ."""
    discount = 1 / np.log2(np.arange(2, n + 2))
    gain = sum(ez * discount[ahead : ahead + size].mean() for ahead, size, ez, _ in groups)
    return float(gain / discount[:K].sum())


def expected_reciprocal_rank(ahead: int, size: int, ez: int) -> float:
    """Expected 1/rank of the first of `ez` channels, shuffled among `size` behind `ahead`."""
    orders = comb(size, ez)
    return sum(
        comb(size - rank, ez - 1) / orders / (ahead + rank) for rank in range(1, size - ez + 2)
    )


def _recall_at_k(groups: list[Group], K: int) -> float:
    """Expected share of EZ channels among the first K."""
    ez_found = sum(ez * np.clip(K - ahead, 0, size) / size for ahead, size, ez, _ in groups)
    return float(ez_found / K)


def score(ledger: pd.DataFrame) -> pd.DataFrame:
    """One row per method, seed and test patient: every metric, and the counts behind the bias.

    Parameters
    ----------
    ledger : DataFrame
        Rows of `Run.ledger`: method, seed, fold, partition, patient, channel, center, is_ez, p_nez,
        threshold. Only the partition `test` counts.

    Returns
    -------
    DataFrame
        Metrics lie between 0 and 1; NaN where a patient has none, e.g. AUROC without EZ channels.

    Examples
    --------
    >>> from epilens.testing import make_run
    >>> scores = score(make_run().ledger)
    >>> len(scores)  # two methods, one seed, eight patients
    16
    >>> bool(scores["auroc"].between(0, 1).all())
    True
    """
    if missing := missing_column(ledger):
        raise LedgerError(f"score: {missing}")
    test = ledger[ledger["partition"] == "test"]
    rows = []
    for (method, seed, patient), part in test.groupby(["method", "seed", "patient"], sort=False):
        p, ez = part["p_nez"].to_numpy(np.float64), part["is_ez"].to_numpy(bool)
        flagged = p < part["threshold"].to_numpy(np.float64)
        tp, positive, n_ez = (flagged & ez).sum(), flagged.sum(), ez.sum()
        counts = (tp, positive - tp, n_ez - tp, len(ez) - positive - n_ez + tp)
        rows.append(
            {
                "method": method,
                "seed": seed,
                "fold": part["fold"].iloc[0],
                "patient": patient,
                "center": part["center"].iloc[0],
                "channels": len(part),
                "ez_channels": int(n_ez),
                "called_ez": int(positive),
                **{name: float(value) for name, value in confusion_metrics(*counts).items()},
                **ranking_metrics(p, ez),
            }
        )
    return pd.DataFrame(rows)


def summarise(scores: pd.DataFrame) -> pd.DataFrame:
    """Patient-equal means per seed, then mean and SD (ddof = 1) over seeds; the bias is pooled.

    Patients for whom a metric is undefined are left out of its mean, and counted.
    """
    per_seed = per_seed_means(scores)
    rows = []
    for method, part in per_seed.groupby("method", sort=False):
        row: dict[str, object] = {"method": method, "seeds": len(part)}
        for name in (*METRICS, "ez_fraction_bias"):
            row[name] = part[name].mean()
            row[f"{name}_sd"] = part[name].std(ddof=1)
        row["undefined_patients"] = int(part["undefined_patients"].max())
        rows.append(row)
    return pd.DataFrame(rows)


def per_seed_means(scores: pd.DataFrame) -> pd.DataFrame:
    """Patient-equal means of every metric, one row per method and seed."""
    rows = []
    for key, part in scores.groupby(["method", "seed"], sort=False):
        method, seed = tuple(key)  # ty: ignore
        bias = (part["called_ez"].sum() - part["ez_channels"].sum()) / part["channels"].sum()
        means = {name: part[name].mean() for name in METRICS}
        undefined = int(part["auroc"].isna().sum())
        rows.append(
            {"method": method, "seed": seed, "patients": len(part), **means}
            | {"ez_fraction_bias": bias, "undefined_patients": undefined}
        )
    return pd.DataFrame(rows)
