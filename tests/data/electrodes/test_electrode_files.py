"""Electrode positions of other tools: the same known points, whatever the axes of the file."""

from __future__ import annotations

import json

import pytest
from scipy.io import savemat

from epilens.core.errors import DataError
from epilens.data.electrodes.positions import place_contacts, read_electrodes
from epilens.testing import make_recording

# The left hippocampus is at negative x and y, the right frontal pole at positive x and y.
LEFT, RIGHT = (-28.0, -20.0, -12.0), (24.0, 60.0, 5.0)
POINTS = {"LH1": LEFT, "RF2": RIGHT}


def in_lps(point):
    x, y, z = point
    return (-x, -y, z)


def in_als(point):
    x, y, z = point
    return (y, -x, z)


def written(path, lines):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def fcsv(path, stated, convert):
    rows = [
        f"vtk_{i},{','.join(map(str, convert(at)))},0,0,0,1,1,1,0,{name},,"
        for i, (name, at) in enumerate(POINTS.items())
    ]
    columns = "# columns = id,x,y,z,ow,ox,oy,oz,vis,sel,lock,label,desc,associatedNodeID"
    header = ["# Markups fiducial file version = 4.11", f"# CoordinateSystem = {stated}", columns]
    return written(path, [*header, *rows])


def markups(path, stated, convert):
    points = [{"label": n, "position": list(convert(at))} for n, at in POINTS.items()]
    points.append({"label": "RF3", "position": [0, 0, 0], "positionStatus": "undefined"})
    markup = {"type": "Fiducial", "controlPoints": points, "coordinateUnits": "mm"}
    if stated:
        markup["coordinateSystem"] = stated
    path.write_text(json.dumps({"markups": [markup]}))
    return path


def same(point):
    return point


@pytest.mark.parametrize(
    ("stated", "convert"), [("LPS", in_lps), ("1", in_lps), ("RAS", same), ("0", same)]
)
def test_slicer_fcsv_in_both_axes(tmp_path, stated, convert):
    positions, _ = read_electrodes(fcsv(tmp_path / "F.fcsv", stated, convert), "", "sub-1")
    assert positions.mm == POINTS


@pytest.mark.parametrize(("stated", "convert"), [("LPS", in_lps), ("", in_lps), ("RAS", same)])
def test_slicer_markups_in_both_axes(tmp_path, stated, convert):
    path = markups(tmp_path / "F.mrk.json", stated, convert)
    assert read_electrodes(path, "MNI152", "sub-1")[0].mm == POINTS


def test_an_fcsv_file_that_does_not_state_its_axes_is_refused(tmp_path):
    path = fcsv(tmp_path / "F.fcsv", "LPS", in_lps)
    path.write_text(path.read_text().replace("# CoordinateSystem = LPS\n", ""))
    with pytest.raises(DataError, match="left and right depend on it"):
        read_electrodes(path, "", "sub-1")


def test_voxels_and_contradictions_are_refused(tmp_path):
    with pytest.raises(DataError, match="expected points in RAS or LPS, found 'ijk'"):
        read_electrodes(fcsv(tmp_path / "a.fcsv", "IJK", same), "", "sub-1")
    with pytest.raises(DataError, match="expected positions in RAS axes as --space says"):
        read_electrodes(fcsv(tmp_path / "b.fcsv", "LPS", in_lps), "RAS", "sub-1")


@pytest.mark.parametrize(
    "tree", ["{}", '{"markups": 3}', '{"markups": [{"controlPoints": [3, {}, {"position": 1}]}]}']
)
def test_markups_of_another_shape_place_nobody(tmp_path, tree):
    path = written(tmp_path / "x.mrk.json", [tree])
    recording = make_recording(channels=("LH1",), fs=128.0)
    with pytest.raises(DataError, match=r"without a list|found none of them among its 0"):
        place_contacts([recording], path, "")


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("name,x,y,z", "{n},{x},{y},{z}"),
        ("label,r,a,s,defined", "{n},{x},{y},{z},1"),
        ("label,l,p,s,defined", "{n},{lx},{py},{z},1"),
        ("Label;Native X;Native Y;Native Z", "{n};{x};{y};{z}"),
        ("Electrode,Contact,X (mm),Y (mm),Z (mm)", "{shaft},{number},{x},{y},{z}"),
        ("Label,MNI_X,MNI_Y,MNI_Z", "{n},{x},{y},{z}"),
    ],
)
def test_tables_of_other_tools(tmp_path, header, row):
    rows = [
        row.format(n=n, x=x, y=y, z=z, lx=-x, py=-y, shaft=n[:2], number=n[2])
        for n, (x, y, z) in POINTS.items()
    ]
    positions, _ = read_electrodes(written(tmp_path / "e.csv", [header, *rows]), "", "sub-1")
    assert positions.mm == POINTS
    assert positions.space == ("MNI152" if "MNI" in header else "native" * ("Native" in header))


def test_of_several_coordinate_systems_the_user_chooses(tmp_path):
    both = written(
        tmp_path / "e.csv",
        ["name,x,y,z,mni_x,mni_y,mni_z", "LH1,1,2,3,-28,-20,-12"],
    )
    assert read_electrodes(both, "", "sub-1")[0].mm == {"LH1": (1.0, 2.0, 3.0)}
    positions, _ = read_electrodes(both, "MNI152NLin6Sym", "sub-1")
    assert (positions.mm, positions.space) == ({"LH1": LEFT}, "MNI152NLin6Sym")
    unclear = written(
        tmp_path / "f.csv", ["name,mni_x,mni_y,mni_z,tkras_x,tkras_y,tkras_z", "A1,1,2,3,4,5,6"]
    )
    with pytest.raises(DataError, match="choose one with --space"):
        read_electrodes(unclear, "", "sub-1")


@pytest.mark.parametrize("space", ["LPS", "SCS", "ScanRAS"])
@pytest.mark.parametrize("order", ["{n} {p}", "{p}\t{n}"])
def test_text_without_a_header_needs_a_coordinate_system(tmp_path, space, order):
    convert = {"LPS": in_lps, "SCS": in_als, "ScanRAS": same}[space]
    lines = [order.format(n=n, p=" ".join(map(str, convert(at)))) for n, at in POINTS.items()]
    path = written(tmp_path / "brainstorm.txt", lines)
    assert read_electrodes(path, space, "sub-1")[0].mm == POINTS
    with pytest.raises(DataError, match="expected to know the coordinate system"):
        read_electrodes(path, "", "sub-1")


def test_a_channel_file_of_brainstorm(tmp_path):
    channels = [
        {"Name": n, "Type": "SEEG", "Loc": [[v / 1000] for v in in_als(at)]}
        for n, at in POINTS.items()
    ]
    channels.append({"Name": "ECG", "Type": "ECG", "Loc": []})
    savemat(tmp_path / "channel.mat", {"Channel": channels})
    positions, rows = read_electrodes(tmp_path / "channel.mat", "", "sub-1")
    assert {n: pytest.approx(at) for n, at in positions.mm.items()} == POINTS
    assert (positions.space, rows) == ("Other", [])
    savemat(tmp_path / "other.mat", {"x": 3})
    with pytest.raises(DataError, match="expected a channel file of Brainstorm"):
        read_electrodes(tmp_path / "other.mat", "", "sub-1")


@pytest.mark.parametrize("given", ["P1.LEPTO", "P1.electrodeNames"])
def test_ielvis_names_and_positions_are_two_files(tmp_path, given):
    names = ["18-Nov-2026", "Name, Depth/Strip/Grid, Hem", "LH_1 D L", "RF_2 D R"]
    written(tmp_path / "P1.electrodeNames", names)
    at = [" ".join(map(str, point)) for point in POINTS.values()]
    written(tmp_path / "P1.LEPTO", ["18-Nov-2026", "R A S", *at])
    recording = make_recording(channels=("EEG LH 01-Ref", "RF2"), fs=128.0)
    (placed,), _ = place_contacts([recording], tmp_path / given, "")
    assert placed.positions.mm == {"EEG LH 01-Ref": LEFT, "RF2": RIGHT}
    assert placed.positions.space == "tkras"
    written(tmp_path / "P1.LEPTO", ["18-Nov-2026", "R A S", at[0]])
    with pytest.raises(DataError, match="expected a position for each of 2 names, found 1"):
        read_electrodes(tmp_path / given, "", "sub-1")


def test_names_match_by_electrode_and_number(tmp_path):
    path = markups(tmp_path / "F.mrk.json", "LPS", in_lps)
    path.write_text(path.read_text().replace("LH1", "lh-01").replace("RF2", "rf 2"))
    recording = make_recording(channels=("EEG LH1-Ref", "RF02", "RF20"), fs=128.0)
    (placed,), _ = place_contacts([recording], path, "")
    assert placed.positions.mm == {"EEG LH1-Ref": LEFT, "RF02": RIGHT}
