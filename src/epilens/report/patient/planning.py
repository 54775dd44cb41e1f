"""Ranked contacts for planning tools: 3D Slicer markups, a workbook, and an electrodes table.

Positions are in mm in RAS axes everywhere in EpiLENS. 3D Slicer's markups are written in LPS, as
3D Slicer itself saves them, and state it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

import epilens
from epilens.core.console import visible
from epilens.data.channels.contacts import short_names
from epilens.io.delimited import safe, to_tsv
from epilens.io.xlsx import workbook_of
from epilens.report.patient.bids_text import DISCLAIMER, as_json, cell

if TYPE_CHECKING:
    from epilens.localization.result import Localization

_SCHEMA = (
    "https://raw.githubusercontent.com/Slicer/Slicer/main/Modules/Loadable/Markups/Resources/"
    "Schema/markups-schema-v1.0.0.json#"
)
_ELECTRODE_COLUMNS = {"shaft": "group", "rank": "rank", "ez_score": "ez_score"} | {
    name: name for name in ("ez_probability", "decision", "quality")
}
"""Columns of the table of contacts that the electrodes table has, and their names in it."""
_IN_WORDS = {
    "EZ": "flagged (above the threshold)",
    "NEZ": "not flagged",
    "abstained": "no decision: the program abstains",
    "none": "no decision: no threshold",
}
"""Decisions as the page words them."""


def planning_folder(patient: str) -> str:
    """Folder of these files, from the derivative's folder."""
    return f"{patient}/planning"


def planning_files(localized: Localization) -> dict[str, bytes]:
    """Name from the derivative's folder → content; no markups where no contact has a position."""
    stem = f"{planning_folder(localized.patient)}/{localized.patient}"
    files = {
        f"{stem}_contacts.xlsx": workbook(localized),
        f"{stem}_electrodes.tsv": electrodes_table(localized).encode(),
        f"{stem}_coordsystem.json": as_json(_coordsystem(localized)),
    }
    if any(at is not None for at in localized.positions_mm):
        files[f"{stem}_contacts.mrk.json"] = as_json(slicer_markups(localized))
    return files


def slicer_markups(localized: Localization) -> dict[str, Any]:
    """One list of points, best rank first; the top K are selected, which shows in their colour."""
    points, names = [], short_names(list(localized.channels))
    for place, c in enumerate(localized.order.tolist()):
        at = localized.positions_mm[c]
        if at is None:
            continue
        x, y, z = at
        points.append(
            {
                "id": str(place + 1),
                "label": names[c],
                "description": _point_text(localized, c, place + 1),
                "position": [-float(x), -float(y), float(z)],
                "selected": place < localized.k,
                "locked": True,
                "visibility": True,
                "positionStatus": "defined",
            }
        )
    markup = {
        "type": "Fiducial",
        "coordinateSystem": "LPS",
        "coordinateUnits": "mm",
        "locked": True,
        "labelFormat": "%N-%d",
        "controlPoints": points,
    }
    return {"@schema": _SCHEMA, "markups": [markup], "epilens": dict(_facts(localized))}


def _point_text(localized: Localization, c: int, rank: int) -> str:
    """Score and probability of one contact, as 3D Slicer shows them next to the point."""
    parts = [f"rank {rank}", f"EZ score {1 - localized.scores.p_nez[c]:.3f}"]
    probability = localized.certainty.probability
    if probability is not None:
        parts.append(f"P(EZ) {probability[c]:.3f}")
    parts.append(_IN_WORDS[localized.decisions[c]])
    return "; ".join([*parts, "research use only"])


def electrodes_table(localized: Localization) -> str:
    """A table as BIDS has for electrodes, with score, P(EZ), rank and decision of each contact."""
    columns = {column.name: column.values for column in localized.columns}
    header = ["name", "x", "y", "z", "size", *_ELECTRODE_COLUMNS.values()]
    rows = []
    for c in localized.order:
        at = [cell(columns[name][c]) for name in ("name", "x", "y", "z")]
        rows.append([*at, "n/a", *(cell(columns[name][c]) for name in _ELECTRODE_COLUMNS)])
    return to_tsv(header, rows)


def workbook(localized: Localization) -> bytes:
    """The table of contacts as .xlsx; a second sheet explains it, and no cell is a formula."""
    contacts = [
        [column.name for column in localized.columns],
        *(
            [workbook_cell(column.values[c]) for column in localized.columns]
            for c in localized.order
        ),
    ]
    about = [
        *([key, workbook_cell(value)] for key, value in _facts(localized)),
        *([c.name, workbook_cell(c.description), c.units] for c in localized.columns),
    ]
    return workbook_of({"contacts": contacts, "about": about})


def workbook_cell(value: Any) -> Any:
    """A number or a safe text; empty where nothing is known."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return safe(visible(value)) if isinstance(value, str) else value


def _facts(localized: Localization) -> Iterator[tuple[str, Any]]:
    """What every file states: use, patient, source, coordinate system, cautions."""
    yield "use", DISCLAIMER
    yield "patient", localized.patient
    yield "simulated", "yes" if localized.is_simulated else "no"
    yield "source", localized.source.title
    yield "software", f"EpiLENS {epilens.__version__}"
    yield "top contacts", localized.k
    yield "coordinate system", localized.space or "not stated"
    yield "decisions withheld", "yes" if localized.certainty.abstains else "no"


def _coordsystem(localized: Localization) -> dict[str, str]:
    return {
        "iEEGCoordinateSystem": localized.space or "Other",
        "iEEGCoordinateUnits": "mm",
        "iEEGCoordinateSystemDescription": "x to the right, y to the front, z up (RAS). The system "
        "is that of the positions that were given to EpiLENS.",
    }
