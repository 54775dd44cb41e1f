"""One rule each for readers, units, companions and contacts; the review and localize agree."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
import warnings
from dataclasses import replace

import edfio
import mne
import numpy as np
import pytest
from trees import (
    FS,
    NAMES,
    channel_rows,
    edit,
    folder,
    noise,
    run_file,
    write_brainvision,
    write_edf,
    write_electrodes,
    write_json,
    write_tree,
    write_tsv,
)

from epilens.core.errors import DataError
from epilens.data.chunked_reader import open_contacts
from epilens.data.discovery import cases_of, recordings_in
from epilens.data.load_patient import PatientInput, load_patient
from epilens.data.readers import open_reader
from epilens.data.readers.edf_reader import EdfReader
from epilens.data.readers.formats import files_of, header_of, open_raw
from epilens.data.readers.mne_reader import MneReader, open_mne
from epilens.data.readers.protocol import is_voltage, plain_unit
from epilens.plan import Plan
from epilens.review.signals import open_file

AT_40 = PatientInput((), onsets=(40.0,))


@pytest.fixture
def edf(tmp_path):
    write_edf(tmp_path / "a.edf", noise(), annotations=[(40.0, 1.5, "sz onset")])
    return tmp_path / "a.edf"


def within(seconds, work):
    """The result of some work, or a failed test where it does not come back in time."""
    results = []

    def run():
        try:
            results.append(work())
        except DataError as error:
            results.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert results, "is waiting"
    return results[0]


def test_threads_open_files_one_after_the_other_and_leave_the_process_as_it_was(edf, monkeypatch):
    """Filters of warnings and stdout belong to the process; both readers change them."""
    inside, most, stdout, filters = [], [], sys.stdout, list(warnings.filters)

    def slowly(opener):
        def work(*args, **options):
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.05)
            inside.pop()
            return opener(*args, **options)

        return work

    monkeypatch.setattr("epilens.data.readers.mne_reader.open_raw", slowly(open_raw))
    monkeypatch.setattr("edfio.read_edf", slowly(edfio.read_edf))
    openers = [lambda: open_mne(edf), lambda: open_reader(edf)] * 3
    threads = [threading.Thread(target=opener) for opener in openers]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert max(most) == 1
    assert sys.stdout is stdout
    assert warnings.filters == filters


@pytest.mark.parametrize("name", ["x.edf", "x.vhdr", "x.bdf"])
def test_a_pipe_is_refused_at_once_by_the_review_and_by_localize(tmp_path, name):
    os.mkfifo(tmp_path / name)
    (case,) = cases_of([tmp_path / name], "P1")
    for work in (
        lambda: open_file(case.files[0]),
        lambda: open_reader(tmp_path / name),
        lambda: load_patient(replace(AT_40, patient=tmp_path / name), Plan()),
    ):
        error = within(10, work)
        assert isinstance(error, DataError)
        assert "found a pipe" in str(error)


def test_a_pipe_in_place_of_a_file_that_is_open_is_refused(edf):
    reader = open_reader(edf)
    edf.unlink()
    os.mkfifo(edf)
    assert within(10, lambda: reader.read(0, 10, reader.names)).code == "not-a-file"


def test_excerpts_of_both_readers_are_the_same(edf):
    fast, slow = open_reader(edf), open_mne(edf)
    assert isinstance(fast, EdfReader)
    assert (fast.names, fast.kinds, fast.fs, fast.samples, fast.duration_s) == (
        *(slow.names, slow.kinds, slow.fs, slow.samples, slow.duration_s),
    )
    assert fast.annotations() == slow.annotations()
    names = [NAMES[3], NAMES[0]]
    for start, stop in ((0, 5), (999, 3007), (fast.samples - 3, fast.samples)):
        np.testing.assert_allclose(
            fast.read(start, stop, names), slow.read(start, stop, names), atol=1e-3
        )


def test_a_file_that_became_shorter_gives_what_it_has(edf):
    reader = open_reader(edf)
    whole = reader.read(0, 100, reader.names)
    content = edf.read_bytes()
    edf.write_bytes(content[: len(content) // 2])
    np.testing.assert_array_equal(reader.read(0, 100, reader.names), whole)
    assert reader.read(reader.samples - 10, reader.samples, reader.names).shape[1] == 0


@pytest.mark.parametrize("text", ["µV", "μV", " uV ", "UV", "mV", "V", "nV"])
def test_units_of_voltage_in_every_spelling(text):
    assert is_voltage(text)
    assert not is_voltage(f"{plain_unit(text)}/Hz")


@pytest.mark.parametrize("suffix", [".eeg", ".dat", ".avg", ".vmrk"])
def test_any_file_of_brainvision_means_its_header_everywhere(tmp_path, suffix):
    write_brainvision(tmp_path / "x.vhdr", noise())
    if suffix in (".dat", ".avg"):
        shutil.move(tmp_path / "x.eeg", tmp_path / f"x{suffix}")
        edit(tmp_path / "x.vhdr", "x.eeg", f"x{suffix}")
    part = tmp_path / f"x{suffix}"
    assert header_of(part) == tmp_path / "x.vhdr"
    assert {file.name for file in files_of(part)} >= {"x.vhdr", part.name}
    (case,) = cases_of([part], "P1")
    assert case.files[0].shown == "x.vhdr"
    assert recordings_in([part, tmp_path / "x.vhdr"]) == [tmp_path / "x.vhdr"]
    [recording] = load_patient(replace(AT_40, patient=part), Plan()).recordings
    assert sorted(open_contacts(part).channels) == sorted(recording.channels)
    assert sorted(open_file(case.files[0]).contacts) == sorted(recording.channels)


def test_data_of_persyst_mean_its_header(tmp_path):
    for name in ("x.lay", "x.dat"):
        (tmp_path / name).write_bytes(b"")
    assert header_of(tmp_path / "x.dat") == tmp_path / "x.lay"
    assert header_of(tmp_path / "x.lay") == tmp_path / "x.lay"


def test_a_file_without_header_is_itself(tmp_path):
    (tmp_path / "x.eeg").write_bytes(b"")
    assert header_of(tmp_path / "x.eeg") == tmp_path / "x.eeg"


def test_stimulator_electrodes_of_a_dataset_are_contacts_nowhere(tmp_path):
    root = write_tree(tmp_path / "data")
    table = run_file(root, "channels.tsv")
    text = table.read_text(encoding="utf-8").replace("SEEG", "DBS", 1)
    table.write_text(text, encoding="utf-8")
    path = run_file(root, "ieeg.edf")
    [recording] = load_patient(PatientInput(path), Plan()).recordings
    (case,) = cases_of([path])
    opened = open_file(case.files[0])
    assert sorted(opened.contacts) == sorted(recording.channels)
    assert len(recording.channels) == len(open_contacts(path).channels) == len(NAMES) - 1


def test_contacts_that_any_column_marks_are_used_nowhere(tmp_path):
    """Bad by a column of channels.tsv that its JSON explains, or by electrodes.tsv."""
    root = write_tree(tmp_path / "data", channels=channel_rows(artifact={"A3": "2"}))
    levels = {"artifact": {"Levels": {"1": "no", "2": "yes"}}}
    write_json(run_file(root, "channels.json"), levels)
    mm = {"A1": (1.0, 2.0, 3.0), "B1": (4.0, 5.0, 6.0)}
    write_electrodes(root, mm)
    [table] = folder(root).glob("*_electrodes.tsv")
    rows = [{"name": n, "x": 1, "y": 2, "z": i, "csf": n == "B1"} for i, n in enumerate(mm)]
    write_tsv(table, rows)
    path = run_file(root, "ieeg.edf")
    [recording] = load_patient(PatientInput(path), Plan()).recordings
    assert set(NAMES) - set(recording.channels) == {"A3", "B1"}
    assert set(open_contacts(path).channels) == set(recording.channels)
    (case,) = cases_of([path])
    opened = open_file(case.files[0])
    assert (set(opened.contacts), opened.bad) == (set(NAMES), {"A3", "B1"})


def test_a_second_channel_of_a_contact_is_shown_as_bad(tmp_path):
    names = [*NAMES, "A 01"]
    path = tmp_path / "x.vhdr"
    write_brainvision(path, noise(len(names)), names=names)
    [recording] = load_patient(replace(AT_40, patient=path), Plan()).recordings
    (case,) = cases_of([path], "P1")
    opened = open_file(case.files[0])
    assert set(opened.contacts) - opened.bad == set(recording.channels) == set(NAMES)
    assert opened.bad == {"A 01"}


def test_types_of_an_object_count_for_the_review_as_for_localize(tmp_path):
    names = [*NAMES, "DC1", "STIM 7"]
    kinds = ["seeg"] * (len(NAMES) - 1) + ["dbs", "misc", "stim"]
    info = mne.create_info(names, FS, kinds)
    signal = np.concatenate([noise(), noise(2)]) * 1e-6
    path = tmp_path / "x_raw.fif"
    mne.io.RawArray(signal, info, verbose="ERROR").save(path, verbose="ERROR")
    [recording] = load_patient(replace(AT_40, patient=path), Plan()).recordings
    (case,) = cases_of([path], "P1")
    opened = open_file(case.files[0])
    assert isinstance(opened.reader, MneReader)
    assert sorted(opened.contacts) == sorted(recording.channels) == sorted(NAMES)
