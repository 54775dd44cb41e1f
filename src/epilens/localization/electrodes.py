"""Positions of the contacts from a table that the user gives."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from epilens.data.audit import AuditRow
from epilens.data.contacts import parse_contact
from epilens.data.positions import Positions, read_positions
from epilens.data.recording import Recording
from epilens.data.sidecars import read_json, read_table
from epilens.errors import DataError


def place_contacts(
    recordings: Sequence[Recording], path: Path, space: str
) -> tuple[tuple[Recording, ...], list[AuditRow]]:
    """The recordings with the positions of the table; names may be spelt differently."""
    positions, rows = read_electrodes(path, space, recordings[0].patient)
    by_contact = {str(parse_contact(name)): at for name, at in positions.mm.items()}
    placed, found = [], set()
    for recording in recordings:
        mm = {}
        for name in recording.channels:
            at = positions.mm.get(name) or by_contact.get(str(parse_contact(name)))
            if at is not None:
                mm[name] = at
        found |= set(mm)
        placed.append(replace(recording, positions=Positions(mm, positions.space)))
    if not found:
        raise DataError(
            f"{path}: expected positions of the patient's contacts, found none of them among its "
            f"{len(positions.mm)} names. Does the file belong to this patient?"
        )
    return tuple(placed), rows


def read_electrodes(path: Path, space: str, patient: str) -> tuple[Positions, list[AuditRow]]:
    """Positions from a table with name, x, y, z and the coordsystem.json beside it."""
    if not path.exists():
        raise DataError(f"{path}: expected a table of electrodes, found nothing. Check the path.")
    table = read_table(path, "," if path.suffix.lower() == ".csv" else "\t")
    missing = [column for column in ("name", "x", "y", "z") if column not in table]
    if missing:
        raise DataError(
            f"{path}: expected columns name, x, y, z, found {', '.join(table.columns)}. Add "
            f"{', '.join(missing)}."
        )
    beside = path.with_name(re.sub(r"electrodes\.\w+$", "coordsystem.json", path.name))
    fields = read_json(beside) if beside != path and beside.exists() else {}
    if space:
        fields = fields | {"iEEGCoordinateSystem": space}
    return read_positions(table, fields, patient)
