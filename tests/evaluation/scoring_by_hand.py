"""Metrics and the threshold search, counted one by one; nothing here knows EpiLENS."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import permutations, product


def tied_orders(p_nez: Sequence[float], is_ez: Sequence[bool]) -> Iterator[list[bool]]:
    """Labels in every order that sorts the scores, tied channels being put in all orders."""
    groups = [
        [bool(ez) for p, ez in zip(p_nez, is_ez, strict=True) if p == value]
        for value in sorted(set(p_nez))
    ]
    for order in product(*(permutations(group) for group in groups)):
        yield [ez for group in order for ez in group]


def auroc(labels: list[bool]) -> float:
    """Share of EZ-NEZ pairs with the EZ channel first."""
    pairs = [(i, j) for i, a in enumerate(labels) for j, b in enumerate(labels) if a and not b]
    return sum(i < j for i, j in pairs) / len(pairs)


def average_precision(labels: list[bool]) -> float:
    """Mean over the EZ channels of the precision down to each."""
    ranks = [i for i, ez in enumerate(labels) if ez]
    return sum(sum(labels[: i + 1]) / (i + 1) for i in ranks) / len(ranks)


def ndcg(labels: list[bool]) -> float:
    """Discounted gain of the list over that of the perfect list."""
    gain = sum(ez / math.log2(i + 2) for i, ez in enumerate(labels))
    return gain / sum(1 / math.log2(i + 2) for i in range(sum(labels)))


def reciprocal_rank(labels: list[bool]) -> float:
    """One over the place of the first EZ channel."""
    return 1 / (labels.index(True) + 1)


def recall_at_true_k(labels: list[bool]) -> float:
    """Share of the K EZ channels that is among the first K."""
    k = sum(labels)
    return sum(labels[:k]) / k


def top1(labels: list[bool]) -> float:
    """Whether the first channel is EZ."""
    return float(labels[0])


RANKING_BY_HAND = {
    "auroc": auroc,
    "ez_auprc": average_precision,
    "ndcg_ez": ndcg,
    "mrr_ez": reciprocal_rank,
    "recall_at_k": recall_at_true_k,
    "top1_ez": top1,
}


def ratio(numerator: int | Fraction, denominator: int) -> Fraction:
    """Exact division, 0/0 = 0."""
    return Fraction(numerator) / denominator if denominator else Fraction(0)


def decisions(
    p_nez: Sequence[float], is_ez: Sequence[bool], threshold: float
) -> tuple[Fraction, Fraction, Fraction]:
    """Macro-F1, EZ-F1 and balanced accuracy of one patient, exactly."""
    tp = fp = fn = tn = 0
    for p, ez in zip(p_nez, is_ez, strict=True):
        called = p < threshold
        tp += called and ez
        fp += called and not ez
        fn += not called and ez
        tn += not called and not ez
    ez_f1, nez_f1 = ratio(2 * tp, 2 * tp + fp + fn), ratio(2 * tn, 2 * tn + fp + fn)
    recalls = [Fraction(r, n) for r, n in ((tp, tp + fn), (tn, tn + fp)) if n]
    return (ez_f1 + nez_f1) / 2, ez_f1, ratio(sum(recalls, Fraction(0)), len(recalls))


def best_threshold(
    p_nez: Sequence[Sequence[float]],
    is_ez: Sequence[Sequence[bool]],
    prevalence_tolerance: Fraction | None = None,
) -> tuple[float, tuple[float, float, float]]:
    """Try 0, 0.005, …, 1; in exact arithmetic, so a tie is a tie.

    With `prevalence_tolerance`, only those that flag nearly as many contacts as are EZ.
    """
    ranked, everyone = [], [p for patient in p_nez for p in patient]
    n_ez = sum(ez for patient in is_ez for ez in patient)
    off = [
        Fraction(abs(sum(p < step / 200 for p in everyone) - n_ez), len(everyone))
        for step in range(201)
    ]
    for step in range(201):
        if prevalence_tolerance is not None and off[step] > max(prevalence_tolerance, min(off)):
            continue
        patients = [decisions(p, ez, step / 200) for p, ez in zip(p_nez, is_ez, strict=True)]
        means = [sum(column, Fraction(0)) / len(patients) for column in zip(*patients, strict=True)]
        ranked.append((*means, -abs(step - 100), -step))
    best = max(ranked)
    macro, ez_f1, balanced = (float(value) for value in best[:3])
    return -best[4] / 200, (macro, ez_f1, balanced)
