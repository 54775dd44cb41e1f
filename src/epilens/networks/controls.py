"""Networks on one row per channel: the two neural controls of the paper, and the raw hybrid."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from epilens.networks.encoder import Batch, Dropout, bce, masked_mean

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


class Hybrid(nn.Module):
    """A CNN on raw segments, averaged over a channel's segments, beside its 88 columns."""

    def __init__(self, samples: int = 800) -> None:
        super().__init__()
        self.samples = samples
        self.segment = nn.Sequential(
            nn.Conv1d(1, 16, 15, 4),
            nn.GELU(),
            nn.Conv1d(16, 32, 9, 4),
            nn.GELU(),
            nn.AdaptiveAvgPool1d(1),
            nn.Flatten(),
        )
        self.head = nn.Sequential(
            nn.Linear(COLUMNS + 32, HIDDEN), nn.GELU(), Dropout(DROPOUT), nn.Linear(HIDDEN, 1)
        )

    def forward(self, φ: Tensor, valid: Tensor) -> Tensor:
        """φ : (C, 88 + K (1 + samples)): columns, then K segments, each after its flag."""
        columns, packed = φ[:, :COLUMNS], φ[:, COLUMNS:].reshape(len(φ), -1, 1 + self.samples)
        there = packed[..., 0] > 0
        embedded = φ.new_zeros(*there.shape, 32)
        embedded[there] = self.segment(packed[..., 1:][there].unsqueeze(1))
        return self.head(torch.cat([columns, masked_mean(embedded, there, 1)], -1)).squeeze(-1)

    def p_nez(self, φ: Tensor, valid: Tensor) -> Tensor:
        """Probability of NEZ."""
        return self(φ, valid).sigmoid()


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
