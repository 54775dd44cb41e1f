"""Both networks and their losses, one number at a time (Eqs. 5-21). Nothing from epilens or torch.

Weights come as a dictionary of arrays: `<layer>.weight` (out, in) and `<layer>.bias` (out,).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np


def sigmoid(v):
    return 1 / (1 + math.exp(-v)) if v >= 0 else math.exp(v) / (1 + math.exp(v))


def logit(p):
    return math.log(p / (1 - p))


def softplus(v):
    return max(v, 0.0) + math.log1p(math.exp(-abs(v)))


def clip(v, low, high):
    return min(max(v, low), high)


def layer_norm(x, weight, bias, eps=1e-5):
    """Of one vector: population variance, eps inside the root."""
    n = len(x)
    mean = sum(x) / n
    var = sum((v - mean) ** 2 for v in x) / n
    return np.array([(x[j] - mean) / math.sqrt(var + eps) * weight[j] + bias[j] for j in range(n)])


def gelu(v):
    """v Φ(v), with the exact normal distribution."""
    return v * 0.5 * (1 + math.erf(v / math.sqrt(2)))


def linear(x, weight, bias):
    return np.array(
        [sum(weight[o, j] * x[j] for j in range(len(x))) + bias[o] for o in range(len(bias))]
    )


def softmax(scores):
    top = max(scores)
    powers = [math.exp(s - top) for s in scores]
    return [p / sum(powers) for p in powers]


def keep_all(shape):
    """What dropout multiplies with in evaluation."""
    return np.ones(shape)


def mha(X, keys, w, name, heads, drop):
    """Multi-head attention of every row of X over the rows in `keys`; drop : (heads, C, C)."""
    C, D = X.shape
    width = D // heads
    packed = [linear(X[c], w[f"{name}.inward.weight"], w[f"{name}.inward.bias"]) for c in range(C)]
    looked_at = [d for d in range(C) if keys[d]]
    out = []
    for c in range(C):
        mixed = np.zeros(D)
        for h in range(heads):
            part = slice(h * width, (h + 1) * width)
            q = packed[c][:D][part]
            k = [packed[d][D : 2 * D][part] for d in looked_at]
            v = [packed[d][2 * D :][part] for d in looked_at]
            scores = [sum(q[j] * key[j] for j in range(width)) / math.sqrt(width) for key in k]
            for share, value, d in zip(softmax(scores), v, looked_at, strict=True):
                mixed[part] += share * drop[h, c, d] * value
        out.append(linear(mixed, w[f"{name}.outward.weight"], w[f"{name}.outward.bias"]))
    return np.array(out)


def channel_attention(X, keys, w, name, heads=2, drop=None):
    """LN(X + MHA(X)) (Eq. 5)."""
    C = len(X)
    drop = np.ones((heads, C, C)) if drop is None else drop
    Y = X + mha(X, keys, w, name, heads, drop)
    return np.array(
        [layer_norm(Y[c], w[f"{name}.norm.weight"], w[f"{name}.norm.bias"]) for c in range(C)]
    )


def masked_mean(x, m, axis):
    """Over one axis where m; 0 where nothing is left. m lacks the last axis of x."""
    x, m = np.moveaxis(x, axis, 0), np.moveaxis(m, axis, 0)
    out = np.zeros(x.shape[1:])
    for place in np.ndindex(m.shape[1:]):
        rows = [x[(i, *place)] for i in range(len(x)) if m[(i, *place)]]
        if rows:
            out[place] = sum(rows) / len(rows)
    return out


def masked_std(x, m, axis):
    """The population value; 0 where one row or none is left."""
    x, m = np.moveaxis(x, axis, 0), np.moveaxis(m, axis, 0)
    out = np.zeros(x.shape[1:])
    for place in np.ndindex(m.shape[1:]):
        rows = [x[(i, *place)] for i in range(len(x)) if m[(i, *place)]]
        if len(rows) > 1:
            mean = sum(rows) / len(rows)
            out[place] = np.sqrt(sum((row - mean) ** 2 for row in rows) / len(rows))
    return out


def prz(g, valid, floor=1e-6):
    """Each feature across valid channels; 0 elsewhere (Eq. 8)."""
    out = np.zeros(g.shape)
    channels = [c for c in range(len(g)) if valid[c]]
    for j in range(g.shape[1]):
        values = [g[c, j] for c in channels]
        if values:
            mean = sum(values) / len(values)
            var = sum((v - mean) ** 2 for v in values) / len(values)
            for c in channels:
                out[c, j] = (g[c, j] - mean) / math.sqrt(max(var, floor))
    return out


def quantile(values, q):
    """Linear interpolation between the two nearest of the sorted values."""
    ordered = sorted(values)
    position = q * (len(ordered) - 1)
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (position - low) * (ordered[high] - ordered[low])


def median(values):
    ordered, n = sorted(values), len(values)
    return ordered[n // 2] if n % 2 else (ordered[n // 2 - 1] + ordered[n // 2]) / 2


def robust_z(values, degenerate=1e-6):
    """By median and 1.4826 MAD; standard deviation where there is no MAD; else only centered."""
    middle = median(values)
    mad = median([abs(v - middle) for v in values])
    scale = 1.4826 * mad
    if mad < degenerate:
        mean = sum(values) / len(values)
        scale = math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))
        if scale <= degenerate:
            scale = 1.0
    return [(v - middle) / scale for v in values]


def over_seizures(u, m, aggregate):
    """One number per channel from its own seizures; 0.5 where it has none."""
    out = []
    for c in range(u.shape[1]):
        own = [u[s, c] for s in range(len(u)) if m[s, c]]
        out.append(aggregate(own) if own else 0.5)
    return out


def q10(values):
    return quantile(values, 0.10)


def mean_of(values):
    return sum(values) / len(values)


def window_mlp(x, w, drop):
    """LN → Linear → GELU → dropout → Linear of one window of one channel."""
    name = "encoder.window_mlp"
    x = layer_norm(x, w[f"{name}.0.weight"], w[f"{name}.0.bias"])
    x = linear(x, w[f"{name}.1.weight"], w[f"{name}.1.bias"])
    x = np.array([gelu(v) for v in x]) * drop
    return linear(x, w[f"{name}.4.weight"], w[f"{name}.4.bias"])


def project(x, w, drop):
    """LN → Linear → GELU → dropout, as the released code has it before PRZ."""
    name = "encoder.projection"
    x = layer_norm(x, w[f"{name}.0.weight"], w[f"{name}.0.bias"])
    x = linear(x, w[f"{name}.1.weight"], w[f"{name}.1.bias"])
    return np.array([gelu(v) for v in x]) * drop


def encode(φ, valid, w, heads=2, projection=False, relative=True, draw=keep_all):
    """Eqs. 6-8: z (S, C, D), m (S, C), r (C, D'). `draw(shape)` gives the factors of dropout.

    A window without a valid channel is not looked at, and draws nothing.
    """
    S, W, C, _ = φ.shape
    D = len(w["encoder.window_mlp.4.bias"])
    used = [(s, t) for s in range(S) for t in range(W) if any(valid[s, t])]
    hidden = draw((len(used), C, D))
    shares = np.stack([draw((len(used), C, C)) for _ in range(heads)], axis=1)
    H = np.zeros((S, W, C, D))
    for i, (s, t) in enumerate(used):
        X = np.array([window_mlp(φ[s, t, c], w, hidden[i, c]) for c in range(C)])
        H[s, t] = channel_attention(
            X, valid[s, t], w, "encoder.window_context", heads, drop=shares[i]
        )
    z = masked_mean(H, valid, axis=1)
    m = np.array([[any(valid[s, :, c]) for c in range(C)] for s in range(S)])
    seen = [any(m[:, c]) for c in range(C)]
    g = np.concatenate([masked_mean(z, m, axis=0), masked_std(z, m, axis=0)], axis=1)
    if projection:
        drop = draw((C, D))
        g = np.array([project(g[c], w, drop[c]) for c in range(C)])
    if relative:
        g = prz(g, seen)
    drop = np.stack([draw((C, C)) for _ in range(heads)])
    return z, m, channel_attention(g, seen, w, "encoder.patient_context", heads, drop)


def seizure_scores(z, w, norm, head):
    """u: the NEZ score of one channel in one seizure (Eq. 11)."""
    S, C, _ = z.shape
    u = np.zeros((S, C))
    for s in range(S):
        for c in range(C):
            x = layer_norm(z[s, c], w[f"{norm}.weight"], w[f"{norm}.bias"])
            u[s, c] = sigmoid(linear(x, w[f"{head}.weight"], w[f"{head}.bias"])[0])
    return u


def lower_tail(z, m, w, relative=True, aggregate=q10, name="tail."):
    """ρη of every channel; 0 of a channel that no seizure shows (Eqs. 11-13)."""
    u = seizure_scores(z, w, f"{name}norm", f"{name}w_q")
    q = over_seizures(u, m, aggregate)
    seen = [c for c in range(len(q)) if any(m[:, c])]
    η = [logit(clip(q[c], 1e-5, 1 - 1e-5)) for c in seen]
    if relative:
        η = robust_z(η)
    ρ = 0.2 * sigmoid(float(w[f"{name}gamma"]))
    out = np.zeros(len(q))
    for c, value in zip(seen, η, strict=True):
        out[c] = ρ * clip(value, -4, 4)
    return out


def prq(φ, valid, w, residual=True, aggregate=q10, **encoder):
    """NEZ logit of every channel (Eq. 13)."""
    z, m, r = encode(φ, valid, w, **encoder)
    a = np.array([linear(row, w["base_head.weight"], w["base_head.bias"])[0] for row in r])
    if not residual:
        return a
    return a + lower_tail(z, m, w, encoder.get("relative", True), aggregate)


def bcr(φ, valid, w, quantile_head=False, quantile_residual=False, **encoder):
    """EZ logit of every channel; the Q10 controls: -logit of the lower tail, alone or added."""
    z, m, r = encode(φ, valid, w, **encoder)
    e = np.array([linear(row, w["ez_head.weight"], w["ez_head.bias"])[0] for row in r])
    q = over_seizures(seizure_scores(z, w, "seizure_head.0", "seizure_head.1"), m, q10)
    tail = np.array([-logit(clip(v, 1e-5, 1 - 1e-5)) for v in q])
    if quantile_head:
        return tail
    return e + tail if quantile_residual else e


def boundary_sets(e, is_ez):
    """The weakest EZ logits, weakest first; the strongest NEZ logits, strongest first (Eq. 14)."""
    ez = sorted(v for v, z in zip(e, is_ez, strict=True) if z)
    nez = sorted((v for v, z in zip(e, is_ez, strict=True) if not z), reverse=True)
    m = math.ceil(Fraction(3, 10) * len(ez))
    k = min(len(nez), max(1, min(16, len(ez))))
    return ez[:m], nez[:k]


def soft_rank(e, tau=0.10):
    """Eq. 15."""
    C = range(len(e))
    return [1 + sum(sigmoid((e[d] - e[c]) / tau) for d in C if d != c) for c in C]


def soft_top_k(e, K, tau_r=0.10, tau_k=0.25):
    """Eq. 16."""
    return [sigmoid((K + 0.5 - r) / tau_k) for r in soft_rank(e, tau_r)]


def cross_entropy(p, target):
    return -math.log(p) if target else -math.log(1 - p)


def bce_term(e, is_ez):
    """Mean over the channels of one patient; the target is EZ (Eq. 18)."""
    return mean_of([cross_entropy(sigmoid(v), z) for v, z in zip(e, is_ez, strict=True)])


def boundary_term(e, is_ez, margin=0.05):
    """Eq. 19 of one patient."""
    weak, strong = boundary_sets(e, is_ez)
    return softplus(margin + mean_of(strong) - mean_of(weak))


def coverage_term(e, is_ez):
    """Eq. 20 of one patient."""
    K = sum(bool(z) for z in is_ez)
    π = soft_top_k(e, K)
    return 1 - sum(π[c] for c in range(len(e)) if is_ez[c]) / K


def prq_loss(logits, is_ez):
    """Over all channels of the batch; the target is y = NEZ (Eq. 17)."""
    total, n = 0.0, 0
    for a, ez in zip(logits, is_ez, strict=True):
        for c in range(len(a)):
            total += cross_entropy(sigmoid(a[c]), not ez[c])
            n += 1
    return total / n


def bcr_loss(logits, is_ez, boundary=0.05, coverage=0.08):
    """Per patient, then over the patients that are eligible for a term (Eqs. 18-21)."""
    bce, bd, cov = [], [], []
    for e, ez in zip(logits, is_ez, strict=True):
        bce.append(bce_term(e, ez))
        if any(ez) and not all(ez):
            bd.append(boundary_term(e, ez))
        if any(ez):
            cov.append(coverage_term(e, ez))
    loss = mean_of(bce)
    if bd:
        loss += boundary * mean_of(bd)
    if cov:
        loss += coverage * mean_of(cov)
    return loss
