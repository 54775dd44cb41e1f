"""Compare: a resection with the ranking, and the ranking with that of another method."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from epilens.arrays import Bools, Floats
from epilens.data.contacts import Contact, expand_contacts, parse_contact
from epilens.errors import DataError


@dataclass(frozen=True)
class Resection:
    """A planned or performed resection beside the ranking."""

    k: int
    """How many leading contacts are meant by top K."""
    resected: Bools
    """(C,)"""
    covered: float
    """Share of the top K that is resected."""
    left_behind: tuple[int, ...]
    """Top-K contacts that are not resected, best first."""
    without_evidence: tuple[int, ...]
    """Resected contacts outside the top K, best first."""
    unknown: tuple[str, ...]
    """Names of the list that are no contact of the patient."""


def top_k(p_nez: Floats, threshold: float | None) -> int:
    """How many contacts count as the top: those called EZ, or ten where none is called."""
    called = 0 if threshold is None else int((p_nez < threshold).sum())
    return called or min(10, max(1, len(p_nez) // 2))


def ranking(p_nez: Floats) -> NDArray[np.int64]:
    """Channels from most to least EZ-like; equal scores in the order of the channels."""
    return np.argsort(p_nez, kind="stable")


def match_contacts(
    given: str | Collection[str], channels: Sequence[str]
) -> tuple[Bools, tuple[str, ...]]:
    """Which channels a list means, and what in it is no channel.

    A list is names, or a clinician's text such as `TT1-6, PST2`; spelling differences do not count.
    Of a bipolar channel, either contact is enough.
    """
    wanted, unknown = set(), []
    if isinstance(given, str):
        found = expand_contacts(given)
        wanted, unknown = set(found.contacts), list(found.not_understood)
    else:
        for name in given:
            contact = parse_contact(name)
            unknown += [name] if contact is None and name not in channels else []
            wanted |= {contact} if contact else set()
    exact = set() if isinstance(given, str) else set(given)
    parts = [set(contacts_of_channel(name)) for name in channels]
    holds = np.array(
        [name in exact or bool(p & wanted) for name, p in zip(channels, parts, strict=True)]
    )
    known = set().union(*parts)
    unknown += [str(contact) for contact in wanted if contact not in known]
    return holds, tuple(unknown)


def contacts_of_channel(channel: str) -> tuple[Contact, ...]:
    """The contact of a channel, both of a bipolar one, or none.

    Examples
    --------
    >>> [[str(c) for c in contacts_of_channel(n)] for n in ("LF 01-Ref", "LF1-LF2", "ECG")]
    [['LF1'], ['LF1', 'LF2'], []]
    """
    both = [contact for side in channel.split("-") if (contact := parse_contact(side))]
    if len(both) == 2 and both[0].shaft == both[1].shaft:
        return tuple(both)
    whole = parse_contact(channel)
    return (whole,) if whole else ()


def resection(
    given: str | Collection[str], channels: Sequence[str], p_nez: Floats, k: int
) -> Resection:
    """Compare a list of resected contacts with the ranking."""
    resected, unknown = match_contacts(given, channels)
    if not resected.any():
        raise DataError(
            f"resection: expected contacts of the patient, found none of them in the list "
            f"({', '.join(unknown[:5]) or 'it is empty'}). Names are like {channels[0]}."
        )
    order = ranking(p_nez)
    top, rest = order[:k], order[k:]
    return Resection(
        k=k,
        resected=resected,
        covered=float(resected[top].mean()),
        left_behind=tuple(int(i) for i in top if not resected[i]),
        without_evidence=tuple(int(i) for i in rest if resected[i]),
        unknown=unknown,
    )


@dataclass(frozen=True)
class Comparison:
    """The same patient under another method."""

    name: str
    title: str
    p_nez: Floats
    k: int
    shared: int
    """Contacts that are in the top K of both."""
    correlation: float | None
    """Spearman's, over all contacts."""


def compare_with(name: str, title: str, other: Floats, p_nez: Floats, k: int) -> Comparison:
    """How two rankings of the same contacts agree."""
    from scipy.stats import rankdata

    a, b = rankdata(p_nez), rankdata(other)
    told = a.std() > 0 and b.std() > 0
    shared = len(set(ranking(p_nez)[:k].tolist()) & set(ranking(other)[:k].tolist()))
    correlation = float(np.corrcoef(a, b)[0, 1]) if told else None
    return Comparison(name, title, other, k, shared, correlation)
