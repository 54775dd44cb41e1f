"""Paired patient bootstrap, and within-patient permutation of BCR-Net's scores.

Patients are what is resampled: the channels of one patient are not independent. Nothing is fitted
or chosen here; both read frozen out-of-fold scores.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from epilens.core.decisions import LOCKED_WEIGHT, confusion_metrics, fuse_scores
from epilens.core.errors import LedgerError, did_you_mean
from epilens.core.types import Bools, Floats
from epilens.evaluation.scoring import METRICS, expected_reciprocal_rank, score

BLOCK = 2_000_000
"""Numbers that are worked on at once: about 16 MB an array, however many draws are asked for."""
SMALL = 30
"""Patients below which a percentile interval is too short (`python -m benchmarks coverage`)."""
IntervalKind = Literal["percentile", "t"]
INTERVALS: dict[IntervalKind, str] = {
    "percentile": "percentile bootstrap",
    "t": f"t interval, because there are fewer than {SMALL} patients",
}


@dataclass(frozen=True)
class Comparison:
    """How much better `a` is than `b`, patient by patient."""

    a: str
    b: str
    metric: str
    estimate: float
    """Mean paired difference a - b."""
    low: float
    high: float
    """The 95 % interval; `interval` says of which kind."""
    patients: int
    """Number of patients for whom the metric is defined."""
    below_zero: float
    """Share of draws in which a was worse than b."""
    draws: int
    interval: IntervalKind = "percentile"


def compare(
    ledger: pd.DataFrame, a: str, b: str, metric: str, draws: int = 10_000, seed: int = 0
) -> Comparison:
    """Paired patient bootstrap of method `a` against method `b`.

    A patient's metric is averaged over seeds first. Patients for whom it is undefined are left out.
    With fewer than 30 patients, the interval is a t interval: percentiles of the bootstrap would
    contain the true difference too rarely.

    Parameters
    ----------
    ledger : DataFrame
        `Run.ledger`, with the rows of both methods.
    a, b : str
        Methods; the effect is a − b.
    metric : str
        One of `epilens.evaluation.scoring.METRICS`, e.g. `macro_f1` or `auroc`.
    draws, seed : int
        Resamples of the patients, and where their random numbers start.

    Returns
    -------
    Comparison
        `estimate`, the 95 % interval `low` to `high`, its kind, and `patients`.

    Examples
    --------
    >>> from epilens.testing import make_run
    >>> difference = compare(make_run().ledger, "logistic-z", "rbf-svm", "auroc", draws=200)
    >>> difference.patients, difference.low <= difference.estimate <= difference.high
    (8, True)
    """
    for method in (a, b):
        _check_method(ledger, method)
    return compare_scores(score(ledger[ledger["method"].isin([a, b])]), a, b, metric, draws, seed)


def _check_method(rows: pd.DataFrame, method: str) -> None:
    if not (rows["method"] == method).any():
        raise LedgerError(
            f"compare: expected the method {method!r} in the ledger, found none. "
            f"{did_you_mean(method, set(rows['method']))}"
        )


def compare_scores(
    scores: pd.DataFrame, a: str, b: str, metric: str, draws: int = 10_000, seed: int = 0
) -> Comparison:
    """`compare`, from the rows of `score`."""
    first, second = patient_means(scores, a, metric), patient_means(scores, b, metric)
    if set(first.index) != set(second.index):
        raise LedgerError(
            f"compare: expected the same patients for {a} and {b}, found {len(first)} and "
            f"{len(second)}. Run both on the same cohort."
        )
    return compare_patients((first - second).dropna(), a, b, metric, draws, seed)


def compare_patients(
    differences: pd.Series, a: str, b: str, metric: str, draws: int = 10_000, seed: int = 0
) -> Comparison:
    """`compare`, from one paired difference per patient."""
    comparison = bootstrap_patients(differences, a, b, metric, draws, seed)
    if comparison.patients >= SMALL:
        return comparison
    low, high = t_interval(differences.sort_index().to_numpy())
    return replace(comparison, low=low, high=high, interval="t")


def bootstrap_patients(
    differences: pd.Series, a: str, b: str, metric: str, draws: int = 10_000, seed: int = 0
) -> Comparison:
    """`compare_patients` with the percentile interval of the paper, for any number of patients."""
    differences = differences.sort_index()  # the order of a ledger's rows must not matter
    if not len(differences):
        raise LedgerError(f"compare: expected patients with {metric} defined, found none.")
    means = bootstrap(differences.to_numpy(), draws, seed)
    low, high = interval(means)
    estimate, below_zero = float(differences.mean()), float((means < 0).mean())
    return Comparison(a, b, metric, estimate, low, high, len(differences), below_zero, draws)


def patient_means(scores: pd.DataFrame, method: str, metric: str) -> pd.Series:
    """One metric of one method by patient, averaged over seeds; NaN where it is undefined."""
    if metric not in METRICS:
        raise LedgerError(
            f"compare: expected a metric, found {metric!r}. {did_you_mean(metric, METRICS)}"
        )
    _check_method(scores, method)
    return scores[scores["method"] == method].groupby("patient")[metric].mean()


def bootstrap(values: ArrayLike, draws: int = 10_000, seed: int = 0) -> Floats:
    """Means of `draws` resamples of the patients, with replacement; values : (patient,)."""
    values = np.asarray(values, np.float64)
    rng, n = np.random.default_rng(seed), len(values)
    return np.concatenate(
        [values[rng.integers(n, size=(rows, n))].mean(axis=1) for rows in _blocks(draws, n)]
    )


def interval(means: Floats, level: float = 0.95) -> tuple[float, float]:
    """Percentile interval of bootstrap means."""
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def t_interval(values: ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Student's interval of the mean of patients; without limits for a single one.

    Examples
    --------
    >>> low, high = t_interval([0.0, 0.1, 0.2])
    >>> round(low, 3), round(high, 3)
    (-0.148, 0.348)
    """
    values = np.asarray(values, np.float64)
    n = len(values)
    if n < 2:
        return -math.inf, math.inf
    half = float(stdtrit(n - 1, (1 + level) / 2) * values.std(ddof=1) / math.sqrt(n))
    return float(values.mean()) - half, float(values.mean()) + half


def _blocks(rows: int, columns: int) -> Iterator[int]:
    """Row counts of blocks that together have `rows` rows and each fit into BLOCK numbers."""
    most = max(1, BLOCK // max(columns, 1))
    while rows > 0:
        yield min(rows, most)
        rows -= most


@dataclass(frozen=True)
class Permutation:
    """Observed metrics of CDEL, and what they are when BCR-Net's scores are shuffled."""

    observed: dict[str, float]
    null: dict[str, Floats]
    """The same metrics of every shuffle, (permutation,) each."""

    def p(self, metric: str) -> float:
        """One-sided corrected p: (1 + k)/(1 + n), k of n shuffles being at least as good."""
        null = self.null[metric]
        if np.isnan(self.observed[metric]):
            return float("nan")
        # Sums in another order differ in the last digits; a shuffle that changes nothing is a tie.
        k = int((null >= self.observed[metric] - 1e-12).sum())
        return (1 + k) / (1 + len(null))


def permute_within_patients(
    ledger: pd.DataFrame,
    permutations: int = 1000,
    seed: int = 0,
    weight: float = LOCKED_WEIGHT,
) -> Permutation:
    """Shuffle BCR-Net's scores among the channels of each patient, in each seed, and score CDEL.

    PRQ-Net's scores, the weight and CDEL's thresholds stay as they are in the ledger. Metrics are
    averaged over patients, then over seeds.
    """
    per_seed: dict[int, list[dict[str, Floats]]] = {}
    for (network_seed, index), part in _patients(ledger):
        rng = np.random.default_rng(np.random.SeedSequence([seed, network_seed, index]))
        shuffled = _score_shuffles(part, permutations, rng, weight)
        per_seed.setdefault(network_seed, []).append(shuffled)
    means = {
        name: np.mean([_mean_of(patients, name) for patients in per_seed.values()], axis=0)
        for name in METRICS
    }
    return Permutation(
        {name: float(values[0]) for name, values in means.items()},
        {name: values[1:] for name, values in means.items()},
    )


def _mean_of(patients: Sequence[dict[str, Floats]], name: str) -> Floats:
    """Mean over the patients for whom a metric is defined, (1 + permutations,); NaN if for none."""
    defined = [values[name] for values in patients if name in values]
    return np.mean(defined or [np.full_like(patients[0][METRICS[0]], np.nan)], axis=0)


def _patients(ledger: pd.DataFrame) -> Iterator[tuple[tuple[int, int], pd.DataFrame]]:
    """Seed and position of each test patient, with both branches, labels and CDEL's threshold.

    Patients by seed and name, channels by name: the order of the rows does not matter.
    """
    key = ["seed", "patient", "channel"]
    test = ledger[ledger["partition"] == "test"]
    prq, bcr, cdel = (_rows_of(test, name).set_index(key) for name in ("prq", "bcr", "cdel"))
    both = pd.DataFrame({"is_ez": prq["is_ez"], "prq": prq["p_nez"]})
    both = both.join(bcr["p_nez"].rename("bcr"), how="inner", validate="1:1")
    both = both.join(cdel["threshold"], how="inner", validate="1:1").sort_index()
    if not len(prq) == len(bcr) == len(cdel) == len(both):
        raise LedgerError("permute: expected the same channels in prq, bcr and cdel.")
    index = {name: i for i, name in enumerate(sorted(both.index.unique("patient")))}
    for (network_seed, patient), part in both.groupby(["seed", "patient"]):  # ty: ignore
        yield (int(network_seed), index[patient]), part


def _rows_of(test: pd.DataFrame, method: str) -> pd.DataFrame:
    rows = test[test["method"] == method]
    if not len(rows):
        raise LedgerError(f"permute: expected the method {method!r} in the ledger, found none.")
    return rows


def _score_shuffles(
    part: pd.DataFrame, permutations: int, rng: np.random.Generator, weight: float
) -> dict[str, Floats]:
    """Metrics of the scores as they are, then of each shuffle."""
    prq, bcr = (part[name].to_numpy(np.float64) for name in ("prq", "bcr"))
    is_ez, threshold = part["is_ez"].to_numpy(bool), float(part["threshold"].iloc[0])
    rate = partial(metrics_of_rows, is_ez=is_ez, threshold=threshold)
    blocks = [rate(fuse_scores(prq, bcr, weight)[None])]
    for rows in _blocks(permutations, len(bcr)):
        shuffled = rng.permuted(np.broadcast_to(bcr, (rows, len(bcr))), axis=1)
        blocks.append(rate(fuse_scores(prq, shuffled, weight)))
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def metrics_of_rows(p_nez: Floats, is_ez: Bools, threshold: float) -> dict[str, Floats]:
    """Every metric of each row of scores, p_nez : (row, channel); ranking only if it is defined."""
    flagged = p_nez < threshold
    positive, tp = flagged.sum(axis=1), flagged[:, is_ez].sum(axis=1)
    fp, K = positive - tp, int(is_ez.sum())
    decided = confusion_metrics(tp, fp, K - tp, len(is_ez) - K - fp)
    return decided | rank_rows(p_nez, is_ez) if 0 < K < len(is_ez) else decided


def rank_rows(p_nez: Floats, is_ez: Bools) -> dict[str, Floats]:
    """`scoring.ranking_metrics` of each row, p_nez : (row, channel); both classes must be there."""
    # A score in [0, 1] leaves the two highest bits free, so that its label fits below it: sorting
    # whole numbers is several times quicker than sorting an index, and loses nothing.
    bits = (np.ascontiguousarray(p_nez) + 0.0).view(np.int64)
    key = np.sort((bits << 1) | is_ez, axis=1)  # (row, rank), most EZ-like first
    marks = key & 1
    ez, ez_found = marks.astype(np.float64), np.cumsum(marks, axis=1).astype(np.float64)
    end = (key[:, 1:] >> 1) != (key[:, :-1] >> 1)
    first = 1 / (1 + ez.argmax(axis=1))
    tied = np.flatnonzero(~end.all(axis=1))
    if len(tied):
        ez[tied], ez_found[tied], first[tied] = _average_ties(ez[tied], end[tied])
    return _metrics_by_rank(ez, ez_found, int(is_ez.sum())) | {"mrr_ez": first}


def _metrics_by_rank(ez: Floats, ez_found: Floats, K: int) -> dict[str, Floats]:
    """Metrics from the chance of EZ at each rank, and the EZ found down to it if it is one."""
    n = ez.shape[1]
    rank = np.arange(1, n + 1)
    discount = 1 / np.log2(rank + 1)
    sums = ez @ np.stack([rank, discount / discount[:K].sum(), (rank <= K) / K], axis=1)
    return {
        # The EZ ranks add up to K(K + 1)/2 if all EZ come first, each NEZ ahead adds one.
        "auroc": 1 - (sums[:, 0] - K * (K + 1) / 2) / (K * (n - K)),
        "ez_auprc": (ez * ez_found) @ (1 / rank) / K,
        "ndcg_ez": sums[:, 1],
        "recall_at_k": sums[:, 2],
        "top1_ez": ez[:, 0],
    }


def _average_ties(ez: Floats, end: Bools) -> tuple[Floats, Floats, Floats]:
    """The same over all orders of tied channels: chance of EZ, EZ found, 1/rank of the first."""
    rows, n = ez.shape
    positions = np.broadcast_to(np.arange(n), (rows, n))
    edge = np.ones((rows, 1), bool)
    start = np.maximum.accumulate(np.where(np.hstack([edge, end]), positions, 0), axis=1)
    last = np.where(np.hstack([end, edge]), positions, n)[:, ::-1]
    stop = np.minimum.accumulate(last, axis=1)[:, ::-1] + 1
    total = np.hstack([np.zeros((rows, 1)), np.cumsum(ez, axis=1)])
    ahead = np.take_along_axis(total, start, axis=1)
    inside, size = np.take_along_axis(total, stop, axis=1) - ahead, stop - start
    # Given an EZ channel at a position, each one before it has another EZ with this chance.
    others = np.maximum(inside - 1, 0) / np.maximum(size - 1, 1)
    ez_found = ahead + 1 + (positions - start) * others
    group = (inside > 0).argmax(axis=1)[:, None]
    at = [np.take_along_axis(a, group, axis=1) for a in (start, size, inside)]
    first = [expected_reciprocal_rank(*row) for row in np.hstack(at).astype(int).tolist()]
    return inside / size, ez_found, np.array(first)
