"""What `localize` gives back: everything about one patient, and its table, column by column."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from epilens.core.errors import DataError, MethodError
from epilens.core.progress import Progress
from epilens.core.types import Floats
from epilens.data.contacts import contact_of
from epilens.localization import DEFAULT, DEFAULT_COMPARED, Request
from epilens.localization.anatomy import NEAR_MM, Anatomy, find_regions
from epilens.localization.caveats import speak_plainly
from epilens.localization.certainty import PatientCertainty, assess, seizure_spread, top_share
from epilens.localization.compare import (
    OtherRanking,
    Resection,
    compare_with,
    ranking,
    ranks,
    resection,
    top_k,
)
from epilens.localization.maps import TimeMap, time_maps
from epilens.localization.narrative import tell_contacts
from epilens.localization.prepare import Evidence, gather
from epilens.localization.shown import Shown
from epilens.localization.sources import Scores, Source, open_source
from epilens.localization.timing import Timing, time_evidence
from epilens.networks.explanation import Explanation
from epilens.plan import SHAFT


@dataclass(frozen=True)
class About:
    """Where the scores come from, and what was done to get them."""

    source: str
    title: str
    is_model: bool
    threshold: float | None
    """A contact is called EZ where p_nez lies below it."""
    card: tuple[tuple[str, str], ...]
    plan_digest: str
    simulated: bool


@dataclass(frozen=True)
class ContactColumn:
    """A column of the table of contacts; `values` follow the channels, None where unknown."""

    name: str
    description: str
    values: Sequence[Any] | NDArray[Any]
    units: str = ""


@dataclass(frozen=True, repr=False)
class Localization(Shown, Evidence):
    """Ranked contacts of one patient, with the evidence for them; arrays follow `channels`."""

    about: About
    scores: Scores
    certainty: PatientCertainty
    timing: Timing
    k: int
    """How many leading contacts count as the top."""
    why: Explanation | None
    words: tuple[tuple[str, ...], ...]
    """Sentences on each contact."""
    plainly: tuple[str, ...]
    """How weak the ranking is, in sentences that come first."""
    resection: Resection | None
    comparisons: tuple[OtherRanking, ...]
    maps: tuple[TimeMap, ...] = ()
    """Of those methods, this one or compared, that are made from a map over time."""

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Channels from most to least EZ-like."""
        return ranking(self.scores.p_nez)

    @cached_property
    def decisions(self) -> tuple[str, ...]:
        """EZ or NEZ at the model's threshold; `abstained`, or `none` without a threshold."""
        if self.about.threshold is None:
            return ("none",) * len(self.channels)
        if self.certainty.abstains:
            return ("abstained",) * len(self.channels)
        return tuple("EZ" if p < self.about.threshold else "NEZ" for p in self.scores.p_nez)

    @cached_property
    def alone(self) -> tuple[tuple[float | None, ...], ...]:
        """EZ scores of each seizure alone (S, C); None where it does not show the contact."""
        return tuple(
            tuple(float(1 - p) if show else None for p, show in zip(p_nez, shown, strict=True))
            for p_nez, shown in zip(self.scores.per_seizure, self.shown, strict=True)
        )

    @cached_property
    def alone_ranks(self) -> tuple[tuple[int | None, ...], ...]:
        """Place of each contact among those that a seizure shows (S, C), 1 first."""
        places = []
        for p_nez, shown in zip(self.scores.per_seizure, self.shown, strict=True):
            of_shown = iter(ranks(p_nez[shown]).tolist())
            places.append(tuple(next(of_shown) if show else None for show in shown))
        return tuple(places)

    @cached_property
    def anatomy(self) -> Anatomy:
        """Regions of the contacts, in a template's space."""
        return find_regions(self.positions_mm, str(self.cube.attrs.get("space", "")))

    @cached_property
    def columns(self) -> tuple[ContactColumn, ...]:
        """What is known of every contact: the table, its sidecar and the page are made of it."""
        parts = (_name_columns, _score_columns, _seizure_columns, _evidence_columns, _place_columns)
        return tuple(column for part in parts for column in part(self))

    @cached_property
    def contacts(self) -> pd.DataFrame:
        """One row per contact, best rank first."""
        table = {c.name: pd.Series(list(c.values), dtype=object) for c in self.columns}
        return pd.DataFrame(table).iloc[self.order].reset_index(drop=True)


def assemble(request: Request, tick: Progress) -> Localization:
    """Gather a patient's evidence, score it, and say everything about it."""
    tick.expect(3)
    force = request.force_descriptors
    source = open_source(DEFAULT if request.model is None else request.model, request.plan, force)
    others = [open_source(other, source.plan, force) for other in _compared(request, source)]
    evidence = gather(request, source, {one.store for one in (source, *others)}, tick)
    tick("scoring")
    scores = source.score(evidence.whole)
    _check_told_apart(scores.p_nez, evidence.patient, source)
    p_nez, k = scores.p_nez, top_k(scores.p_nez, source.threshold)
    tick("explaining")
    timing = time_evidence(evidence.cube)
    why = source.explain(evidence.cube, ranking(p_nez))
    tick("comparing")
    certainty = assess(evidence, source, scores, others)
    cut = _resection(request.resected, evidence, p_nez, k)
    return Localization(
        **vars(evidence),
        about=_about(source, evidence.cube),
        scores=scores,
        certainty=certainty,
        timing=timing,
        k=k,
        why=why,
        words=tell_contacts(scores, timing, evidence.shown, why, k),
        plainly=speak_plainly(source, certainty, cut),
        resection=cut,
        comparisons=tuple(
            compare_with(one.name, one.title, one.score(evidence.whole).p_nez, p_nez, k)
            for one in others
        ),
        maps=time_maps((source, *others), evidence.whole),
    )


def _compared(request: Request, source: Source) -> list[Any]:
    """What the request compares with; beside a smoothed ranking always the one it is made from."""
    raw, compare = source.name.removesuffix(SHAFT), list(request.compare)
    if request.model is None and not compare:
        compare = list(DEFAULT_COMPARED)
    smoothed = not source.is_model and raw != source.name and raw not in compare
    return [raw, *compare] if smoothed else compare


def _check_told_apart(p_nez: Floats, patient: str, source: Source) -> None:
    """Ties of all contacts would be shown in the order of the channels, as if that ranked them."""
    if len(p_nez) > 1 and np.ptp(p_nez) == 0:
        raise MethodError(
            f"{patient}: expected scores that tell contacts apart, found the same for all "
            f"{len(p_nez)} of them by {source.name}. Give longer recordings, or use another method."
        )


def _about(source: Source, cube: xr.Dataset) -> About:
    return About(
        source=source.name,
        title=source.title,
        is_model=source.is_model,
        threshold=source.threshold,
        card=tuple(source.card()),
        plan_digest=source.plan.digest,
        simulated=source.simulated or bool(cube.attrs.get("simulated")),
    )


def _resection(
    resected: str | Collection[str] | None, evidence: Evidence, p_nez: Floats, k: int
) -> Resection | None:
    if resected is None:
        return None
    if isinstance(resected, str) and resected == "labels":
        cube = evidence.cube
        # What was taken out, where the dataset says so; else what it calls the EZ.
        known = [name for name in ("is_resected", "is_ez") if name in cube]
        if not known:
            raise DataError(
                f"{cube.attrs['patient']}: expected EZ labels to compare with, found none. Give "
                "the contacts as a list."
            )
        resected = cube["channel"].values[cube[known[0]].values].tolist()
    return resection(resected, evidence.channels, p_nez, k)


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
    for part in certainty.sets:
        text = f"Contact is in the set that should hold {part.coverage:.0%} of the EZ contacts; on "
        text += f"out-of-fold patients it held {part.reached:.0%}"
        yield ContactColumn(f"in_set_{round(100 * part.coverage)}", text, _yes_or_no(part.holds))
    text = "Standard deviation of the EZ score over the members of the ensemble"
    yield ContactColumn("spread", text, _or_none(scores.spread, C))


def _seizure_columns(localized: Localization) -> Iterator[ContactColumn]:
    shown, per_seizure = localized.shown, localized.scores.per_seizure
    yield ContactColumn("seizures", "Seizures that show the contact", shown.sum(axis=0))
    for s, (seizure, ez) in enumerate(zip(localized.seizures, localized.alone, strict=True)):
        text = f"EZ score from one seizure alone: {seizure.name}"
        yield ContactColumn(f"ez_score_s{s + 1}", text, ez)
    text = "Standard deviation of the EZ score over single seizures"
    yield ContactColumn("seizure_sd", text, seizure_spread(per_seizure, shown))
    text = "Share of its seizures, each taken alone, in which the contact is among the top K; K is "
    yield ContactColumn("top_k_share", text + "in TopK", top_share(per_seizure, shown, localized.k))


def _evidence_columns(localized: Localization) -> Iterator[ContactColumn]:
    median_s, count = localized.timing.median_s()
    places = [of_one[of_one > 0] for of_one in localized.timing.order.T]
    quality = [", ".join(localized.quality.get(n, ())) or "good" for n in localized.channels]
    text = (
        "Seizures in which beta, gamma or line length rises clearly (3 SD above the contact's own "
        "pre-onset level for three windows)"
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
        yield ContactColumn("resected", text, _yes_or_no(localized.resection.resected))
    names = [o.name.replace("/", "_").replace("-", "_") for o in localized.comparisons]
    for i, other in enumerate(localized.comparisons):
        again = names[:i].count(names[i])  # two models can have folders of the same name
        name = f"{names[i]}_{again + 1}" if again else names[i]
        yield ContactColumn(f"rank_{name}", f"Rank by another method: {name}", other.ranks)


def _region_columns(anatomy: Anatomy) -> Iterator[ContactColumn]:
    for found in anatomy.atlases[:1]:
        names, sides, shares = (
            [getattr(region, part, None) for region in found.regions]
            for part in ("name", "side", "share")
        )
        text = f"Region of the atlas {found.atlas} in the template's space, not in this patient's"
        yield ContactColumn("region", text, names)
        yield ContactColumn("region_side", "Side of that region", sides)
        text = f"Share of the atlas's voxels within {NEAR_MM} mm that are in that region"
        yield ContactColumn("region_share", text, shares)


def _or_none(values: Floats | None, n: int) -> list[float | None]:
    return [None] * n if values is None else [float(v) for v in values]


def _yes_or_no(values: NDArray[np.bool_]) -> list[str]:
    return ["yes" if value else "no" for value in values]
