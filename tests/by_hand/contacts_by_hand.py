"""Contacts relative to their patient, one number at a time, from the definitions; no epilens."""

from __future__ import annotations

import math

import numpy as np

TERMS = (
    *("mean", "rest", "level", "early", "middle", "late", "change"),
    *("waves", "swells", "largest", "highest", "restless", "peak", "begins"),
)
NAN = math.nan


def mean(values):
    return math.fsum(values) / len(values) if values else NAN


def spread(values):
    """Population standard deviation of two values or more."""
    if len(values) < 2:
        return NAN
    center = mean(values)
    return math.sqrt(math.fsum((v - center) ** 2 for v in values) / len(values))


def terms_of_one(values, windows, last_s, kind):
    """Fourteen terms of one descriptor of one channel in one seizure, in the order of `TERMS`.

    values, windows : of the valid windows alone; windows are (index, start, stop) in seconds from
    onset. last_s : start of the last window of the seizure. kind : `log` where values are
    logarithms, `magnitude` where they span orders of magnitude, else empty.
    """
    level = [math.log(abs(v) + 1e-12) if kind == "magnitude" else v for v in values]
    size = [math.exp(min(max(v, -50), 50)) if kind == "log" else v for v in values]

    def chosen(of, keep):
        return [v for v, (_, a, b) in zip(of, windows, strict=True) if keep(a, b)]

    def between(first, last):
        return lambda a, b: a >= first - 1e-6 and b <= last + 1e-6

    before = chosen(level, lambda a, b: b <= 0)
    rest, noise = mean(before), spread(before)
    rise = (mean(chosen(level, lambda a, b: a >= 0)) - rest) / (noise + 1e-6)
    blocks = [between(first, first + 12) for first in (-30, -18, -6, 6, 18)]
    levels, sizes = (
        [mean(part) for keep in blocks if len(part := chosen(of, keep)) >= 3]
        for of in (level, size)
    )
    high = {
        i: v - rest > 3 * (noise + 1e-6)
        for v, (i, a, _) in zip(level, windows, strict=True)
        if a >= -10
    }
    lasting = [a for i, a, _ in windows if all(high.get(i + k, False) for k in range(3))]
    begins = max(last_s - min(lasting), 0.0) if lasting else 0.0
    return [
        mean(level),
        rest,
        mean(size),
        mean(chosen(level, between(-2, 6))) - rest,
        mean(chosen(level, between(5, 15))) - rest,
        mean(chosen(level, between(14, 30))) - rest,
        math.copysign(math.log(1 + abs(rise)), rise),
        spread(levels),
        spread(sizes),
        max(sizes, default=NAN),
        max(levels, default=NAN),
        spread(level),
        max(chosen(level, lambda a, b: a >= -5), default=NAN) - rest,
        NAN if math.isnan(noise) else begins,
    ]


def seizure_terms(x, valid, start_s, stop_s, kinds):
    """x (S, W, C, D), valid (S, W, C), start_s and stop_s (S, W) → (S, C, 14, D)."""
    S, W, C, D = x.shape
    out = np.zeros((S, C, len(TERMS), D))
    for s in range(S):
        last_s = max(
            (start_s[s, w] for w in range(W) if start_s[s, w] >= -10 and any(valid[s, w])),
            default=NAN,
        )
        for c in range(C):
            shown = [w for w in range(W) if valid[s, w, c]]
            windows = [(w, float(start_s[s, w]), float(stop_s[s, w])) for w in shown]
            for d in range(D):
                values = [float(x[s, w, c, d]) for w in shown]
                out[s, c, :, d] = terms_of_one(values, windows, last_s, kinds[d])
    return out


def relative(values, bound):
    """Values (S, C, …) in standard deviations over the channels of their seizure, bounded."""
    out = np.full(values.shape, NAN)
    for s in range(values.shape[0]):
        for rest in np.ndindex(*values.shape[2:]):
            column = [float(v) for v in values[(s, slice(None), *rest)]]
            known = [v for v in column if not math.isnan(v)]
            center = mean(known)
            sd = math.sqrt(mean([(v - center) ** 2 for v in known])) if known else NAN
            for c, v in enumerate(column):
                if not math.isnan(v):
                    flat = sd <= 1e-9 * max(abs(center), 1e-3)
                    z = 0.0 if flat else (v - center) / sd
                    out[(s, c, *rest)] = min(max(z, -bound), bound)
    return out


def mean_over_seizures(z):
    """Mean of the numbers that are known; 0 where none is."""
    out = np.zeros(z.shape[1:])
    for at in np.ndindex(*z.shape[1:]):
        known = [float(v) for v in z[(slice(None), *at)] if not math.isnan(v)]
        out[at] = mean(known) if known else 0.0
    return out


def context_weights(contacts):
    """How much contacts count for each one's neighbours and electrode; (shaft, number) or None."""
    n = len(contacts)
    near, shaft = np.zeros((n, n)), np.zeros((n, n))
    for i, own in enumerate(contacts):
        same = [j for j, other in enumerate(contacts) if own and other and other[0] == own[0]]
        weight = {j: {1: 1.0, 2: 0.5}.get(abs(contacts[j][1] - own[1]), 0.0) for j in same}
        total = sum(weight.values())
        for j in range(n):
            near[i, j] = weight.get(j, 0.0) / total if total else float(i == j)
            shaft[i, j] = float(j in same) / len(same) if same else float(i == j)
    return near, shaft
