"""How sure, when, and agreement, one number at a time. Imports nothing from epilens."""

from __future__ import annotations

import math
import statistics


def sigm(v: float) -> float:
    return 1 / (1 + math.exp(-v))


def ez_logit(p_nez: float) -> float:
    p = min(max(1 - p_nez, 1e-6), 1 - 1e-6)
    return math.log(p / (1 - p))


def platt_loss(slope, intercept, patients):
    """Weighted cross-entropy of Platt's targets; patients weigh the same.

    patients : list of (p_nez, is_ez) lists.
    """
    channels = sum(len(p) for p, _ in patients)
    weights = [channels / len(patients) / len(p) for p, _ in patients]
    n_ez = sum(w for w, (_, ez) in zip(weights, patients, strict=True) for e in ez if e)
    n_nez = sum(w for w, (_, ez) in zip(weights, patients, strict=True) for e in ez if not e)
    total = 0.0
    for w, (p, ez) in zip(weights, patients, strict=True):
        for one, e in zip(p, ez, strict=True):
            wanted = (n_ez + 1) / (n_ez + 2) if e else 1 / (n_nez + 2)
            said = sigm(slope * ez_logit(one) + intercept)
            total -= w * (wanted * math.log(said) + (1 - wanted) * math.log(1 - said))
    return total


def covering_cut(patients, coverage):
    """Conformal risk control, read aloud: the smallest EZ score of some contact that is enough."""
    patients = [(p, ez) for p, ez in patients if any(ez)]
    n = len(patients)
    candidates = sorted({one for p, ez in patients for one, e in zip(p, ez, strict=True) if e})
    for cut in candidates:
        risk = 0.0
        for p, ez in patients:
            of_patient = [one for one, e in zip(p, ez, strict=True) if e]
            risk += sum(one > cut for one in of_patient) / len(of_patient)
        if (risk + 1) / (n + 1) <= 1 - coverage + 1e-12:
            return cut
    return None


def robust_distance(value, others):
    """Root mean square over numbers of (v - median)/(1.4826 MAD), each at most 20."""
    squares = []
    for j, v in enumerate(value):
        column = [row[j] for row in others]
        middle = statistics.median(column)
        scale = 1.4826 * statistics.median([abs(x - middle) for x in column])
        if scale <= 1e-6:
            scale = statistics.pstdev(column)
        if scale <= 1e-6:
            scale = 1.0
        squares.append(min(abs(v - middle) / scale, 20) ** 2)
    return math.sqrt(sum(squares) / len(squares))


def ranks(values):
    """Average ranks from 1."""
    return [
        sum(other < v for other in values) + (sum(other == v for other in values) + 1) / 2
        for v in values
    ]


def spearman(a, b):
    x, y = ranks(a), ranks(b)
    mx, my = statistics.fmean(x), statistics.fmean(y)
    top = sum((i - mx) * (j - my) for i, j in zip(x, y, strict=True))
    return top / math.sqrt(sum((i - mx) ** 2 for i in x) * sum((j - my) ** 2 for j in y))


def agreement(per_seizure, there):
    """Mean Spearman over pairs of seizures that share three contacts."""
    found = []
    for a in range(len(per_seizure)):
        for b in range(a + 1, len(per_seizure)):
            both = [c for c in range(len(there[a])) if there[a][c] and there[b][c]]
            if len(both) >= 3:
                found.append(
                    spearman([per_seizure[a][c] for c in both], [per_seizure[b][c] for c in both])
                )
    return statistics.fmean(found) if found else None


def top_share(per_seizure, there, k):
    shares = []
    for c in range(len(there[0])):
        inside, of = 0, 0
        for s in range(len(there)):
            if not there[s][c]:
                continue
            of += 1
            better = sum(
                there[s][d] and per_seizure[s][d] < per_seizure[s][c] for d in range(len(there[s]))
            )
            inside += better < k
        shares.append(inside / max(of, 1))
    return shares


def first_deviation(z, searched, threshold=3.0, windows=3):
    """First of three searched windows in a row at or above the threshold; -1: none."""
    for w in range(len(z) - windows + 1):
        if all(searched[w + i] and z[w + i] >= threshold for i in range(windows)):
            return w
    return -1


def strength(z, valid, first, windows=3):
    inside = [z[w] for w in range(first, min(first + windows, len(z))) if valid[w]]
    return statistics.fmean(inside)
