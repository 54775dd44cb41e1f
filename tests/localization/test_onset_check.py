"""Onsets that the signal questions: wrong times, and contacts that are active before onset."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from epilens import localize
from epilens.core.errors import MethodError
from epilens.evidence.describe import describe
from epilens.localization.fallback import FALLBACKS
from epilens.localization.onset_check import active_since, question_onsets
from epilens.localization.timing import time_evidence
from epilens.testing import make_recording

CONTACTS = tuple(f"{shaft}{i}" for shaft in "ABC" for i in range(1, 8))


def cautions(recordings) -> list[str]:
    found = localize(recordings, "line-length-change")
    return [c.text for c in found.certainty.cautions if c.level == "caution"]


def seizure(given_s: float = 0.0, early: int | None = None):
    """Contacts become fast one after the other from 0 s on; `early` does 6 s before them."""
    made = make_recording(channels=CONTACTS, ez=0, start_s=-60, stop_s=60)
    signal = made.signal.copy()
    t = np.arange(signal.shape[1]) / made.fs - 60
    for i in range(8):
        signal[i] += 60 * np.clip((t - i) / 2, 0, 1) * np.sin(2 * np.pi * 20 * t)
    if early is not None:
        signal[early] += np.where((t > -6) & (t < 20), 90 * np.sin(2 * np.pi * 40 * t), 0)
    start, stop = (round((60 + given_s + s) * made.fs) for s in (-35, 35))
    onset = type(made.onset)(60 + given_s, None, "", "given by the user")
    return make_recording(
        channels=CONTACTS, signal=signal[:, start:stop], start_s=-35.0, onset=onset
    )


@pytest.mark.parametrize("rule", ["uncertain onset marker", "clinical onset"])
def test_a_weak_annotation_is_reported_whatever_the_words_for_it(rule):
    recording = seizure()
    recording = replace(recording, onset=replace(recording.onset, rule=rule))
    found = localize([recording], "line-length-change")
    reworded = replace(found, seizures=(replace(found.seizures[0], onset="as annotated"),))
    [caution] = question_onsets(reworded, found.timing)
    assert "Its annotation is" in caution.text


def test_a_right_onset_is_not_questioned():
    assert not [text for text in cautions([seizure()]) if "Check the onset" in text]


@pytest.mark.parametrize("given_s", [-15.0, 12.0])
def test_a_wrong_onset_is_questioned_first_with_the_suggested_time(given_s):
    first = cautions([seizure(given_s)])[0]
    assert first.startswith("Check the onset of seizure 1.")
    assert f"given at {60 + given_s:.1f} s" in first
    suggested = float(first.partition("signal suggests ")[2].partition(" s")[0])
    assert suggested == pytest.approx(60, abs=2)
    assert f"--onset {suggested:.1f}" in first


def test_a_contact_that_changes_before_the_onset_is_the_first_and_is_reported():
    recording = seizure(early=12)
    found = localize([recording], "line-length-change")
    text = next(c.text for c in found.certainty.cautions if "precedes" in c.text)
    assert "Activity precedes the given onset by 6 s in B6." in text
    contact = found.channels.index("B6")
    assert found.timing.recruited[0, contact]
    assert found.timing.recruited_s[0, contact] == pytest.approx(-6, abs=1.1)
    assert found.timing.order[0, contact] == 1


def test_its_change_was_hidden_by_a_reference_up_to_the_onset():
    timing = time_evidence(describe([seizure(early=12)]), gap_s=0.0)
    assert not timing.recruited[0, 12] or timing.recruited_s[0, 12] > -3


def test_activity_that_ends_before_the_onset_does_not_precede_it():
    made = make_recording(channels=CONTACTS, ez=8)
    t = np.arange(made.signal.shape[1]) / made.fs + made.start_s
    made.signal[12] += np.where((t > -9) & (t < -4), 90 * np.sin(2 * np.pi * 40 * t), 0)
    cube = describe([made])
    since_s = active_since(time_evidence(cube), 0, cube["descriptor"].values.tolist())
    assert np.isinf(since_s[12])


def test_a_clip_of_20_s_is_ranked_by_a_method_that_can_use_it():
    clip = make_recording(channels=CONTACTS, ez=4, start_s=-10, stop_s=10)
    found = localize([clip])
    assert found.source.name in FALLBACKS[1:]
    (text,) = [c.text for c in found.certainty.cautions if "is not used" in c.text]
    assert "it needs a recording from 18 s before to 18 s after onset" in text
    assert f"({found.source.name}), which needs no training" in text
    assert not [text for text in found.caveats if "disagrees" in text]


def test_a_method_that_cannot_use_a_clip_says_what_it_needs_and_what_works():
    clip = make_recording(channels=CONTACTS, ez=4, start_s=-10, stop_s=10)
    with pytest.raises(MethodError, match="needs two whole windows of 12 s") as refused:
        localize([clip], "line-length-spread")
    assert "contain 10 s before and 10 s after onset" in str(refused.value)
    assert "or use epileptogenicity-index or line-length-change." in str(refused.value)
