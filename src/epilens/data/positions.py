"""Contact positions in mm, from electrodes.tsv and coordsystem.json or an object's own montage."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from epilens.core.errors import DataError
from epilens.data.audit import AuditRow, Note
from epilens.data.contacts import Contact, contacts_of_channel, parse_contact, typed_contact
from epilens.data.electrode_files import read_electrode_file
from epilens.data.tables import as_number

if TYPE_CHECKING:
    from mne.io import BaseRaw

    from epilens.data.recording import Recording

_MM = {"m": 1000.0, "cm": 10.0, "mm": 1.0}
# No head is larger: beyond this, the stated unit cannot be true.
_HEAD_MM = 500.0
_TINY_MM, _SEVERAL = 1.0, 4
"""Several contacts that are all closer than this are given in metres."""
_CLOSE_MM = 1.0
"""No electrode has contacts that are closer."""
_EMPTY = ("", "n/a", "nan", "none")

Point = tuple[float, float, float]


@dataclass(frozen=True)
class Positions:
    """Position of each contact that has one, in mm, and the name of the space."""

    mm: dict[str, tuple[float, float, float]]
    space: str

    @classmethod
    def none(cls) -> Positions:
        """No contact has a position."""
        return cls({}, "")

    def merged(self, other: Positions) -> Positions:
        """Both; contacts that are already known stay."""
        return Positions(other.mm | self.mm, self.space or other.space)

    def of(self, names: Sequence[str]) -> Positions:
        """Positions of these channels only; a pair lies in the middle between its contacts."""
        mm = {name: self.mm[name] for name in names if name in self.mm}
        if pairs := [name for name in names if name not in mm and "-" in name]:
            by_contact = {parse_contact(name): at for name, at in self.mm.items()}
            middles = ((name, _middle(name, by_contact)) for name in pairs)
            mm |= {name: at for name, at in middles if at is not None}
        return Positions(mm, self.space)


def _middle(name: str, by_contact: Mapping[Contact | None, Point]) -> Point | None:
    """Between the two contacts of a bipolar channel; None where it is none, or one is unknown."""
    ends = [by_contact.get(contact) for contact in contacts_of_channel(name)]
    if len(ends) != 2 or ends[0] is None or ends[1] is None:
        return None
    (ax, ay, az), (bx, by, bz) = ends[0], ends[1]
    return ((ax + bx) / 2, (ay + by) / 2, (az + bz) / 2)


def read_positions(
    table: pd.DataFrame, coordsystem: dict[str, Any], patient: str
) -> tuple[Positions, list[AuditRow]]:
    """Positions in mm; a unit that would make an impossible head is noted and not applied."""
    if not {"name", "x", "y", "z"} <= set(table.columns):
        note = Note(
            "electrodes.tsv has no columns name, x, y, z; contacts have no positions", "positions"
        )
        return Positions.none(), [AuditRow.of("patient", note, (patient,), "noted")]
    xyz, repeated = _coordinates(table)
    unit = str(coordsystem.get("iEEGCoordinateUnits", "")).lower()
    scale, rows = _MM.get(unit, 1.0), []
    if scale * np.abs([*xyz.values(), (0.0, 0.0, 0.0)]).max() > _HEAD_MM:
        stated = unit if unit in _MM else "an unknown unit" if unit else "no unit"
        note = Note(
            "coordsystem.json says {found}, but the values look like millimetres; "
            "millimetres assumed",
            "positions",
            found=stated,
        )
        rows.append(AuditRow.of("patient", note, (patient,), "noted"))
        scale = 1.0
    elif scale == 1.0 and len(xyz) >= _SEVERAL and np.ptp([*xyz.values()], axis=0).max() < _TINY_MM:
        note = Note(
            "the positions of all contacts are within 1 mm, so they look like metres; metres "
            "assumed",
            "positions",
        )
        rows.append(AuditRow.of("patient", note, (patient,), "noted"))
        scale = _MM["m"]
    rows += [
        AuditRow.of("patient", note, (patient,), "noted")
        for note in (*_unreadable(table), *_too_close(xyz, scale))
    ]
    if repeated:
        names = ", ".join(sorted(repeated)[:5])
        note = Note(
            f"{len(repeated)} contacts are listed more than once with different positions and get "
            f"none ({names})",
            "positions",
        )
        rows.append(AuditRow.of("patient", note, (patient,), "noted"))
    space = known_space(str(coordsystem.get("iEEGCoordinateSystem", "")))
    return Positions(
        {k: (scale * x, scale * y, scale * z) for k, (x, y, z) in xyz.items()}, space
    ), rows


def _coordinates(table: pd.DataFrame) -> tuple[dict[str, Point], set[str]]:
    """Coordinates by name, and contacts that have several: those are in neither place."""
    xyz: dict[str, Point] = {}
    by_contact: dict[str, set[Point]] = {}
    for row in table.to_dict("records"):
        x, y, z = (as_number(row[axis]) for axis in "xyz")
        if x is not None and y is not None and z is not None:
            xyz[row["name"]] = (x, y, z)
            contact = typed_contact(row["name"])
            by_contact.setdefault(str(contact or row["name"]), set()).add((x, y, z))
    repeated = {contact for contact, points in by_contact.items() if len(points) > 1}
    kept = {n: at for n, at in xyz.items() if str(typed_contact(n) or n) not in repeated}
    return kept, repeated


def _unreadable(table: pd.DataFrame) -> list[Note]:
    """A note on coordinates that are texts; cells without a value are not coordinates."""
    rows = table[["x", "y", "z"]].astype(str)
    texts = rows.map(lambda cell: cell.strip().lower() not in _EMPTY and as_number(cell) is None)
    count = int(texts.any(axis=1).sum())
    contacts = "1 contact has" if count == 1 else f"{count} contacts have"
    text = f"{contacts} coordinates that are not numbers, and so no position"
    return [Note(text, "positions")] if count else []


def _too_close(xyz: Mapping[str, Point], scale: float) -> list[Note]:
    """A note on neighbours of an electrode that are too close: the unit is not the stated one."""
    at = {contact: point for name, point in xyz.items() if (contact := parse_contact(name))}
    nexts = ((contact, Contact(contact.shaft, contact.number + 1)) for contact in at)
    apart = [np.linalg.norm(np.subtract(at[a], at[b])) for a, b in nexts if b in at]
    if len(apart) < _SEVERAL or not 0 < (usual := scale * float(np.median(apart))) < _CLOSE_MM:
        return []
    text = f"neighbouring contacts are {usual:.2g} mm apart, so their unit is probably wrong"
    return [Note(f"{text}; regions and distances are wrong", "positions")]


_SPACES = re.compile(
    r"MNI(?:152)?(?:Lin|NLin6A?Sym|NLin2009[abc]?(?:A?Sym)?|Colin27)?|MNI305|mni_tal|Talairach|"
    r"ICBM(?:152|452)?(?:AirSpace|Warp5Space)?|IXI549Space|NIHPD|OASIS30\w{0,14}|UNCInfant\d?V?\d*|"
    r"fsaverage[3-6]?|fsaveragesym|fsLR|fsnative|native|individual|T1w|ACPC|Pixels|Scan(?:ner)?RAS|"
    r"CTF|ElektaNeuromag|4DBti|KitYokogawa|ChietiItab|BESA|CapTrak|EEGLAB(?:-HJ)?|"
    r"other|unknown|head|mri|mri_voxel|ras|tkras",
    re.IGNORECASE,
)
"""Names that BIDS and MNE have for coordinate systems."""


def known_space(text: str) -> str:
    """A coordinate system that BIDS or MNE knows; `Other` for somebody's own words.

    Examples
    --------
    >>> known_space("MNI152NLin2009bAsym"), known_space("Anna's scan"), known_space("")
    ('MNI152NLin2009bAsym', 'Other', '')
    """
    text = text.strip()
    return text if not text or _SPACES.fullmatch(text) else "Other"


def read_electrodes(path: Path, space: str, patient: str) -> tuple[Positions, list[AuditRow]]:
    """Positions of a file of BIDS or of another tool, in RAS axes."""
    return read_positions(*read_electrode_file(path, space), patient)


def place_contacts(
    recordings: Sequence[Recording], path: Path, space: str
) -> tuple[tuple[Recording, ...], list[AuditRow]]:
    """The recordings with the positions of a table; names may be spelt differently."""
    positions, rows = read_electrodes(path, space, recordings[0].patient)
    by_contact = {parse_contact(name): at for name, at in positions.mm.items()}
    by_contact.pop(None, None)
    placed = []
    for recording in recordings:
        mm = {}
        for name in recording.channels:
            at = positions.mm.get(name) or by_contact.get(parse_contact(name))
            at = at or _middle(name, by_contact)
            if at is not None:
                mm[name] = at
        placed.append(replace(recording, positions=Positions(mm, positions.space)))
    if not any(recording.positions.mm for recording in placed):
        raise DataError(
            f"{path}: expected positions of the patient's contacts, found none of them among its "
            f"{len(positions.mm)} names. Does the file belong to this patient?"
        )
    return tuple(placed), rows


def montage_positions(raw: BaseRaw) -> Positions:
    """Positions of a recording's own montage."""
    montage = raw.get_montage()
    if montage is None:
        return Positions.none()
    at: dict[str, Any] = montage.get_positions()
    mm = {
        name.strip(): (1e3 * float(m[0]), 1e3 * float(m[1]), 1e3 * float(m[2]))
        for name, m in at["ch_pos"].items()
        if np.isfinite(m).all()
    }
    return Positions(mm, str(at["coord_frame"]))
