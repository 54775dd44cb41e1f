"""Zones of a patient (onset zone, resection, EZ), as a source states them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol

import pandas as pd

from epilens.data.audit import AuditRow
from epilens.data.channels.contacts import Matches, expand_contacts, match_list, shaft_names
from epilens.data.yes_no import ONSET_ZONE, RESECTION, bare_word


@dataclass(frozen=True)
class PatientTables:
    """What label sources may look at: the tables of one patient's runs."""

    patient: str
    channels: tuple[pd.DataFrame, ...]
    electrodes: pd.DataFrame | None = None
    channel_fields: Mapping[str, Any] = field(default_factory=dict)
    """channels.json, which explains columns."""
    electrode_fields: Mapping[str, Any] = field(default_factory=dict)
    """electrodes.json, which explains columns."""

    @property
    def names(self) -> set[str]:
        """Every channel name of every run, good or bad."""
        return {name for table in self.channels for name in table["name"]}


Choice = Literal["soz", "resected", "either", "both", "onset-contacts"]


@dataclass(frozen=True)
class Zones:
    """Channels of each zone by name; None where nothing is known about it, empty where none is."""

    soz: frozenset[str] | None = None
    resected: frozenset[str] | None = None
    ez: frozenset[str] | None = None
    """Said to be EZ, whatever was meant by it."""
    onset: frozenset[str] | None = None
    """Contacts in which recorded seizures began, as their events name them."""

    def chosen(self, which: Choice) -> frozenset[str] | None:
        """The EZ under a choice; None where the zones that it needs are not known.

        A column for the EZ itself is neither of the two zones, so it counts for `either` alone.
        """
        if which == "either":
            zones = [zone for zone in (self.soz, self.resected, self.ez) if zone is not None]
            return frozenset[str]().union(*zones) if zones else None
        if which == "both":
            both = self.soz is not None and self.resected is not None
            return self.soz & self.resected if both else None
        return {"soz": self.soz, "resected": self.resected, "onset-contacts": self.onset}[which]

    def completed(self, other: Zones) -> Zones:
        """With the zones of another source where this one knows nothing."""
        return Zones(
            *(
                mine if mine is not None else theirs
                for mine, theirs in zip(self, other, strict=True)
            )
        )

    def __iter__(self) -> Iterator[frozenset[str] | None]:
        return iter((self.soz, self.resected, self.ez, self.onset))


@dataclass(frozen=True)
class Labels:
    """What a source says about the channels of a patient; those of no zone are NEZ."""

    zones: Zones
    rows: tuple[AuditRow, ...] = field(default=())

    @property
    def ez(self) -> frozenset[str] | None:
        """Channels of any zone.

        None: the source names the patient, but none of the contacts was recorded, so nothing is
        known.
        """
        return self.zones.chosen("either")


def zone_of(word: str) -> str:
    """Which zone a word or the name of a column means: `soz`, `resected`, or `ez`.

    Examples
    --------
    >>> [zone_of(word) for word in ("soz", "resect", "rz", "resection_zone", "is_ez")]
    ['soz', 'resected', 'resected', 'resected', 'ez']
    """
    bare = column_word(word)
    if bare in ONSET_ZONE:
        return "soz"
    return "resected" if bare in RESECTION else "ez"


def column_word(name: str) -> str:
    """A word or the name of a column, without capitals, spaces, underscores and `is_`."""
    return bare_word(name).removeprefix("is")


Reader = Callable[[PatientTables], Labels | None]


class LabelSource(Protocol):
    """A place where the EZ can be written."""

    def open(self, root: Path) -> Reader:
        """Prepare to answer for the patients of a dataset; DataError when the place is missing."""
        ...


def stated_contacts(text: str, names: Collection[str]) -> Matches:
    """The channels that an event names: single names, or a clinician's list with ranges.

    Without channels, the text names no contact that was recorded (`all`, `diffuse`).

    Examples
    --------
    >>> sorted(stated_contacts("C13,C14, C20-C21", ["C13", "C14", "C20", "C21"]).channels)
    ['C13', 'C14', 'C20', 'C21']
    >>> stated_contacts("diffuse", ["C13"]).channels
    frozenset()
    """
    pieces = [piece.strip() for piece in re.split(r"[,;|\n]", text)]
    exact = {piece for piece in pieces if piece in names}
    rest = "; ".join(piece for piece in pieces if piece not in exact)
    matches = match_list(expand_contacts(rest, shaft_names(names)), names)
    return replace(matches, channels=matches.channels | exact)
