"""Contact positions in mm, from electrodes.tsv and coordsystem.json."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from epilens.data.audit import AuditRow
from epilens.data.sidecars import as_number

_MM = {"m": 1000.0, "cm": 10.0, "mm": 1.0}
# No head is larger: beyond this, the stated unit cannot be true.
_HEAD_MM = 500.0


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
        """Positions of these contacts only."""
        return Positions({name: self.mm[name] for name in names if name in self.mm}, self.space)


def read_positions(
    table: pd.DataFrame, coordsystem: dict[str, Any], patient: str
) -> tuple[Positions, list[AuditRow]]:
    """Positions in mm; a unit that would make an impossible head is noted and not applied."""
    if not {"name", "x", "y", "z"} <= set(table.columns):
        why = "electrodes.tsv has no columns name, x, y, z; contacts have no positions"
        return Positions.none(), [AuditRow("patient", why, patient, effect="noted")]
    xyz: dict[str, tuple[float, float, float]] = {}
    for row in table.to_dict("records"):
        x, y, z = (as_number(row[axis]) for axis in "xyz")
        if x is not None and y is not None and z is not None:
            xyz[row["name"]] = (x, y, z)
    unit = str(coordsystem.get("iEEGCoordinateUnits", "")).lower()
    scale, rows = _MM.get(unit, 1.0), []
    if scale * np.abs([*xyz.values(), (0.0, 0.0, 0.0)]).max() > _HEAD_MM:
        why = f"coordsystem.json says {unit or 'no unit'}, but no head is that large; mm taken"
        rows.append(AuditRow("patient", why, patient, effect="noted"))
        scale = 1.0
    space = str(coordsystem.get("iEEGCoordinateSystem", ""))
    return Positions(
        {k: (scale * x, scale * y, scale * z) for k, (x, y, z) in xyz.items()}, space
    ), rows
