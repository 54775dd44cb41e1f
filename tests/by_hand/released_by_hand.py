"""The released code's nine descriptors read aloud, one window at a time. Nothing from epilens."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import scipy.signal

BANDS = ((1, 4), (4, 8), (13, 30), (30, 80), (80, 150))


def released_nine(window, fs):
    """All nine descriptors of one window, in float64."""
    x = [float(value) for value in window]
    n = len(x)
    f, psd = scipy.signal.welch(
        np.asarray(x), fs, window="hann", nperseg=min(256, n), detrend="constant"
    )
    out = []
    for low, high in BANDS:
        inside = [k for k in range(len(f)) if low <= f[k] < high]
        area = sum((f[b] - f[a]) * (psd[a] + psd[b]) / 2 for a, b in pairwise(inside))
        out.append(math.log(1 + area))
    out.append(math.sqrt(math.fsum(v * v for v in x) / n + 1e-8))
    mean = math.fsum(x) / n
    out.append(math.fsum((v - mean) ** 2 for v in x) / n)
    out.append(math.fsum(abs(b - a) for a, b in pairwise(x)) / (n / fs))
    total = math.fsum(psd)
    share = [p / total for p in psd] if max(x) > min(x) else [0.0] * len(psd)
    out.append(-math.fsum(p * math.log(p + 1e-12) for p in share) / math.log(len(psd)))
    return out


def released_by_hand(x, fs):
    """(channel, time) → (window, channel, 9)."""
    length, stride = round(2 * fs), round(fs)
    starts = range(0, x.shape[1] - length + 1, stride)
    return np.array([[released_nine(row[s : s + length], fs) for row in x] for s in starts])
