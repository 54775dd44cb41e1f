"""A brain surface to draw around an implant: fsaverage5, if nilearn is installed (it brings it)."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from epilens.localization.anatomy import TO_MNI152, is_mni305


def pial_surface(space: str) -> tuple[NDArray[np.int16], NDArray[np.uint16]] | None:
    """Vertices of both hemispheres in hundredths of a mm (2, n, 3), and their common faces.

    None without nilearn. The file is read directly: importing nilearn would take seconds.
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
    if not is_mni305(space):
        mm = mm @ TO_MNI152[:, :3].T + TO_MNI152[:, 3]
    return np.round(100 * mm).astype(np.int16), faces.astype(np.uint16)
