"""Any excerpt of a file, as MNE reads it; and the contacts in the order of the screen."""

from __future__ import annotations

import mne
import numpy as np
import pytest
from recordings_to_review import FS, NAMES, write_brainvision, write_edf

from epilens.core.errors import DataError
from epilens.data.discovery import bare_file, cases_of
from epilens.data.readers.edf_reader import EdfReader
from epilens.data.readers.mne_reader import MneReader
from epilens.review.signals import open_file


def by_mne(path, start, stop):
    raw = mne.io.read_raw(path, preload=False, verbose="ERROR")
    return raw.ch_names, raw.get_data(start=start, stop=stop) * 1e6


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("files")
    write_edf(out / "plain.edf", seconds=30)
    write_edf(out / "notes.edf", seconds=30, notes=[(3.5, "sz onset"), (20, "Doe, Jane")])
    write_brainvision(out / "int.vhdr", "int16", seconds=30)
    write_brainvision(out / "float.vhdr", "float32", seconds=30)
    raw = mne.io.read_raw_edf(out / "plain.edf", preload=True, verbose="ERROR")
    raw.save(out / "mne_raw.fif", verbose="ERROR")
    return out


@pytest.mark.parametrize(
    ("name", "reader"),
    [
        ("plain.edf", EdfReader),
        ("notes.edf", EdfReader),
        ("int.vhdr", MneReader),
        ("float.vhdr", MneReader),
        ("mne_raw.fif", MneReader),
    ],
)
@pytest.mark.parametrize("stretch", [(0, 10), (499, 502), (1234, 9876), (14_990, 15_000)])
def test_an_excerpt_is_what_mne_reads(folder, name, reader, stretch):
    opened = open_file(bare_file(folder / name))
    assert isinstance(opened.reader, reader)
    names, expected = by_mne(folder / name, *stretch)
    expected = expected[[names.index(contact) for contact in opened.contacts]]
    np.testing.assert_allclose(opened.read(*stretch), expected, atol=1e-3)
    assert (opened.fs, opened.samples) == (FS, 15_000)


def test_contacts_stand_by_shaft_and_number(tmp_path):
    names = ("EEG RB10-Ref", "EEG A2-Ref", "ECG", "EEG RB9-Ref", "EEG A1-Ref", "EEG RB8-Ref")
    write_edf(tmp_path / "x.edf", names, seconds=5)
    opened = open_file(bare_file(tmp_path / "x.edf"))
    assert [name[4:-4] for name in opened.contacts] == ["A1", "A2", "RB8", "RB9", "RB10"]
    assert opened.shafts == ("A", "A", "RB", "RB", "RB")
    assert opened.not_shown == 1
    _, whole = by_mne(tmp_path / "x.edf", 0, 100)
    np.testing.assert_allclose(opened.read(0, 100)[0], whole[4], atol=1e-3)


def test_annotations_of_the_file(folder):
    events = open_file(bare_file(folder / "notes.edf")).events()
    assert [(e.onset_s, e.text) for e in events] == [(3.5, "sz onset"), (20.0, "Doe, Jane")]
    assert open_file(bare_file(folder / "plain.edf")).events() == []
    (event,) = [e for e in open_file(bare_file(folder / "int.vhdr")).events() if "sz" in e.text]
    assert event.onset_s == 15.0


def test_a_run_of_bids_has_its_sidecars(tiny):
    for case in cases_of([tiny]):
        opened = open_file(case.files[0])
        names, expected = by_mne(opened.file.path, 0, 50)
        index = [names.index(contact) for contact in opened.contacts]
        np.testing.assert_allclose(opened.read(0, 50), expected[index], atol=0.01)
        assert opened.events()
        assert opened.not_shown + len(opened.contacts) == len(names)


def test_a_file_that_ends_early_is_shown_as_far_as_it_goes(folder, tmp_path):
    content = (folder / "plain.edf").read_bytes()
    (tmp_path / "cut.edf").write_bytes(content[: len(content) // 2])
    opened = open_file(bare_file(tmp_path / "cut.edf"))
    assert 14 <= opened.length_s <= 15
    whole = open_file(bare_file(folder / "plain.edf"))
    np.testing.assert_array_equal(opened.read(100, 200), whole.read(100, 200))
    (tmp_path / "cut.edf").write_bytes(content[:9000])  # while it is open
    assert opened.read(3000, 3100).shape == (len(NAMES), 100)


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (0, b"1"),
        (184, b"99999999"),
        (236, b"many    "),
        (244, b"0       "),
        (252, b"9999"),
        (192, b"EDF+D"),
        (256 + 104 * len(NAMES), b"nan     "),
    ],
)
def test_a_header_that_is_not_plain_is_left_to_mne(folder, tmp_path, at, text):
    content = bytearray((folder / "plain.edf").read_bytes())
    content[at : at + len(text)] = text
    (tmp_path / "odd.edf").write_bytes(content)
    try:
        opened = open_file(bare_file(tmp_path / "odd.edf"))
    except DataError as error:
        assert "expected" in str(error)  # noqa: PT017
    else:
        assert isinstance(opened.reader, MneReader)


def test_a_brainvision_header_that_points_elsewhere_is_not_followed(folder, tmp_path):
    (tmp_path / "sub").mkdir()
    text = (folder / "int.vhdr").read_text(encoding="utf-8")
    header = tmp_path / "sub" / "int.vhdr"
    header.write_text(text.replace("DataFile=int.eeg", "DataFile=../../etc/passwd"), "utf-8")
    with pytest.raises(DataError, match="expected"):
        open_file(bare_file(header))


def test_a_recording_without_contacts_shows_all_of_its_channels(tmp_path):
    write_edf(tmp_path / "x.edf", ("Fp1", "Fp2", "Fz", "Cz", "O1", "O2"), seconds=5)
    assert len(open_file(bare_file(tmp_path / "x.edf")).contacts) == 6
