"""Where the EZ is written: words in status_description, a column, a CSV, or a clinical sheet.

A label source is opened once per dataset and then asked for each patient. It answers with the EZ
contacts, or with None when it knows nothing about the patient: then the next source is asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pandas as pd

from epilens.data.audit import AuditRow
from epilens.data.contacts import Contact, expand_contacts, parse_contact
from epilens.data.sidecars import is_hidden, read_table, with_prefix
from epilens.errors import DataError


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


@dataclass(frozen=True)
class Labels:
    """Names of EZ channels; every other channel of the patient is NEZ.

    None: the source names the patient, but none of the contacts was recorded, so nothing is known.
    """

    ez: frozenset[str] | None
    rows: tuple[AuditRow, ...] = field(default=())


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
        ez = {
            row["name"]
            for table in tables.channels
            if "status_description" in table
            for row in table[["name", "status_description"]].to_dict("records")
            if self.words & set(re.findall(r"[a-z]+", row["status_description"].lower()))
        }
        return Labels(frozenset(ez)) if ez else None


YES = frozenset({"1", "true", "yes", "y", "soz", "ez", "resected", "resect", "ablated"})
NO = frozenset({"0", "false", "no", "n", "nez", "noninvolved", "earlypropzone", "irritativezone"})


def as_flag(text: str) -> bool | None:
    """Yes, no, or None for empty text; anything else is refused."""
    word = re.sub(r"\.0$|[\s_]|(?<=[a-z])-(?=[a-z])", "", text.lower())
    if word in YES:
        return True
    if word in NO:
        return False
    if word:
        raise DataError(f"expected yes or no (or 1/0, true/false), found {text!r}")
    return None


@dataclass(frozen=True)
class LabelColumns:
    """Yes/no columns of channels.tsv or electrodes.tsv, such as `soz`, `resected`, `is_ez`."""

    names: tuple[str, ...]

    def open(self, root: Path) -> Reader:
        """No preparation is needed."""
        return self._read

    def _read(self, tables: PatientTables) -> Labels | None:
        ez, known, unknown = set[str](), set[str](), set[str]()
        for table in [*tables.channels, tables.electrodes]:
            for column in self.names:
                if table is None or not {"name", column} <= set(table):
                    continue
                for name, text in zip(table["name"], table[column], strict=True):
                    flag = _flag_of(tables.patient, column, name, text)
                    (unknown if flag is None else known).add(name)
                    if flag:
                        ez.add(name)
        if not known:
            return None
        unknown &= tables.names
        rows = [
            AuditRow(
                "label",
                f"{len(unknown - known)} channels have no value in {'/'.join(self.names)}; "
                "taken as NEZ",
                tables.patient,
                effect="noted",
            )
        ]
        return Labels(frozenset(ez), tuple(rows if unknown - known else ()))


def _flag_of(patient: str, column: str, name: str, text: str) -> bool | None:
    try:
        return as_flag(text)
    except DataError as error:
        raise DataError(f"{patient} {name!r}, column {column}: {error}. Mend this cell.") from None


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
            raise DataError(f"{who}: expected a CSV, found nothing. Check the path.")
        table = read_table(self.path, sep=",")
        missing = {"patient", "channel", "is_ez"} - set(table.columns)
        if missing:
            raise DataError(
                f"{who}: expected columns patient, channel, is_ez, found "
                f"{', '.join(table.columns)}. Add {', '.join(sorted(missing))}."
            )
        flags: dict[str, dict[str, bool]] = {}
        for row in table.to_dict("records"):
            patient, channel = row["patient"], row["channel"]
            flag = _flag_of(f"labels {self.path.name}: {patient}", "is_ez", channel, row["is_ez"])
            if flag is None:
                raise DataError(
                    f"{who}: expected yes or no for {patient} {channel!r}, found an empty cell. "
                    "Fill it or remove the row."
                )
            of_patient = flags.setdefault(with_prefix(patient, "sub-"), {})
            if of_patient.setdefault(channel, flag) != flag:
                raise DataError(
                    f"{who}: expected one answer for {patient} {channel!r}, found yes and no. "
                    "Remove one row."
                )
        return flags


def _from_names(tables: PatientTables, flags: Mapping[str, bool] | None) -> Labels | None:
    if flags is None:
        return None
    rows = [
        AuditRow("label", "is in the label table but in no run", tables.patient, channel=name)
        for name in flags
        if name not in tables.names
    ]
    unnamed = len(tables.names - set(flags))
    if unnamed:
        why = f"{unnamed} channels are not in the label table; taken as NEZ"
        rows.append(AuditRow("label", why, tables.patient, effect="noted"))
    ez = frozenset(name for name, flag in flags.items() if flag and name in tables.names)
    return Labels(ez, tuple(rows))


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
                f"so no EZ is known. It is part of the full download: {self.path}."
            )
        sheet = _read_sheet(path)
        columns = {str(name).strip().lower(): name for name in sheet.columns}
        missing = {self.patient_column, self.contacts_column} - set(columns)
        if missing:
            raise DataError(
                f"labels {path}: expected columns {self.patient_column}, {self.contacts_column}, "
                f"found {', '.join(columns)}. Is this the right sheet?"
            )
        texts: dict[str, str] = {}
        ids = sheet[columns[self.patient_column]].map(patient_key)
        for key, text in zip(ids, sheet[columns[self.contacts_column]], strict=True):
            texts[key] = f"{texts[key]}; {text}" if key in texts else text
        return lambda tables: self._read(tables, texts.get(patient_key(tables.patient), ""))

    def _read(self, tables: PatientTables, text: str) -> Labels | None:
        listed = expand_contacts(text)
        by_contact: dict[Contact | None, list[str]] = {}
        for name in sorted(tables.names):
            by_contact.setdefault(parse_contact(name), []).append(name)
        rows = [
            AuditRow(
                "label",
                "is in the clinical sheet but was never recorded",
                tables.patient,
                channel=str(contact),
            )
            for contact in listed.contacts
            if contact not in by_contact
        ]
        rows += [
            AuditRow(
                "label",
                f"{len(listed.not_understood)} words of the clinical sheet's contact list are not "
                "contacts",
                tables.patient,
                effect="noted",
            )
        ] * bool(listed.not_understood)
        ez = frozenset(n for c in listed.contacts for n in by_contact.get(c, ()))
        return Labels(ez or None, tuple(rows)) if listed.contacts else None


def _read_sheet(path: Path) -> pd.DataFrame:
    try:
        return pd.read_excel(path, dtype=str, keep_default_na=False)
    except Exception as error:  # openpyxl and zipfile raise many kinds for a damaged file
        raise DataError(
            f"labels {path}: expected an Excel sheet, found a file that cannot be read as one "
            f"({type(error).__name__}). Download it again."
        ) from None


def patient_key(name: str) -> str:
    """One spelling for `sub-pt01`, `pt1`; `ummc_003`, `sub-ummc003`.

    Examples
    --------
    >>> patient_key("sub-pt01") == patient_key("pt1"), patient_key("ummc_003")
    (True, 'ummc3')
    """
    bare = re.sub(r"[\s_-]", "", name.strip().lower().removeprefix("sub-"))
    return re.sub(r"(?<!\d)0+(?=\d)", "", bare)
