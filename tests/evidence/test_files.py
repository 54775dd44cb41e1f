"""Patients on disk: whole or refused, the same bytes for the same content, attributes alone."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest
import xarray as xr

from epilens.core.errors import CubeError, DamagedError, DataError
from epilens.evidence.cube import joined
from epilens.evidence.describe import describe
from epilens.evidence.files import SUFFIX, key_of, open_cohort, open_cube, open_patient, save
from epilens.evidence.signals import each_signal, has_signals, make_signals, signal_of
from epilens.evidence.zip_store import attributes_of, first_corrupt_chunk, save_store
from epilens.plan import Plan
from epilens.testing import make_cube, make_patient, make_recording


def flip(path, position):
    content = bytearray(path.read_bytes())
    content[position] ^= 0x10
    path.write_bytes(bytes(content))


def offset_of(path, name):
    """Where a piece begins in the file."""
    with zipfile.ZipFile(path) as file:
        info = file.getinfo(name)
        return info.header_offset + 30 + len(name)


@pytest.fixture
def patient(tmp_path):
    """A patient with signals beside its cube; the path of the cube."""
    parts = [make_recording(run=f"run-{s}", seed=s, fs=128.0) for s in range(3)]
    save_store(make_signals(parts, Plan()), tmp_path / "signals" / f"sub-01{SUFFIX}")
    return save(describe(parts), tmp_path / f"sub-01{SUFFIX}")


def test_no_flipped_bit_goes_unnoticed(tmp_path):
    """Anywhere in the file: an error that names it, or the very same cube."""
    cube = make_cube(seizures=1, channels=2, fs=64.0)
    path = save(cube, tmp_path / "sub-01.zarr.zip")
    content, refused = path.read_bytes(), 0
    tail = range(len(content) - 1500, len(content), 13)
    for position in (*range(0, len(content) - 1500, 211), *tail):
        path.write_bytes(content)
        flip(path, position)
        try:
            xr.testing.assert_identical(open_cube(path), cube)
        except CubeError as error:
            refused += 1
            assert str(path) in str(error)  # noqa: PT017
    assert refused > 50


def test_a_flipped_bit_of_an_array_is_refused_with_the_file_s_name(tmp_path):
    path = save(make_cube(), tmp_path / "sub-01.zarr.zip")
    assert first_corrupt_chunk(path) == ""
    flip(path, offset_of(path, "x/0.0.0.0") + 1000)
    assert first_corrupt_chunk(path) == "x/0.0.0.0 is not as it was written"
    message = r"sub-01\.zarr\.zip: expected an intact store, found a damaged one \(x/0\.0\.0\.0"
    with pytest.raises(CubeError, match=message):
        open_cube(path)


def test_two_exchanged_words_are_found_by_crc_alone(tmp_path):
    path = save(make_cube(seizures=3, channels=120), tmp_path / "sub-01.zarr.zip")
    start, content = offset_of(path, "x/0.0.0.0"), bytearray(path.read_bytes())
    first, second = content[start : start + 8], content[start + 8 : start + 16]
    assert first != second
    content[start : start + 16] = second + first
    path.write_bytes(content)
    assert open_cube(path)["x"].size > 0  # the fast checksum does not depend on their order
    assert first_corrupt_chunk(path) == "x/0.0.0.0 is not as it was written"


def test_a_damage_in_what_is_read_later_names_the_file_too(patient):
    place = patient.parent / "signals" / patient.name
    flip(place, offset_of(place, "signal/0.1") + 1000)
    opened = open_patient(patient, "signals")
    assert signal_of(opened, 0).any(), "the first seizure is whole"
    message = r"signals/sub-01\.zarr\.zip: expected an intact store, found .*signal/0\.1"
    with pytest.raises(CubeError, match=message):
        signal_of(opened, 1)


def without(path, gone):
    """The same file, without some pieces."""
    with zipfile.ZipFile(path) as file:
        pieces = {name: file.read(name) for name in file.namelist() if name not in gone}
    with zipfile.ZipFile(path, "w") as file:
        for name, content in pieces.items():
            file.writestr(name, content)


@pytest.mark.parametrize("gone", ["x/0.0.0.0", "is_ez/0", "valid/0.0.0", "channel/0"])
def test_a_piece_that_is_gone_is_named_and_not_zero(tmp_path, gone):
    path = save(make_cube(), tmp_path / "sub-01.zarr.zip")
    without(path, {gone})
    assert first_corrupt_chunk(path) == f"{gone} is missing"
    with pytest.raises(
        CubeError, match=f"found a damaged one .{gone} is missing.*epilens describe"
    ):
        open_cube(path)


def test_labels_that_are_gone_do_not_make_a_patient_without_labels(tmp_path):
    path = save(make_cube(), tmp_path / "sub-01.zarr.zip")
    without(path, {"is_ez/0", "is_ez/.zarray", "is_ez/.zattrs"})
    assert "is missing" in first_corrupt_chunk(path)
    with pytest.raises(CubeError, match="is_ez/0 is missing"):
        open_cube(path)


def test_a_damaged_summary_does_not_stop_a_cohort(tmp_path):
    save(make_cube(), tmp_path / "sub-01.zarr.zip")
    for text in ("", "{", "[]", "\x00"):
        (tmp_path / "cohort.json").write_text(text)
        assert open_cohort(tmp_path).summary == {}


def test_damaged_attributes_differ_from_a_store_that_is_not_there(tmp_path):
    path = save(make_cube(), tmp_path / "sub-01.zarr.zip")
    flip(path, offset_of(path, ".zattrs") + 5)
    with pytest.raises(CubeError, match=r"found a damaged one \(\.zattrs: .*epilens describe"):
        attributes_of(path)
    with pytest.raises(CubeError, match="damaged"):
        key_of(path)


def test_a_cube_without_a_key_is_refused_by_name(tmp_path):
    cube = make_cube()
    cube.attrs.pop("key", None)
    path = save(cube, tmp_path / "sub-01.zarr.zip")
    with pytest.raises(CubeError, match="expected a key of what it was made from, found none"):
        key_of(path)


def test_the_same_cube_gives_the_same_bytes(tmp_path):
    one = save(make_cube(), tmp_path / "one.zarr.zip").read_bytes()
    assert save(make_cube(), tmp_path / "other.zarr.zip").read_bytes() == one


def test_attributes_are_read_without_arrays(tmp_path):
    cube = make_cube()
    path = save(cube, tmp_path / "sub-01.zarr.zip")
    flip(path, offset_of(path, "x/0.0.0.0") + 1000)
    assert attributes_of(path) == cube.attrs
    with pytest.raises(CubeError, match="expected the store of a patient, found none"):
        attributes_of(tmp_path / "sub-02.zarr.zip")


def test_a_file_of_somebody_else_is_not_replaced(tmp_path):
    path = tmp_path / "sub-01.zarr.zip"
    path.write_bytes(b"mine")
    with pytest.raises(DataError, match=r"found another\. Nothing is written there"):
        save(make_cube(), path)
    assert path.read_bytes() == b"mine"


def test_a_store_is_read_by_its_url(tmp_path):
    """By fsspec and zarr, without anything of ours."""
    cube = make_cube()
    path = save(cube, tmp_path / "sub-01.zarr.zip")
    with xr.open_zarr(f"zip://::file://{path}", chunks=None) as found:
        xr.testing.assert_identical(found.load(), cube)


def test_one_seizure_is_one_piece_where_all_are_of_one_length(patient):
    with zipfile.ZipFile(patient.parent / "signals" / patient.name) as file:
        pieces = [n for n in file.namelist() if n.startswith("signal/") and "z" not in n]
    assert pieces == ["signal/0.0", "signal/0.1", "signal/0.2"]


def test_signals_of_unequal_length_survive_the_store(tmp_path):
    parts = [
        make_recording(run="run-01", fs=128.0, stop_s=12.0),
        make_recording(run="run-02", fs=250.0, channels=["A3", "A9"], is_ez=(False, True)),
        make_recording(run="run-03", fs=100.0),
    ]
    signals = make_signals(parts, Plan())
    save_store(signals, tmp_path / "signals" / "sub-01.zarr.zip")
    path = save(describe(parts), tmp_path / "sub-01.zarr.zip")
    opened = open_patient(path, "signals")
    for s in range(3):
        np.testing.assert_array_equal(signal_of(opened, s), signal_of(signals, s))
    picked = opened.isel(seizure=[2, 1], channel=[6, 2])
    np.testing.assert_array_equal(signal_of(picked, 1), signal_of(signals, 1)[[6, 2]])


def test_signals_are_read_the_same_from_disk_and_from_memory(patient):
    parts = [make_recording(run=f"run-{s}", seed=s, fs=128.0) for s in range(3)]
    memory = joined(describe(parts), make_signals(parts, Plan()))
    disk = open_patient(patient, "signals")
    for one, other in zip(each_signal(memory, -4, 9), each_signal(disk, -4, 9), strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)
    assert has_signals(disk)
    assert not has_signals(open_cube(patient))


def test_an_interval_outside_of_the_signal_is_empty():
    patient = make_patient(fs=128.0)
    assert signal_of(patient, 0, 100_000).shape == (6, 0)
    assert signal_of(patient, 0, 10, 20).shape == (6, 10)
    assert [x.shape[1] for x, *_ in each_signal(patient, 500.0, 600.0)] == [0, 0]


def test_what_was_made_of_other_recordings_is_refused(patient):
    cube = open_cube(patient).assign_attrs(recordings="one", key="a")
    save(cube, patient)
    with pytest.raises(CubeError, match="expected the signals of a patient, found those of other"):
        open_patient(patient, "signals")


def test_a_store_that_is_not_there_is_named(tmp_path):
    path = save(make_cube(), tmp_path / "sub-01.zarr.zip")
    with pytest.raises(CubeError, match=r"expected the traces of a patient, found none\. Write"):
        key_of(path, "traces")


def rewrite(path, change, compression=zipfile.ZIP_STORED):
    """Write a store again, with every file changed by `change(name, content)`."""
    with zipfile.ZipFile(path) as file:
        contents = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in contents.items():
            file.writestr(name, change(name, content))
    return path


def with_filter(name, content):
    if name != ".zmetadata":
        return content
    tree = json.loads(content)
    tree["metadata"]["x/.zarray"]["filters"] = [{"id": "pickle"}]
    return json.dumps(tree)


def with_compressor(name, content):
    if name != ".zmetadata":
        return content
    tree = json.loads(content)
    tree["metadata"]["x/.zarray"]["compressor"] = {"id": "zstd", "level": 1}
    return json.dumps(tree)


def larger(name, content):
    return content + bytes(8) if name.startswith("x/0") else content


@pytest.mark.parametrize(
    ("change", "compression", "why"),
    [
        (with_filter, zipfile.ZIP_STORED, "x/ needs a filter"),
        (with_compressor, zipfile.ZIP_STORED, "x/ needs a filter"),
        (larger, zipfile.ZIP_STORED, "does not have the size of its array"),
        (lambda name, content: content, zipfile.ZIP_DEFLATED, "is compressed"),
    ],
)
def test_a_store_that_must_be_unpacked_is_refused_before_decoding(
    tmp_path, monkeypatch, change, compression, why
):
    path = save(make_cube(seizures=1, channels=2, fs=64.0), tmp_path / f"sub-01{SUFFIX}")
    open_cube(rewrite(path, lambda name, content: content))  # the rewriting itself is harmless
    rewrite(path, change, compression)
    decoded = lambda *args, **options: pytest.fail("decoded")  # noqa: E731
    monkeypatch.setattr("epilens.evidence.zip_store.xr.open_dataset", decoded)
    with pytest.raises(DamagedError, match=why):
        open_cube(path)
