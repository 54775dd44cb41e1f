"""Label sources: words in status_description, columns, a CSV of the user, or a clinical sheet.

A source is opened once per dataset and then used for each patient. It returns the zones that it
states (onset zone, resection, or the EZ itself), or None if it states nothing about the patient;
then the next source is used. The plan, or else the dataset, says which zone is the EZ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd

from epilens.core.errors import DataError
from epilens.data.audit import AuditRow, excluded_row, noted_row
from epilens.data.channels.contacts import (
    Contact,
    expand_contacts,
    match_list,
    negation_in,
    shaft_names,
)
from epilens.data.labels.zones import (
    LabelReader,
    Labels,
    PatientTables,
    Zones,
    column_word,
    zone_of,
)
from epilens.data.sidecars import inside, is_hidden, read_user_table, with_prefix
from epilens.data.user_files import read_sheet
from epilens.data.yes_no import as_flag, read_flags


class LabelError(DataError, code="label"):
    """The labels of a user or a dataset cannot be read."""


def _zones(by_zone: Mapping[str, set[str]]) -> Zones:
    return Zones(**{zone: frozenset(names) for zone, names in by_zone.items()})


@dataclass(frozen=True)
class StatusWords:
    """Words in the `status_description` of channels.tsv, such as `resect,soz`."""

    words: frozenset[str]

    def open(self, root: Path) -> LabelReader:
        """No preparation is needed."""
        return self._read

    def _read(self, tables: PatientTables) -> Labels | None:
        by_zone: dict[str, set[str]] = {}
        for table in tables.channels:
            if "status_description" not in table:
                continue
            for name, text in zip(table["name"], table["status_description"], strict=True):
                for word in self.words & _affirmed_words(text):
                    by_zone.setdefault(zone_of(word), set()).add(name)
        return Labels(_zones(by_zone)) if by_zone else None


def _affirmed_words(text: str) -> set[str]:
    """Words that a description affirms; `not resected` affirms no zone."""
    text = _EZ_PHRASE.sub(" ez ", _ONSET_PHRASE.sub(" soz ", text.lower()))
    words = [word for word in re.findall(r"[a-z]+", text) if word not in _FILLING]
    return {word for before, word in pairwise(["", *words]) if before not in _DENYING}


_ONSET_PHRASE = re.compile(r"(?:(?:seizure|ictal)[\s_-]*onset|onset|seizure)[\s_-]*zone")
_EZ_PHRASE = re.compile(r"epileptogenic[\s_-]*zone")
_FILLING = {"in", "the", "of", "part", "a", "within", "inside", "is"}
_DENYING = {"no", "not", "non", "never", "outside"}


@dataclass(frozen=True)
class LabelColumns:
    """Yes/no columns of channels.tsv or electrodes.tsv, such as `soz`, `resected`, `is_ez`.

    Capitals, spaces, underscores and a leading `is_` do not matter. A column that cannot be read
    becomes a note, and the label is absent.
    """

    names: tuple[str, ...]

    def open(self, root: Path) -> LabelReader:
        """No preparation is needed."""
        return self._read

    def _read(self, tables: PatientTables) -> Labels | None:
        by_zone: dict[str, set[str]] = {}
        labelled, unlabelled, rows = set[str](), set[str](), _edge_rows(tables)
        words = set(map(column_word, self.names))
        for file, table, fields in _named_tables(tables):
            for column in (c for c in table.columns if column_word(c) in words):
                flags, values = read_flags(table, column, fields)
                if values:
                    text = f"column {column} of {file} means neither yes nor no ({values})"
                    rows.append(_noted(tables, f"{text}; this label is absent"))
                for name, flag in flags.items():
                    (unlabelled if flag is None else labelled).add(name)
                    if flag is not None:
                        by_zone.setdefault(zone_of(column), set()).update({name} if flag else ())
        if empty := _used(unlabelled, tables) - labelled if labelled else set():
            named = self.names[0] if len(self.names) == 1 else "any label column"
            text = f"has no value in {named}; counted as NEZ"
            rows += [_noted(tables, text, name) for name in sorted(empty)]
        return Labels(_zones(by_zone), tuple(dict.fromkeys(rows))) if labelled or rows else None


def _named_tables(tables: PatientTables) -> Iterator[tuple[str, pd.DataFrame, Mapping[str, Any]]]:
    """File name, table and JSON fields of each table that has channel names."""
    for table in tables.channels:
        yield "channels.tsv", table, tables.channel_fields
    if tables.electrodes is not None and "name" in tables.electrodes:
        yield "electrodes.tsv", tables.electrodes, tables.electrode_fields


def _edge_rows(tables: PatientTables) -> list[AuditRow]:
    """Notes on contacts at the edge of the resection, which alone does not make them resected."""
    edge = set[str]()
    for _, table, fields in _named_tables(tables):
        if "edge" in table:
            flags, _ = read_flags(table, "edge", fields)
            edge |= {name for name, flag in flags.items() if flag}
    text = "lies at the edge of the resection; resected only where another column says so"
    return [_noted(tables, text, name) for name in sorted(edge & tables.names)]


@dataclass(frozen=True)
class LabelTable:
    """A CSV file of the user with the columns patient, channel, is_ez."""

    path: Path

    def open(self, root: Path) -> LabelReader:
        """Read and check the whole table."""
        flags = self._flags()
        return lambda tables: _from_names(tables, flags.get(tables.patient))

    def patients(self) -> set[str]:
        """Patients that the table names."""
        return set(self._flags())

    def _flags(self) -> dict[str, dict[str, bool]]:
        who = f"labels {self.path}"
        table = read_user_table(self.path, "label", ("patient", "channel", "is_ez"), ",")
        flags: dict[str, dict[str, bool]] = {}
        for row in table.to_dict("records"):
            patient, channel = row["patient"], row["channel"]
            try:
                flag = as_flag(row["is_ez"])
            except DataError as error:
                raise LabelError(
                    f"labels {self.path.name}: {patient} {channel!r}, column is_ez: {error}. "
                    "Correct this cell."
                ) from None
            if flag is None:
                raise LabelError(
                    f"{who}: expected yes or no for {patient} {channel!r}, found an empty cell. "
                    "Fill it or remove the row."
                )
            of_patient = flags.setdefault(with_prefix(patient, "sub-"), {})
            if of_patient.setdefault(channel, flag) != flag:
                raise LabelError(
                    f"{who}: expected one answer for {patient} {channel!r}, found yes and no. "
                    "Remove one row."
                )
        return flags


def _from_names(tables: PatientTables, flags: Mapping[str, bool] | None) -> Labels | None:
    if flags is None:
        return None
    rows = [
        _row(tables, "is in the label table but in no run", name)
        for name in flags
        if name not in tables.names
    ]
    unnamed = sorted(_used(tables.names, tables) - set(flags))
    rows += [_noted(tables, "is not in the label table; counted as NEZ", n) for n in unnamed]
    ez = frozenset(name for name, flag in flags.items() if flag and name in tables.names)
    return Labels(Zones(ez=ez), tuple(rows))


@dataclass(frozen=True)
class ClinicalSheet:
    """Contact lists in an Excel sheet, one row per patient: `TT1-6; PST1-4: AST1-2`."""

    path: str
    patient_column: str = "dataset_id"
    contacts_column: str = "soz_contacts"

    def open(self, root: Path) -> LabelReader:
        """Read the sheet, in which a patient may be spelt differently (`pt1` for sub-pt01)."""
        path = root / self.path
        if is_hidden(path) or not path.exists():
            raise LabelError(
                f"labels: expected the clinical sheet at {self.path} in the dataset, found none, "
                f"so no EZ is known. It is part of the full download: {self.path}."
            )
        who = f"labels {self.path}"
        sheet = read_sheet(inside(path, root), who)
        columns = {str(name).strip().lower(): name for name in sheet.columns}
        missing = {self.patient_column, self.contacts_column} - set(columns)
        if missing:
            raise LabelError(
                f"{who}: expected columns {self.patient_column}, {self.contacts_column}, found "
                f"{len(columns)} others. Is this the right sheet?"
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
            "is in the clinical sheet, but two electrodes have this name, in other capitals": (
                matches.ambiguous
            ),
        }
        rows = [
            _row(tables, why, str(contact))
            for why, contacts in reasons.items()
            for contact in contacts
            if is_code(contact, tables)
        ]
        if others := sum(not is_code(contact, tables) for contact in matches.unmatched):
            why = f"{others} contacts of the clinical sheet are of no electrode of the patient"
            rows.append(_row(tables, why))
        if negation_in(text, shaft_names(tables.names)):
            why = (
                "the clinical sheet's contact list has a word that excludes contacts, which is not "
                "understood; check the labels"
            )
            rows.append(_noted(tables, why))
        if words := len(listed.not_understood):
            why = f"{words} words of the clinical sheet's contact list are not contacts"
            rows.append(_noted(tables, why))
        soz = matches.channels or None
        return Labels(Zones(soz=soz), tuple(rows)) if listed.contacts else None


def _used(names: set[str], tables: PatientTables) -> set[str]:
    """Those of the names that are recorded channels and not excluded in every run."""
    return (names & tables.names).difference(tables.excluded)


def _row(tables: PatientTables, text: str, channel: str = "") -> AuditRow:
    return excluded_row("label", text, "label", (tables.patient, "", channel))


def _noted(tables: PatientTables, text: str, channel: str = "") -> AuditRow:
    return noted_row("label", text, "label", (tables.patient, "", channel))


def is_code(contact: Contact, tables: PatientTables) -> bool:
    """Whether a contact in free text can be shown because it is not a name with a number.

    `Miller 2021` looks like a contact. An electrode that the patient does not have is shown only if
    its name is short.
    """
    return contact.shaft in shaft_names(tables.names) or len(contact.shaft.rstrip("'")) <= 2


def patient_key(name: str) -> str:
    """One spelling of a patient's name: `sub-pt01` and `pt1` have the same key.

    Examples
    --------
    >>> patient_key("sub-pt01") == patient_key("pt1"), patient_key("ummc_003")
    (True, 'ummc3')
    """
    bare = re.sub(r"[\s_-]", "", name.strip().lower().removeprefix("sub-"))
    return re.sub(r"(?<!\d)0+(?=\d)", "", bare)
