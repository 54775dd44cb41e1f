"""What a reader must know before the ranking, in plain words: how weak it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from epilens.localization.certainty import PatientCertainty
from epilens.localization.compare import Resection
from epilens.localization.sources import MethodSource, Source

if TYPE_CHECKING:
    from epilens.core.types import Floats

NEARLY_ALL = 0.9
"""A set that holds this share of the contacts, or more, tells nothing."""
MORE_LIKELY = 0.5
"""Below this probability a contact is more likely not in the EZ, whatever it is called."""


def speak_plainly(
    source: Source, certainty: PatientCertainty, cut: Resection | None
) -> tuple[str, ...]:
    """Sentences for the top of the page."""
    return (
        tell_reached(source),
        *tell_sets(certainty),
        *tell_probability(certainty.probability),
        *([] if cut is None else [tell_resection(cut)]),
    )


def tell_reached(source: Source) -> str:
    """How good it was on patients that it never fitted."""
    if isinstance(source, MethodSource):
        return (
            "This ranking comes without training: how good it is on patients like this one is not "
            "known here."
        )
    about = source.model.about
    figures = about.get("out_of_fold")
    if not figures:
        return "How good this model is on patients that it never saw is not stored in it."
    patients = "simulated patients" if about.get("simulated") else "patients"
    return (
        f"How good the model was on {figures['patients']} {patients} that its members never "
        f"fitted: AUROC {figures['auroc']:.2f} (chance: 0.50), EZ-AUPRC {figures['ez_auprc']:.2f}"
        f"{_chance(about)}."
    )


def _chance(about: Mapping[str, Any]) -> str:
    cohort = about.get("cohort", {})
    channels, ez = cohort.get("channels"), cohort.get("EZ channels")
    return f" (chance: about {ez / channels:.2f})" if channels and ez is not None else ""


def tell_sets(certainty: PatientCertainty) -> list[str]:
    """A set that leaves almost nothing out is told, the smallest such set alone."""
    for part in sorted(certainty.sets, key=lambda one: one.coverage):
        held, of = int(part.holds.sum()), len(part.holds)
        if held >= NEARLY_ALL * of:
            return [
                f"This ranking excludes almost nothing here: the {part.coverage:.0%} set holds "
                f"{held} of {of} contacts."
            ]
        break
    return []


def tell_probability(probability: Floats | None) -> list[str]:
    """Where no contact is more likely in the EZ than not."""
    if probability is None or not len(probability) or probability.max() >= MORE_LIKELY:
        return []
    return [
        f"No contact is more likely in the EZ than not: the highest probability is "
        f"{probability.max():.0%}."
    ]


def tell_resection(cut: Resection) -> str:
    """How many leading contacts are in a resection, and how many a blind pick would have there."""
    contacts, taken = len(cut.resected), int(cut.resected.sum())
    inside = round(cut.covered * cut.k)
    return (
        f"Of the {cut.k} leading contacts {inside} {'is' if inside == 1 else 'are'} in the "
        f"resection; {cut.k} picked blindly would have {cut.by_chance:.1f} there, because it holds "
        f"{taken} of {contacts} contacts."
    )
