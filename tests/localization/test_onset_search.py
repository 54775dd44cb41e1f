"""Onsets that are wrong by more than what is read around them: the whole file is searched."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands import epilens
from new_patients import write_signals

from epilens import localize
from epilens.core.progress import Progress
from epilens.localization import onset_search
from epilens.testing import make_recording

CONTACTS = tuple(f"{shaft}{i}" for shaft in "ABC" for i in range(1, 8))
TRUE_S = 130.0


@pytest.fixture(scope="module")
def long_file(tmp_path_factory) -> Path:
    """Contacts become fast one after the other from 130 s on, and stop at 170 s, of 200 s."""
    made = make_recording(channels=CONTACTS, ez=0, start_s=-TRUE_S, stop_s=200 - TRUE_S)
    t = np.arange(made.signal.shape[1]) / made.fs - TRUE_S
    for i in range(8):
        rise = np.clip((t - i) / 2, 0, 1) * (t < 40)
        made.signal[i] += 60 * rise * np.sin(2 * np.pi * 20 * t)
    path = tmp_path_factory.mktemp("long") / "long.edf"
    return write_signals(path, CONTACTS, made.signal, made.fs)


def onset_cautions(path: Path, *onsets_s: float) -> list[str]:
    found = localize(path, "line-length-change", onsets=onsets_s)
    return [c.text for c in found.certainty.cautions if c.text.startswith("Check the onset")]


@pytest.fixture
def searches(monkeypatch) -> list[str]:
    """The files that are searched in full."""
    searched: list[str] = []
    usual = onset_search.candidates_of

    def counted(file, tick: Progress):
        searched.append(file.name)
        return usual(file, tick)

    monkeypatch.setattr(onset_search, "candidates_of", counted)
    return searched


def test_a_far_onset_is_questioned_with_the_onset_in_the_rest_of_the_file(long_file):
    (text,) = onset_cautions(long_file, 40)
    assert "It is given at 40.0 s of the recording" in text
    suggested = float(text.partition("signal suggests ")[2].partition(" s")[0])
    assert suggested == pytest.approx(TRUE_S, abs=3)
    assert f"--onset {suggested:.1f}" in text


def test_an_onset_at_the_end_of_what_is_read_is_found_in_the_file(long_file):
    (text,) = onset_cautions(long_file, TRUE_S - 32)
    assert "signal suggests 129." in text


def test_a_right_onset_needs_no_search(long_file, searches):
    assert onset_cautions(long_file, TRUE_S) == []
    assert searches == []


def test_the_onset_of_another_given_seizure_is_not_suggested(long_file, searches):
    assert not any("suggests" in text for text in onset_cautions(long_file, 60, TRUE_S))
    assert searches == ["long.edf"]


def test_a_file_that_is_too_long_is_not_searched(long_file, searches, monkeypatch):
    monkeypatch.setattr(onset_search, "LONGEST_S", 100.0)
    (text,) = onset_cautions(long_file, 40)
    assert "No contact changes around 40.0 s." in text
    assert searches == []


def test_the_terminal_says_why_a_ranking_may_be_wrong(long_file, tmp_path):
    done = epilens("localize", "random", long_file, "--onset", 40, "--out", tmp_path / "o")
    assert "caution: Check this ranking: " in done.stderr
    assert "caution: Check the onset of seizure 1." in done.stderr
