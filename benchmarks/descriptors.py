"""Descriptors next to the FFT alone, SciPy's Welch with NumPy, and mne-features."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import scipy.fft
import scipy.signal

from benchmarks.timing import best, row, side_by_side
from epilens.evidence.descriptors import descriptors

BANDS = [(1, 4), (4, 8), (13, 30), (30, 80), (80, 150)]


def with_scipy(x: np.ndarray, fs: int) -> np.ndarray:
    """The nine descriptors as one would write them with SciPy and NumPy in float64."""
    w = np.lib.stride_tricks.sliding_window_view(x, 2 * fs, axis=1)[:, ::fs]
    f, psd = scipy.signal.welch(w, fs, nperseg=2 * fs, detrend=False)
    out = [
        np.log1p(np.trapezoid(psd[..., (f >= a) & (f <= b)], f[(f >= a) & (f <= b)]))
        for a, b in BANDS
    ]
    out += [np.sqrt((w * w).mean(-1) + 1e-8), w.var(-1), np.abs(np.diff(w)).sum(-1) / 2]
    p = psd[..., (f >= 1) & (f <= 150)]
    p = p / p.sum(-1, keepdims=True)
    out.append(-(p * np.log(p + 1e-12)).sum(-1) / np.log(p.shape[-1]))
    return np.stack(out, -1)


def with_mne_features(x: np.ndarray, fs: int) -> np.ndarray:
    """The comparable features: band powers by Welch, RMS, variance, line length, entropy."""
    from mne_features.feature_extraction import extract_features

    w = np.lib.stride_tricks.sliding_window_view(x, 2 * fs, axis=1)[:, ::fs]
    names = ["pow_freq_bands", "rms", "variance", "line_length", "spect_entropy"]
    edges = np.array([1, 4, 8, 13, 30, 80, 150])
    parameters = {
        "pow_freq_bands__freq_bands": edges,
        "pow_freq_bands__psd_method": "welch",
        "spect_entropy__psd_method": "welch",
    }
    return extract_features(np.moveaxis(w, 0, 1), fs, names, parameters)


def measure() -> list[dict[str, Any]]:
    rows = []
    for fs in (512, 1000):
        x = (50 * np.random.default_rng(0).normal(size=(100, 60 * fs))).astype(np.float32)
        y = x.astype(np.float64)
        w = np.lib.stride_tricks.sliding_window_view(x, 2 * fs, axis=1)[:, ::fs]
        ours = partial(descriptors, x, fs, threads=2)
        fft = side_by_side({"ours": ours, "rfft": partial(scipy.fft.rfft, w, workers=2)}, 25)
        slow = side_by_side({"ours": ours, "scipy": partial(with_scipy, y, fs)}, 3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mne_s = best(partial(with_mne_features, y, fs), 1)
        where = f"100 channels × 60 s at {fs} Hz"
        rows += [
            row(
                f"{where}: time / rfft alone (float32, 2 workers)",
                fft["ours"] / fft["rfft"],
                most=3,
            ),
            row(
                f"{where}: faster than scipy.signal.welch + NumPy",
                slow["scipy"] / slow["ours"],
                least=5,
            ),
            row(f"{where}: faster than mne-features", mne_s / slow["ours"], least=15),
            row(f"{where}: channel-seconds per second", 100 * 60 / fft["ours"], "1/s"),
        ]
    return rows
