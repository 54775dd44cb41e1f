"""The electrodes.tsv files of a BIDS dataset: which one applies to a run, and what it says.

Of several files for one run, that of the best coordinate system is used.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from epilens.core.errors import DataError, Reason
from epilens.data.audit import AuditRow, add_new, noted_row
from epilens.data.channels.contacts import Contact, parse_contact
from epilens.data.electrodes.positions import Positions, known_space, read_positions
from epilens.data.sidecars import BidsFile, BidsTree, space_of
from epilens.data.user_files import read_table

_PREFERRED = (r"MNI152|ICBM", r"MNI|fsaverage")
"""Patterns of preferred coordinate systems: templates first, which region names need."""


@dataclass(frozen=True)
class RunElectrodes:
    """One electrodes.tsv, with contacts spelt as in channels.tsv."""

    table: pd.DataFrame
    fields: dict[str, Any]
    """Fields of electrodes.json, which explain columns."""
    positions: Positions


class BidsElectrodes:
    """The electrodes.tsv files of a dataset, each read once; adds notes to the audit's `rows`."""

    def __init__(self, tree: BidsTree, rows: list[AuditRow]):
        self._tree, self._rows = tree, rows
        self._read: dict[Path, RunElectrodes | None] = {}

    def of_run(self, run: BidsFile, patient: str, names: Collection[str]) -> RunElectrodes | None:
        """The table that applies to a run, or None; an unreadable table becomes a note."""
        paths = self._tree.sidecars(run, "electrodes", ".tsv")
        if not paths:
            return None
        nearest = paths[-1]
        if nearest not in self._read:
            spaces = [path for path in paths if _without_space(path) == _without_space(nearest)]
            try:
                self._read[nearest] = self._preferred(run, spaces, patient, names)
            except DataError as error:
                reason = Reason(f"{error} Its contacts have no positions.", error.code)
                add_new(self._rows, [AuditRow.of("patient", reason, (patient,), "noted")])
                self._read[nearest] = None
        return self._read[nearest]

    def _preferred(
        self, run: BidsFile, paths: list[Path], patient: str, names: Collection[str]
    ) -> RunElectrodes:
        """The table with positions that has the best coordinate system."""
        ordered = sorted(paths, key=lambda path: _preference(space_of(path)))
        tables: list[tuple[Path, RunElectrodes, list[AuditRow]]] = []
        for path in ordered:
            tables.append((path, *self._open(run, path, patient, names)))
            if tables[-1][1].positions.mm:
                break
        path, table, rows = tables[-1] if tables[-1][1].positions.mm else tables[0]
        if len(paths) > 1:
            used = known_space(space_of(path)) or "the one without a name"
            text = f"positions are given in {len(paths)} coordinate systems; {used} is used"
            rows.append(noted_row("patient", text, "positions", (patient,)))
        add_new(self._rows, rows)
        return table

    def _open(
        self, run: BidsFile, path: Path, patient: str, names: Collection[str]
    ) -> tuple[RunElectrodes, list[AuditRow]]:
        table = read_table(path)
        if "name" in table:
            table = table.assign(name=as_in_channels(list(table["name"]), names))
        coordsystem = self._tree.fields(run, "coordsystem", space_of(path))
        positions, rows = read_positions(table, coordsystem, patient)
        return RunElectrodes(table, self._tree.fields(run, "electrodes"), positions), rows


def as_in_channels(names: list[str], channels: Collection[str]) -> list[str]:
    """Names of electrodes.tsv spelt as in channels.tsv (`C1` for `C01`), if that is clear.

    Examples
    --------
    >>> as_in_channels(["C01", "C2", "X"], ["C1", "C2"])
    ['C1', 'C2', 'X']
    """
    free, unknown = set(channels) - set(names), set(names) - set(channels)
    spelt: dict[Contact | None, list[str]] = {}
    for channel in free:
        spelt.setdefault(parse_contact(channel), []).append(channel)
    contacts = {name: parse_contact(name) for name in unknown}
    times = Counter(contacts[name] for name in names if name in unknown)
    respelled = {
        name: spelt[contact][0]
        for name, contact in contacts.items()
        if contact and times[contact] == 1 and len(spelt.get(contact, ())) == 1
    }
    return [respelled.get(name, name) for name in names]


def _without_space(path: Path) -> tuple[Path, frozenset[tuple[str, str]]]:
    """Folder and entities without `space`, which tables in several spaces have in common."""
    file = BidsFile.of(path)
    entities = frozenset() if file is None else file.entities
    return path.parent, frozenset(pair for pair in entities if pair[0] != "space")


def _preference(space: str) -> int:
    ranks = (i for i, p in enumerate(_PREFERRED) if re.match(p, space, re.IGNORECASE))
    return next(ranks, len(_PREFERRED))
