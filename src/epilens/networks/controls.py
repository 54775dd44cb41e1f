"""The two neural controls of the paper, on the channel table of one patient (C, 88)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from epilens.networks.encoder import Batch, Dropout, bce

COLUMNS, HIDDEN, EMBEDDED, DROPOUT = 88, 96, 64, 0.15


class DeepSets(nn.Module):
    """Channel embedding beside the mean and the maximum over the patient's channels."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Sequential(
            nn.LayerNorm(COLUMNS),
            nn.Linear(COLUMNS, HIDDEN),
            nn.GELU(),
            Dropout(DROPOUT),
            nn.Linear(HIDDEN, EMBEDDED),
            nn.GELU(),
        )
        self.head = nn.Sequential(
            nn.Linear(3 * EMBEDDED, HIDDEN), nn.GELU(), Dropout(DROPOUT), nn.Linear(HIDDEN, 1)
        )

    def forward(self, φ: Tensor, valid: Tensor) -> Tensor:
        """φ : (C, 88) of seen channels. Returns (C,): logit of the NEZ probability."""
        h = self.embed(φ)
        together = torch.cat([h.mean(0), h.amax(0)]).expand(len(h), -1)
        return self.head(torch.cat([h, together], -1)).squeeze(-1)

    def p_nez(self, φ: Tensor, valid: Tensor) -> Tensor:
        """Probability of NEZ."""
        return self(φ, valid).sigmoid()


class RankedMLP(nn.Module):
    """A channel-wise MLP; its scores become ranks within the patient."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.LayerNorm(COLUMNS),
            nn.Linear(COLUMNS, HIDDEN),
            nn.GELU(),
            Dropout(DROPOUT),
            nn.Linear(HIDDEN, 1),
        )

    def forward(self, φ: Tensor, valid: Tensor) -> Tensor:
        """φ : (C, 88) of seen channels. Returns (C,): logit of the NEZ probability."""
        return self.layers(φ).squeeze(-1)

    def p_nez(self, φ: Tensor, valid: Tensor) -> Tensor:
        """Average rank over n + 1, in place of the probability."""
        return average_ranks(self(φ, valid).sigmoid()) / (len(φ) + 1)


def average_ranks(v: Tensor) -> Tensor:
    """Ranks from 1; equal values share the mean of theirs."""
    below = (v[:, None] > v).sum(1)
    equal = (v[:, None] == v).sum(1)
    return below + (equal + 1) / 2


def weighted_share(logit: Tensor, is_ez: Tensor, batch: Batch, nez_weight: float) -> Tensor:
    """What one patient adds to the class-weighted BCE of its batch; NEZ is the positive class."""
    y = ~is_ez
    weight = torch.where(y, nez_weight, 1.0)
    return (weight * bce(logit, y)).sum() / batch.channels
