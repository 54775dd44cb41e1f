"""Bootstrap, permutation and hard channels, written as loops; nothing here knows EpiLENS."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations, product

import numpy as np
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    ndcg_score,
    roc_auc_score,
)


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def all_resample_means(values: Sequence[float]) -> list[float]:
    """Means of every resample with replacement: the bootstrap's distribution, exactly."""
    return [mean(draw) for draw in product(values, repeat=len(values))]


def quantile(values: Sequence[float], q: float) -> float:
    """Quantile by linear interpolation between the two nearest of the sorted values."""
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def sklearn_metrics(p_nez: Sequence[float], is_ez: Sequence[bool], threshold: float) -> dict:
    """The metrics that scikit-learn has, of one patient with both classes and no ties."""
    called = [p < threshold for p in p_nez]
    ez_score = [1 - p for p in p_nez]
    return {
        "macro_f1": f1_score(is_ez, called, average="macro", labels=[0, 1], zero_division=0),
        "ez_f1": f1_score(is_ez, called, zero_division=0),
        "nez_f1": f1_score(is_ez, called, pos_label=False, zero_division=0),
        "accuracy": accuracy_score(is_ez, called),
        "balanced_accuracy": balanced_accuracy_score(is_ez, called),
        "auroc": roc_auc_score(is_ez, ez_score),
        "ez_auprc": average_precision_score(is_ez, ez_score),
        "ndcg_ez": ndcg_score([np.asarray(is_ez, float)], [ez_score]),
    }


def every_shuffle(
    prq: Sequence[float],
    bcr: Sequence[float],
    is_ez: Sequence[bool],
    threshold: float,
    weight: float,
) -> dict[str, float]:
    """Mean of each metric over all orders of one patient's BCR scores."""
    rows = []
    for order in permutations(bcr):
        fused = [(1 - weight) * a + weight * b for a, b in zip(prq, order, strict=True)]
        rows.append(sklearn_metrics(fused, is_ez, threshold))
    return {name: mean([row[name] for row in rows]) for name in rows[0]}


def corrected_p(observed: float, null: Sequence[float]) -> float:
    """(1 + k)/(1 + n)."""
    k = 0
    for value in null:
        if value >= observed:
            k += 1
    return (1 + k) / (1 + len(null))


def hardest(
    names: Sequence[str], p_prq: Sequence[float], threshold: float, percent: int
) -> list[int]:
    """Places of the channels with the smallest margins: percent of them, rounded up."""
    wanted = math.ceil(percent * len(p_prq) / 100 - 1e-9)
    ranked = sorted(range(len(p_prq)), key=lambda i: (abs(p_prq[i] - threshold), names[i]))
    return ranked[:wanted]


def f1_and_recall(
    p_nez: Sequence[float], is_ez: Sequence[bool], threshold: float, places: Sequence[int]
) -> tuple[float, float]:
    """EZ-F1 and EZ recall on some channels; 0/0 = 0."""
    tp = fp = fn = 0
    for i in places:
        called = p_nez[i] < threshold
        tp += called and is_ez[i]
        fp += called and not is_ez[i]
        fn += is_ez[i] and not called
    f1 = 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else 0.0
    return f1, tp / (tp + fn) if tp + fn else 0.0
