"""Reasons of excluded contacts: those of a review are shown, texts that somebody typed are not."""

from __future__ import annotations

import json

import pytest
from commands import epilens
from new_patients import CONTACTS, write_edf
from patients_to_run import METHOD, case, marks

from epilens import localize
from epilens.core.errors import DataError
from epilens.localization.run_spec import RunInputs, make_run_spec
from epilens.report.patient.page import write_report
from epilens.review.marks import PatientMarks
from epilens.testing import make_recording

HOSTILE = ("<img src=x onerror=alert(1)>", "\x1b[31mred\x07", "\ud800", "Dr Miller: Anna's cable")


def test_reasons_reach_page_json_and_terminal(tmp_path):
    write_edf(tmp_path / "a.edf")
    table = tmp_path / "channels.tsv"
    rows = ["A1\tbad\tdisconnected", "A2\tbad\tMains", "A3\tbad\tn/a", "B1\tbad\tDr Miller"]
    table.write_text("\n".join(["name\tstatus\tstatus_description", *rows]) + "\n")
    out = tmp_path / "out"
    typed = ["localize", METHOD.id, tmp_path / "a.edf", "--onset", "40", "--exclude", table]
    done = epilens(*typed, "--exclude", "B2", "--out", out)
    assert "excluded by the user (disconnected): A1" in done.stderr
    assert "excluded by the user: A3, B2" in done.stderr
    sidecar = next(out.rglob("*contacts.json")).read_text()
    shown = {row["channel"]: row["why"] for row in json.loads(sidecar)["ChannelsLeftOut"]}
    assert shown["A1"] == "was excluded by the user (disconnected)"
    assert shown["A2"] == "was excluded by the user (mains noise)"
    assert shown["B1"] == "was excluded by the user (other reason)"
    page = next(out.glob("*.html")).read_text()
    assert "was excluded by the user (disconnected)" in page
    assert "Miller" not in done.stderr + sidecar + page


def test_a_channel_that_cannot_be_kept_is_named_with_the_reason(tmp_path):
    file = write_edf(tmp_path / "a.edf", [*CONTACTS[:9], "ECG"])
    typed = ["localize", METHOD.id, file, "--onset", "40", "--keep", "ECG", "--keep", "A1"]
    done = epilens(*typed, "--out", tmp_path / "out")
    assert "ECG is not kept: it is not an iEEG channel by its type or name." in done.stderr
    assert "A1 is not kept" not in done.stderr


@pytest.mark.parametrize("reason", HOSTILE)
def test_a_text_that_is_not_on_the_list_is_not_shown(tmp_path, reason):
    part = make_recording("sub-X", fs=128.0, channels=8, ez=2)
    name = part.channels[-1]
    localized = localize([part], METHOD.id, exclude={name: reason})
    assert {row.channel: row.why for row in localized.dropped}[
        name
    ] == "was excluded by the user (other reason)"
    page = write_report(localized, tmp_path)
    written = [page, *tmp_path.rglob("*.json"), *tmp_path.rglob("*.tsv")]
    assert reason not in "".join(path.read_text(encoding="utf-8") for path in written)


def test_a_name_with_markup_is_text_and_keeps_its_reason(tmp_path):
    names = [f"A<b>{i}" for i in range(1, 9)]
    part = make_recording("sub-X", fs=128.0, channels=names, ez=2)
    localized = localize([part], METHOD.id, exclude={"A<b>8": "artifact"})
    text = write_report(localized, tmp_path).read_text(encoding="utf-8")
    assert "A<b>8" not in text
    assert "was excluded by the user (artifact)" in text


def test_the_reasons_of_a_review_reach_its_runs_and_old_runs_open():
    bad = {"A1": "artifact", "A2": "flat"}
    spec = make_run_spec(case(), METHOD, marks().onsets, bad)
    assert spec.request().exclude == bad
    assert RunInputs.model_validate(spec.inputs.to_json()) == spec.inputs
    without = make_run_spec(case(), METHOD, marks().onsets).inputs
    assert "reasons" not in without.to_json()
    assert without.key != spec.inputs.key


@pytest.mark.parametrize("reason", HOSTILE)
def test_a_review_stores_reasons_of_its_list_only(reason):
    with pytest.raises(DataError, match="expected"):
        PatientMarks.from_json({"bad": {"A1": reason}}, "marks", "Mark it again.")
    for known in ("by eye", "artifact", "disconnected", "outside the brain", "rough"):
        assert PatientMarks.from_json({"bad": {"A1": known}}, "marks", "").bad == {"A1": known}
