"""Two rankings of one patient next to each other: shifts, shared top contacts, correlation."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Literal

import numpy as np

from epilens.io.documents import Document
from epilens.localization.compare import spearman

if TYPE_CHECKING:
    from epilens.localization.result import Localization


class RankedContact(Document):
    """A contact in a ranking."""

    name: str
    rank: int
    ez_score: float
    decision: str
    """EZ, NEZ, abstained or none."""


class Ranking(Document):
    """Contacts of a run, best first: the content of `ranking.json`."""

    title: str
    k: int
    """Number of top-ranked contacts."""
    contacts: tuple[RankedContact, ...]
    cautions: tuple[str, ...]
    problems: tuple[str, ...] = ()
    """Parts of the analysis that could not be computed."""
    used: str = ""
    """How many of the seizures were used."""

    @property
    def names(self) -> tuple[str, ...]:
        """Contacts, best first."""
        return tuple(contact.name for contact in self.contacts)

    @property
    def digest(self) -> str:
        """Digest of the ranking, which a reader signs."""
        tree = self.to_json()
        del tree["problems"], tree["used"]
        return hashlib.sha256(json.dumps(tree).encode()).hexdigest()


def ranking_of(localized: Localization) -> Ranking:
    """Return the ranking of a localization."""
    from epilens.localization.certainty import describe_used

    p_nez = localized.scores.p_nez
    contacts = tuple(
        RankedContact(
            name=localized.channels[c],
            rank=rank,
            ez_score=round(float(1 - p_nez[c]), 6),
            decision=localized.decisions[c],
        )
        for rank, c in enumerate(localized.order, start=1)
    )
    cautions = tuple(c.text for c in localized.certainty.cautions if c.level != "note")
    return Ranking(
        title=localized.source.title,
        k=localized.k,
        contacts=contacts,
        cautions=cautions,
        used=describe_used(localized),
    )


class RankShift(Document):
    """Ranks of a contact in two rankings."""

    name: str
    old: int | None
    new: int | None
    shift: int | None
    """Places up (positive) or down, among the contacts in both rankings."""
    top: Literal["both", "old", "new", ""]
    """Rankings in which the contact is in the top K."""


class RankingComparison(Document):
    """Two rankings next to each other."""

    k: int
    """The smaller K."""
    shared: int
    """Contacts in the top K of both rankings."""
    correlation: float | None
    """Spearman's correlation over the contacts in both rankings; None for fewer than two."""
    common: int
    """Contacts in both rankings."""
    largest_shift: int
    contacts: tuple[RankShift, ...]
    """Contacts in the order of the new ranking, followed by those in the old one only."""


def compare(old: Ranking, new: Ranking) -> RankingComparison:
    """Compare two rankings contact by contact."""
    old_ranks, new_ranks = ({c.name: c.rank for c in ranking.contacts} for ranking in (old, new))
    common = [name for name in new.names if name in old_ranks]
    old_positions, new_positions = (_ranks_among(ranking, set(common)) for ranking in (old, new))
    shifts = {name: old_positions[name] - new_positions[name] for name in common}
    k = min(old.k, new.k)
    old_top, new_top = (set(ranking.names[:k]) for ranking in (old, new))
    ranks = np.array(
        [[places[n] for n in common] for places in (old_positions, new_positions)], float
    )
    return RankingComparison(
        k=k,
        shared=len(old_top & new_top),
        correlation=spearman(ranks[0], ranks[1]) if len(common) > 1 else None,
        common=len(common),
        largest_shift=max((abs(shift) for shift in shifts.values()), default=0),
        contacts=tuple(
            RankShift(
                name=name,
                old=old_ranks.get(name),
                new=new_ranks.get(name),
                shift=shifts.get(name),
                top=_top(name in old_top, name in new_top),
            )
            for name in dict.fromkeys((*new.names, *old.names))
        ),
    )


def _ranks_among(ranking: Ranking, names: set[str]) -> dict[str, int]:
    common = [name for name in ranking.names if name in names]
    return {name: rank for rank, name in enumerate(common, start=1)}


def _top(in_old: bool, in_new: bool) -> Literal["both", "old", "new", ""]:
    if in_old and in_new:
        return "both"
    return "old" if in_old else "new" if in_new else ""
