"""What a reader must know before the ranking: summary, how weak it is, whether it is plausible.

A ranking should agree with scores that need no training. One that has nothing in common with them,
or whose top contacts do not change during most seizures, may still be right; the page then states
this first and shows both rankings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from epilens.core.types import Bools, Floats
from epilens.data.contacts import contact_of, short_names
from epilens.localization import DEFAULT_COMPARED
from epilens.localization.certainty import PatientCertainty
from epilens.localization.compare import OtherRanking, Resection, compare_with, ranking, top_k
from epilens.localization.prepare import Evidence
from epilens.localization.sources import MethodSource, Source
from epilens.localization.timing import Timing
from epilens.methods import METHODS

if TYPE_CHECKING:
    from epilens.localization.result import Localization

NAMED = 5
"""Contacts that the first sentence names."""
WELL, PARTLY = 0.7, 0.3
"""Mean rank correlations from which seizures agree well, and partly."""
LIKELY = 0.5
NEARLY_ALL = 0.9
"""A set that contains this fraction of the contacts, or more, is not informative."""
TOP = 5
LEAST_CORRELATION = 0.2
LEAST_CHANGE = 0.5
"""Fraction of the seizures in which some of the top contacts should change."""


def summarize(localized: Localization) -> tuple[str, str, str]:
    """What was found, how certain it is, and what to look at first."""
    return (_finding(localized), _certainty(localized), _next_step(localized))


def _finding(localized: Localization) -> str:
    flagged = localized.decisions.count("EZ")
    contacts = localized.order[: flagged or NAMED].tolist()
    start = "The contacts most similar to the epileptogenic zone (EZ) are"
    if flagged:
        verb = "is" if flagged == 1 else "are"
        start = f"{flagged} of {len(localized)} contacts {verb} flagged as possibly in the "
        start += "epileptogenic zone (EZ):"
    elif localized.certainty.abstains:
        start = "EpiLENS abstains and flags no contact; the first of the ranking are"
    elif localized.source.threshold is not None:
        start = "No contact is above the threshold; the first of the ranking are"
    return f"{start} {_named(localized, contacts)}{_electrode(localized, contacts)}."


def _named(localized: Localization, contacts: Sequence[int]) -> str:
    """Short names of contacts, and how many others there are."""
    short = short_names(localized.channels)
    names = [short[c] for c in contacts[:NAMED]]
    if len(contacts) > NAMED:
        names.append(f"{len(contacts) - NAMED} more")
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _electrode(localized: Localization, contacts: Sequence[int]) -> str:
    """The electrode that most of several contacts are on, as a clause; empty if there is none."""
    parts = [contact_of(localized.channels[c]) for c in contacts]
    (shaft, count), *_ = Counter(part.shaft if part else None for part in parts).most_common(1)
    if shaft is None or len(contacts) < 2 or count <= len(contacts) / 2:
        return ""
    every = "both" if len(contacts) == 2 else "all"
    return f", {every if count == len(contacts) else 'most'} on electrode {shaft}"


def _certainty(localized: Localization) -> str:
    certainty, seizures = localized.certainty, _agreement(localized)
    if certainty.abstains:
        reason = "the recording before onset is too short"
        if any(distance.is_unusual for distance in certainty.distances):
            reason = "the patient is too unlike the training patients"
        return f"The scores support no decision, because {reason}."
    if certainty.probability is None:
        kind = "model" if localized.source.is_model else "method"
        return f"The {kind} gives no probabilities, and {seizures}."
    best = int(certainty.probability.argmax())
    name, highest = short_names(localized.channels)[best], certainty.probability[best]
    if highest < LIKELY:
        start = "No contact is more likely in the EZ than not"
        return f"{start} (highest probability: {name}, {highest:.0%}), and {seizures}."
    return f"{name} has the highest probability of being in the EZ, {highest:.0%}, and {seizures}."


def _agreement(localized: Localization) -> str:
    count, correlation = len(localized.seizures), localized.certainty.agreement
    if count == 1:
        return "only one seizure was analysed"
    if correlation is None:
        return f"whether the {count} seizures agree is unknown"
    level = "agree well" if correlation >= WELL else "agree partly"
    level = "disagree" if correlation < PARTLY else level
    return f"the {count} seizures {level} (mean rank correlation {correlation:.2f})"


def _next_step(localized: Localization) -> str:
    names = _named(localized, localized.order[:3].tolist())
    if (count := localized.questioned_onsets) > 0:
        onsets = "the onset of a seizure" if count == 1 else f"the onsets of {count} seizures"
        return f"First check {onsets} (see the cautions), then look at the traces of {names}."
    if localized.is_implausible:
        return (
            "First read why this ranking may be wrong, then look at the traces of "
            f"{names} and of the first contacts of the other rankings."
        )
    return f"Look first at the traces of {names}{_rise(localized)}."


def _rise(localized: Localization) -> str:
    """When the earliest of the first three contacts clearly rises; empty if none does."""
    median_s, count = localized.timing.median_s()
    rising = [c for c in localized.order[:3].tolist() if count[c] > 0]
    if not rising:
        return "; none of them rises clearly above its own baseline"
    first = min(rising, key=lambda c: median_s[c])
    at = round(float(median_s[first]))
    when = f"{abs(at)} s {'after' if at > 0 else 'before'} onset" if at else "at onset"
    return f"; {short_names(localized.channels)[first]} rises above its own baseline {when}"


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
    names = " and ".join(
        f"{other.title} (rank correlation "
        f"{'undefined' if other.correlation is None else f'{other.correlation:.2f}'})"
        for other in comparators
    )
    return (
        f"Check this ranking: it disagrees with {names}, which need no training. The table shows "
        "all rankings; look at the traces of the top contacts of each."
    )
