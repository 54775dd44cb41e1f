"""The released code's descriptors: against SciPy by hand, and on the way to a cube."""

from __future__ import annotations

import numpy as np
import pytest
from released_by_hand import released_by_hand, released_nine

from epilens.evidence import keys
from epilens.evidence.cube import check
from epilens.evidence.describe import CUBE, audit_of, describe
from epilens.evidence.descriptors import DESCRIPTORS, NINE, descriptors
from epilens.evidence.released_descriptors import RELEASED_NINE
from epilens.evidence.seizures import READING
from epilens.evidence.signals import make_signals
from epilens.evidence.views import channel_table
from epilens.evidence.windows import band_limit
from epilens.plan import PAPER_NINE, FilterPlan, Plan
from epilens.testing import make_recording

RELEASED = Plan(descriptors=RELEASED_NINE, filter=FilterPlan(band="none"))


def noise(fs: float, seconds: float = 4.3) -> np.ndarray:
    rng = np.random.default_rng(3)
    drift = np.cumsum(rng.normal(size=(2, round(seconds * fs))), axis=1)
    return 300 + 4 * drift + 20 * rng.normal(size=drift.shape)


def test_the_registry_has_them_in_the_paper_s_order_after_the_paper_s():
    assert tuple(f"released_{name}" for name in PAPER_NINE) == RELEASED_NINE
    both = (*PAPER_NINE, *RELEASED_NINE)
    assert tuple(name for name in DESCRIPTORS if name in both) == both
    for name, paper in zip(RELEASED_NINE, NINE, strict=True):
        row = DESCRIPTORS[name]
        assert (row.unit, row.of) == (paper.unit, "signal")
        assert row.words == f"{paper.words} (released code)"
        assert (row.fast, row.log_level, row.state) == (paper.fast, paper.log_level, paper.state)
    assert "1\\le f<4" in DESCRIPTORS["released_log_delta_power"].formula


@pytest.mark.parametrize("fs", [100.0, 249.85, 256.0, 512.0, 999.41, 2000.0])
def test_they_agree_with_scipy_by_hand(fs):
    x = noise(fs)
    ours = descriptors(x, fs, names=RELEASED_NINE)
    np.testing.assert_allclose(ours, released_by_hand(x, fs), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("fs", "empty"), [(256.0, 0), (511.0, 0), (512.0, 1), (682.0, 1), (683.0, 2), (1024.0, 2)]
)
def test_bands_with_fewer_than_two_bins_are_zero(fs, empty):
    values = descriptors(noise(fs), fs, names=RELEASED_NINE)[..., :5]
    assert (values[..., :empty] == 0).all()
    assert (values[..., empty:] > 0).all()


def test_a_constant_has_no_power_and_no_entropy():
    values = descriptors(np.full((1, 600), 5.3), 200.0, names=RELEASED_NINE)[0, 0]
    np.testing.assert_allclose(values, [0, 0, 0, 0, 0, 5.3, 0, 0, 0], rtol=1e-6, atol=1e-12)


def test_they_differ_from_the_paper_s_in_spectrum_only():
    x = noise(250.0)
    paper, released = (descriptors(x, 250.0, names=names) for names in (PAPER_NINE, RELEASED_NINE))
    np.testing.assert_allclose(released[..., 5:8], paper[..., 5:8], rtol=1e-5)
    assert (np.abs(released - paper)[..., [0, 1, 2, 3, 4, 8]] > 1e-3).all()


def test_a_plan_without_band_limits_describes_the_signal_as_recorded():
    recording = make_recording(fs=200.0, channels=3, start_s=-30.0, stop_s=30.0)
    drifting = recording.signal + 500 + np.arange(recording.signal.shape[1]) / 20
    recording = make_recording(
        fs=200.0, channels=3, start_s=-30.0, stop_s=30.0, signal=drifting.astype(np.float32)
    )
    cube = check(describe([recording], RELEASED))
    for w, c in ((0, 0), (31, 1), (58, 2)):
        window = recording.signal[c, 200 * w : 200 * w + 400]
        np.testing.assert_allclose(cube["x"][0, w, c], released_nine(window, 200.0), rtol=1e-4)
    limited = describe([recording], RELEASED.override(filter={"band": "butterworth"}))
    assert limited["x"].sel(descriptor="released_rms").max() < 400
    assert (cube.attrs["band"], limited.attrs["band"]) == ("none", "butterworth")


def test_without_band_limits_the_notch_stays_a_choice_of_its_own():
    fs = 500.0
    t = np.arange(10_000) / fs
    x = (100 + np.sin(2 * np.pi * 50 * t) + np.sin(2 * np.pi * 0.5 * t))[None].astype(np.float32)
    assert band_limit(x, fs, FilterPlan(band="none"), mains_hz=50.0) is x
    kept = band_limit(x, fs, FilterPlan(band="none", notch="auto"), mains_hz=50.0)
    slow = 100 + np.sin(2 * np.pi * 0.5 * t)
    np.testing.assert_allclose(kept[0, 2500:-2500], slow[2500:-2500], atol=0.02)


def test_signals_next_to_the_cube_are_band_limited_in_any_case():
    parts = [make_recording(fs=128.0, channels=2)]
    np.testing.assert_array_equal(
        make_signals(parts, RELEASED)["signal"], make_signals(parts, Plan())["signal"]
    )


def test_coverage_and_state_terms_are_those_of_the_paper_s_rows():
    cube = describe([make_recording(fs=250.0)], RELEASED)
    rows = audit_of(cube)
    told = "sampled at 250 Hz: high gamma (80-150 Hz) is covered to 64%"
    assert [row.why for row in rows] == [told]
    assert cube["high_gamma_covered"].values == pytest.approx([45 / 70])
    assert channel_table(cube).shape[1] == 88


def test_band_limits_and_the_rows_own_code_are_in_the_key(monkeypatch):
    asked = []
    monkeypatch.setattr(keys, "code_digest", lambda *names: asked.append(names) or "")
    keys.store_key(CUBE, "", RELEASED)
    keys.store_key(CUBE, "", Plan())
    assert asked == [
        ("epilens.evidence.describe", "epilens.evidence.released_descriptors"),
        ("epilens.evidence.describe",),
    ]
    assert "band" in RELEASED.model_dump(include=set(READING))["filter"]
