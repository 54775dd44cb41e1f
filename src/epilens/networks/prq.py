"""PRQ-Net: patient-relative quantile classification (Eqs. 11-13) and its loss (Eq. 17)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from epilens.networks.encoder import (
    BatchCounts,
    FrozenDecision,
    PatientNetwork,
    bce,
    masked_mean,
)
from epilens.networks.specs import PRQSpec

Q_CLAMP = 1e-5
TAIL_CLIP, MOST_RESIDUAL = 4, 0.2
"""Bounds of η and of ρ (Eqs. 12, 13)."""
DEGENERATE = 1e-6
"""A MAD (or scale) below this counts as none."""


def masked_quantile(u: Tensor, m: Tensor, q: float) -> Tensor:
    """Quantile over the first axis where `m`, by linear interpolation; one value: that value.

    u : (S, C). m : (S, C) bool. Returns (C,); 0.5 where a channel has no seizure.
    """
    n = m.sum(0)
    ordered = u.masked_fill(~m, torch.inf).sort(0).values  # what is masked goes last
    position = q * (n - 1).clamp_min(0).to(u.dtype)
    low = position.floor().long()
    high = torch.minimum(low + 1, (n - 1).clamp_min(0))
    a, b = (ordered.gather(0, index[None])[0] for index in (low, high))
    seen = n > 0
    # Replaced before the arithmetic, so that infinities never enter the gradient.
    a, b = a.where(seen, 0.5), b.where(seen, 0.5)
    return a + (position - low) * (b - a)


def masked_mean_over_seizures(u: Tensor, m: Tensor, q: float) -> Tensor:
    """Mean over seizures instead of a quantile: the ablation `+ Temporal`."""
    mean = masked_mean(u.unsqueeze(-1), m, dim=0)[:, 0]
    return mean.where(m.any(0), 0.5)


AGGREGATES = {"quantile": masked_quantile, "mean": masked_mean_over_seizures}
"""How the scores of seizures become one: `PRQSpec.aggregate`."""


def robust_z(v: Tensor) -> Tensor:
    """(v - median) / (1.4826 MAD); standard deviation where the MAD is below 1e-6, else 1.

    The true median: the midpoint of the two middle values.
    """
    if not v.numel():
        return v
    deviation = v - v.quantile(0.5)
    return deviation / mad_scale(v, deviation)


def mad_scale(v: Tensor, deviation: Tensor) -> Tensor:
    """What `robust_z` divides by, from values and their deviation from the median."""
    scale = 1.4826 * deviation.abs().quantile(0.5)
    if scale.detach() < 1.4826 * DEGENERATE:
        var = (v - v.mean()).square().mean()
        # The root's slope at 0 is infinite; equal values have no scale at all.
        scale = var.sqrt() if var.detach() > DEGENERATE**2 else torch.ones_like(var)
    return scale


class LowerTail(nn.Module):
    """The bounded lower-tail residual ρη (Eqs. 11-13)."""

    def __init__(self, spec: PRQSpec):
        super().__init__()
        self.spec = spec
        self.norm, self.w_q = nn.LayerNorm(spec.encoder.D), nn.Linear(spec.encoder.D, 1)
        self.gamma = nn.Parameter(torch.zeros(()))

    def forward(self, z: Tensor, m: Tensor) -> Tensor:
        """Residual (C,) from z : (S, C, D). m : (S, C) bool, which seizures show the channel."""
        logit, seen = self.logit(z, m), m.any(0)
        η = robust_z(logit[seen]) if self.spec.encoder.relative else logit[seen]
        return torch.zeros_like(logit).masked_scatter(seen, self.bounded(η))

    def logit(self, z: Tensor, m: Tensor) -> Tensor:
        """Logit (C,) of the lower tail over seizures: low where some seizure is EZ-like."""
        u = self.w_q(self.norm(z)).squeeze(-1).sigmoid()  # (S, C) NEZ score of one seizure
        q = AGGREGATES[self.spec.aggregate](u, m, self.spec.quantile)
        return q.clamp(Q_CLAMP, 1 - Q_CLAMP).logit()

    def bounded(self, η: Tensor) -> Tensor:
        """ρη, with ρ below 0.2: it adjusts the base logit, never rules it."""
        return MOST_RESIDUAL * self.gamma.sigmoid() * η.clamp(-TAIL_CLIP, TAIL_CLIP)


class PRQNet(PatientNetwork):
    """PRQ-Net: NEZ logit of every channel of one patient.

    Examples
    --------
    >>> from epilens.evidence.views import Standardizer
    >>> from epilens.networks.training import as_tensors, predict
    >>> from epilens.testing import make_cube
    >>> cube = make_cube(channels=4)
    >>> patient = as_tensors(cube, Standardizer.fit([cube]))
    >>> predict(PRQNet(), patient).shape  # probability of NEZ of each channel
    (4,)
    """

    sign, Spec = 1, PRQSpec
    spec: PRQSpec

    def __init__(self, spec: PRQSpec | None = None):
        super().__init__(spec)
        self.base_head = nn.Linear(self.spec.encoder.context, 1)
        self.tail = LowerTail(self.spec) if self.spec.residual else None

    def decide(self, z: Tensor, m: Tensor) -> Tensor:
        """Logit of the NEZ probability (Eq. 13)."""
        a = self.base_head(self.encoder.context(z, m)).squeeze(-1)
        return a if self.tail is None else a + self.tail(z, m)

    def freeze(self, z: Tensor, m: Tensor) -> FrozenDecision:
        """The tail's median and scale stay those of the patient."""
        tail = self.tail
        if tail is None:
            return lambda r, z, m: self.base_head(r).squeeze(-1)
        median, scale = 0.0, 1.0
        if self.spec.encoder.relative:
            v = tail.logit(z, m)[m.any(0)]
            median = v.quantile(0.5)
            scale = mad_scale(v, v - median)

        def decide(r: Tensor, z: Tensor, m: Tensor) -> Tensor:
            η = (tail.logit(z, m) - median) / scale
            return self.base_head(r).squeeze(-1) + tail.bounded(η)

        return decide

    def share(self, logit: Tensor, is_ez: Tensor, batch: BatchCounts) -> Tensor:
        """The patient's part of L_P (Eq. 17)."""
        return prq_share(logit, is_ez, batch)


def prq_share(logit: Tensor, is_ez: Tensor, batch: BatchCounts) -> Tensor:
    """What one patient adds to the loss of its batch (Eq. 17): its BCE over all their channels."""
    y = ~is_ez  # the paper's y = 1 is NEZ
    return bce(logit, y).sum() / batch.channels


def prq_loss(logits: Sequence[Tensor], is_ez: Sequence[Tensor]) -> Tensor:
    """Mean BCE over all channels of a batch of patients (Eq. 17).

    logits, is_ez : one (C,) tensor of valid channels per patient.
    """
    batch = BatchCounts.of(is_ez)
    return torch.stack([prq_share(a, ez, batch) for a, ez in zip(logits, is_ez, strict=True)]).sum()
