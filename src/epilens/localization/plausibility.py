"""Whether a ranking is plausible: it should agree with scores that need no training.

One that has nothing in common with them, or whose top contacts do not change during most seizures,
may still be right; the page then states this first and shows both rankings.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from epilens.core.types import Bools, Floats
from epilens.localization import DEFAULT_COMPARED
from epilens.localization.compare import OtherRanking, compare_with, ranking, top_k
from epilens.localization.prepare import Evidence
from epilens.localization.sources import MethodSource, Source
from epilens.localization.timing import Timing
from epilens.methods import METHODS

TOP = 5
LEAST_CORRELATION = 0.2
LEAST_CHANGE = 0.5
"""Fraction of the seizures in which some of the top contacts should change."""


def check_plausibility(
    source: Source,
    evidence: Evidence,
    p_nez: Floats,
    timing: Timing,
    compared: Sequence[OtherRanking],
) -> tuple[list[str], list[OtherRanking]]:
    """Why a ranking is not plausible, and the rankings to show then that are not in `compared`.

    Without signals only the change during seizures is checked.
    """
    own = {source.name, *(source.method.parts if isinstance(source, MethodSource) else ())}
    names = [name for name in DEFAULT_COMPARED if name not in own]
    used, added = [other for other in compared if other.name in names], []
    if evidence.signals is not None:
        absent = [name for name in names if name not in {other.name for other in used}]
        added = [_compare(name, source, evidence, p_nez) for name in absent]
    # A recording that is too short for a comparator says nothing about the ranking.
    used, added = ([o for o in some if np.ptp(o.p_nez) > 0] for some in (used, added))
    reasons = implausible(p_nez, [*used, *added], timing, evidence.shown)
    return reasons, added if reasons else []


def _compare(name: str, source: Source, evidence: Evidence, p_nez: Floats) -> OtherRanking:
    method = MethodSource(METHODS[name], source.plan)
    theirs, k = method.p_nez(evidence.method_input), top_k(p_nez, source.threshold)
    return compare_with(name, method.title, theirs, p_nez, k)


def disagrees(other: OtherRanking, p_nez: Floats) -> bool:
    """Whether two rankings correlate below 0.2, or share no contact among their top five."""
    top, theirs = (set(ranking(p)[:TOP].tolist()) for p in (p_nez, other.p_nez))
    return (other.correlation or 0.0) < LEAST_CORRELATION or not top & theirs


def ictal_change(p_nez: Floats, timing: Timing, shown: Bools) -> float:
    """Fraction of the seizures in which any of the top five contacts changes."""
    top = ranking(p_nez)[:TOP]
    changes = timing.deviates[:, top] & shown[:, top, None]  # (seizure, contact, descriptor)
    return float(np.any(changes, axis=(1, 2)).mean())


def implausible(
    p_nez: Floats, comparators: Sequence[OtherRanking], timing: Timing, shown: Bools
) -> list[str]:
    """Sentences that say why a ranking is not plausible; none where it is."""
    sentences = []
    if comparators and all(disagrees(other, p_nez) for other in comparators):
        sentences.append(_disagreement(comparators))
    change = ictal_change(p_nez, timing, shown)
    if change < LEAST_CHANGE:
        seizures = f"{100 * (1 - change):.0f} % of the seizures"
        seizures = "the only seizure" if len(shown) == 1 else seizures
        sentences.append(
            f"Check this ranking: in {seizures} none of its top {TOP} contacts leaves its own "
            "baseline. Is the annotated onset right?"
        )
    return sentences


def _disagreement(comparators: Sequence[OtherRanking]) -> str:
    names = " and ".join(
        f"{other.title} (rank correlation "
        f"{'undefined' if other.correlation is None else f'{other.correlation:.2f}'})"
        for other in comparators
    )
    return (
        f"Check this ranking: it disagrees with {names}, which need no training. The table shows "
        "all rankings; look at the traces of the top contacts of each."
    )
