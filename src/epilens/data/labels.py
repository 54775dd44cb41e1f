"""Where the EZ is written: words in status_description, a column, a CSV, or a clinical sheet.

A label source is opened once per dataset and then asked for each patient. It answers with the
zones that it knows (onset zone, resection, or an EZ that is called so), or with None when it knows
nothing about the patient: then the next source is asked. Which zone is the EZ, the plan says, or
else the dataset's row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Literal, Protocol

import pandas as pd

from epilens.core.errors import DataError
from epilens.data.audit import AuditRow, Note
from epilens.data.contacts import Contact, expand_contacts, match_list, shaft_names
from epilens.data.sidecars import inside, is_hidden, read_table, with_prefix
from epilens.data.workbook import read_sheet


@dataclass(frozen=True)
class PatientTables:
    """What label sources may look at: the tables of one patient's ictal runs."""

    patient: str
    channels: tuple[pd.DataFrame, ...]
    electrodes: pd.DataFrame | None = None

    @property
    def names(self) -> set[str]:
        """Every channel name of every run, good or bad."""
        return {name for table in self.channels for name in table["name"]}


Choice = Literal["soz", "resected", "either", "both"]


@dataclass(frozen=True)
class Zones:
    """Channels of each zone by name; None where nothing is known about it, empty where none is."""

    soz: frozenset[str] | None = None
    resected: frozenset[str] | None = None
    ez: frozenset[str] | None = None
    """Said to be EZ, whatever was meant by it."""

    def chosen(self, which: Choice) -> frozenset[str] | None:
        """The EZ under a choice; None where the zones that it needs are not known.

        What is merely called EZ is neither of the two zones, so it counts for `either` alone.
        """
        if which == "either":
            zones = [zone for zone in (self.soz, self.resected, self.ez) if zone is not None]
            return frozenset[str]().union(*zones) if zones else None
        if which == "both":
            both = self.soz is not None and self.resected is not None
            return self.soz & self.resected if both else None
        return self.soz if which == "soz" else self.resected

    def completed(self, other: Zones) -> Zones:
        """With the zones of another source where this one knows nothing."""
        return Zones(
            *(
                mine if mine is not None else theirs
                for mine, theirs in zip(self, other, strict=True)
            )
        )

    def __iter__(self) -> Iterator[frozenset[str] | None]:
        return iter((self.soz, self.resected, self.ez))


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
    bare = re.sub(r"[\s_-]", "", word.lower()).removeprefix("is")
    if bare in ("soz", "seizurezone", "onsetzone", "seizureonsetzone"):
        return "soz"
    return "resected" if bare in RESECTION else "ez"


RESECTION = frozenset(
    {
        *("resected", "resect", "resection", "resectionzone", "resectedzone", "rz", "resec"),
        *("ablated", "ablation", "ablationzone"),
    }
)
"""What people call a resection, without spaces and underscores."""


def _zones(by_zone: Mapping[str, set[str]]) -> Zones:
    return Zones(**{zone: frozenset(names) for zone, names in by_zone.items()})


Reader = Callable[[PatientTables], Labels | None]


class LabelSource(Protocol):
    """A place where the EZ can be written."""

    def open(self, root: Path) -> Reader:
        """Prepare to answer for the patients of a dataset; DataError when the place is missing."""
        ...


@dataclass(frozen=True)
class StatusWords:
    """Words in the `status_description` of channels.tsv, such as `resect,soz`."""

    words: frozenset[str]

    def open(self, root: Path) -> Reader:
        """No preparation is needed."""
        return self._read

    def _read(self, tables: PatientTables) -> Labels | None:
        by_zone: dict[str, set[str]] = {}
        for table in tables.channels:
            if "status_description" not in table:
                continue
            for name, text in zip(table["name"], table["status_description"], strict=True):
                for word in self.words & _said(text):
                    by_zone.setdefault(zone_of(word), set()).add(name)
        return Labels(_zones(by_zone)) if by_zone else None


def _said(text: str) -> set[str]:
    """Words of a description; `not resected` does not say `resected`."""
    words = re.findall(r"[a-z]+", text.lower())
    return {word for before, word in pairwise(["", *words]) if before not in _DENYING}


_DENYING = {"no", "not", "non", "never", "outside"}

YES = frozenset({"1", "true", "yes", "y", "soz", "ez"}) | RESECTION
NO = frozenset(
    {
        *("0", "false", "no", "n", "nez", "noninvolved", "earlypropzone", "irritativezone"),
        *("notresected", "nonresected", "unresected"),
    }
)


def as_flag(text: str) -> bool | None:
    """Yes, no, or None for empty text; anything else is refused."""
    word = re.sub(r"\.0$|[\s_]|(?<=[a-z])-(?=[a-z])", "", text.lower())
    if word in YES:
        return True
    if word in NO:
        return False
    if word:
        raise DataError("expected yes or no (or 1/0, true/false), found another text")
    return None


@dataclass(frozen=True)
class LabelColumns:
    """Yes/no columns of channels.tsv or electrodes.tsv, such as `soz`, `resected`, `is_ez`."""

    names: tuple[str, ...]

    def open(self, root: Path) -> Reader:
        """No preparation is needed."""
        return self._read

    def _read(self, tables: PatientTables) -> Labels | None:
        by_zone: dict[str, set[str]] = {}
        labelled, unlabelled = set[str](), set[str]()
        named = (t for t in (*tables.channels, tables.electrodes) if t is not None and "name" in t)
        for table in named:
            for column in (c for c in self.names if c in table):
                for name, text in zip(table["name"], table[column], strict=True):
                    flag = _flag_of(tables.patient, column, name, text)
                    (unlabelled if flag is None else labelled).add(name)
                    if flag is not None:
                        by_zone.setdefault(zone_of(column), set()).update({name} if flag else ())
        if not labelled:
            return None
        unlabelled &= tables.names
        note = _note(
            f"{len(unlabelled - labelled)} channels have no value in {'/'.join(self.names)}; "
            "counted as NEZ"
        )
        rows = [AuditRow.of("label", note, (tables.patient,), "noted")]
        return Labels(_zones(by_zone), tuple(rows if unlabelled - labelled else ()))


def _flag_of(patient: str, column: str, name: str, text: str) -> bool | None:
    try:
        return as_flag(text)
    except DataError as error:
        raise DataError(
            f"{patient} {name!r}, column {column}: {error}. Mend this cell.", code="label"
        ) from None


@dataclass(frozen=True)
class LabelTable:
    """A CSV of the user's own: patient, channel, is_ez."""

    path: Path

    def open(self, root: Path) -> Reader:
        """Read and check the whole table."""
        flags = self._flags()
        return lambda tables: _from_names(tables, flags.get(tables.patient))

    def patients(self) -> set[str]:
        """Patients that the table names."""
        return set(self._flags())

    def _flags(self) -> dict[str, dict[str, bool]]:
        who = f"labels {self.path}"
        if is_hidden(self.path) or not self.path.exists():
            raise DataError(f"{who}: expected a CSV, found nothing. Check the path.", code="label")
        table = read_table(self.path, sep=",")
        missing = {"patient", "channel", "is_ez"} - set(table.columns)
        if missing:
            raise DataError(
                f"{who}: expected columns patient, channel, is_ez, found "
                f"{', '.join(table.columns)}. Add {', '.join(sorted(missing))}.",
                code="label",
            )
        flags: dict[str, dict[str, bool]] = {}
        for row in table.to_dict("records"):
            patient, channel = row["patient"], row["channel"]
            flag = _flag_of(f"labels {self.path.name}: {patient}", "is_ez", channel, row["is_ez"])
            if flag is None:
                raise DataError(
                    f"{who}: expected yes or no for {patient} {channel!r}, found an empty cell. "
                    "Fill it or remove the row.",
                    code="label",
                )
            of_patient = flags.setdefault(with_prefix(patient, "sub-"), {})
            if of_patient.setdefault(channel, flag) != flag:
                raise DataError(
                    f"{who}: expected one answer for {patient} {channel!r}, found yes and no. "
                    "Remove one row.",
                    code="label",
                )
        return flags


def _from_names(tables: PatientTables, flags: Mapping[str, bool] | None) -> Labels | None:
    if flags is None:
        return None
    note = _note("is in the label table but in no run")
    rows = [
        AuditRow.of("label", note, (tables.patient, "", name))
        for name in flags
        if name not in tables.names
    ]
    unnamed = len(tables.names - set(flags))
    if unnamed:
        note = _note(f"{unnamed} channels are not in the label table; counted as NEZ")
        rows.append(AuditRow.of("label", note, (tables.patient,), "noted"))
    ez = frozenset(name for name, flag in flags.items() if flag and name in tables.names)
    return Labels(Zones(ez=ez), tuple(rows))


@dataclass(frozen=True)
class ClinicalSheet:
    """Contact lists in an Excel sheet, one row per patient: `TT1-6; PST1-4: AST1-2`."""

    path: str
    patient_column: str = "dataset_id"
    contacts_column: str = "soz_contacts"

    def open(self, root: Path) -> Reader:
        """Read the sheet; its patients are spelt in their own way (`pt1` for sub-pt01)."""
        path = root / self.path
        if is_hidden(path) or not path.exists():
            raise DataError(
                f"labels: expected the clinical sheet at {self.path} in the dataset, found none, "
                f"so no EZ is known. It is part of the full download: {self.path}.",
                code="label",
            )
        who = f"labels {self.path}"
        sheet = read_sheet(inside(path, root), who)
        columns = {str(name).strip().lower(): name for name in sheet.columns}
        missing = {self.patient_column, self.contacts_column} - set(columns)
        if missing:
            raise DataError(
                f"{who}: expected columns {self.patient_column}, {self.contacts_column}, found "
                f"{len(columns)} others. Is this the right sheet?",
                code="label",
            )
        texts: dict[str, str] = {}
        ids = sheet[columns[self.patient_column]].map(patient_key)
        for key, text in zip(ids, sheet[columns[self.contacts_column]], strict=True):
            texts[key] = f"{texts[key]}; {text}" if key in texts else text
        return lambda tables: self._read(tables, texts.get(patient_key(tables.patient), ""))

    def _read(self, tables: PatientTables, text: str) -> Labels | None:
        listed = expand_contacts(text, shaft_names(tables.names))
        matches = match_list(listed, tables.names)
        reasons = {
            "is in the clinical sheet but was never recorded": matches.unknown,
            "is in the clinical sheet, but two electrodes are called so, in other capitals": (
                matches.ambiguous
            ),
        }
        rows = [
            AuditRow.of("label", _note(why), (tables.patient, "", str(contact)))
            for why, contacts in reasons.items()
            for contact in contacts
            if _is_code(contact, tables)
        ]
        others = [c for some in reasons.values() for c in some if not _is_code(c, tables)]
        if others:
            note = _note(
                f"{len(others)} contacts of the clinical sheet are of no electrode of the patient"
            )
            rows.append(AuditRow.of("label", note, (tables.patient,)))
        if listed.not_understood:
            note = _note(
                f"{len(listed.not_understood)} words of the clinical sheet's contact list are not "
                "contacts"
            )
            rows.append(AuditRow.of("label", note, (tables.patient,), "noted"))
        soz = matches.channels or None
        return Labels(Zones(soz=soz), tuple(rows)) if listed.contacts else None


def _note(text: str) -> Note:
    return Note(text, "label")


def _is_code(contact: Contact, tables: PatientTables) -> bool:
    """Whether a contact of free text is one of an electrode, and not a name with a number.

    `Miller 2021` reads like a contact: electrodes that the patient does not have are shown only
    where their names are short.
    """
    return contact.shaft in shaft_names(tables.names) or len(contact.shaft.rstrip("'")) <= 2


def patient_key(name: str) -> str:
    """One spelling for `sub-pt01`, `pt1`; `ummc_003`, `sub-ummc003`.

    Examples
    --------
    >>> patient_key("sub-pt01") == patient_key("pt1"), patient_key("ummc_003")
    (True, 'ummc3')
    """
    bare = re.sub(r"[\s_-]", "", name.strip().lower().removeprefix("sub-"))
    return re.sub(r"(?<!\d)0+(?=\d)", "", bare)
