"""What is said on top of the page, and what was analysed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from new_patients import CONTACTS, FS, the_files, the_model, the_patient

from epilens.evaluation.certainty import CoveringSet
from epilens.localization.caveats import (
    describe_performance,
    describe_sets,
)
from epilens.localization.certainty import PatientCertainty
from epilens.localization.compare import resection
from epilens.localization.sources import ModelSource, open_source
from epilens.plan import Plan
from epilens.report.patient.derivative import sidecar
from epilens.report.patient.localize import localize
from epilens.report.patient.payload import payload
from epilens.testing import make_cube, make_patient, make_recording


def reached(**about):
    return describe_performance(ModelSource(replace(the_model(), about=about)))


def test_how_good_the_model_was_is_said_with_chance_beside_it():
    figures = {"patients": 74, "auroc": 0.7219, "ez_auprc": 0.4561}
    cohort = {"channels": 1000, "EZ channels": 130}
    assert reached(out_of_fold=figures, cohort=cohort) == (
        "Cross-validated on 74 patients: AUROC 0.72 (chance: 0.50), EZ-AUPRC 0.46 (chance: about "
        "0.13)."
    )
    assert "74 simulated patients" in reached(out_of_fold=figures, simulated=True)
    assert reached() == "The model contains no cross-validated performance."
    assert "without training" in describe_performance(open_source("line-length-change"))


@pytest.mark.parametrize(("held", "told"), [(19, True), (18, True), (17, False), (4, False)])
def test_a_set_that_holds_nearly_all_contacts_is_told(held, told):
    every = (CoveringSet(0.9, None, 0.95, 1.0), np.ones(20, bool))
    part = (CoveringSet(0.8, 0.5, 0.8, 0.9), np.arange(20) < held)
    sure = PatientCertainty(None, (every, part), (), None, ())
    lines = describe_sets(sure)
    assert bool(lines) == told
    if told:
        assert lines == [
            "The ranking excludes almost nothing here: the 80 % set contains "
            f"{held} of 20 contacts."
        ]


def test_a_blind_pick_stands_beside_the_resection():
    p = np.linspace(0.1, 0.9, 10)
    cut = resection(list(CONTACTS[:4]), CONTACTS, p, k=5)
    assert cut.by_chance == pytest.approx(2.0)
    picks = np.random.default_rng(0).permuted(np.tile(cut.members, (20000, 1)), axis=1)[:, :5]
    assert cut.by_chance == pytest.approx(picks.sum(axis=1).mean(), abs=0.03)
    assert str(cut) == (
        "4 of the 5 top-ranked contacts are in the resection (expected by chance: 2.0)."
    )


def test_what_was_analysed_is_said_of_every_seizure():
    found = the_patient()
    first = found.seizures[0]
    assert (first.name, first.file, first.onset_s) == ("seizure-1", 1, 40.0)
    assert first.onset == "given by the user"
    assert first.interval_s == (-30.0, 30.0)
    assert (first.rate_hz, first.contacts, first.ictal_windows) == (FS, 10, 29)
    assert found.seizures[2].file == 3
    about = found.analysed
    assert about["montage"] == "as recorded"
    assert about["filter"] == "1-150 Hz (zero-phase Butterworth, order 4), no notch"
    assert about["versions"].keys() >= {"EpiLENS", "Python", "numpy", "mne", "torch"}
    assert len(about["date"]) == 10


def test_who_marked_an_onset_stands_beside_it():
    marked = "marked by AB, 2026-11-17"
    found = localize(
        the_files()[:1], "line-length-change", onsets=[40], onset_source=marked, compare=["random"]
    )
    assert found.seizures[0].onset == marked
    assert payload(found)["seizures"][0]["onset"] == marked
    assert sidecar(found)["Analysed"]["seizures"][0]["onset"] == marked


def test_an_annotated_onset_says_so_and_nobody_marked_it():
    part = make_recording(fs=FS, channels=CONTACTS)
    found = localize([part], "line-length-change", onset_source="marked by AB")
    assert found.seizures[0].onset == "annotated (onset marker)"
    assert found.seizures[0].file is None


def test_a_cube_says_what_it_does_not_know():
    found = localize(make_cube(fs=FS, channels=CONTACTS), "line-length-change")
    assert (found.seizures[0].onset_s, found.seizures[0].onset) == (None, "as described")


def test_other_settings_are_said():
    plan = Plan().override(montage={"scheme": "bipolar"}, filter={"notch": "auto", "band": "none"})
    part = make_recording(fs=FS, channels=CONTACTS)
    about = localize([part], "line-length-change", plan=plan).analysed
    assert about["montage"] == "bipolar along electrodes"
    assert about["filter"] == "no band limits, notch at mains and harmonics"


FEATURES = "33 contact features in 5 windows of 12 s from -30 to +30 s around onset; "


@pytest.mark.parametrize(
    ("changes", "scores_from"),
    [
        ({}, "notch at mains and harmonics, common average, band-pass 1-250 Hz"),
        (
            {"mains_hz": None},
            "no notch because mains are unknown, common average, band-pass 1-250 Hz",
        ),
        ({"fs": 256.0}, "notch at mains and harmonics, common average, high-pass 1 Hz"),
        (
            {"channels": [f"A{i}-A{i + 1}" for i in range(1, 13)]},
            "notch at mains and harmonics, no common average, band-pass 1-250 Hz",
        ),
    ],
)
def test_scores_of_the_shipped_model_come_from_features_and_not_from_the_signals_shown(
    changes, scores_from
):
    names = [f"{shaft}{i}" for shaft in "AB" for i in range(1, 7)]
    part = make_recording(**{"fs": 512.0, "channels": names} | changes)
    found = localize([part], "recorded", compare=["line-length-change"])
    assert found.analysed["scores_from"] == FEATURES + scores_from
    assert payload(found)["analysed"]["scores_from"] == FEATURES + scores_from
    assert sidecar(found)["Analysed"]["scores_from"] == FEATURES + scores_from
    assert "scores_from" not in localize([part], "line-length-change").analysed


def test_preparation_is_counted_where_seizures_differ():
    names = [f"{shaft}{i}" for shaft in "AB" for i in range(1, 7)]
    about = {"fs": 512.0, "channels": names}
    parts = [
        make_recording(run="run-01", **about),
        make_recording(run="run-02", mains_hz=None, stop_s=25.0, **about),
    ]
    text = localize(parts, "recorded", compare=["line-length-change"]).analysed["scores_from"]
    assert "in up to 5 windows" in text
    assert "(no notch because mains are unknown in 1 of 2 seizures)" in text


def test_a_cube_with_features_does_not_claim_that_mains_were_known():
    patient = make_patient(fs=512.0, channels=12)
    text = localize(patient, "recorded", compare=["line-length-change"]).analysed["scores_from"]
    assert text == FEATURES + (
        "notch at mains and harmonics where mains were known, common average, band-pass 1-250 Hz"
    )
