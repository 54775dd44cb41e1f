"""A file of every format: the same samples in µV, names, rate and annotations."""

from __future__ import annotations

from importlib.util import find_spec

import format_files as files
import numpy as np
import pytest
from format_files import FS, NAMES, TEXT

from epilens.core.errors import DataError
from epilens.data.onsets.annotated import find_onset
from epilens.data.readers import formats as formats_module
from epilens.data.readers import open_reader
from epilens.data.readers.formats import FORMATS, files_of, format_of, header_of
from epilens.data.readers.mne_reader import open_mne

AT_S = 12.0
WRITERS = {
    "EDF, EDF+": files.write_edf,
    "BDF, BDF+": files.write_bdf,
    "GDF 1": files.write_gdf,
    "BrainVision": files.write_brainvision,
    "FIF": files.write_fif,
    "EEGLAB": files.write_eeglab,
    "Persyst": files.write_persyst,
    "Nihon Kohden": files.write_nihon_kohden,
    "Nicolet, EPILEPSIAE": files.write_nicolet,
    "Neuroscan": files.write_neuroscan,
    "Blackrock NSx": files.write_blackrock,
    "Curry": files.write_curry,
    "MEF3": files.write_mef3,
    "Micromed": files.write_micromed,
    "Neuralynx": files.write_neuralynx,
}
CODES = {"GDF 1": "257", "Neuroscan": "7"}
TESTED = [row for row in FORMATS if row.tested]


def samples_uv():
    draw = np.random.default_rng(0).normal(scale=80.0, size=(len(NAMES), 20 * FS))
    return np.clip(draw, -390, 390)


def written(row, folder):
    if row.package and find_spec(row.package) is None:
        pytest.skip(f"{row.package} is not installed (extra `formats`)")
    return WRITERS[row.name](folder, samples_uv(), AT_S)


def test_every_row_that_says_tested_is_tested():
    assert set(WRITERS) == {row.name for row in TESTED}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", TESTED, ids=lambda row: row.name)
def test_samples_units_and_annotations_of_a_file(row, tmp_path):
    path = written(row, tmp_path)
    assert format_of(path) == row
    reader = open_reader(path)
    assert (reader.names, reader.fs) == (NAMES, FS)
    # Neuralynx has records of 512 samples.
    assert reader.samples == (20 * FS // 512 * 512 if row.name == "Neuralynx" else 20 * FS)
    whole = reader.read(0, reader.samples, NAMES)
    np.testing.assert_allclose(whole, samples_uv()[:, : reader.samples], rtol=0, atol=0.13)
    part = reader.read(300, 900, [NAMES[2], NAMES[0]])
    np.testing.assert_allclose(part, whole[[2, 0], 300:900], rtol=0, atol=1e-4)
    events = reader.annotations()
    if row.annotations == "none":
        assert events == []
    elif row.name in CODES:
        assert [(e.onset_s, e.text) for e in events] == [(AT_S, CODES[row.name])]
    else:
        onset = find_onset(events, "x")
        assert (onset.onset_s, onset.rule) == (AT_S, "onset marker")
        assert onset.text.endswith(TEXT)


def test_a_unit_that_the_reader_does_not_know_is_noted_and_taken_from_sidecars(tmp_path):
    path = files.write_gdf(tmp_path, samples_uv() / 10, AT_S, unit="mV")
    reader = open_mne(path, dict.fromkeys(NAMES, "mV"))
    assert "channels.tsv are used" in str(reader.unit_notes(NAMES)[0])
    np.testing.assert_allclose(
        reader.read(0, 100, NAMES), samples_uv()[:, :100] * 100, atol=60, rtol=0
    )
    assert "no unit is stated for 4" in str(open_mne(path).unit_notes(NAMES)[0])


def test_a_package_that_is_missing_is_named_with_the_way_out(tmp_path, monkeypatch):
    monkeypatch.setattr(formats_module, "find_spec", lambda name: None)
    (tmp_path / "x.TRC").write_bytes(b"")
    with pytest.raises(DataError, match=r"expected the package neo.*epilens.formats.*EDF"):
        open_reader(tmp_path / "x.TRC")


@pytest.mark.parametrize("name", ["x.nwb", "x.e", "x.erd"])
def test_formats_that_nothing_reads_are_named_with_the_way_out(tmp_path, name):
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(DataError, match="Export the recording as EDF"):
        open_reader(tmp_path / name)


def test_files_of_one_recording(tmp_path):
    for name in ("A1.ncs", "A2.ncs", "x.data", "x.head"):
        (tmp_path / name).write_bytes(b"")
    assert [file.name for file in files_of(tmp_path / "A1.ncs")] == ["A1.ncs", "A2.ncs"]
    assert header_of(tmp_path / "x.head") == tmp_path / "x.data"
