"""SEEGNet: three convolutions of different reach, a bidirectional LSTM, attention over time."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool1d, avg_pool1d

from epilens.methods._networks.training import SegmentNetwork

SCALES = ((51, 4), (17, 2), (3, 1))
"""Kernel and stride of each branch."""


class SEEGNet(SegmentNetwork):
    """One segment of one channel → one logit."""

    def __init__(self, width: int = 24, mixed: int = 96, hidden: int = 64, steps: int = 32):
        super().__init__()
        self.steps = steps
        self.branches = nn.ModuleList(
            nn.Sequential(
                nn.Conv1d(1, width, kernel, stride, padding=kernel // 2),
                nn.BatchNorm1d(width),
                nn.GELU(),
            )
            for kernel, stride in SCALES
        )
        self.mix = nn.Conv1d(len(SCALES) * width, mixed, 1)
        self.dropout = nn.Dropout(0.5)
        self.lstm = nn.LSTM(mixed, hidden, batch_first=True, bidirectional=True)
        self.attention = nn.Sequential(
            nn.Linear(2 * hidden, 2 * hidden), nn.Tanh(), nn.Linear(2 * hidden, 1)
        )
        self.head = nn.Linear(2 * hidden, 1)

    def summary(self, x: Tensor) -> Tensor:
        """X : (N, time). Returns (N, 128): the segment as the attention sees it."""
        scales = [branch(x[:, None]) for branch in self.branches]  # (N, 24, time / stride)
        # Strides differ: the finer ones are averaged over the steps of the coarsest.
        together = [SCALES[0][1] // stride for _, stride in SCALES]
        aligned = [avg_pool1d(h, n, ceil_mode=True) for h, n in zip(scales, together, strict=True)]
        h = self.dropout(self.mix(torch.cat(aligned, 1)))
        h, _ = self.lstm(adaptive_avg_pool1d(h, self.steps).transpose(1, 2))  # (N, 32, 128)
        return (self.attention(h).softmax(1) * h).sum(1)

    def forward(self, x: Tensor) -> Tensor:
        """X : (N, time). Returns (N,)."""
        return self.head(self.summary(x)).squeeze(-1)
