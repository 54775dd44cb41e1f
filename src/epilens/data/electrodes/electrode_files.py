"""Electrode positions as other tools write them → a table with name, x, y, z in RAS axes.

Files are BIDS tables (.tsv, .csv), tables with other column names (LeGUI, FreeSurfer), 3D Slicer
markups (.fcsv, .mrk.json), iELVis (.LEPTO, .PIAL, .CT, .FSAVERAGE) and Brainstorm (text
without a header, channel.mat). Axes are never guessed. They are those that the file states, those
of its format, or those of the coordinate system that the user gives.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from epilens.core.errors import DataError
from epilens.core.types import Floats
from epilens.data.user_files import as_number, read_json, read_table, read_text
from epilens.io.safe_read import check_regular

_AXES = {"ras": "RAS", "lps": "LPS", "scs": "ALS", "ctf": "ALS"}
"""Directions of x, y, z of a coordinate system; RAS for every other one.

SCS is Brainstorm's head system: x to the nose, y to the left ear, as in CTF.
"""
_OPPOSITES = (("R", "L"), ("A", "P"), ("S", "I"))


@dataclass(frozen=True)
class ElectrodeTable:
    """Names and positions of one file, and the axes, space and unit that the file states."""

    table: pd.DataFrame
    """Columns name, x, y, z; cells as in the file."""
    axes: str = ""
    """Directions of x, y, z, e.g. `LPS`; empty: not stated."""
    space: str = ""
    unit: str = ""


def read_electrode_file(path: Path, space: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Names and positions in RAS axes, and fields as in coordsystem.json of BIDS.

    space : the user's coordinate system, `LPS` or `RAS` too; empty: that of the file.
    """
    if not path.exists():
        raise DataError(f"{path}: expected a table of electrodes, found nothing. Check the path.")
    electrodes = _READERS.get(path.suffix.lower(), _read_delimited)(path, space)
    by_space = _AXES.get(space.lower(), "")
    if electrodes.axes and by_space and by_space != electrodes.axes:
        raise DataError(
            f"{path}: expected positions in {space} axes as --space says, found a file in "
            f"{electrodes.axes}. Leave --space out, or correct the file."
        )
    fields = {"iEEGCoordinateUnits": electrodes.unit, "iEEGCoordinateSystem": electrodes.space}
    coordsystem = path.with_name(re.sub(r"electrodes\.\w+$", "coordsystem.json", path.name))
    stated = read_json(coordsystem) if coordsystem != path and coordsystem.exists() else {}
    fields = {key: text for key, text in fields.items() if text} | stated
    if space:
        fields |= {"iEEGCoordinateSystem": "RAS" if space.lower() == "lps" else space}
    return in_ras(electrodes.table, electrodes.axes or by_space or "RAS"), fields


def in_ras(table: pd.DataFrame, axes: str) -> pd.DataFrame:
    """Convert positions to RAS axes; a cell that is not a number becomes NaN.

    Examples
    --------
    >>> point = pd.DataFrame({"name": ["A1"], "x": ["1"], "y": ["2"], "z": ["3"]})
    >>> [in_ras(point, axes)[["x", "y", "z"]].values[0].tolist() for axes in ("LPS", "ALS")]
    [[-1.0, -2.0, 3.0], [-2.0, 1.0, 3.0]]
    """
    if axes == "RAS":
        return table
    xyz = table[["x", "y", "z"]].map(as_number).to_numpy(float)
    columns = [
        xyz[:, axes.index(axis)] if axis in axes else -xyz[:, axes.index(opposite)]
        for axis, opposite in _OPPOSITES
    ]
    return _table(table["name"].tolist(), np.stack(columns, axis=1))


def _table(names: Sequence[str], xyz: Floats) -> pd.DataFrame:
    return pd.DataFrame({"name": names} | dict(zip("xyz", np.asarray(xyz).T, strict=True)))


def _read_markups(path: Path, space: str) -> ElectrodeTable:
    """Read 3D Slicer's .mrk.json: all points with a defined position."""
    lists = read_json(path).get("markups")
    if not isinstance(lists, list) or not all(isinstance(markup, dict) for markup in lists):
        raise DataError(
            f"{path}: expected 3D Slicer markups, found JSON without a list of them. Save the "
            "points as .mrk.json."
        )
    names, points, axes = [], [], set()
    for markup in lists:
        # The schema of 3D Slicer says LPS where a file says nothing.
        axes.add(_stated_axes(path, str(markup.get("coordinateSystem", "LPS"))))
        for point in filter(_is_defined, markup.get("controlPoints") or []):
            names.append(str(point.get("label", "")).strip())
            points.append([float(value) for value in point["position"]])
    if len(axes) > 1:
        raise DataError(
            f"{path}: expected lists of points in one coordinate system, found "
            f"{' and '.join(sorted(axes))}. Save each list into a file of its own."
        )
    units = {str(m["coordinateUnits"]) for m in lists if isinstance(m.get("coordinateUnits"), str)}
    table = _table(names, np.array(points, float).reshape(-1, 3))
    return ElectrodeTable(table, *axes, unit=units.pop() if len(units) == 1 else "mm")


def _is_defined(point: Any) -> bool:
    """Whether a point was placed: 3D Slicer also saves points that wait for their position."""
    if not isinstance(point, dict) or point.get("positionStatus", "defined") != "defined":
        return False
    position = point.get("position")
    return isinstance(position, list) and len(position) == 3 and _all_numbers(position)


def _stated_axes(path: Path, text: str) -> str:
    """Axes for the word or number that 3D Slicer writes; refuses others, such as voxels."""
    axes = {"0": "RAS", "1": "LPS"}.get(text.strip(), text.strip().upper())
    if axes not in ("RAS", "LPS"):
        raise DataError(
            f"{path}: expected points in RAS or LPS, found {text.strip()[:10]!r} as their "
            "coordinate system. Save them from 3D Slicer again."
        )
    return axes


_FCSV_COLUMNS = "id,x,y,z,ow,ox,oy,oz,vis,sel,lock,label,desc,associatednodeid"


def _read_fcsv(path: Path, space: str) -> ElectrodeTable:
    """Read 3D Slicer's .fcsv, whose comments state axes and columns."""
    lines = read_text(path).splitlines()
    comments = (line.lstrip("# ").lower().partition("=") for line in lines if line[:1] == "#")
    header = {key.strip(): value.strip() for key, _, value in comments}
    if "coordinatesystem" not in header:
        raise DataError(
            f"{path}: expected a line '# CoordinateSystem = LPS' (or RAS), found none. Add the "
            "line that is true of this file: left and right depend on it."
        )
    columns = header.get("columns", _FCSV_COLUMNS).replace(" ", "").split(",")
    if not {"label", "x", "y", "z"} <= set(columns):
        raise DataError(
            f"{path}: expected columns label, x, y, z, found others. Save the points from 3D "
            "Slicer again."
        )
    indices = [columns.index(name) for name in ("label", "x", "y", "z")]
    rows = [line.split(",") for line in lines if line.strip() and not line.startswith("#")]
    cells = [[row[i].strip() for i in indices] for row in rows if len(row) > max(indices)]
    table = pd.DataFrame(cells, columns=["name", "x", "y", "z"], dtype=str)
    return ElectrodeTable(table, _stated_axes(path, header["coordinatesystem"]), unit="mm")


_IELVIS_SPACES = {".lepto": "tkras", ".pial": "tkras", ".ct": "tkras", ".fsaverage": "fsaverage"}
"""Coordinate systems of iELVis' files, without inflated surfaces (.INF) and voxels."""


def _read_ielvis(path: Path, space: str) -> ElectrodeTable:
    """Read positions of iELVis, and their names from the file .electrodeNames next to them."""
    if path.suffix.lower() == ".electrodenames":
        path = path.with_suffix(".LEPTO")
    names_file = path.with_suffix(".electrodeNames")
    for part in (path, names_file):
        if not part.exists():
            raise DataError(
                f"{part}: expected a file of iELVis, found nothing. Positions and names are two "
                "files, such as P1.LEPTO and P1.electrodeNames."
            )
    names = [line.split()[0] for line in read_text(names_file).splitlines()[2:] if line.split()]
    rows = [line.split() for line in read_text(path).splitlines()]
    points = [list(map(float, row)) for row in rows if len(row) == 3 and _all_numbers(row)]
    if len(names) != len(points):
        raise DataError(
            f"{path}: expected a position for each of {len(names)} names, found {len(points)}. Do "
            "the two files belong together?"
        )
    table = _table(names, np.array(points).reshape(-1, 3))
    return ElectrodeTable(table, "RAS", _IELVIS_SPACES[path.suffix.lower()], "mm")


def _read_brainstorm(path: Path, space: str) -> ElectrodeTable:
    """Read Brainstorm's channel.mat, which has metres in the head system SCS."""
    from scipy.io import loadmat

    check_regular(path, "the table of electrodes")
    try:
        content = loadmat(path, simplify_cells=True, variable_names=["Channel"])
        channels = np.atleast_1d(content["Channel"]).tolist()
        located = [c for c in channels if np.size(c["Loc"]) >= 3]
        xyz = [np.asarray(c["Loc"], float).reshape(3, -1, order="A")[:, 0] for c in located]
        names = [str(c["Name"]) for c in located]
    except Exception as error:  # a MATLAB file of another kind fails in many ways
        raise DataError(
            f"{path}: expected a channel file of Brainstorm, found a MATLAB file that cannot be "
            f"read as one ({type(error).__name__}). Export the positions as BIDS electrodes.tsv."
        ) from error
    return ElectrodeTable(_table(names, np.array(xyz).reshape(-1, 3)), "ALS", "Other", "m")


def _read_delimited(path: Path, space: str) -> ElectrodeTable:
    """Read a table with a header, or lines of a name and three numbers."""
    first = next((line for line in read_text(path).splitlines() if line.strip()), "")
    cells = re.split(r"[\t,; ]+", first.strip())
    if len(cells) >= 4 and (_all_numbers(cells[1:4]) or _all_numbers(cells[:3])):
        return _read_without_header(path, space)
    table = read_table(path, sep=None)
    names = _names_in(table)
    chosen = _chosen_columns(table, space)
    if names is None or chosen is None:
        missing = [column for column in ("name", "x", "y", "z") if column not in table]
        raise DataError(
            f"{path}: expected columns name, x, y, z, found {', '.join(table.columns)}. Add "
            f"{', '.join(missing)}; where the table has several coordinate systems, choose one "
            "with --space."
        )
    prefix, axes = chosen
    columns = {axis: table[name] for axis, name in zip("xyz", axes.values(), strict=True)}
    letters = "".join(axes).upper().removeprefix("XYZ")
    frame = pd.DataFrame({"name": names} | columns)
    return ElectrodeTable(frame, letters, _SPACE_WORDS.get(prefix, ""))


def _read_without_header(path: Path, space: str) -> ElectrodeTable:
    """Read Brainstorm's text exports in mm, `A1 x y z` or `x y z A1`; the user gives `space`."""
    if not space:
        raise DataError(
            f"{path}: expected to know the coordinate system of a table without a header, found "
            "none stated. Give --space: SCS (Brainstorm's own), ScanRAS (world), MNI152, or LPS."
        )
    rows = [re.split(r"[\t,; ]+", line.strip()) for line in read_text(path).splitlines()]
    cells = []
    for row in (row for row in rows if len(row) >= 4):
        name_first = _all_numbers(row[1:4])
        cells.append(row[:4] if name_first else [row[3], *row[:3]])
    return ElectrodeTable(pd.DataFrame(cells, columns=["name", "x", "y", "z"], dtype=str))


_NAME_COLUMNS = ("name", "label", "channel", "contact_name", "electrode_name", "channel_name")
_SHAFT_COLUMNS = ("electrode", "shaft", "lead", "elec")
_NUMBER_COLUMNS = ("contact", "number", "contact_number", "elec_number")


def _names_in(table: pd.DataFrame) -> list[str] | None:
    """Names of contacts, from one column or from those of electrode and contact number."""
    names, shafts, numbers = (
        next((table[name].tolist() for name in columns if name in table), None)
        for columns in (_NAME_COLUMNS, _SHAFT_COLUMNS, _NUMBER_COLUMNS)
    )
    if names is None and shafts and numbers and all(map(str.isdigit, numbers)):
        return [f"{shaft}{number}" for shaft, number in zip(shafts, numbers, strict=True)]
    return next((column for column in (names, numbers, shafts) if column is not None), None)


_SPACE_WORDS = {"mni": "MNI152", "fsaverage": "fsaverage", "tkras": "tkras", "native": "native"}
"""Coordinate systems by the word next to an axis in the name of a column: `mni_x`, `X (MNI)`."""


def _chosen_columns(table: pd.DataFrame, space: str) -> tuple[str, dict[str, str]] | None:
    """Word of the coordinate system to use, and its columns by axis; None if it is not clear."""
    groups: dict[str, dict[str, str]] = {}
    for column in table.columns:
        words = [word for word in re.split(r"[^a-z0-9]+", column) if word not in ("", "mm")]
        axes = [word for word in words if word in set("xyzraslp")]
        if len(axes) == 1:
            groups.setdefault(" ".join(w for w in words if w != axes[0]), {})[axes[0]] = column
    complete = {
        word: {axis: columns[axis] for axis in letters}
        for word, columns in groups.items()
        for letters in ("xyz", "ras", "lps")
        if set(letters) <= set(columns)
    }
    meant = [word for word in complete if word and space.lower().startswith(word)]
    word = meant[0] if meant else "" if "" in complete else next(iter(complete), None)
    if word is None or (not meant and word and len(complete) > 1):
        return None
    return word, complete[word]


def _all_numbers(cells: Sequence[Any]) -> bool:
    return all(as_number(cell) is not None for cell in cells)


_READERS = {
    **{".json": _read_markups, ".fcsv": _read_fcsv, ".mat": _read_brainstorm},
    **dict.fromkeys((*_IELVIS_SPACES, ".electrodenames"), _read_ielvis),
}
"""Reader of each suffix; any other file is read as a table."""
