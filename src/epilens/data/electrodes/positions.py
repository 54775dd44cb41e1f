"""Contact positions in mm, from a table of electrodes or the montage of an open recording."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from epilens.core.errors import DataError
from epilens.data.audit import AuditRow, Note, noted_row
from epilens.data.channels.contacts import (
    Contact,
    contacts_of_channel,
    parse_contact,
    typed_contact,
)
from epilens.data.electrodes.electrode_files import read_electrode_file
from epilens.data.user_files import as_number

if TYPE_CHECKING:
    from mne.io import BaseRaw

    from epilens.data.recording import Recording


_MM = {"m": 1000.0, "cm": 10.0, "mm": 1.0}
# No head is larger: beyond this, the stated unit cannot be true.
_HEAD_MM = 500.0
_FAR_MM = 10_000.0
# Contacts that are farther away have no position in any unit.
_TINY_MM, _SEVERAL = 1.0, 4
"""If several contacts are all closer than this, their positions are in metres."""
_CLOSE_MM = 1.0
"""Smallest plausible distance of neighbouring contacts."""
_EMPTY = ("", "n/a", "nan", "none")

Point = tuple[float, float, float]


@dataclass(frozen=True)
class Positions:
    """Known positions of contacts in mm, and the name of their coordinate system."""

    mm: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    space: str = ""

    def merged(self, other: Positions) -> Positions:
        """These positions, and those of `other` for contacts that are not known here."""
        return Positions(other.mm | self.mm, self.space or other.space)

    def of(self, names: Sequence[str], respelled: bool = False) -> Positions:
        """Positions of these channels only; a bipolar pair lies between its contacts.

        respelled : also use names that mean the same contact (`A1` for `EEG A 01-Ref`).
        """
        mm = {name: self.mm.get(name) for name in names}
        if others := [n for n, at in mm.items() if at is None and (respelled or "-" in n)]:
            by_contact = {parse_contact(name): at for name, at in self.mm.items()}
            by_contact.pop(None, None)
            for name in others:
                at = by_contact.get(parse_contact(name)) if respelled else None
                mm[name] = at or _middle(name, by_contact)
        return Positions({name: at for name, at in mm.items() if at is not None}, self.space)


def _middle(name: str, by_contact: Mapping[Contact | None, Point]) -> Point | None:
    """The middle of the two contacts of a bipolar channel; None for any other channel."""
    ends = [by_contact.get(contact) for contact in contacts_of_channel(name)]
    if len(ends) != 2 or ends[0] is None or ends[1] is None:
        return None
    (ax, ay, az), (bx, by, bz) = ends[0], ends[1]
    return ((ax + bx) / 2, (ay + by) / 2, (az + bz) / 2)


def read_positions(
    table: pd.DataFrame, coordsystem: dict[str, Any], patient: str
) -> tuple[Positions, list[AuditRow]]:
    """Positions in mm; a unit that implies an impossible head is noted and not applied."""
    if not {"name", "x", "y", "z"} <= set(table.columns):
        text = "electrodes.tsv has no columns name, x, y, z; contacts have no positions"
        return Positions(), [noted_row("patient", text, "positions", (patient,))]
    xyz, repeated = _coordinates(table)
    far = {name for name, at in xyz.items() if np.abs(at).max() > _FAR_MM}
    xyz = {name: at for name, at in xyz.items() if name not in far}
    unit = str(coordsystem.get("iEEGCoordinateUnits", "")).lower()
    if _all_at_one_position(xyz, unit):
        text = "the positions of all contacts are the same within 1 mm, so contacts have none"
        return Positions(), [noted_row("patient", text, "positions", (patient,))]
    scale, notes = _scale(xyz, unit)
    mm = {name: (scale * x, scale * y, scale * z) for name, (x, y, z) in xyz.items()}
    texts = _unreadable(table) + _too_close(mm)
    if far:
        contacts = "1 contact is" if len(far) == 1 else f"{len(far)} contacts are"
        texts.append(f"{contacts} more than 10 m away, and so without a position")
    if repeated:
        texts.append(
            f"{len(repeated)} contacts are listed more than once with different positions and get "
            f"none ({', '.join(sorted(repeated)[:5])})"
        )
    notes += [Note(text, "positions") for text in texts]
    space = known_space(str(coordsystem.get("iEEGCoordinateSystem", "")))
    return Positions(mm, space), [AuditRow.of("patient", n, (patient,), "noted") for n in notes]


def _all_at_one_position(xyz: Mapping[str, Point], unit: str) -> bool:
    """Whether all contacts have one position in the stated unit, and cannot be in metres."""
    if len(xyz) < _SEVERAL:
        return False
    largest, spread = np.abs([*xyz.values()]).max(), np.ptp([*xyz.values()], axis=0).max()
    scale = _MM.get(unit, 1.0)
    scale = 1.0 if scale * largest > _HEAD_MM else scale
    return bool(scale * spread < _TINY_MM and _MM["m"] * largest > _HEAD_MM)


def _scale(xyz: Mapping[str, Point], unit: str) -> tuple[float, list[Note]]:
    """Factor from the stated unit to mm; the values can contradict the unit, which is noted."""
    scale = _MM.get(unit, 1.0)
    if scale * np.abs([*xyz.values(), (0.0, 0.0, 0.0)]).max() > _HEAD_MM:
        stated = unit if unit in _MM else "an unknown unit" if unit else "no unit"
        text = (
            "coordsystem.json says {found}, but the values look like millimetres; "
            "millimetres assumed"
        )
        return 1.0, [Note(text, "positions", found=stated)]
    if scale == 1.0 and len(xyz) >= _SEVERAL and np.ptp([*xyz.values()], axis=0).max() < _TINY_MM:
        text = (
            "the positions of all contacts are within 1 mm, so they look like metres; metres "
            "assumed"
        )
        return _MM["m"], [Note(text, "positions")]
    return scale, []


def _coordinates(table: pd.DataFrame) -> tuple[dict[str, Point], set[str]]:
    """Coordinates by name, and contacts with several positions, which get none."""
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


def _unreadable(table: pd.DataFrame) -> list[str]:
    """A note if coordinates are neither numbers nor empty."""
    rows = table[["x", "y", "z"]].astype(str)
    texts = rows.map(lambda cell: cell.strip().lower() not in _EMPTY and as_number(cell) is None)
    count = int(texts.any(axis=1).sum())
    contacts = "1 contact has" if count == 1 else f"{count} contacts have"
    return [f"{contacts} coordinates that are not numbers, and so no position"] if count else []


def _too_close(mm: Mapping[str, Point]) -> list[str]:
    """A note if neighbouring contacts are so close that the unit must be wrong."""
    at = {contact: point for name, point in mm.items() if (contact := parse_contact(name))}
    nexts = ((contact, Contact(contact.shaft, contact.number + 1)) for contact in at)
    apart = [np.linalg.norm(np.subtract(at[a], at[b])) for a, b in nexts if b in at]
    if len(apart) < _SEVERAL or not 0 < (usual := float(np.median(apart))) < _CLOSE_MM:
        return []
    text = f"neighbouring contacts are {usual:.2g} mm apart, so their unit is probably wrong"
    return [f"{text}; regions and distances are wrong"]


_SPACES = re.compile(
    r"MNI(?:152)?(?:Lin|NLin6A?Sym|NLin2009[abc]?(?:A?Sym)?|Colin27)?|MNI305|mni_tal|Talairach|"
    r"ICBM(?:152|452)?(?:AirSpace|Warp5Space)?|IXI549Space|NIHPD|OASIS30\w{0,14}|UNCInfant\d?V?\d*|"
    r"fsaverage[3-6]?|fsaveragesym|fsLR|fsnative|native|individual|T1w|ACPC|Pixels|Scan(?:ner)?RAS|"
    r"CTF|ElektaNeuromag|4DBti|KitYokogawa|ChietiItab|BESA|CapTrak|EEGLAB(?:-HJ)?|"
    r"other|unknown|head|mri|mri_voxel|ras|tkras",
    re.IGNORECASE,
)
"""Names of coordinate systems in BIDS and MNE."""


def known_space(text: str) -> str:
    """The name of a coordinate system if BIDS or MNE knows it; else `Other`.

    Examples
    --------
    >>> known_space("MNI152NLin2009bAsym"), known_space("Anna's scan"), known_space("")
    ('MNI152NLin2009bAsym', 'Other', '')
    """
    text = text.strip()
    return text if not text or _SPACES.fullmatch(text) else "Other"


def read_electrodes(path: Path, space: str, patient: str) -> tuple[Positions, list[AuditRow]]:
    """Read positions from a file of BIDS or of another tool, in RAS axes."""
    return read_positions(*read_electrode_file(path, space), patient)


def place_contacts(
    recordings: Sequence[Recording], path: Path, space: str
) -> tuple[tuple[Recording, ...], list[AuditRow]]:
    """Add the positions of a file to recordings; names may be spelt differently."""
    positions, rows = read_electrodes(path, space, recordings[0].patient)
    if not positions.mm and rows:
        raise DataError(
            f"{path}: expected positions of contacts, found none: {rows[0].why}. Check the numbers "
            "(with a decimal point) and their unit."
        )
    placed = tuple(
        replace(recording, positions=positions.of(recording.channels, respelled=True))
        for recording in recordings
    )
    if not any(recording.positions.mm for recording in placed):
        raise DataError(
            f"{path}: expected positions of the patient's contacts, found none of them among its "
            f"{len(positions.mm)} names. Does the file belong to this patient?"
        )
    return placed, rows


def montage_positions(raw: BaseRaw) -> Positions:
    """Positions in the montage of an open recording."""
    montage = raw.get_montage()
    if montage is None:
        return Positions()
    at: dict[str, Any] = montage.get_positions()
    mm = {
        name.strip(): (1e3 * float(m[0]), 1e3 * float(m[1]), 1e3 * float(m[2]))
        for name, m in at["ch_pos"].items()
        if np.isfinite(m).all()
    }
    return Positions(mm, str(at["coord_frame"]))
