"""What objects show in a notebook or shell: short, true, escaped; and how they are taken apart."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import epilens
from epilens.core.errors import CubeError, DataError, LedgerError
from epilens.core.html_repr import SHOWN, bars, card
from epilens.data.bids import read_bids
from epilens.evidence.files import Cohort, save
from epilens.report.patient.localize import localize
from epilens.testing import make_cube, make_recording, make_run

HOSTILE = '<img src=x onerror="alert(1)">'


def is_harmless(html):
    return "<img" not in html and "<script" not in html and 'onerror="' not in html


@pytest.fixture(scope="module")
def localized():
    seizures = [make_recording(run=f"run-0{i}", seed=i) for i in (1, 2)]
    return localize(seizures, "line-length-spread")


def test_the_package_shows_its_public_names_and_nothing_else():
    assert dir(epilens) == sorted(epilens.__all__)


@pytest.mark.parametrize("name", epilens.__all__)
def test_every_public_name_teaches_with_an_example(name):
    assert ">>> " in getattr(epilens, name).__doc__


@pytest.mark.parametrize("name", [n for n in epilens.__all__ if n[0].islower()])
def test_every_public_function_says_what_it_takes_and_gives(name):
    function = getattr(epilens, name)
    about = inspect.getdoc(function)
    assert "\nReturns\n-------\n" in about
    lines = re.findall(r"^(\w[\w, ]*) : ", about.partition("\nParameters\n")[2], re.MULTILINE)
    told = {parameter for line in lines for parameter in line.split(", ")}
    assert told == set(inspect.signature(function).parameters)


def test_type_information_ships():
    assert (Path(epilens.__file__).parent / "py.typed").is_file()


def test_a_card_escapes_and_counts_what_it_does_not_show():
    import pandas as pd

    table = pd.DataFrame({HOSTILE: [HOSTILE] * (SHOWN + 3)})
    text = card(HOSTILE, {HOSTILE: HOSTILE}, table, notes=[HOSTILE])
    assert is_harmless(text)
    assert "and 3 more rows" in text
    assert text.count("<tr>") == SHOWN + 1


def test_bars_are_a_picture_of_their_values():
    text = bars([1.0, 2.0, float("nan"), 0.0], HOSTILE)
    assert text.count("<rect") == 2
    assert 'height="40.0"' in text
    assert is_harmless(text)
    assert "<rect" not in bars([], "nothing")


def test_recordings(tiny):
    recordings = read_bids(tiny / "west", "simulated")
    patient = recordings.patients[0]
    assert re.fullmatch(
        r"Recordings\(.*: 2 patients, \d+ seizures, \d+ audit rows\)", repr(recordings)
    )
    assert "nothing here is clinical evidence" in recordings._repr_html_()
    assert recordings.table["patient"].tolist() == [p.name for p in recordings.patients]
    assert recordings.table["seizures"].sum() == len(recordings)
    assert recordings[0].patient == patient.name
    assert re.fullmatch(
        rf"Recording\({patient.name} \S+: \d+ channels at \d+ Hz, -\d+ to \d+ s from onset\)",
        repr(recordings[0]),
    )
    assert {one.patient for one in recordings[patient.name]} == {patient.name}
    with pytest.raises(DataError, match=f"Did you mean '{patient.name}'"):
        recordings[patient.name + "x"]


def test_a_cohort(tmp_path):
    cube = make_cube("sub-01", seizures=1, channels=4)
    cube.attrs |= {"center": HOSTILE, "key": "k", "simulated": True}
    save(cube, tmp_path / "sub-01.zarr.zip")
    cohort = Cohort({"sub-01": tmp_path / "sub-01.zarr.zip"})
    assert repr(cohort) == "Cohort(1 patients, the first 'sub-01')"
    assert "<svg" not in cohort._repr_html_()
    cube.attrs |= {"patient": "sub-02", "channels": 4}
    save(cube, tmp_path / "sub-02.zarr.zip")
    some = Cohort({name: tmp_path / f"{name}.zarr.zip" for name in ("sub-01", "sub-02")})
    assert some._repr_html_().count("<rect") == 1  # of the one that says how many
    assert "<small>channels by patient</small>" in some._repr_html_()
    assert is_harmless(cohort._repr_html_())
    assert "clinical evidence" in cohort._repr_html_()
    assert cohort[0].identical(cohort["sub-01"])
    with pytest.raises(CubeError, match="Did you mean 'sub-01'"):
        cohort["sub-1"]


def test_a_run():
    run = make_run()
    assert repr(run).endswith("2 methods)")
    assert len(run) == 2
    assert set(run["rbf-svm"]["method"]) == {"rbf-svm"}
    table = run.summary().set_index("method")
    per_patient = run.scores.query("method == 'rbf-svm'")["auroc"]
    assert table.loc["rbf-svm", "auroc"] == pytest.approx(per_patient.mean())
    assert "For research, not for diagnosis." in run._repr_html_()
    assert run._repr_html_().count("<rect") == 2  # one for each method
    with pytest.raises(LedgerError, match="Did you mean 'rbf-svm'"):
        run["rbf-swm"]


def test_a_run_that_is_not_finished_says_so(tmp_path):
    from epilens.evaluation.run import Run

    assert repr(Run(tmp_path)).endswith("not finished)")
    assert "not finished" in Run(tmp_path)._repr_html_()
    assert Run(tmp_path)


def test_a_model():
    model = epilens.train(epilens.Plan().override(splits={"folds": 2}), make_run().cohort)
    assert repr(model).startswith("Model(lens, 2 members, EZ where p_nez < ")
    assert len(model) == 2
    assert model[1] is model.members[1]
    assert "not for diagnosis" in model._repr_html_()


def test_a_localization(localized, tmp_path):
    first = localized.contacts["name"].iloc[0]
    assert repr(localized).startswith("Localization('sub-01': 6 contacts by line-length-spread: ")
    assert len(localized) == 6
    assert localized[0]["name"] == first
    assert localized[first]["rank"] == 1
    assert "<svg" in localized._repr_html_()
    assert "not for diagnosis" in localized._repr_html_()
    with pytest.raises(DataError, match="expected one of 6 contacts, found 'A99'"):
        localized["A99"]
    page = localized.save(tmp_path / "reports")
    assert page.read_text(encoding="utf-8") == localized.page()
    assert list((tmp_path / "reports").rglob("*.tsv"))
