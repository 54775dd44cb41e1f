"""Two rankings of one patient side by side: who moved, who stayed on top, how alike they are."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from epilens.core.errors import DataError
from epilens.localization.compare import spearman

if TYPE_CHECKING:
    from epilens.localization.result import Localization


@dataclass(frozen=True)
class RankedContact:
    """A contact in a ranking."""

    name: str
    rank: int
    ez_score: float
    decision: str
    """EZ, NEZ, abstained or none."""


@dataclass(frozen=True)
class Ranking:
    """Contacts of a run, best first."""

    title: str
    k: int
    """How many leading contacts count as the top."""
    contacts: tuple[RankedContact, ...]
    cautions: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Contacts, best first."""
        return tuple(contact.name for contact in self.contacts)

    @property
    def digest(self) -> str:
        """Digest of all that it says."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()

    @classmethod
    def of(cls, tree: dict[str, Any], who: str) -> Ranking:
        """From JSON."""
        try:
            contacts = tuple(RankedContact(**one) for one in tree["contacts"])
            return cls(str(tree["title"]), int(tree["k"]), contacts, tuple(tree["cautions"]))
        except (KeyError, TypeError, ValueError):
            raise DataError(
                f"{who}: expected a ranking, found what cannot be read. Run it again."
            ) from None


def ranking_of(localized: Localization) -> Ranking:
    """What is kept of a localization beside its page."""
    p_nez = localized.scores.p_nez
    contacts = tuple(
        RankedContact(
            localized.channels[c], rank, round(float(1 - p_nez[c]), 6), localized.decisions[c]
        )
        for rank, c in enumerate(localized.order, start=1)
    )
    said = tuple(c.text for c in localized.certainty.cautions if c.level != "note")
    return Ranking(localized.about.title, localized.k, contacts, said)


@dataclass(frozen=True)
class RankShift:
    """A contact in both rankings, or in one of them."""

    name: str
    old: int | None
    new: int | None
    shift: int | None
    """Places up (positive) or down among the contacts that both rank."""
    top: str
    """In the top K of `both`, `old`, `new`, or of neither: empty."""


@dataclass(frozen=True)
class RankingComparison:
    """Two rankings side by side."""

    k: int
    """The smaller of both K."""
    shared: int
    """Contacts in the top K of both."""
    correlation: float | None
    """Spearman's, over the contacts that both rank; None for fewer than two."""
    common: int
    largest_shift: int
    contacts: tuple[RankShift, ...]
    """In the order of the new ranking, then what only the old one has."""


def compare(old: Ranking, new: Ranking) -> RankingComparison:
    """Old and new, contact by contact."""
    places = [{c.name: c.rank for c in ranking.contacts} for ranking in (old, new)]
    common = [name for name in new.names if name in places[0]]
    among = [_places_among(ranking, set(common)) for ranking in (old, new)]
    shifts = {name: among[0][name] - among[1][name] for name in common}
    k = min(old.k, new.k)
    tops = [set(ranking.names[:k]) for ranking in (old, new)]
    gone = [name for name in old.names if name not in places[1]]
    ranks = np.array([[of[name] for name in common] for of in among], float)
    return RankingComparison(
        k=k,
        shared=len(tops[0] & tops[1]),
        correlation=spearman(ranks[0], ranks[1]) if len(common) > 1 else None,
        common=len(common),
        largest_shift=max((abs(shift) for shift in shifts.values()), default=0),
        contacts=tuple(
            RankShift(
                name,
                places[0].get(name),
                places[1].get(name),
                shifts.get(name),
                _top(name in tops[0], name in tops[1]),
            )
            for name in (*new.names, *gone)
        ),
    )


def _places_among(ranking: Ranking, names: set[str]) -> dict[str, int]:
    kept = [name for name in ranking.names if name in names]
    return {name: place for place, name in enumerate(kept, start=1)}


def _top(in_old: bool, in_new: bool) -> str:
    if in_old and in_new:
        return "both"
    return "old" if in_old else "new" if in_new else ""
