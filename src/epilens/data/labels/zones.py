"""Zones of a patient (onset zone, resection, EZ), and what a label source has to provide."""

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
    """The tables of one patient's runs, in which label sources look for labels."""

    patient: str
    channels: tuple[pd.DataFrame, ...]
    electrodes: pd.DataFrame | None = None
    channel_fields: Mapping[str, Any] = field(default_factory=dict)
    """Fields of channels.json, which explain columns."""
    electrode_fields: Mapping[str, Any] = field(default_factory=dict)
    """Fields of electrodes.json, which explain columns."""
    excluded: Collection[str] = ()
    """Channels that are good in no run; notes on missing labels leave them out."""

    @property
    def names(self) -> set[str]:
        """Every channel name of every run, good or bad."""
        return {name for table in self.channels for name in table["name"]}


Choice = Literal["soz", "resected", "either", "both", "onset-contacts"]


@dataclass(frozen=True)
class Zones:
    """Channel names of each zone; None for an unknown zone, empty for one without channels."""

    soz: frozenset[str] | None = None
    resected: frozenset[str] | None = None
    ez: frozenset[str] | None = None
    """Channels that a source labels as EZ without saying which zone it means."""
    onset: frozenset[str] | None = None
    """Contacts in which recorded seizures began, by their events."""

    def chosen(self, which: Choice) -> frozenset[str] | None:
        """The EZ by a choice of zones; None if a zone that it needs is unknown.

        A label for the EZ itself is neither of the two zones, so it counts for `either` only.
        """
        if which == "either":
            zones = [zone for zone in (self.soz, self.resected, self.ez) if zone is not None]
            return frozenset[str]().union(*zones) if zones else None
        if which == "both":
            both = self.soz is not None and self.resected is not None
            return self.soz & self.resected if both else None
        return {"soz": self.soz, "resected": self.resected, "onset-contacts": self.onset}[which]

    def completed(self, other: Zones) -> Zones:
        """These zones, with unknown ones replaced by those of another source."""
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
    """Labels of a patient by one source; channels outside of all zones are NEZ."""

    zones: Zones
    rows: tuple[AuditRow, ...] = field(default=())

    @property
    def ez(self) -> frozenset[str] | None:
        """Channels of any zone; None if none of the contacts in the source was recorded."""
        return self.zones.chosen("either")


def zone_of(word: str) -> str:
    """The zone that a word or the name of a column means: `soz`, `resected`, or `ez`.

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


LabelReader = Callable[[PatientTables], Labels | None]


class LabelSource(Protocol):
    """A place where labels can be written."""

    def open(self, root: Path) -> LabelReader:
        """A function that reads the labels of a patient; DataError if the place is missing."""
        ...


def stated_contacts(text: str, names: Collection[str]) -> Matches:
    """The recorded channels that an event names, as single names or as a list with ranges.

    A text such as `diffuse` names none.

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
