"""Caveats: sentences about the limits of the ranking itself, at the top of the page.

They are true whatever the patient's recordings look like. What is unusual about these recordings
is a caution (`certainty`, `data_cautions`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from epilens.localization.certainty import PatientCertainty
from epilens.localization.compare import Resection
from epilens.localization.sources import MethodSource, Source

NEARLY_ALL = 0.9
"""A set that contains this fraction of the contacts, or more, is not informative."""


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
            f"On {external['patients']} recorded patients not used in its development, the model "
            f"reached AUROC {external['auroc']:.2f} (chance: 0.50) and "
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
        f"The ranking excludes almost nothing here: the {100 * smallest.coverage:.0f} % set "
        f"contains {inside} of {contacts} contacts."
    ]
