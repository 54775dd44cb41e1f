"""The same seizure in another export is recognised; another seizure is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import resample_poly

from epilens.data.duplicates import SAME, DuplicateFilter, Envelopes
from epilens.plan import Plan
from epilens.testing import make_recording


def seizure(seed=0, **about):
    return make_recording(run=f"run-{seed}", channels=8, fs=256.0, seed=seed, **about)


def again(change):
    return replace(change(seizure()), run="run-9")


def coarse(recording):
    return replace(recording, signal=(recording.signal / 4).round().astype(np.float32) * 4)


def other_rate(recording):
    signal = resample_poly(recording.signal, 25, 32, axis=1).astype(np.float32)
    return replace(recording, signal=signal, fs=200.0)


def cut(recording):
    recording = coarse(recording)
    return replace(recording, signal=recording.signal[:, 2570:-1003], start_s=-35 + 2570 / 256)


def other_onset(recording):
    return replace(recording, start_s=recording.start_s + 3.33)


@pytest.mark.parametrize("change", [coarse, other_rate, cut, other_onset])
def test_a_seizure_that_was_exported_again_counts_once(change):
    kept, rows = DuplicateFilter(Plan()), []
    assert kept.admit(seizure(), rows)
    assert not kept.admit(again(change), rows)
    assert [(row.code, row.effect, row.run) for row in rows] == [
        ("signal-repeated", "excluded", "run-9")
    ]
    assert "the seizure of run-0 exported again" in rows[0].why


def test_other_seizures_are_far_from_the_limit():
    first = Envelopes.of(seizure())
    assert max(first.correlation(Envelopes.of(seizure(seed))) for seed in range(1, 6)) < SAME / 2


def test_two_onsets_of_one_signal_are_two_seizures():
    kept, rows = DuplicateFilter(Plan()), []
    assert kept.admit(seizure(), rows)
    assert kept.admit(again(lambda r: replace(r, start_s=r.start_s - 20)), rows)
    assert rows == []
