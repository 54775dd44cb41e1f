"""First clear deviation and the order of recruitment, against one window at a time."""

from __future__ import annotations

import localize_by_hand as by_hand
import numpy as np
import pytest

from epilens.evidence.descriptors import NINE
from epilens.localization.timing import first_sustained, time_evidence
from epilens.testing import make_cube


@pytest.fixture(scope="module")
def cube():
    cube = make_cube(seizures=3, channels=5, ez=2, fs=256.0)
    valid = cube["valid"].copy()
    valid[2, :, 4] = False
    valid[1, 33, 0] = False
    return cube.assign(valid=valid, x=cube["x"].where(valid, 0))


@pytest.fixture(scope="module")
def timing(cube):
    return time_evidence(cube)


def test_deviations_are_those_of_the_rule(cube, timing):
    start, valid = cube["start_s"].values, cube["valid"].values
    for s in range(3):
        for c in range(5):
            searched = [bool(valid[s, w, c] and start[s, w] >= -10) for w in range(59)]
            for d in range(9):
                z = timing.z[s, :, c, d].tolist()
                up = by_hand.first_deviation(z, searched)
                down = by_hand.first_deviation([-v for v in z], searched)
                some = [w for w in (up, down) if w >= 0]
                assert timing.deviates[s, c, d] == bool(some)
                if some:
                    assert timing.at_s[s, c, d] == timing.middle_s[s, min(some)]
                    wanted = by_hand.strength(z, valid[s, :, c], min(some))
                    assert timing.strength[s, c, d] == pytest.approx(wanted, rel=1e-5)


def test_recruitment_is_the_first_rise_of_fast_activity(cube, timing):
    start, valid = cube["start_s"].values, cube["valid"].values
    fast = [d for d, row in enumerate(NINE) if row.fast]
    for s in range(3):
        for c in range(5):
            searched = [bool(valid[s, w, c] and start[s, w] >= -10) for w in range(59)]
            rises = [by_hand.first_deviation(timing.z[s, :, c, d], searched) for d in fast]
            rises = [w for w in rises if w >= 0]
            assert timing.recruited[s, c] == bool(rises)
            if rises:
                assert timing.recruited_s[s, c] == timing.middle_s[s, min(rises)]


def test_channels_that_become_fast_at_onset_are_recruited_there(timing):
    assert timing.recruited[:, :2].all()
    assert (np.abs(timing.recruited_s[:, :2]) <= 1.5).all()


def test_a_channel_that_is_not_in_a_seizure_is_not_recruited(timing):
    assert not timing.recruited[2, 4]
    assert not timing.deviates[2, 4].any()


def test_noise_is_rarely_recruited():
    cube = make_cube(seizures=3, channels=40, ez=0, fs=128.0, seed=5)
    assert time_evidence(cube).recruited.mean() < 0.1


def test_the_order_counts_from_one_and_ties_share(timing):
    for s in range(3):
        times = timing.recruited_s[s]
        for c in range(5):
            if not timing.recruited[s, c]:
                assert timing.order[s, c] == 0
                continue
            earlier = [d for d in range(5) if timing.recruited[s, d] and times[d] < times[c]]
            assert timing.order[s, c] == 1 + len(earlier)


def test_the_median_is_over_the_seizures_with_recruitment(timing):
    median, count = timing.median_s()
    for c in range(5):
        times = sorted(timing.recruited_s[s, c] for s in range(3) if timing.recruited[s, c])
        assert count[c] == len(times)
        if times:
            assert median[c] == pytest.approx(np.median(times))


def test_two_windows_are_not_enough():
    z = np.zeros((1, 10, 1, 1))
    z[0, 4:6] = 9
    searched = np.ones((1, 10, 1), bool)
    assert first_sustained(z, searched).item() == -1
    z[0, 6] = 3
    assert first_sustained(z, searched).item() == 4
    searched[0, 4] = False
    assert first_sustained(z, searched).item() == -1
    assert first_sustained(z[:, :2], searched[:, :2]).item() == -1
