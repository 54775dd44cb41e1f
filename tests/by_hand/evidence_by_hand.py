"""The appendix's equations read aloud, one window at a time. Imports nothing from epilens."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import scipy.signal

BANDS = ((1, 4), (4, 8), (13, 30), (30, 80), (80, 150))


def nine_descriptors(window, fs):
    """All nine descriptors of one window, in float64."""
    x = [float(value) for value in window]
    n = len(x)
    segment = min(n, max(64, round(2 * fs)))
    f, psd = scipy.signal.welch(
        np.asarray(x), fs, window="hann", nperseg=segment, noverlap=segment // 2, detrend=False
    )
    out = []
    for low, high in BANDS:
        inside = [k for k in range(len(f)) if low <= f[k] <= high]
        area = sum((f[b] - f[a]) * (psd[a] + psd[b]) / 2 for a, b in pairwise(inside))
        out.append(math.log(1 + area))
    out.append(math.sqrt(math.fsum(v * v for v in x) / n + 1e-8))
    mean = math.fsum(x) / n
    out.append(math.fsum((v - mean) ** 2 for v in x) / n)
    out.append(math.fsum(abs(b - a) for a, b in pairwise(x)) / (n / fs))
    kept = [psd[k] for k in range(len(f)) if 1 <= f[k] <= 150]
    total = math.fsum(kept)
    share = [p / total for p in kept] if total > 0 else [0.0] * len(kept)
    out.append(-math.fsum(p * math.log(p + 1e-12) for p in share) / math.log(len(kept)))
    return out


def descriptors_by_hand(x, fs):
    """(channel, time) → (window, channel, 9)."""
    length, stride = round(2 * fs), round(fs)
    starts = range(0, x.shape[1] - length + 1, stride)
    return np.array([[nine_descriptors(row[s : s + length], fs) for row in x] for s in starts])


def views_by_hand(x, valid, is_reference, eps=1e-6):
    """x (S, W, C, D), valid (S, W, C), is_reference (S, W) → (S, W, C, 4, D)."""
    S, W, C, D = x.shape
    out = np.zeros((S, W, C, 4, D))
    for s in range(S):
        for c in range(C):
            ref = [w for w in range(W) if valid[s, w, c] and is_reference[s, w]]
            for d in range(D):
                values = [float(x[s, w, c, d]) for w in ref]
                if not values:
                    continue
                mu = math.fsum(values) / len(values)
                sigma = math.sqrt(math.fsum((v - mu) ** 2 for v in values) / len(values))
                if max(values) == min(values):
                    sigma = 0.0
                for w in range(W):
                    if not valid[s, w, c]:
                        continue
                    v = float(x[s, w, c, d])
                    z = (v - mu) / (sigma + eps) if sigma > 0 else 0.0
                    out[s, w, c, :, d] = v, v - mu, z, math.log((abs(v) + eps) / (abs(mu) + eps))
    return out


def table_by_hand(phi, valid, state_columns):
    """88 numbers per channel from the four views (S, W, C, 4, D): loops over everything."""
    S, W, C = valid.shape
    rows = []
    for c in range(C):
        seizures = []
        for s in range(S):
            windows = []
            for w in range(W):
                if valid[s, w, c]:
                    views = [phi[s, w, c, v, d] for v in range(4) for d in range(phi.shape[4])]
                    z = [phi[s, w, c, 2, d] for d in state_columns]
                    size = [abs(phi[s, w, c, 1, d]) for d in state_columns]
                    windows.append(views + z + size)
            if windows:
                seizures.append([sum(col) / len(windows) for col in zip(*windows)])  # noqa: B905
        if seizures:
            mean = [sum(col) / len(seizures) for col in zip(*seizures)]  # noqa: B905
            std = [
                math.sqrt(sum((v - m) ** 2 for v in col) / len(seizures))
                for col, m in zip(zip(*seizures), mean)  # noqa: B905
            ]
            rows.append(mean + std)
    return np.array(rows)
