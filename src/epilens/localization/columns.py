"""Columns of the table of contacts: the table, its sidecar and the page are made from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from epilens.core.types import Floats
from epilens.data.channels.contacts import contact_of
from epilens.localization.anatomy import ATLASES, NEAR_MM, Anatomy
from epilens.localization.certainty import top_share
from epilens.localization.compare import ranks

if TYPE_CHECKING:
    from epilens.localization.result import Localization


@dataclass(frozen=True)
class ContactColumn:
    """A column of the table of contacts; `values` follow the channels, None where unknown."""

    name: str
    description: str
    values: Sequence[Any] | NDArray[Any]
    units: str = ""


def contact_columns(localized: Localization) -> Iterator[ContactColumn]:
    """All columns, in the order of the table."""
    yield from _name_columns(localized)
    yield from _score_columns(localized)
    yield from _seizure_columns(localized)
    yield from _stated_columns(localized)
    yield from _evidence_columns(localized)
    yield from _place_columns(localized)


def _name_columns(localized: Localization) -> Iterator[ContactColumn]:
    contacts = [contact_of(name) for name in localized.channels]
    shafts, numbers = ([getattr(c, part, None) for c in contacts] for part in ("shaft", "number"))
    yield ContactColumn("name", "Channel as the recording names it", localized.channels)
    yield ContactColumn("shaft", "Electrode that the contact is on, from its name", shafts)
    yield ContactColumn("number", "Number of the contact on its electrode, from its name", numbers)


def _score_columns(localized: Localization) -> Iterator[ContactColumn]:
    scores, certainty, C = localized.scores, localized.certainty, len(localized.channels)
    yield ContactColumn("rank", "1: most like the epileptogenic zone (EZ)", ranks(scores.p_nez))
    text = "EZ score between 0 and 1: 1 - p_nez, mean over the ensemble"
    yield ContactColumn("ez_score", text, 1 - scores.p_nez)
    text = "Calibrated probability of EZ (Platt, out-of-fold scores of the training cohort)"
    yield ContactColumn("ez_probability", text, _or_none(certainty.probability, C))
    titles = {"prq": "PRQ-Net", "bcr": "BCR-Net"}
    for method in dict.fromkeys((*titles, *scores.parts)):
        text = f"EZ score of {titles.get(method, method)} alone, mean over the ensemble"
        p_nez = scores.parts.get(method)
        column = _or_none(None if p_nez is None else 1 - p_nez, C)
        yield ContactColumn(f"{method}_ez_score", text, column)
    text = (
        "EZ or NEZ at the model's threshold; abstained: the patient is unlike the training cohort "
        "or its reference is too short; none: no threshold is known"
    )
    yield ContactColumn("decision", text, localized.decisions)
    for rule, inside in certainty.sets:
        text = f"Contact is in the set for {100 * rule.coverage:.0f} % of the EZ contacts; on "
        text += f"held-out patients such sets contained {100 * rule.reached:.0f} %"
        yield ContactColumn(f"in_set_{round(100 * rule.coverage)}", text, _yes_or_no(inside))
    text = "Standard deviation of the EZ score over the members of the ensemble"
    yield ContactColumn("spread", text, _or_none(scores.member_sd, C))


def _seizure_columns(localized: Localization) -> Iterator[ContactColumn]:
    shown, per_seizure = localized.shown, localized.scores.per_seizure
    yield ContactColumn("seizures", "Seizures that show the contact", shown.sum(axis=0))
    for s, (seizure, ez) in enumerate(zip(localized.seizures, localized.alone, strict=True)):
        text = f"EZ score from one seizure alone: {seizure.name}"
        yield ContactColumn(f"ez_score_s{s + 1}", text, ez)
    text = "Standard deviation of the EZ score over single seizures"
    yield ContactColumn("seizure_sd", text, np.std(per_seizure, axis=0, where=shown))
    text = "Fraction of its seizures, each alone, in which the contact is among the top K; K is "
    yield ContactColumn("top_k_share", text + "in TopK", top_share(per_seizure, shown, localized.k))


def _stated_columns(localized: Localization) -> Iterator[ContactColumn]:
    """What the annotations of the seizures say about the contacts; no score depends on it."""
    cube = localized.cube
    if "is_onset_contact" in cube:
        times = cube["is_onset_contact"].sel(channel=list(localized.channels)).sum("seizure")
        stated = int(cube["onset_contacts_stated"].sum())
        text = "Seizures in which the contact is an onset contact by the annotated events, of "
        yield ContactColumn("onset_stated_in", f"{text}{stated} that name some", times.values)


def _evidence_columns(localized: Localization) -> Iterator[ContactColumn]:
    median_s, count = localized.timing.median_s()
    places = [of_one[of_one > 0] for of_one in localized.timing.order.T]
    quality = [", ".join(localized.quality.get(n, ())) or "good" for n in localized.channels]
    text = (
        "Seizures in which beta, gamma or line length rises clearly (3 SD above the contact's own "
        "baseline for three windows)"
    )
    yield ContactColumn("recruited_in", text, count)
    times = [float(t) if n else None for t, n in zip(median_s, count, strict=True)]
    yield ContactColumn("recruited_s", "Median time of that rise from onset", times, "s")
    medians = [float(np.median(of_one)) if len(of_one) else None for of_one in places]
    yield ContactColumn("recruitment_rank", "Median place in the order of recruitment", medians)
    yield ContactColumn("quality", "Flags of the signal, or good", quality)


def _place_columns(localized: Localization) -> Iterator[ContactColumn]:
    for i, axis in enumerate("xyz"):
        mm = [None if at is None else at[i] for at in localized.positions_mm]
        yield ContactColumn(axis, "Position", mm, "mm")
    yield from _region_columns(localized.anatomy)
    if localized.resection is not None:
        text = "Whether the contact is in the resection that was given"
        yield ContactColumn("resected", text, _yes_or_no(localized.resection.members))
    names = [o.name.replace("/", "_").replace("-", "_") for o in localized.comparisons]
    for i, other in enumerate(localized.comparisons):
        again = names[:i].count(names[i])  # two models can have folders of the same name
        name = f"{names[i]}_{again + 1}" if again else names[i]
        yield ContactColumn(f"rank_{name}", f"Rank by another method: {name}", other.ranks)


def _region_columns(anatomy: Anatomy) -> Iterator[ContactColumn]:
    if not anatomy.regions:
        return
    names, sides, shares = (
        [getattr(region, part, None) for region in anatomy.regions[ATLASES[0]]]
        for part in ("name", "side", "share")
    )
    text = f"Region of the atlas {ATLASES[0]} in the template's space, not in this patient's"
    yield ContactColumn("region", text, names)
    yield ContactColumn("region_side", "Side of that region", sides)
    text = f"Share of the atlas's voxels within {NEAR_MM} mm that are in that region"
    yield ContactColumn("region_share", text, shares)


def _or_none(values: Floats | None, n: int) -> list[float | None]:
    return [None] * n if values is None else [float(v) for v in values]


def _yes_or_no(values: NDArray[np.bool_]) -> list[str]:
    return ["yes" if value else "no" for value in values]
