"""Training-free scores by loop, from the publications and their definitions; no epilens here."""

import cmath
import math

import numpy as np


def energy_ratio(x, fs, window_s, step_s, mains_hz=None):
    """ER of one channel in sliding Hann windows, by a discrete Fourier sum over the bins needed.

    mains_hz : bins within 2 Hz of it or a harmonic do not count.
    """
    n, step = round(window_s * fs), round(step_s * fs)
    taper = [0.5 - 0.5 * math.cos(2 * math.pi * i / (n - 1)) for i in range(n)]
    ratios = []
    for start in range(0, len(x) - n + 1, step):
        slow = fast = 0.0
        for k in range(n // 2 + 1):
            f = k * fs / n
            if not 3.5 <= f < 97:
                continue
            value = sum(
                x[start + i] * taper[i] * cmath.exp(-2j * math.pi * k * i / n) for i in range(n)
            )
            if f < 12.4:
                slow += abs(value) ** 2
            elif not mains_hz or all(abs(f - n * mains_hz) > 2 for n in range(1, 10)):
                fast += abs(value) ** 2
        ratios.append(fast / slow if slow > 0 else 0.0)
    return ratios


def page_hinkley(ratio, step_s, bias, threshold):
    """Index where the rise begins, or None."""
    U, lowest, where, total = 0.0, math.inf, None, 0.0
    for n, value in enumerate(ratio):
        total += value
        U += (value - total / (n + 1) - bias) * step_s
        if lowest > U:
            lowest, where = U, n
        if U - lowest > threshold:
            return where
    return None


def relative(ratio, baseline):
    """A ratio over its median in the windows `baseline` (indices)."""
    values = sorted(ratio[i] for i in baseline)
    n = len(values)
    median = (values[(n - 1) // 2] + values[n // 2]) / 2
    return [value / median for value in ratio]


def running_median(ratio, width):
    """Median of an odd number of neighbours; the ends are repeated."""
    half, last = width // 2, len(ratio) - 1
    return [
        sorted(ratio[min(max(i + k, 0), last)] for k in range(-half, half + 1))[half]
        for i in range(len(ratio))
    ]


def index(ratios, step_s, bias, threshold, duration_s, tardiness_s, seen=None):
    """EI of every channel of one seizure, not normalised. seen : what Page-Hinkley looks at."""
    starts = [page_hinkley(r, step_s, bias, threshold) for r in seen or ratios]
    found = [s for s in starts if s is not None]
    out = []
    for ratio, start in zip(ratios, starts, strict=True):
        if start is None:
            out.append(0.0)
            continue
        energy = sum(ratio[start : start + round(duration_s / step_s)]) * step_s
        out.append(energy / ((start - min(found)) * step_s + tardiness_s))
    return out


def linear_model(x, ridge):
    """Ridge regression of x(t+1) on x(t), one row of A at a time, as a least-squares problem."""
    x = np.array([row - np.mean(row) for row in np.asarray(x, float)])
    now, then = x[:, :-1].T, x[:, 1:].T
    channels = now.shape[1]
    penalty = ridge * np.mean([np.sum(now[:, c] ** 2) for c in range(channels)])
    design = np.vstack([now, math.sqrt(penalty) * np.eye(channels)])
    rows = []
    for c in range(channels):
        wanted = np.concatenate([then[:, c], np.zeros(channels)])
        rows.append(np.linalg.lstsq(design, wanted, rcond=None)[0])
    return np.array(rows)


def smallest_perturbation(A, i, radius, angles):
    """Γ of least norm such that A + Γ eᵢᵀ has an eigenvalue on the circle, and that eigenvalue."""
    best = None
    for θ in np.linspace(0, np.pi, angles):
        λ = radius * cmath.exp(1j * θ)
        row = np.linalg.inv(A - λ * np.eye(len(A)))[i]
        if abs(λ.imag) < 1e-9:
            equations, wanted = row.real[None], np.array([-1.0])
        else:
            equations, wanted = np.stack([row.real, row.imag]), np.array([-1.0, 0.0])
        Γ = np.linalg.lstsq(equations, wanted, rcond=None)[0]
        if best is None or np.linalg.norm(Γ) < np.linalg.norm(best[0]):
            best = Γ, λ
    return best


def line_length_spread(x, fs, window_s):
    """Spread over windows (from the first sample on) of the line length, z over channels."""
    channels, samples, n = len(x), len(x[0]), round(window_s * fs)
    average = [sum(x[c][t] for c in range(channels)) / channels for t in range(samples)]
    spreads = []
    for row in x:
        y = [row[t] - average[t] for t in range(samples)]
        lengths = []
        for first in range(0, samples - n + 1, n):
            steps = [abs(y[t] - y[t - 1]) for t in range(first + 1, first + n)]
            lengths.append(sum(steps) / len(steps))
        mean = sum(lengths) / len(lengths)
        spreads.append(math.sqrt(sum((v - mean) ** 2 for v in lengths) / len(lengths)))
    mean = sum(spreads) / channels
    sd = math.sqrt(sum((v - mean) ** 2 for v in spreads) / channels)
    return [(v - mean) / sd for v in spreads]


def smoothed(contacts, scores, own, neighbours, shaft):
    """Ranks over n + 1, mixed along shafts; contacts : (shaft, number) or None."""
    n = len(scores)
    ranks = []
    for s in scores:
        below, same = sum(t < s for t in scores), sum(t == s for t in scores)
        ranks.append((below + (same + 1) / 2) / (n + 1))
    out = []
    for i, contact in enumerate(contacts):
        near = whole = [ranks[i]]
        if contact is not None:
            whole = [r for r, c in zip(ranks, contacts, strict=True) if c and c[0] == contact[0]]
            beside = [
                r
                for r, c in zip(ranks, contacts, strict=True)
                if c and c[0] == contact[0] and abs(c[1] - contact[1]) == 1
            ]
            near = beside or near
        out.append(
            own * ranks[i] + neighbours * sum(near) / len(near) + shaft * sum(whole) / len(whole)
        )
    return out
