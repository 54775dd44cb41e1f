"""Maps over time: what the methods compute, on one grid, where the seizure is."""

from __future__ import annotations

import numpy as np
import pytest

from epilens.localization import maps
from epilens.methods.fragility import fragility_map
from epilens.plan import Plan
from epilens.report.patient.localize import localize
from epilens.testing import make_recording

FS, NAMES = 256.0, tuple(f"A{i}" for i in range(1, 7))


@pytest.fixture(scope="module")
def localized():
    """Contacts 1 and 2 have fast activity from onset on, in both seizures."""
    parts = [
        make_recording("sub-M", f"run-{i}", seed=i, fs=FS, channels=NAMES, ez=2) for i in range(2)
    ]
    return localize(parts, "line-length-change", compare=["epileptogenicity-index", "fragility"])


def test_each_compared_method_has_its_map_once(localized):
    assert [(m.title, m.kind) for m in localized.maps] == [
        ("energy ratio (Epileptogenicity Index)", "ratio"),
        ("neural fragility", "share"),
    ]
    for one in localized.maps:
        assert one.values.shape == (2, len(one.middle_s), 6)
        np.testing.assert_allclose(np.diff(one.middle_s), maps.STEP_S)


def test_the_energy_ratio_is_one_before_onset(localized):
    ratio = localized.maps[0]
    before = (ratio.middle_s > -29) & (ratio.middle_s < -6)
    assert 0.5 < np.nanmedian(ratio.values[:, before]) < 2


def test_fragility_is_that_of_the_method(localized):
    plan, found = Plan().fragility, localized.maps[1]
    piece = next(maps.each_signal(localized.method_input, plan.start_s, plan.stop_s))
    windows, _ = fragility_map(piece.x, piece.fs, plan)
    middle_s = piece.start_s + np.arange(len(windows)) * plan.step_s + plan.window_s / 2
    near = np.abs(found.middle_s[:, None] - middle_s) <= 0.25 - 1e-9
    w = int(np.argmin(np.abs(found.middle_s - 2.25)))
    wanted = windows[(middle_s >= 2.0 - 1e-9) & (middle_s < 2.5 - 1e-9)].mean(axis=0)
    assert near[w].any()
    np.testing.assert_allclose(found.values[0, w], wanted)


def test_seizures_that_begin_at_other_times_share_one_grid():
    early = (np.ones((2, 4)), np.array([-1.0, -0.5, 0.0, 0.5]))
    late = (np.full((2, 2), 3.0), np.array([0.0, 0.25]))
    found = maps.on_one_grid("x", "share", [early, late])
    np.testing.assert_allclose(found.middle_s, [-0.75, -0.25, 0.25, 0.75])
    assert np.isnan(found.values[1, [0, 1, 3]]).all()
    assert (found.values[1, 2] == 3).all()
    assert (found.values[0] == 1).all()


def test_methods_without_a_map_have_none():
    part = make_recording("sub-M", fs=FS, channels=NAMES, ez=2)
    assert localize([part], "line-length-change").maps == ()
