"""SEEGNet: three convolutions of different reach, a bidirectional LSTM, attention over time."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool1d, avg_pool1d

from epilens.networks.raw.segments import SegmentNetwork
from epilens.networks.specs import SEEGNetSpec


class SEEGNet(SegmentNetwork):
    """One segment of one channel → one logit."""

    def __init__(self, spec: SEEGNetSpec | None = None):
        spec = spec or SEEGNetSpec()
        super().__init__(spec.rate)
        self.spec = spec
        self.branches = nn.ModuleList(
            nn.Sequential(
                nn.Conv1d(1, spec.width, kernel, stride, padding=kernel // 2),
                nn.BatchNorm1d(spec.width),
                nn.GELU(),
            )
            for kernel, stride in spec.scales
        )
        self.mix = nn.Conv1d(len(spec.scales) * spec.width, spec.mixed, 1)
        self.dropout = nn.Dropout(spec.dropout)
        self.lstm = nn.LSTM(spec.mixed, spec.hidden, batch_first=True, bidirectional=True)
        both = 2 * spec.hidden
        self.attention = nn.Sequential(nn.Linear(both, both), nn.Tanh(), nn.Linear(both, 1))
        self.head = nn.Linear(both, 1)

    def summary(self, x: Tensor) -> Tensor:
        """X : (N, time). Returns (N, 128): the segment as the attention sees it."""
        scales = [branch(x[:, None]) for branch in self.branches]  # (N, 24, time / stride)
        # Strides differ: the finer ones are averaged over the steps of the coarsest.
        coarsest = self.spec.scales[0][1]
        together = [coarsest // stride for _, stride in self.spec.scales]
        aligned = [avg_pool1d(h, n, ceil_mode=True) for h, n in zip(scales, together, strict=True)]
        h = self.dropout(self.mix(torch.cat(aligned, 1)))
        h, _ = self.lstm(adaptive_avg_pool1d(h, self.spec.steps).transpose(1, 2))  # (N, 32, 128)
        return (self.attention(h).softmax(1) * h).sum(1)

    def forward(self, x: Tensor) -> Tensor:
        """X : (N, time). Returns (N,)."""
        return self.head(self.summary(x)).squeeze(-1)
