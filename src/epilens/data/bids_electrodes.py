"""electrodes.tsv of a run: which of several, in which coordinate system, under which names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from epilens.core.errors import DataError, Reason
from epilens.data.audit import AuditRow, Note
from epilens.data.contacts import parse_contact
from epilens.data.positions import Positions, known_space, read_positions
from epilens.data.sidecars import BidsFile, BidsTree, space_of
from epilens.data.tables import read_table

_PREFERRED = (r"MNI152|ICBM", r"MNI|fsaverage")
"""Templates first: region names need one."""


@dataclass(frozen=True)
class RunElectrodes:
    """One electrodes.tsv; names are those of channels.tsv where they mean the same contact."""

    table: pd.DataFrame
    fields: dict[str, Any]
    """electrodes.json, which explains the columns."""
    positions: Positions


class BidsElectrodes:
    """The electrodes.tsv files of a tree, each read once; `rows` are notes for the audit."""

    def __init__(self, tree: BidsTree):
        self._tree = tree
        self._read: dict[Path, RunElectrodes | None] = {}
        self.rows: list[AuditRow] = []

    def of_run(self, run: BidsFile, patient: str, names: Collection[str]) -> RunElectrodes | None:
        """The table that applies to a run, or None; one that cannot be read is a note."""
        paths = self._tree.sidecars(run, "electrodes", ".tsv")
        if not paths:
            return None
        nearest = paths[-1]
        if nearest not in self._read:
            spaces = [path for path in paths if _bare(path) == _bare(nearest)]
            try:
                self._read[nearest] = self._preferred(run, spaces, patient, names)
            except DataError as error:
                note = Reason(f"{error} Its contacts have no positions.", error.code)
                self._note(note, patient)
                self._read[nearest] = None
        return self._read[nearest]

    def _preferred(
        self, run: BidsFile, paths: list[Path], patient: str, names: Collection[str]
    ) -> RunElectrodes:
        """The table of the best coordinate system in which contacts have positions."""
        ordered = sorted(paths, key=lambda path: _preference(space_of(path)))
        tables: list[tuple[Path, RunElectrodes, list[AuditRow]]] = []
        for path in ordered:
            tables.append((path, *self._open(run, path, patient, names)))
            if tables[-1][1].positions.mm:
                break
        path, table, rows = next((one for one in tables if one[1].positions.mm), tables[0])
        self.rows += [row for row in rows if row not in self.rows]
        if len(paths) > 1:
            used = known_space(space_of(path)) or "the one without a name"
            text = f"positions are given in {len(paths)} coordinate systems; {used} is used"
            self._note(Note(text, "positions"), patient)
        return table

    def _open(
        self, run: BidsFile, path: Path, patient: str, names: Collection[str]
    ) -> tuple[RunElectrodes, list[AuditRow]]:
        table = read_table(path)
        if "name" in table:
            table = table.assign(name=names_in(list(table["name"]), names))
        coordsystem = self._tree.fields(run, "coordsystem", space_of(path))
        positions, rows = read_positions(table, coordsystem, patient)
        return RunElectrodes(table, self._tree.fields(run, "electrodes"), positions), rows

    def _note(self, note: Reason, patient: str) -> None:
        row = AuditRow.of("patient", note, (patient,), "noted")
        self.rows += [] if row in self.rows else [row]


def names_in(names: list[str], channels: Collection[str]) -> list[str]:
    """Names of electrodes.tsv as channels.tsv spells them (`C01` for `C1`), where that is clear.

    Examples
    --------
    >>> names_in(["C01", "C2", "X"], ["C1", "C2"])
    ['C1', 'C2', 'X']
    """
    known, free = set(channels), set(channels) - set(names)
    contacts = {name: parse_contact(name) for name in [*free, *set(names) - known]}
    spelt: dict[Any, list[str]] = {}
    for channel in free:
        spelt.setdefault(contacts[channel], []).append(channel)
    times = Counter(contacts[name] for name in names if name not in known)
    return [
        spelt[contact][0]
        if name not in known
        and (contact := contacts[name]) is not None
        and times[contact] == 1
        and len(spelt.get(contact, ())) == 1
        else name
        for name in names
    ]


def _bare(path: Path) -> tuple[Path, frozenset[tuple[str, str]]]:
    """Folder and entities without the space: equal for one table in several spaces."""
    file = BidsFile.of(path)
    entities = frozenset() if file is None else file.entities
    return path.parent, frozenset(pair for pair in entities if pair[0] != "space")


def _preference(space: str) -> int:
    for place, pattern in enumerate(_PREFERRED):
        if re.match(pattern, space, re.IGNORECASE):
            return place
    return len(_PREFERRED)
