"""PRQ-Net: patient-relative quantile classification (Eqs. 11-13) and its loss (Eq. 17)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from epilens.networks.encoder import Batch, Encoder, EncoderSpec, bce, masked_mean

Q_CLAMP = 1e-5
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


def robust_z(v: Tensor) -> Tensor:
    """(v - median) / (1.4826 MAD); standard deviation where the MAD is below 1e-6, else 1.

    The true median: the midpoint of the two middle values.
    """
    if not v.numel():
        return v
    median = v.quantile(0.5)
    deviation = v - median
    scale = 1.4826 * deviation.abs().quantile(0.5)
    if scale.detach() < 1.4826 * DEGENERATE:
        var = (v - v.mean()).square().mean()
        # The root's slope at 0 is infinite; equal values have no scale at all.
        scale = var.sqrt() if var.detach() > DEGENERATE**2 else torch.ones_like(var)
    return deviation / scale


@dataclass(frozen=True)
class PRQSpec:
    """PRQ-Net's settings; an ablation changes one of them."""

    encoder: EncoderSpec = field(default_factory=EncoderSpec)
    residual: bool = True
    """The lower-tail residual; off in `Base`."""
    quantile: float = 0.10
    aggregate: Callable[[Tensor, Tensor, float], Tensor] = masked_quantile
    """Over seizures: the quantile, or their mean (`+ Temporal`)."""


class LowerTail(nn.Module):
    """The bounded lower-tail residual ρη (Eqs. 11-13)."""

    def __init__(self, spec: PRQSpec):
        super().__init__()
        self.spec = spec
        self.norm, self.w_q = nn.LayerNorm(spec.encoder.D), nn.Linear(spec.encoder.D, 1)
        self.gamma = nn.Parameter(torch.zeros(()))

    def forward(self, z: Tensor, m: Tensor) -> Tensor:
        """From z : (S, C, D). m : (S, C) bool, which seizures show the channel. Returns (C,)."""
        u = self.w_q(self.norm(z)).squeeze(-1).sigmoid()  # (S, C) NEZ score of one seizure
        q = self.spec.aggregate(u, m, self.spec.quantile)  # (C,) low: EZ-like in some seizure
        seen = m.any(0)
        logit = q.clamp(Q_CLAMP, 1 - Q_CLAMP).logit()
        η = robust_z(logit[seen]) if self.spec.encoder.relative else logit[seen]
        ρ = 0.2 * self.gamma.sigmoid()  # below 0.2: it adjusts the base logit, never rules it
        return torch.zeros_like(q).masked_scatter(seen, ρ * η.clamp(-4, 4))


class PRQNet(nn.Module):
    """PRQ-Net: NEZ logit of every channel of one patient."""

    def __init__(self, spec: PRQSpec | None = None):
        super().__init__()
        self.spec = spec or PRQSpec()
        self.encoder = Encoder(self.spec.encoder)
        self.base_head = nn.Linear(self.spec.encoder.context, 1)
        self.tail = LowerTail(self.spec) if self.spec.residual else None

    def forward(self, φ: Tensor, valid: Tensor) -> Tensor:
        """φ : (S, W, C, 36). valid : (S, W, C). Returns (C,): logit of the NEZ probability."""
        z, m, r = self.encoder(φ, valid)
        a = self.base_head(r).squeeze(-1)
        return a if self.tail is None else a + self.tail(z, m)

    def p_nez(self, φ: Tensor, valid: Tensor) -> Tensor:
        """Probability of NEZ (Eq. 13)."""
        return self(φ, valid).sigmoid()


def prq_share(logit: Tensor, is_ez: Tensor, batch: Batch) -> Tensor:
    """What one patient adds to the loss of its batch (Eq. 17): its BCE over all their channels."""
    y = ~is_ez  # the paper's y = 1 is NEZ
    return bce(logit, y).sum() / batch.channels


def prq_loss(logits: Sequence[Tensor], is_ez: Sequence[Tensor]) -> Tensor:
    """Mean BCE over all channels of a batch of patients (Eq. 17).

    logits, is_ez : one (C,) tensor of valid channels per patient.
    """
    batch = Batch.of(is_ez)
    return torch.stack([prq_share(a, ez, batch) for a, ez in zip(logits, is_ez, strict=True)]).sum()
