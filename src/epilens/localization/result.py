"""The result of `localize`: everything about one patient, and its table of contacts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from epilens.core.errors import DataError, did_you_mean
from epilens.core.html_repr import RESEARCH, SIMULATED, TRAINED_ON_SIMULATED, bars, card
from epilens.core.progress import Progress
from epilens.core.types import Floats
from epilens.data.channels.contacts import meant_channels
from epilens.localization import DEFAULT, DEFAULT_COMPARED, Request
from epilens.localization.anatomy import ATLASES, Anatomy, find_regions
from epilens.localization.caveats import caveats
from epilens.localization.certainty import (
    Caution,
    PatientCertainty,
    assess,
    most_severe_first,
)
from epilens.localization.columns import ContactColumn, contact_columns
from epilens.localization.compare import (
    OtherRanking,
    ReferenceZone,
    Resection,
    compare_with,
    ranking,
    ranks,
    resection,
    top_k,
)
from epilens.localization.fallback import is_ranking, score_patient
from epilens.localization.maps import TimeMap, time_maps
from epilens.localization.narrative import describe_contacts
from epilens.localization.onset_check import question_onsets
from epilens.localization.plausibility import check_plausibility
from epilens.localization.prepare import Evidence, prepare_evidence
from epilens.localization.sources import MethodSource, Scores, Source, open_source
from epilens.localization.summary import summarize
from epilens.localization.timing import Timing, time_evidence
from epilens.networks.predictor import Explanation

_SHOWN = ("rank", "name", "ez_score", "decision", "seizures", "recruited_s")
"""Columns of the table in a notebook."""


@dataclass(frozen=True, repr=False)
class Localization(Evidence):
    """Ranked contacts of one patient, with the evidence for them; arrays follow `channels`."""

    source: Source
    """What computed the scores."""
    scores: Scores
    certainty: PatientCertainty
    timing: Timing
    k: int
    """How many leading contacts count as the top."""
    why: Explanation | None
    words: tuple[tuple[str, ...], ...]
    """Sentences about each contact."""
    caveats: tuple[str, ...]
    """How weak the ranking is, in sentences that come first."""
    resection: Resection | None
    comparisons: tuple[OtherRanking, ...]
    maps: tuple[TimeMap, ...] = ()
    """Maps over time, of the method and of compared ones that compute one."""
    zones: tuple[ReferenceZone, ...] = ()
    """Known zones that the ranking is compared with."""
    questioned_onsets: int = 0
    """Seizures whose onset the signal questions."""
    doubts: tuple[str, ...] = ()
    """Why the ranking is not plausible; the first of the caveats."""

    def __len__(self) -> int:
        return len(self.channels)

    def __getitem__(self, which: int | str) -> pd.Series:
        """A contact by its name, or by its position in the ranking (0: most EZ-like)."""
        contacts = self.contacts
        if isinstance(which, int):
            return contacts.iloc[which]
        names = contacts["name"].tolist()
        meant = meant_channels([which], names)
        which = next(iter(meant)) if len(meant) == 1 else which
        if which not in names:
            raise DataError(
                f"{self.patient}: expected one of {len(names)} contacts, found {which!r}. "
                f"{did_you_mean(which, names)}"
            )
        return contacts.iloc[names.index(which)]

    def __repr__(self) -> str:
        first = ", ".join(self.contacts["name"].head(3))
        by = f"{len(self)} contacts by {self.source.name}"
        return f"Localization({self.patient!r}: {by}: {first}, …)"

    def _repr_html_(self) -> str:
        table = self.contacts
        facts = {"by": self.source.title, "contacts": len(self), "seizures": len(self.seizures)}
        picture = bars([float(score) for score in table["ez_score"]], "EZ score by rank")
        shown = table[[name for name in _SHOWN if name in table]]
        notes = [SIMULATED] * self.is_simulated
        notes += [TRAINED_ON_SIMULATED] * self.source.simulated + [RESEARCH]
        return card(self.patient, facts, shown, picture, notes)

    @property
    def is_implausible(self) -> bool:
        """Whether the ranking disagrees with scores that need no training, or with the seizures."""
        return bool(self.doubts)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Channels from most to least EZ-like."""
        return ranking(self.scores.p_nez)

    @cached_property
    def summary(self) -> tuple[str, str, str]:
        """What was found, how certain it is, and what to look at first."""
        return summarize(self)

    @cached_property
    def decisions(self) -> tuple[str, ...]:
        """EZ or NEZ at the model's threshold; `abstained`, or `none` without a threshold."""
        if self.source.threshold is None:
            return ("none",) * len(self.channels)
        if self.certainty.abstains:
            return ("abstained",) * len(self.channels)
        return tuple("EZ" if p < self.source.threshold else "NEZ" for p in self.scores.p_nez)

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
        return find_regions(self.positions_mm, self.space)

    @cached_property
    def columns(self) -> tuple[ContactColumn, ...]:
        """All columns of the table of contacts."""
        return tuple(contact_columns(self))

    @cached_property
    def contacts(self) -> pd.DataFrame:
        """One row per contact, best rank first."""
        table = {c.name: pd.Series(list(c.values), dtype=object) for c in self.columns}
        return pd.DataFrame(table).iloc[self.order].reset_index(drop=True)

    def with_zones(self, zones: Mapping[str, Collection[str]]) -> Self:
        """The localization with known zones, by title, to which its ranking is compared."""
        compared = []
        for title, names in zones.items():
            members = np.array([name in names for name in self.channels])
            hits = int(members[self.order[: self.k]].sum())
            compared.append(ReferenceZone(title, members, self.k, hits))
        caveats = (*self.caveats, *map(str, compared))
        return replace(self, zones=tuple(compared), caveats=caveats)


def assemble(request: Request, tick: Progress) -> Localization:
    """Prepare a patient's evidence, score it, and describe the result."""
    tick.expect(3)
    force = request.force_descriptors
    source = open_source(DEFAULT if request.model is None else request.model, request.plan, force)
    others = [open_source(other, source.plan, force) for other in _compared(request, source)]
    evidence = prepare_evidence(request, source, {s.store for s in (source, *others)}, tick)
    tick("scoring")
    source, scores, unused = score_patient(request, source, evidence)
    p_nez, k = scores.p_nez, top_k(scores.p_nez, source.threshold)
    tick("explaining")
    timing = time_evidence(evidence.cube)
    why = source.explain(evidence.cube, ranking(p_nez))
    tick("comparing")
    certainty = assess(evidence, source, scores, others)
    questioned = question_onsets(evidence, timing)
    by_level = most_severe_first(*_without_regions(request, evidence), *certainty.cautions)
    certainty = replace(certainty, cautions=(*questioned, *unused, *by_level))
    compared = [
        compare_with(other.name, other.title, other_p_nez, p_nez, k)
        for other in others
        # What nobody asked for is left out where it cannot rank the contacts.
        if not (unused and other.name == source.name)
        and (is_ranking(other_p_nez := other.score(evidence.method_input).p_nez) or request.compare)
    ]
    doubts, added = check_plausibility(source, evidence, p_nez, timing, compared)
    cut = _resection(request.resected, evidence, p_nez, k)
    return Localization(
        **vars(evidence),
        source=source,
        scores=scores,
        certainty=certainty,
        timing=timing,
        k=k,
        why=why,
        words=describe_contacts(scores, timing, evidence.shown, why, k),
        caveats=(*doubts, *caveats(source, certainty, cut)),
        resection=cut,
        comparisons=(*compared, *added),
        maps=time_maps((source, *others), evidence.method_input),
        questioned_onsets=len(questioned),
        doubts=tuple(doubts),
    )


def _compared(request: Request, source: Source) -> list[Any]:
    """What the request compares with; next to a smoothed method always the method itself."""
    compare = list(request.compare)
    if request.model is None and not compare:
        compare = list(DEFAULT_COMPARED)
    if isinstance(source, MethodSource) and source.method.smoothing:
        compare = [*(name for name in source.method.parts if name not in compare), *compare]
    return compare


def _without_regions(request: Request, evidence: Evidence) -> tuple[Caution, ...]:
    """Why contacts of a table of electrodes have no region; empty if all have one."""
    if request.electrodes is None:
        return ()
    anatomy = find_regions(evidence.positions_mm, evidence.space)
    if not anatomy.regions:
        return (Caution("caution", f"No regions are shown: {anatomy.why}."),)
    placed = [at is not None for at in evidence.positions_mm]
    named = [region is not None for region in anatomy.regions[ATLASES[0]]]
    without = sum(p and not n for p, n in zip(placed, named, strict=True))
    text = f"{without} of {sum(placed)} contacts with a position are in no region of the atlas."
    return (Caution("note", text),) if without else ()


def _resection(
    resected: str | Collection[str] | None, evidence: Evidence, p_nez: Floats, k: int
) -> Resection | None:
    if resected is None:
        return None
    if isinstance(resected, str) and resected == "labels":
        cube = evidence.cube
        # The resection where the dataset has it; else its EZ labels.
        labels = [name for name in ("is_resected", "is_ez") if name in cube]
        if not labels:
            raise DataError(
                f"{cube.attrs['patient']}: expected EZ labels to compare with, found none. Give "
                "the contacts as a list."
            )
        resected = cube["channel"].values[cube[labels[0]].values].tolist()
    excluded = [row.channel for row in evidence.dropped]
    return resection(resected, evidence.channels, p_nez, k, excluded)
