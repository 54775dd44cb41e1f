"""Electrodes that are called as other inputs are: BP, PR, LEG, DC."""

from __future__ import annotations

import mne
import numpy as np
import pytest

from epilens.data.bare_files import contacts_in
from epilens.data.readers.mne_reader import open_mne


def contacts(names, kind="eeg"):
    info = mne.create_info(names, 100.0, kind)
    raw = mne.io.RawArray(np.zeros((len(names), 10)), info, verbose="ERROR")
    kept, rows = contacts_in(open_mne(raw), {}, ("sub-01", "seizure-1"))
    return kept, {row.channel: row.why for row in rows}


A = [f"A{i}" for i in range(1, 9)]


@pytest.mark.parametrize("word", ["BP", "PR", "LEG", "DC", "leg"])
def test_numbers_like_those_of_a_shaft_make_an_electrode(word):
    shaft = [f"{word}{i}" for i in range(1, 7)]
    kept, dropped = contacts([*A, *shaft, "ECG1"])
    assert kept == [*A, *shaft]
    assert dropped == {"ECG1": "is not an iEEG channel by its type or name"}


@pytest.mark.parametrize(
    "others", [["BP1"], ["LEG1", "LEG2"], ["PR"], ["DC1", "DC3", "DC5", "DC7"]]
)
def test_one_or_two_inputs_are_none_and_have_a_row(others):
    kept, dropped = contacts([*A, *others])
    assert kept == A
    assert set(dropped) == set(others)


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [("EEG A{}", "POL DC0{}"), ("A{}", "DC0{}"), ("EEG A{}-Ref", "DC{}")],
)
def test_inputs_that_recorders_spell_in_their_own_way_stay_out(mine, theirs):
    shaft = [mine.format(i) for i in range(1, 9)]
    kept, dropped = contacts([*shaft, *(theirs.format(i) for i in range(1, 9))])
    assert kept == shaft
    assert len(dropped) == 8


def test_hearts_and_triggers_are_no_electrodes_whatever_their_numbers():
    others = [f"{word}{i}" for word in ("ECG", "EMG", "TRIG") for i in range(1, 5)]
    kept, dropped = contacts([*A, *others])
    assert kept == A
    assert set(dropped) == set(others)


def test_a_type_of_implanted_contacts_says_more_than_a_name():
    kept, dropped = contacts([*A, "LEG1", "ECG1"], "seeg")
    assert kept == [*A, "LEG1"]
    assert set(dropped) == {"ECG1"}
