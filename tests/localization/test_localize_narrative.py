"""Sentences that a neurophysiologist reads, and comparisons with a resection."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from epilens.core.errors import DataError
from epilens.evidence.descriptors import rows_of
from epilens.localization.compare import compare_with, match_contacts, ranking, resection, top_k
from epilens.localization.narrative import (
    describe_agreement,
    describe_deviations,
    describe_joint_score,
    describe_score,
    when,
)
from epilens.localization.timing import CLEAR_SD, time_evidence
from epilens.networks.predictor import Explanation
from epilens.plan import PAPER_NINE
from epilens.testing import make_cube

HIGH_GAMMA = list(PAPER_NINE).index("log_high_gamma_power")
LINE_LENGTH = list(PAPER_NINE).index("line_length")


def quiet(S=4, C=5):
    """No deviation anywhere."""
    timing = time_evidence(make_cube(seizures=S, channels=C, fs=128.0))
    nothing = np.zeros((S, C, 9), bool)
    zeros = np.zeros((S, C, 9))
    return replace(timing, deviates=nothing, at_s=zeros.copy(), strength=zeros.copy())


def test_the_sentence_of_the_issue():
    timing = quiet()
    timing.deviates[:3, :, HIGH_GAMMA] = True
    timing.at_s[:3, :, HIGH_GAMMA] = 6.0
    timing.at_s[:3, 0, HIGH_GAMMA] = 2.0
    timing.strength[:3, 0, HIGH_GAMMA] = [2.9, 3.1, 3.4]
    assert describe_deviations(0, timing, np.ones((4, 5), bool)) == [
        "High-gamma power rises 3.1 SD above its own baseline at +2 s, 4 s before the "
        "median contact, in 3 of 4 seizures."
    ]


def test_falls_and_late_contacts_are_told_as_such():
    timing = quiet()
    timing.deviates[0, :, LINE_LENGTH] = True
    timing.at_s[0, :, LINE_LENGTH] = -3.0
    timing.at_s[0, 1, LINE_LENGTH] = 9.0
    timing.strength[0, 1, LINE_LENGTH] = -12.4
    there = np.ones((4, 5), bool)
    there[3] = False
    (sentence,) = describe_deviations(1, timing, there)
    assert sentence == (
        "Line length falls far below its own baseline (more than 10 SD) at +9 s, 12 s after "
        "the median contact, in 1 of 3 seizures."
    )


def test_rises_and_falls_are_never_mixed():
    timing = quiet(S=3)
    timing.deviates[:, 0, LINE_LENGTH] = True
    timing.strength[:, 0, LINE_LENGTH] = [6.0, -4.0, 8.0]
    timing.at_s[:, 0, LINE_LENGTH] = [3.0, -0.4, 5.0]
    assert describe_deviations(0, timing, np.ones((3, 5), bool)) == [
        "Line length rises 7.0 SD above its own baseline at +4 s in seizures 1 and 3 and "
        "falls 4.0 SD below its own baseline at onset in seizure 2: its 3 seizures differ."
    ]


def test_no_time_is_minus_zero():
    assert [when(t) for t in (-0.5, -0.4, 0.0, 0.4, -1.6, 2.0)] == [
        *("at onset",) * 4,
        "at -2 s",
        "at +2 s",
    ]


@pytest.mark.parametrize("seed", range(3))
def test_no_deviation_is_told_as_less_than_the_rule_asks_for(seed):
    timing = time_evidence(make_cube(seizures=3, seed=seed, fs=128.0))
    assert timing.deviates.any()
    assert np.abs(timing.strength[timing.deviates]).min() >= CLEAR_SD


def test_a_joint_score_outside_of_the_single_ones_is_told():
    (line,) = describe_joint_score(0.81, np.array([0.62, 0.64]))
    assert line.startswith(
        "All seizures together score 0.81, above each of them alone (0.62, 0.64)"
    )
    (line,) = describe_joint_score(0.5, np.array([0.62, 0.64]))
    assert ", below each of them alone" in line
    for joint, alone in ((0.63, [0.62, 0.64]), (0.645, [0.62, 0.64]), (0.9, [0.2])):
        assert describe_joint_score(joint, np.array(alone)) == []


def test_a_contact_alone_is_compared_with_nobody():
    timing = quiet(S=1)
    timing.deviates[0, 2, LINE_LENGTH] = True
    timing.strength[0, 2, LINE_LENGTH] = 5000
    (sentence,) = describe_deviations(2, timing, np.ones((1, 5), bool))
    assert "median contact" not in sentence
    assert "far above its own baseline (more than 10 SD)" in sentence
    assert sentence.endswith("in 1 of 1 seizure.")


def test_a_contact_without_deviation_is_told_too():
    assert describe_deviations(0, quiet(), np.ones((4, 5), bool)) == [
        "Nothing changes clearly from its own baseline in any of its 4 seizures (3 SD for 3 "
        "windows in a row would be clear)."
    ]


def test_what_moves_the_score_comes_first():
    timing = quiet()
    timing.deviates[:, 0, [HIGH_GAMMA, LINE_LENGTH]] = True
    timing.strength[:, 0, HIGH_GAMMA], timing.strength[:, 0, LINE_LENGTH] = 4, 40
    importance = np.zeros(9)
    importance[HIGH_GAMMA], importance[LINE_LENGTH] = 0.2, -0.1
    assert describe_deviations(0, timing, np.ones((4, 5), bool))[0].startswith("Line length")
    sentences = describe_deviations(0, timing, np.ones((4, 5), bool), importance)
    assert len(sentences) == 1
    assert sentences[0].startswith("High-gamma power")


def test_the_score_is_told_with_its_parts():
    features = np.zeros((1, 4, 9))
    features[0, 2, HIGH_GAMMA], features[0, 0, LINE_LENGTH] = 0.3, -0.1
    windows = np.zeros((1, 2, 59))
    windows[0, 1, 30:35] = 0.04
    steady = np.array([[0.03, -0.03]])
    told = Explanation(
        *(np.array([7]), features, windows, steady),
        *(np.array([0.02]), np.array([0.2]), np.array([0.42])),
    )
    assert told.residual < 1e-12
    middle = np.tile(np.arange(59) - 29.0, (2, 1))
    words = [row.words for row in rows_of(PAPER_NINE)]
    assert describe_score(0, told, middle, words) == [
        "With the evidence of other contacts of this patient that span the ranking, this contact "
        "would score 0.20. Its own evidence moves the score by +0.22 to 0.42.",
        "Contributions of the seizures: +0.03 from seizure 1, +0.17 from seizure 2, +0.02 "
        "only when they are scored together.",
        "Towards EZ: high-gamma power (+0.30, mostly its change relative to its own variability); "
        "most of it around +3 s in seizure 2.",
        "Away from EZ: line length (-0.10, mostly its level).",
    ]


def test_agreement_is_told_where_there_is_any():
    assert describe_agreement(2 / 3, 9, 3, 0.04) == [
        "If each seizure is scored alone, this contact is among the top 9 in 2 of 3 seizures.",
        "The members of the model differ by 0.04 (SD) in its score.",
    ]
    assert describe_agreement(1.0, 9, 1, None) == []


CHANNELS = ("A1", "A2", "EEG LF 01-Ref", "B1-B2", "odd")


def test_a_resection_is_matched_by_contact():
    holds, unknown = match_contacts("a1; LF1, B2 Q7 hippocampus", CHANNELS)
    assert holds.tolist() == [True, False, True, True, False]
    assert set(unknown) == {"hippocampus", "Q7"}
    holds, unknown = match_contacts(["A02", "odd", "nobody"], CHANNELS)
    assert holds.tolist() == [False, True, False, False, True]
    assert unknown == ("nobody",)


def test_a_resection_is_compared_with_the_top_contacts():
    p = np.array([0.5, 0.1, 0.2, 0.9, 0.3])
    cut = resection(["A2", "odd"], CHANNELS, p, k=2)
    assert (cut.hits, cut.not_resected, cut.outside) == (1, (2,), (4,))
    with pytest.raises(DataError, match=r"found none of them in the list \(Z9\)"):
        resection("Z9", CHANNELS, p, k=2)


def test_the_top_is_what_is_called_or_ten():
    p = np.linspace(0, 1, 40)
    assert top_k(p, 0.2) == (p < 0.2).sum()
    assert top_k(p, 0.0) == top_k(p, None) == 10
    assert top_k(p[:6], None) == 3


def test_two_rankings_are_compared():
    p = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    same = compare_with("x", "X", p**2, p, 2)
    assert (same.shared, same.correlation) == (2, pytest.approx(1))
    other = compare_with("x", "X", 1 - p, p, 2)
    assert (other.shared, other.correlation) == (0, pytest.approx(-1))
    assert compare_with("x", "X", np.full(5, 0.5), p, 2).correlation is None
    assert ranking(np.array([0.5, 0.5, 0.1])).tolist() == [2, 0, 1]
