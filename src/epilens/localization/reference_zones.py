"""Zones that are known for a patient, compared with the ranking: annotated or true in a simulation.

No score depends on them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from epilens.core.types import Bools

if TYPE_CHECKING:
    from epilens.localization.result import Localization

Localized = TypeVar("Localized", bound="Localization")


@dataclass(frozen=True)
class ReferenceZone:
    """A known zone, and how many of the top-ranked contacts are in it."""

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


def with_zones(localized: Localized, zones: Mapping[str, Collection[str]]) -> Localized:
    """The localization with zones, by title, to which its ranking is compared."""
    top, compared = localized.order[: localized.k], []
    for title, names in zones.items():
        members = np.array([name in names for name in localized.channels])
        compared.append(ReferenceZone(title, members, localized.k, int(members[top].sum())))
    caveats = (*localized.caveats, *map(str, compared))
    return replace(localized, zones=tuple(compared), caveats=caveats)
