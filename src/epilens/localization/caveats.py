"""What a reader must know before the ranking: how weak it is, and whether it is plausible.

A ranking should agree with scores that need no training. One that has nothing in common with them,
or whose top contacts do not change during most seizures, may still be right; the page then states
this first and shows both rankings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from epilens.core.types import Bools, Floats
from epilens.localization import DEFAULT_COMPARED
from epilens.localization.certainty import PatientCertainty
from epilens.localization.compare import OtherRanking, Resection, compare_with, ranking, top_k
from epilens.localization.prepare import Evidence
from epilens.localization.sources import MethodSource, Source
from epilens.localization.timing import Timing
from epilens.methods import METHODS

NEARLY_ALL = 0.9
"""A set that contains this fraction of the contacts, or more, is not informative."""
TOP = 5
LEAST_CORRELATION = 0.2
LEAST_CHANGE = 0.5
"""Fraction of the seizures in which some of the top contacts should change."""


def caveats(source: Source, certainty: PatientCertainty, cut: Resection | None) -> tuple[str, ...]:
    """Sentences for the top of the page."""
    return (
        describe_performance(source),
        *describe_sets(certainty),
        *([] if cut is None else [str(cut)]),
    )


def describe_performance(source: Source) -> str:
    """Cross-validated performance of a model."""
    if isinstance(source, MethodSource):
        return (
            "This ranking comes without training. Its performance on patients like this one is "
            "unknown."
        )
    about = source.model.about
    figures = about.get("out_of_fold")
    if not figures:
        return "The model contains no cross-validated performance."
    if external := about.get("external"):
        return (
            f"On {external['patients']} recorded patients that nobody involved in its development "
            f"had seen, the model reached AUROC {external['auroc']:.2f} (chance: 0.50) and "
            f"EZ-AUPRC {external['ez_auprc']:.2f}; cross-validated on its {figures['patients']} "
            f"training patients, {figures['auroc']:.2f} and {figures['ez_auprc']:.2f}"
            f"{_chance(about)}."
        )
    patients = "simulated patients" if about.get("simulated") else "patients"
    return (
        f"Cross-validated on {figures['patients']} {patients}: AUROC {figures['auroc']:.2f} "
        f"(chance: 0.50), EZ-AUPRC {figures['ez_auprc']:.2f}{_chance(about)}."
    )


def _chance(about: Mapping[str, Any]) -> str:
    cohort = about.get("cohort", {})
    channels, ez = cohort.get("channels"), cohort.get("EZ channels")
    return f" (chance: about {ez / channels:.2f})" if channels and ez is not None else ""


def describe_sets(certainty: PatientCertainty) -> list[str]:
    """A sentence if the smallest set contains almost all contacts."""
    if not certainty.sets:
        return []
    smallest, members = min(certainty.sets, key=lambda pair: pair[0].coverage)
    inside, contacts = int(members.sum()), len(members)
    if inside < NEARLY_ALL * contacts:
        return []
    return [
        f"The ranking excludes almost nothing here: the {smallest.coverage:.0%} set contains "
        f"{inside} of {contacts} contacts."
    ]


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
    doubts = implausible(p_nez, [*used, *added], timing, evidence.shown)
    return doubts, added if doubts else []


def _compare(name: str, source: Source, evidence: Evidence, p_nez: Floats) -> OtherRanking:
    method = MethodSource(METHODS[name], source.plan)
    theirs, k = method.p_nez(evidence.whole), top_k(p_nez, source.threshold)
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
        sentences.append(
            f"Check this ranking: in {1 - change:.0%} of the seizures none of its top {TOP} "
            "contacts leaves its own baseline. Is the annotated onset right?"
        )
    return sentences


def _disagreement(comparators: Sequence[OtherRanking]) -> str:
    names = " and ".join(f"{other.title} (rank correlation {_r(other)})" for other in comparators)
    return (
        f"Check this ranking: it disagrees with {names}, which need no training. The table shows "
        "all rankings; look at the traces of the top contacts of each."
    )


def _r(other: OtherRanking) -> str:
    return "undefined" if other.correlation is None else f"{other.correlation:.2f}"
