"""Nine descriptors: the definition against SciPy by hand, the kernel against the definition."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal
from evidence_by_hand import descriptors_by_hand
from hypothesis import given, settings
from hypothesis import strategies as st

from epilens.core.errors import DataError
from epilens.evidence.descriptors import (
    DESCRIPTORS,
    descriptors,
    high_gamma_covered,
    power_spectrum,
)
from epilens.plan import PAPER_NINE

RATES = (249.85, 256.0, 500.0, 512.0, 999.41, 1000.0, 1024.0, 2000.0, 2048.0)
ABSOLUTE = [0, 1, 2, 3, 4, 8]  # log powers and entropy
RELATIVE = [5, 6, 7]  # RMS, variance, line length


def signals(fs: float) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    n = round(4.3 * fs)
    t = np.arange(n) / fs
    white = rng.normal(size=(2, n))
    f = np.fft.rfftfreq(n, 1 / fs)
    pink = np.fft.irfft(np.fft.rfft(white) / np.sqrt(np.maximum(f, f[1])), n)
    pink /= pink.std()
    sine = np.sin(2 * np.pi * np.array([[7.3], [60.0], [100.0]]) * t)
    slow = np.sin(2 * np.pi * 1.7 * t)[None]
    return {
        "white": 50 * white,
        "pink": 50 * pink,
        "sinusoid": 50 * sine,
        "flat": np.zeros((2, n)),
        "huge white": 1e5 * white,
        "huge pink": 1e5 * pink,
        "huge sinusoid": 1e5 * sine,
        "huge slow wave with weak noise": 1e5 * slow + white[:1],
        "tiny white": 1e-3 * white,
        "tiny sinusoid": 1e-3 * sine,
        "offset": 3000 + 20 * pink,
    }


@pytest.mark.parametrize("fs", RATES)
@pytest.mark.parametrize("kind", list(signals(256.0)))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_kernel_agrees_with_scipy(fs, kind, dtype):
    x = signals(fs)[kind].astype(dtype)
    ours, expected = descriptors(x, fs), descriptors_by_hand(x.astype(np.float64), fs)
    assert ours.shape == expected.shape
    np.testing.assert_allclose(ours[..., ABSOLUTE], expected[..., ABSOLUTE], rtol=0, atol=1e-4)
    np.testing.assert_allclose(ours[..., RELATIVE], expected[..., RELATIVE], rtol=1e-5, atol=0)


@pytest.mark.parametrize("name", list(PAPER_NINE))
def test_the_plain_function_is_the_definition(name):
    fs = 500.0
    x = signals(fs)["pink"][:1, :1000]
    row = DESCRIPTORS[name]
    value = row.compute(*((x, fs) if row.of == "signal" else power_spectrum(x, fs)))
    expected = descriptors_by_hand(x, fs)[0, 0, list(PAPER_NINE).index(name)]
    assert value.item() == pytest.approx(expected, rel=1e-10)


@pytest.mark.data
def test_the_kernel_agrees_with_scipy_on_a_real_clip(shared_data):
    with np.load(shared_data / "real" / "pt01_run01_raw_m15p1.npz") as clip:
        x, fs = clip["data"], float(clip["sfreq"])
    x = x[:, : round(5 * fs)]
    ours, expected = descriptors(x, fs), descriptors_by_hand(x.astype(np.float64), fs)
    # One dead channel is constant: SciPy's spectrum of it is rounding error, ours is zero.
    dead = expected[..., 6] < 1e-12
    assert dead.any(axis=0).sum() == 1
    assert (ours[dead][:, 8] == 0).all()
    expected[dead, 8] = 0
    np.testing.assert_allclose(ours[..., ABSOLUTE], expected[..., ABSOLUTE], rtol=0, atol=1e-4)
    np.testing.assert_allclose(ours[..., RELATIVE], expected[..., RELATIVE], rtol=1e-5, atol=0)


def test_line_length_agrees_with_mne_features():
    """mne-features averages the N - 1 differences; ours divides by the duration N/fs."""
    theirs = pytest.importorskip("mne_features.univariate").compute_line_length
    x, fs = np.random.default_rng(0).normal(size=(5, 400)), 200.0
    ours = descriptors(x, fs)[0, :, list(PAPER_NINE).index("line_length")]
    np.testing.assert_allclose(ours, theirs(x) * (400 - 1) / 400 * fs, rtol=1e-5)


def test_a_constant_has_no_spectrum_no_variance_and_no_entropy():
    values = descriptors(np.full((1, 1024), 5.3), 256.0)[0, 0]
    by_name = dict(zip(PAPER_NINE, values.tolist(), strict=True))
    assert by_name["rms"] == pytest.approx(5.3, rel=1e-6)
    assert {k: v for k, v in by_name.items() if k != "rms"} == dict.fromkeys(
        set(PAPER_NINE) - {"rms"}, 0.0
    )


@pytest.mark.parametrize("names", [PAPER_NINE, ("spectral_entropy",)])
@pytest.mark.parametrize("length_s", [2.0, 8.0])
def test_no_descriptor_of_a_missing_signal_is_a_number(names, length_s):
    x = np.full((1, 5120), np.nan)
    assert np.isnan(descriptors(x, fs=512.0, length_s=length_s, names=names)).all()


def test_a_sine_is_in_its_band_and_nowhere_else():
    fs = 1000.0
    t = np.arange(2000) / fs
    values = descriptors(100 * np.sin(2 * np.pi * 20 * t)[None], fs)[0, 0, :5]
    assert np.expm1(values[2]) == pytest.approx(100**2 / 2, rel=1e-3)
    assert np.delete(values, 2).max() < 1e-3


@pytest.mark.parametrize(("fs", "covered"), [(250, 45 / 70), (256, 48 / 70), (512, 1), (150, 0)])
def test_high_gamma_integrates_what_exists_and_says_how_much(fs, covered):
    assert high_gamma_covered(fs) == pytest.approx(covered)


def test_leading_axes_are_batched():
    x = np.random.default_rng(0).normal(size=(2, 3, 4, 900))
    whole = descriptors(x, 256.0)
    assert whole.shape == (2, 3, 2, 4, 9)
    np.testing.assert_array_equal(whole[1, 2], descriptors(x[1, 2], 256.0))


@given(order=st.permutations(range(20)), threads=st.integers(1, 3))
@settings(deadline=None, max_examples=20)
def test_neither_channel_order_nor_threads_matter(order, threads):
    x = np.random.default_rng(1).normal(size=(20, 900)).astype(np.float32)
    np.testing.assert_array_equal(
        descriptors(x[list(order)], 256.0, threads=threads),
        descriptors(x, 256.0, threads=1)[:, order],
    )


@given(strides=st.integers(1, 3), fs=st.sampled_from([256.0, 249.85, 999.41]))
@settings(deadline=None, max_examples=15)
def test_a_shift_by_whole_strides_shifts_the_windows(strides, fs):
    x = np.random.default_rng(2).normal(size=(2, round(8 * fs)))
    shift = strides * round(fs)
    np.testing.assert_allclose(
        descriptors(x[:, shift:], fs), descriptors(x, fs)[strides:], rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("samples", [0, 1, 511])
def test_too_short_for_a_window_gives_no_windows(samples):
    assert descriptors(np.zeros((3, samples)), 256.0).shape == (0, 3, 9)


def test_one_channel_axis_is_asked_for():
    with pytest.raises(
        DataError, match=r"expected an array \(..., channel, time\), found shape \(100,\)"
    ):
        descriptors(np.zeros(100), 256.0)


def test_a_rate_that_cannot_be_is_refused():
    with pytest.raises(DataError, match="expected a rate"):
        descriptors(np.zeros((1, 100)), 0.0)


@pytest.mark.parametrize(
    ("fs", "length_s"), [(256.0, 4.0), (250.0, 3.0), (999.41, 5.0), (20.0, 4.0)]
)
def test_long_windows_have_several_half_overlapping_segments(fs, length_s):
    """Segments of min(N, max(64, round(2 fs))) samples, by SciPy's Welch, window by window."""
    x = np.random.default_rng(0).normal(0, 30, (2, round(12 * fs)))
    ours = descriptors(x, fs, length_s=length_s, stride_s=2.0)
    length, stride = round(length_s * fs), round(2 * fs)
    segment = min(length, max(64, round(2 * fs)))
    for w in range(ours.shape[0]):
        part = x[:, w * stride : w * stride + length]
        f, psd = scipy.signal.welch(part, fs, "hann", segment, segment // 2, detrend=False)
        for i, (low, high) in enumerate([(1, 4), (4, 8)]):
            inside = (f >= low) & (f <= high)
            power = np.log1p(np.trapezoid(psd[:, inside], f[inside], axis=-1))
            np.testing.assert_allclose(ours[w, :, i], power, rtol=1e-5)
        np.testing.assert_allclose(ours[w, :, 6], part.var(axis=1), rtol=1e-5)
