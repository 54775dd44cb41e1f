"""Networks on one row per channel: the two neural controls of the paper, and the raw hybrid.

`columns` is the width of the channel table: 88 for the paper's nine descriptors.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from epilens.core.decisions import with_neutral
from epilens.networks.encoder import BatchCounts, Dropout, bce, masked_mean


class DeepSets(nn.Module):
    """Channel embedding with the mean and the maximum over the patient's channels."""

    def __init__(
        self, columns: int = 88, hidden: int = 96, embedded: int = 64, dropout: float = 0.15
    ) -> None:
        super().__init__()
        self.embed = nn.Sequential(
            nn.LayerNorm(columns),
            nn.Linear(columns, hidden),
            nn.GELU(),
            Dropout(dropout),
            nn.Linear(hidden, embedded),
            nn.GELU(),
        )
        self.head = nn.Sequential(
            nn.Linear(3 * embedded, hidden), nn.GELU(), Dropout(dropout), nn.Linear(hidden, 1)
        )

    def forward(self, φ: Tensor, valid: Tensor) -> Tensor:
        """φ : (C, columns) of seen channels. Returns (C,): logit of the NEZ probability."""
        h = self.embed(φ)
        together = torch.cat([h.mean(0), h.amax(0)]).expand(len(h), -1)
        return self.head(torch.cat([h, together], -1)).squeeze(-1)

    def p_nez(self, φ: Tensor, valid: Tensor) -> Tensor:
        """Probability of NEZ."""
        return self(φ, valid).sigmoid()


class RankedMLP(nn.Module):
    """A channel-wise MLP; its scores become ranks within the patient."""

    def __init__(self, columns: int = 88, hidden: int = 96, dropout: float = 0.15) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.LayerNorm(columns),
            nn.Linear(columns, hidden),
            nn.GELU(),
            Dropout(dropout),
            nn.Linear(hidden, 1),
        )

    def forward(self, φ: Tensor, valid: Tensor) -> Tensor:
        """φ : (C, columns) of seen channels. Returns (C,): logit of the NEZ probability."""
        return self.layers(φ).squeeze(-1)

    def p_nez(self, φ: Tensor, valid: Tensor) -> Tensor:
        """Average rank over n + 1, in place of the probability."""
        return average_ranks(self(φ, valid).sigmoid()) / (len(φ) + 1)


class Hybrid(nn.Module):
    """A CNN on raw segments, averaged over a channel's segments, in addition to its columns.

    convolutions : channels, kernel and stride of each.
    """

    def __init__(
        self,
        columns: int = 88,
        samples: int = 800,
        convolutions: Sequence[tuple[int, int, int]] = ((16, 15, 4), (32, 9, 4)),
        hidden: int = 96,
        dropout: float = 0.15,
    ) -> None:
        super().__init__()
        self.columns, self.samples, width = columns, samples, 1
        layers: list[nn.Module] = []
        for channels, kernel, stride in convolutions:
            layers += [nn.Conv1d(width, channels, kernel, stride), nn.GELU()]
            width = channels
        self.segment = nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten())
        self.head = nn.Sequential(
            nn.Linear(columns + width, hidden), nn.GELU(), Dropout(dropout), nn.Linear(hidden, 1)
        )

    def forward(self, φ: Tensor, valid: Tensor) -> Tensor:
        """φ : (C, columns + K (1 + samples)): columns, then K segments, each after its flag."""
        packed = self._packed(φ)
        whole = packed[..., 0] > 0
        segments = self.segment(packed[..., 1:][whole].unsqueeze(1))
        embedded = φ.new_zeros(*whole.shape, segments.shape[-1])
        embedded[whole] = segments
        mean = masked_mean(embedded, whole, 1)
        return self.head(torch.cat([φ[:, : self.columns], mean], -1)).squeeze(-1)

    def p_nez(self, φ: Tensor, valid: Tensor) -> Tensor:
        """Probability of NEZ; neutral for a channel without any segment."""
        scored = (self._packed(φ)[..., 0] > 0).any(1)
        p = with_neutral(self(φ, valid).sigmoid().numpy(), scored.numpy())
        return torch.from_numpy(p).to(φ.dtype)

    def _packed(self, φ: Tensor) -> Tensor:
        """Segments of each channel, each after its flag (C, K, 1 + samples)."""
        return φ[:, self.columns :].reshape(len(φ), -1, 1 + self.samples)


def average_ranks(v: Tensor) -> Tensor:
    """Ranks from 1; equal values share the mean of theirs."""
    below = (v[:, None] > v).sum(1)
    equal = (v[:, None] == v).sum(1)
    return below + (equal + 1) / 2


def weighted_share(logit: Tensor, is_ez: Tensor, batch: BatchCounts, nez_weight: float) -> Tensor:
    """What one patient adds to the class-weighted BCE of its batch; NEZ is the positive class."""
    y = ~is_ez
    weight = torch.where(y, nez_weight, 1.0)
    return (weight * bce(logit, y)).sum() / batch.channels
