"""The 33 contact features next to their filters and FFTs alone, and next to SciPy and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft
import scipy.signal
import scipy.stats

from benchmarks.timing import row, side_by_side
from epilens.evidence import contact_features as ours
from epilens.evidence.blocks import in_blocks
from epilens.evidence.windows import RINGS_S, zero_phase

CHANNELS, SECONDS, FS, MAINS_HZ, THREADS = 100, 60, 1000.0, 60.0, 2


def filters_and_rfft(x: np.ndarray) -> None:
    """What cannot be avoided: reference, filters, and one FFT of every Welch segment."""
    segment, length = round(2 * FS), round(12 * FS)
    common = x.mean(axis=0)
    starts = np.arange(5)[:, None] * length + np.arange(0, length - segment + 1, segment // 2)

    def work(rows: slice) -> None:
        y = zero_phase(
            x[rows] - common, FS, lambda n: ours._gain(n, FS, MAINS_HZ, ours.PUBLISHED), RINGS_S
        )
        scipy.fft.rfft(np.lib.stride_tricks.sliding_window_view(y, segment, axis=-1)[:, starts])

    in_blocks(work, len(x), THREADS)


def with_scipy(x: np.ndarray) -> np.ndarray:
    """The features as one would write them with SciPy and NumPy in float64."""
    for hz in np.arange(MAINS_HZ, 250, MAINS_HZ):
        x = scipy.signal.filtfilt(*scipy.signal.iirnotch(hz, 30.0, FS), x, axis=-1)
    x = x - x.mean(axis=0)
    sos = scipy.signal.ellip(4, 0.5, 60, (1.0, 250.0), "bandpass", fs=FS, output="sos")
    x = scipy.signal.sosfiltfilt(sos, x, axis=-1)
    parts = []
    for w in np.split(x, 5, axis=1):
        f, power = scipy.signal.welch(w, FS, nperseg=round(2 * FS))
        bands = [
            power[:, (f >= low) & (f <= high)].sum(axis=1) * f[1]
            for low, high in ours.BANDS_HZ.values()
        ]
        moments = [w.var(axis=1), scipy.stats.skew(w, axis=1), scipy.stats.kurtosis(w, axis=1)]
        steps = np.abs(np.diff(w, axis=1)).mean(axis=1)
        parts.append([*bands, *moments, steps, scipy.stats.entropy(power, base=2, axis=1)])
    stack = np.array(parts)
    return np.concatenate([stack.mean(0), stack.std(0), stack.max(0)]).T


def measure() -> list[dict[str, Any]]:
    """Time over that of filters and FFTs, and over SciPy's."""
    noise = np.random.default_rng(0).normal(size=(CHANNELS, round(SECONDS * FS)))
    x = (50 * noise).astype(np.float32)
    times = side_by_side(
        {
            "ours": lambda: ours.window_measures(x, FS, -30.0, MAINS_HZ, threads=THREADS),
            "least": lambda: filters_and_rfft(x),
        },
        repeats=9,
    )
    slow = side_by_side({"scipy": lambda: with_scipy(x.astype(np.float64))}, repeats=1)
    where = f"{CHANNELS} channels × {SECONDS} s at {FS:g} Hz"
    return [
        row(f"{where}: time / filters and rfft alone", times["ours"] / times["least"], most=1.5),
        row(f"{where}: faster than SciPy and NumPy", slow["scipy"] / times["ours"]),
        row(f"{where}: one seizure", times["ours"], "s"),
    ]
