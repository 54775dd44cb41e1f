"""Odd inputs are never silent: a part of `python -m benchmarks oddities`, and its rules."""

from __future__ import annotations

from collections import Counter

import pytest
from benchmarks.odd_inputs import INPUTS, OddInput
from benchmarks.oddities import Answer, Verdict, judge

REDUCED = (
    "dead before onset, alive after it",
    "contact under two spellings in one file",
    "an electrode is missing in one recording",
    "gap 10 s before onset",
    "one onset of three 12 s late",
)
ODD = OddInput("odd", lambda folder: [], says="strange")
SAID = "this is strange"


def test_a_part_of_the_odd_inputs_is_reported(tmp_path):
    chosen = [odd for odd in INPUTS if odd.name in REDUCED]
    assert len(chosen) == len(REDUCED)
    lines: list[str] = []
    verdicts = judge(chosen, tmp_path, lines.append)
    assert [verdict.odd.name for verdict in verdicts if not verdict.good] == [], lines


def test_every_input_has_a_name_of_its_own():
    assert max(Counter(odd.name for odd in INPUTS).values()) == 1
    assert len(INPUTS) >= 100


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(0, SAID, SAID, SAID, ("A1",)), "top five changed, reported"),
        (Answer(0, SAID, "", SAID, ("A1",)), "SILENT"),
        (Answer(0, "", SAID, SAID, ("A1",)), "SILENT"),
        (Answer(0, SAID, SAID, "", ("A1",)), "SILENT"),
        (Answer(2, SAID), "refused"),
        (Answer(2, "no"), "REFUSED, UNCLEAR"),
        (Answer(1, SAID), "CRASHED"),
    ],
)
def test_what_counts_as_reported(answer, words):
    verdict = Verdict(ODD, answer, changed=bool(answer.top))
    assert verdict.words == words
    assert verdict.good == words.islower()


def test_an_input_without_a_word_may_not_change_the_ranking():
    harmless = OddInput("harmless", lambda folder: [])
    assert Verdict(harmless, Answer(0, ""), changed=False).good
    assert not Verdict(harmless, Answer(0, ""), changed=True).good
    assert not Verdict(harmless, Answer(2, "refused"), changed=False).good
