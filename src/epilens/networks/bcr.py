"""BCR-Net: boundary and coverage ranking (Eqs. 14-16) and its losses (Eqs. 18-21)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from epilens.networks.encoder import BatchCounts, FrozenDecision, PatientNetwork, bce
from epilens.networks.prq import Q_CLAMP, masked_quantile
from epilens.networks.specs import BCRSpec

TAU_R, TAU_K = 0.10, 0.25
MARGIN = 0.05
WEAKEST_EZ = (3, 10)
"""Share of the EZ channels that are mined, as a fraction."""
MOST_HARD_NEZ = 16


class BCRNet(PatientNetwork):
    """BCR-Net: EZ logit of every channel of one patient.

    Examples
    --------
    >>> from epilens.evidence.views import Standardizer
    >>> from epilens.networks.training import as_tensors, predict
    >>> from epilens.testing import make_cube
    >>> cube = make_cube(channels=4)
    >>> patient = as_tensors(cube, Standardizer.fit([cube]))
    >>> predict(BCRNet(), patient).shape  # probability of NEZ of each channel
    (4,)
    """

    sign, Spec = -1, BCRSpec
    spec: BCRSpec

    def __init__(self, spec: BCRSpec | None = None):
        super().__init__(spec)
        self.ez_head = nn.Linear(self.spec.encoder.context, 1)
        # The control keeps the same parameters; without it the seizure head is not used.
        self.seizure_head = nn.Sequential(
            nn.LayerNorm(self.spec.encoder.D), nn.Linear(self.spec.encoder.D, 1)
        )

    def decide(self, z: Tensor, m: Tensor) -> Tensor:
        """EZ logit e."""
        # The control does not read r, but draws the same dropout as the others.
        return self._logit(self.encoder.context(z, m), z, m)

    def _logit(self, r: Tensor, z: Tensor, m: Tensor) -> Tensor:
        if self.spec.quantile_head:
            return self._tail(z, m)
        e = self.ez_head(r).squeeze(-1)
        return e + self._tail(z, m) if self.spec.quantile_residual else e

    def _tail(self, z: Tensor, m: Tensor) -> Tensor:
        """EZ logit of the lower tail of seizure-level NEZ scores."""
        u = self.seizure_head(z).squeeze(-1).sigmoid()
        q = masked_quantile(u, m, self.spec.quantile)
        return -q.clamp(Q_CLAMP, 1 - Q_CLAMP).logit()

    def freeze(self, z: Tensor, m: Tensor) -> FrozenDecision:
        """Beyond the encoder, a channel's logit is its own."""
        return self._logit

    def share(self, logit: Tensor, is_ez: Tensor, batch: BatchCounts) -> Tensor:
        """The patient's part of the loss (Eqs. 18-21)."""
        return bcr_share(logit, is_ez, batch, self.spec)


def boundary_sets(e: Tensor, is_ez: Tensor) -> tuple[Tensor, Tensor]:
    """Weakest EZ and most EZ-like NEZ logits: Bottom ⌈0.3|ℰ|⌉ and Top k (Eq. 14)."""
    ez, nez = e[is_ez], e[~is_ez]
    # In whole numbers, because 0.3 · |ℰ| in floating point can be a little more than it is.
    numerator, denominator = WEAKEST_EZ
    m = -(-numerator * len(ez) // denominator)
    k = min(len(nez), max(1, min(MOST_HARD_NEZ, len(ez))))
    return ez.topk(m, largest=False).values, nez.topk(k).values


def soft_rank(e: Tensor, tau: float = TAU_R) -> Tensor:
    """1 + Σ_{d≠c} sigm((e_d - e_c)/τ) (Eq. 15): 1 for the largest, as τ → 0."""
    ahead = ((e[None, :] - e[:, None]) / tau).sigmoid()  # (c, d)
    return 1 + ahead.sum(1) - ahead.diagonal()


def soft_top_k(e: Tensor, K: int) -> Tensor:
    """Membership π of the leading K ranks (Eq. 16)."""
    return ((K + 0.5 - soft_rank(e)) / TAU_K).sigmoid()


def boundary_term(e: Tensor, is_ez: Tensor) -> Tensor:
    """softplus(0.05 + mean of the NEZ set - mean of the EZ set) of one patient (Eq. 19)."""
    weak, strong = boundary_sets(e, is_ez)
    return F.softplus(MARGIN + strong.mean() - weak.mean())


def coverage_term(e: Tensor, is_ez: Tensor) -> Tensor:
    """1 - mean membership of the EZ channels of one patient (Eq. 20)."""
    return 1 - soft_top_k(e, int(is_ez.sum()))[is_ez].mean()


def bcr_share(e: Tensor, is_ez: Tensor, batch: BatchCounts, spec: BCRSpec) -> Tensor:
    """What one patient adds to the loss of its batch (Eqs. 18-21).

    Each term is computed within the patient and divided by the number of eligible patients: all of
    them for the BCE, those with EZ and NEZ for the boundary, those with EZ for the coverage.
    """
    share = bce(e, is_ez).mean() / batch.patients
    if spec.boundary and is_ez.any() and not is_ez.all():
        share = share + spec.boundary * boundary_term(e, is_ez) / batch.with_both
    if spec.coverage and is_ez.any():
        share = share + spec.coverage * coverage_term(e, is_ez) / batch.with_ez
    return share


def bcr_loss(logits: Sequence[Tensor], is_ez: Sequence[Tensor], spec: BCRSpec) -> Tensor:
    """L_BCE + 0.05 L_bd + 0.08 L_cov over a batch of patients (Eqs. 18-21)."""
    batch = BatchCounts.of(is_ez)
    shares = [bcr_share(e, ez, batch, spec) for e, ez in zip(logits, is_ez, strict=True)]
    return torch.stack(shares).sum()
