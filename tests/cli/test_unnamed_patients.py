"""Two patients without a code do not replace each other."""

from __future__ import annotations

import shutil

import pytest
from new_patients import the_files

from epilens.cli.localize import UNNAMED, run_localize
from epilens.core.errors import DataError
from epilens.localization import Request


def ask(files, out, code="", onset=40.0):
    request = Request(patient=files, model="line-length-spread", onsets=(onset,), code=code)
    return run_localize(request, out)


def test_a_second_patient_without_a_code_is_refused_and_the_first_page_stays(tmp_path):
    plain, other = tmp_path / "seizure.edf", tmp_path / "other.edf"
    shutil.copy(the_files()[0], plain)
    shutil.copy(the_files()[1], other)
    page = ask([plain], tmp_path / "out")
    assert page.name == f"{UNNAMED}.html"
    before = page.read_bytes()
    with pytest.raises(DataError, match="expected a code for this patient, found none given"):
        ask([other], tmp_path / "out")
    assert page.read_bytes() == before
    assert ask([other], tmp_path / "out", "P7").name == "sub-P7.html"


def test_the_same_file_again_replaces_its_page_also_with_another_onset(tmp_path):
    plain = tmp_path / "seizure.edf"
    shutil.copy(the_files()[0], plain)
    before = ask([plain], tmp_path / "out").read_bytes()
    renamed = plain.rename(tmp_path / "renamed.edf")
    assert ask([renamed], tmp_path / "out", onset=42.0).read_bytes() != before


def test_a_page_that_does_not_say_what_it_was_made_of_is_not_replaced(tmp_path):
    plain = tmp_path / "seizure.edf"
    shutil.copy(the_files()[0], plain)
    ask([plain], tmp_path / "out")
    sidecar = tmp_path / "out" / UNNAMED / "ieeg" / f"{UNNAMED}_desc-epilens_contacts.json"
    sidecar.write_text("[1", encoding="utf-8")
    with pytest.raises(DataError, match="expected a code"):
        ask([plain], tmp_path / "out")


def test_a_code_that_the_files_do_not_need_is_not_dropped_silently(tiny, tmp_path, capsys):
    (patient,) = (tiny / "west").glob("sub-W01")
    request = Request(patient=patient, model="line-length-spread", code="P7")
    assert run_localize(request, tmp_path / "a").name == "sub-W01.html"
    assert "--patient P7 is not used: the files contain sub-W01" in capsys.readouterr().err
    run_localize(Request(patient=patient, model="line-length-spread", code="W01"), tmp_path / "b")
    assert "is not used" not in capsys.readouterr().err
