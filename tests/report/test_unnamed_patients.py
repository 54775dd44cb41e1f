"""Two patients without a code do not replace each other."""

from __future__ import annotations

import shutil

import pytest
from new_patients import the_files

from epilens.errors import DataError
from epilens.localization import Request
from epilens.report.localized import UNNAMED, run_localize


def ask(files, out, code=""):
    request = Request(patient=files, model="line-length-spread", onsets=(40.0,), code=code)
    return run_localize(request, out)


def test_a_second_patient_without_a_code_is_refused_and_the_first_page_stays(tmp_path):
    plain = tmp_path / "seizure.edf"
    shutil.copy(the_files()[0], plain)
    page = ask([plain], tmp_path / "out")
    assert page.name == f"{UNNAMED}.html"
    before = page.read_bytes()
    with pytest.raises(DataError, match="expected a code for this patient, found none given"):
        ask([plain], tmp_path / "out")
    assert page.read_bytes() == before
    assert ask([plain], tmp_path / "out", "P7").name == "sub-P7.html"
