"""`epilens onset`: what the terminal and programs get, and one sentence for bad input."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import mne
import numpy as np
import pytest

from epilens.cli import main

FS = 256.0


def write_edf(path, names, seconds=100.0, begins_s=60.0):
    """Noise; from `begins_s` on, the first four channels are fast, one after the other."""
    rng = np.random.default_rng(0)
    n = round(seconds * FS)
    x = np.cumsum(rng.normal(size=(len(names), n)), axis=1)
    x = 30 * (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
    x += rng.normal(size=x.shape)
    t = np.arange(n) / FS
    for i in range(min(4, len(names))):
        on = np.clip((t - begins_s - i) / 2, 0, 1)
        x[i] += 60 * on * np.sin(2 * np.pi * 20 * t)
    raw = mne.io.RawArray(x * 1e-6, mne.create_info(names, FS, "eeg"), verbose="ERROR")
    mne.export.export_raw(path, raw, physical_range=(-1000.0, 1000.0), verbose="ERROR")
    return path


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in arguments])
    out = capsys.readouterr()
    return stop.value.code, out.out, out.err


CONTACTS = [f"LA{i}" for i in range(1, 9)] + [f"LB{i}" for i in range(1, 9)]


@pytest.fixture(scope="module")
def edf(tmp_path_factory):
    return write_edf(tmp_path_factory.mktemp("edf") / "night.edf", CONTACTS)


def test_the_table_has_the_candidate_and_says_that_it_is_a_suggestion(edf, capsys):
    code, out, err = run(capsys, "onset", edf)
    assert code == 0
    row = next(line for line in out.splitlines() if line.startswith("night.edf")).split()
    assert row[1] == "1"
    assert float(row[2]) == pytest.approx(60, abs=1.5)
    assert row[4] == "LA1,"
    assert "These are suggestions" in err
    assert "not for diagnosis" in err


def test_json_is_all_of_stdout(edf, capsys):
    code, out, _ = run(capsys, "onset", edf, "--json")
    told = json.loads(out)
    assert code == 0
    assert "suggestions" in told["note"]
    (candidate,) = told["files"][0]["candidates"]
    assert set(candidate) == {"onset_s", "sure", "contacts"}
    assert candidate["contacts"][:2] == ["LA1", "LA2"]


def test_a_file_without_candidates_says_so(tmp_path, capsys):
    quiet = write_edf(tmp_path / "quiet.edf", CONTACTS, begins_s=1000.0)
    code, out, _ = run(capsys, "onset", quiet)
    assert code == 0
    assert "none" in out


def test_a_scalp_file_is_refused(tmp_path, capsys):
    names = ["Fp1", "Fp2", "F3", "F4", "C3", "C4", "P3", "P4", "O1", "O2", "Fz", "Cz", "Pz"]
    scalp = write_edf(tmp_path / "scalp.edf", names, seconds=20.0)
    code, out, err = run(capsys, "onset", scalp)
    assert (code, out) == (2, "")
    assert "scalp.edf: expected contacts" in err
    assert len(err.strip().splitlines()) <= 2


@pytest.mark.parametrize("bytes_left", [0, 100, 3000])
def test_a_file_that_was_cut_is_one_sentence(edf, tmp_path, capsys, bytes_left):
    cut = tmp_path / "cut.edf"
    cut.write_bytes(edf.read_bytes()[:bytes_left])
    code, out, err = run(capsys, "onset", cut)
    assert (code, out) == (2, "")
    assert "cut.edf" in err
    assert "Traceback" not in err


def test_one_bad_file_is_told_before_the_good_ones_are_read(edf, tmp_path, capsys):
    code, out, err = run(capsys, "onset", edf, tmp_path / "absent.edf")
    assert (code, out) == (2, "")
    assert "absent.edf: expected a recording, found nothing" in err
    assert "reading" not in err


def test_a_folder_is_all_recordings_in_it(edf, tmp_path, capsys):
    for name in ("b.edf", "a.edf"):
        (tmp_path / name).symlink_to(edf)
    (tmp_path / "notes.txt").write_text("no recording")
    code, out, err = run(capsys, "onset", tmp_path)
    assert code == 0
    assert [line.split()[0] for line in out.splitlines() if ".edf" in line] == ["a.edf", "b.edf"]
    assert f"epilens review {tmp_path}" in err.replace("\n", "")


def test_of_a_bids_dataset_a_folder_means_the_ictal_runs(edf, tmp_path, capsys):
    where = tmp_path / "sub-01" / "ieeg"
    where.mkdir(parents=True)
    (tmp_path / "dataset_description.json").write_text('{"Name": "x", "BIDSVersion": "1.10.0"}')
    for task in ("ictal", "interictal"):
        shutil.copy(edf, where / f"sub-01_task-{task}_run-01_ieeg.edf")
    code, out, _ = run(capsys, "onset", tmp_path, "--json")
    assert code == 0
    assert [Path(one["file"]).name for one in json.loads(out)["files"]] == [
        "sub-01_task-ictal_run-01_ieeg.edf"
    ]


def test_a_folder_without_recordings_is_one_sentence(tmp_path, capsys):
    code, out, err = run(capsys, "onset", tmp_path)
    assert (code, out) == (2, "")
    assert "expected recordings or a BIDS dataset, found neither" in err.replace("\n", " ")


def test_escape_characters_in_names_do_not_reach_the_terminal(tmp_path, capsys):
    hostile = write_edf(tmp_path / "a\x1b[31m=cmd.edf", CONTACTS, seconds=20.0)
    code, out, err = run(capsys, "onset", hostile)
    assert code == 0
    assert "\x1b[31m" not in out + err


def test_a_folder_is_read_to_its_end_and_unreadable_files_are_listed(edf, tmp_path, capsys):
    shutil.copy(edf, tmp_path / "z.edf")
    (tmp_path / "a.edf").write_bytes(b"0       not a recording")
    code, out, err = run(capsys, "onset", tmp_path)
    assert code == 0
    assert any(line.startswith("z.edf") for line in out.splitlines())
    assert "1 of 2 files cannot be read:" in err
    assert "a.edf: expected" in err


def test_programs_get_the_unreadable_files_too(edf, tmp_path, capsys):
    shutil.copy(edf, tmp_path / "z.edf")
    (tmp_path / "a.edf").write_bytes(b"0       not a recording")
    _, out, _ = run(capsys, "onset", tmp_path, "--json")
    tree = json.loads(out)
    assert [Path(file["file"]).name for file in tree["files"]] == ["z.edf"]
    assert [Path(file["file"]).name for file in tree["unreadable"]] == ["a.edf"]


def test_files_of_which_none_can_be_read_are_refused(tmp_path, capsys):
    for name in ("a.edf", "b.edf"):
        (tmp_path / name).write_bytes(b"0       not a recording")
    code, _, err = run(capsys, "onset", tmp_path)
    assert code == 2
    assert "found 2 files, none of which can be read" in err
