"""Compare the ranking with known zones, a resection, and the ranking of another method."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from epilens.core.errors import DataError
from epilens.core.types import Bools, Floats
from epilens.data.channels.contacts import (
    ContactList,
    expand_contacts,
    match_list,
    meant_channels,
    negation_in,
    shaft_names,
)


def ranking(p_nez: Floats) -> NDArray[np.int64]:
    """Channels from most to least EZ-like; equal scores in the order of the channels."""
    return np.argsort(p_nez, kind="stable")


def ranks(p_nez: Floats) -> NDArray[np.int64]:
    """Place of each channel in the ranking, 1 first."""
    places = np.empty(len(p_nez), int)
    places[ranking(p_nez)] = np.arange(1, len(p_nez) + 1)
    return places


def top_k(p_nez: Floats, threshold: float | None) -> int:
    """How many contacts count as the top: those that are flagged, or ten if none is."""
    flagged = 0 if threshold is None else int((p_nez < threshold).sum())
    return flagged or min(10, max(1, len(p_nez) // 2))


def spearman(a: Floats, b: Floats) -> float | None:
    """Rank correlation; None where one of the two does not vary."""
    from scipy.stats import rankdata

    x, y = rankdata(a), rankdata(b)
    return float(np.corrcoef(x, y)[0, 1]) if x.std() > 0 and y.std() > 0 else None


@dataclass(frozen=True)
class OtherRanking:
    """The same patient under another model or method."""

    name: str
    title: str
    p_nez: Floats
    k: int
    shared: int
    """Contacts that are in the top K of both."""
    correlation: float | None
    """Spearman's, over all contacts."""

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """Places of the channels, 1 first."""
        return ranks(self.p_nez)


def compare_with(name: str, title: str, other: Floats, p_nez: Floats, k: int) -> OtherRanking:
    """How two rankings of the same contacts agree."""
    shared = len(set(ranking(p_nez)[:k].tolist()) & set(ranking(other)[:k].tolist()))
    return OtherRanking(name, title, other, k, shared, spearman(p_nez, other))


@dataclass(frozen=True)
class ReferenceZone:
    """A zone that is known for a patient, compared with the ranking; no score depends on it."""

    title: str
    members: Bools
    """(C,)"""
    k: int
    """Number of top-ranked contacts."""
    hits: int
    """Top-ranked contacts that are in the zone."""

    @property
    def by_chance(self) -> float:
        """Expected number of contacts in the zone among K random ones."""
        return self.k * float(self.members.mean())

    def __str__(self) -> str:
        """The comparison as a sentence."""
        return (
            f"{self.hits} of the {self.k} top-ranked contacts {'is' if self.hits == 1 else 'are'} "
            f"in the {self.title} (expected by chance: {self.by_chance:.1f})."
        )


@dataclass(frozen=True)
class Resection(ReferenceZone):
    """A planned or performed resection."""

    not_resected: tuple[int, ...]
    """Top-K contacts that are not resected, best first."""
    outside: tuple[int, ...]
    """Resected contacts outside the top K, best first."""
    unranked: tuple[str, ...]
    """Names of the list that are contacts of the patient, but were excluded from the ranking."""
    unknown: tuple[str, ...]
    """Names of the list that are not contacts of the patient."""

    @property
    def unused(self) -> list[str]:
        """Sentences about names of the list that are not in the ranking."""
        sentences = []
        if self.unranked:
            sentences.append(f"Resected, but not ranked (excluded): {', '.join(self.unranked)}.")
        if self.unknown:
            sentences.append(
                "Names in the resection that are not contacts of this patient: "
                f"{', '.join(self.unknown)}."
            )
        return sentences


def resection(
    given: str | Collection[str],
    channels: Sequence[str],
    p_nez: Floats,
    k: int,
    excluded: Sequence[str] = (),
) -> Resection:
    """Compare a list of resected contacts with the ranking.

    excluded : channels of the recordings that are not ranked.
    """
    resected, unknown = match_contacts(given, channels)
    if not resected.any():
        raise DataError(
            f"resection: expected contacts of the patient, found none of them in the list "
            f"({', '.join(unknown[:5]) or 'it is empty'}). Names are like {channels[0]}."
        )
    order = ranking(p_nez)
    not_resected = tuple(int(i) for i in order[:k] if not resected[i])
    outside = tuple(int(i) for i in order[k:] if resected[i])
    hits = int(resected[order[:k]].sum())
    unranked = tuple(name for name in unknown if meant_channels([name], excluded))
    unknown = tuple(name for name in unknown if name not in unranked)
    return Resection("resection", resected, k, hits, not_resected, outside, unranked, unknown)


def match_contacts(
    given: str | Collection[str], channels: Sequence[str]
) -> tuple[Bools, tuple[str, ...]]:
    """Channels that a list names, and entries that are not channels.

    A list is names, or a clinician's text such as `TT1-6, PST2`; spelling differences do not count.
    Of a bipolar channel (`EEG A1-A2`), either contact is enough, as in the bipolar montage. Where
    the patient has `a1` and `A1`, capitals count.
    """
    if isinstance(given, str):
        if word := negation_in(given, shaft_names(channels)):
            raise DataError(
                f"resection: expected a list of resected contacts, found one that excludes some "
                f"({word!r}). Name only the resected contacts."
            )
        listed, exact = expand_contacts(given, shaft_names(channels)), set[str]()
    else:
        exact = set(given) & set(channels)
        listed = ContactList.of_names(name for name in given if name not in exact)
    matched = match_list(listed, channels)
    unknown = [*listed.not_understood, *map(str, matched.unknown)]
    unknown += [f"{contact} (two electrodes, in other capitals)" for contact in matched.ambiguous]
    named = matched.channels | exact
    return np.array([name in named for name in channels]), tuple(unknown)
