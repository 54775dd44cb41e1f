"""How sure one patient's scores are: agreement of the seizures, cautions, abstention."""

from __future__ import annotations

from dataclasses import replace

import localize_by_hand as by_hand
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from new_patients import cohort_cubes, the_patient, write_edf

from epilens.evaluation.certainty import CoveringSet, learn_certainty
from epilens.localization.certainty import (
    Caution,
    _swapped_sides,
    cautions_of,
    most_severe_first,
    seizure_agreement,
    top_share,
)
from epilens.localization.run_metadata import overlapping
from epilens.report.patient.localize import localize
from epilens.testing import make_cube, make_patient, make_recording


@given(st.integers(2, 5), st.integers(3, 8), st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_agreement_and_top_share_are_those_of_the_definition(S, C, seed):
    rng = np.random.default_rng(seed)
    p = rng.integers(0, 12, (S, C)) / 12 + rng.random((S, C)) * 1e-3
    there = rng.random((S, C)) < 0.8
    there[:, 0] = True
    wanted = by_hand.agreement(p.tolist(), there.tolist())
    found = seizure_agreement(p, there)
    assert (found is None) == (wanted is None)
    if found is not None:
        assert found == pytest.approx(wanted)
    np.testing.assert_allclose(top_share(p, there, 2), by_hand.top_share(p, there, 2))


def test_an_unlike_patient_abstains_and_is_told_why():
    cohort = cohort_cubes(8)
    certainty = learn_certainty(cohort, [np.linspace(0.1, 0.9, 6)] * 8, 0.5)
    usual = make_cube("sub-new", seizures=2, seed=77, fs=128.0)
    loud = usual.assign(x=(usual["x"] * 40).where(usual["valid"], 0))
    evidence, _ = certainty.distances(loud, np.linspace(0.1, 0.9, 6), 0.5)
    caution = next(cautions_of(loud, [evidence], 0.9))
    assert caution.level == "abstain"
    assert "unlike the training cohort" in caution.text
    assert "before onset is higher (more than 10 SD)" in caution.text
    assert "_" not in caution.text


def test_sets_hold_the_contacts_below_their_cut():
    rules = [CoveringSet(0.8, 0.3, 0.84, 0.4), CoveringSet(0.9, None, 1.0, 1.0)]
    some, whole = (rule.contains(np.array([0.1, 0.3, 0.5])) for rule in rules)
    assert some.tolist() == [True, True, False]
    assert whole.all()


def test_a_short_reference_abstains():
    cube = make_cube(start_s=-9.0, fs=128.0)
    (caution,) = [c for c in cautions_of(cube, [], None) if c.level == "abstain"]
    assert (
        "The baseline is too short: the median contact has 8 windows before onset" in caution.text
    )


def test_one_seizure_and_few_contacts_are_told():
    texts = " ".join(c.text for c in cautions_of(make_cube(seizures=1, fs=128.0), [], None))
    assert "Only one seizure" in texts
    assert "Only 6 contacts" in texts
    assert "High gamma (80-150 Hz) is covered to 0 %" in texts
    assert "seizures disagree" in " ".join(
        c.text for c in cautions_of(make_cube(seizures=2, fs=128.0), [], 0.1)
    )


def test_excluded_channels_are_counted_by_reason():
    part = make_recording(fs=128.0, channels=[f"A{i}" for i in range(1, 12)])
    out = {"A1": "artifact", "A2": "artifact", "A3": "disconnected"}
    found = localize([part], "line-length-change", exclude=out)
    texts = [caution.text for caution in found.certainty.cautions]
    (text,) = [text for text in texts if "channels are excluded" in text]
    reasons = {row.channel: row.why for row in found.dropped}
    assert text == (
        f"3 channels are excluded: 2 ({reasons['A1']}), 1 ({reasons['A3']}). Check that no usable "
        "contact is among them."
    )


@pytest.mark.parametrize("simulated", [True, False])
def test_only_a_recorded_patient_may_be_one_of_the_public_training_data(simulated):
    patient = make_patient(fs=512.0, channels=12)
    patient.attrs["simulated"] = simulated
    found = localize(patient, "recorded", compare=["line-length-change"])
    texts = " ".join(caution.text for caution in found.certainty.cautions)
    assert ("If this is a patient of OpenNeuro ds003029" in texts) != simulated


def test_a_file_that_was_cut_off_is_told(tmp_path):
    whole, cut = (write_edf(tmp_path / f"{name}.edf", seed=i) for i, name in enumerate("ab"))
    content = cut.read_bytes()
    cut.write_bytes(content[: len(content) * 9 // 10])
    found = localize([whole, cut], "line-length-change", onsets=(40, 40))
    told = [caution.text for caution in found.certainty.cautions if "header" in caution.text]
    assert told == ["Seizure 2: the length of the file does not match its header. Check the file."]


@pytest.mark.parametrize(
    ("shafts", "x_mm", "is_said"),
    [
        (("RA", "RB"), -30.0, True),
        (("LA", "LB"), 30.0, True),
        (("RA", "RB"), 30.0, False),
        (("RA", "RB"), -2.0, False),  # at the midline
        (("A", "R"), -30.0, False),  # letters, not sides
    ],
)
def test_positions_on_the_other_side_than_the_names_say(shafts, x_mm, is_said):
    channels = [f"{shaft}{i}" for shaft in shafts for i in range(1, 5)]
    cautions = list(_swapped_sides(channels, [(x_mm, 0.0, 0.0)] * len(channels)))
    assert bool(cautions) == is_said
    assert all("other side than the names say" in caution.text for caution in cautions)
    assert not list(_swapped_sides(channels, [None] * len(channels)))


def test_notes_come_after_cautions_and_abstentions_first():
    levels = ["note", "caution", "abstain", "note", "caution"]
    cautions = [Caution(level, str(i)) for i, level in enumerate(levels)]
    assert [c.text for c in most_severe_first(*cautions)] == ["2", "1", "4", "0", "3"]


def test_seizures_that_overlap_in_one_file_do_not_agree(tmp_path):
    file = write_edf(tmp_path / "a.edf")
    near = localize(file, "line-length-change", onsets=[34, 46])
    texts = [c.text for c in near.certainty.cautions if "overlap" in c.text]
    assert len(texts) == 1
    assert texts[0].startswith("Seizures 1 and 2 overlap in one recording (onsets at 34.0 and 46.0")
    assert near.certainty.agreement is None
    assert "whether the 2 seizures agree is unknown" in near.summary[1]


def test_seizures_of_two_files_or_far_apart_do_not_overlap():
    first = the_patient().seizures[0]
    later = replace(first, onset_s=first.onset_s + 61)
    assert overlapping([first, replace(later, onset_s=first.onset_s + 20)]) == [(0, 1)]
    assert overlapping([first, later]) == []
    assert overlapping([first, replace(first, file=2)]) == []
    run = replace(first, file=None, name="01")
    assert overlapping([run, replace(run, name="02"), replace(run, name="01+2")]) == [(0, 2)]
    assert overlapping([replace(run, onset_s=None)] * 2) == []
