"""TimeConv-CNN: a time-frequency image of a segment, read by an ImageNet ResNet-18."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn

from epilens.networks.raw.pretrained import load_pretrained
from epilens.networks.raw.segments import SegmentNetwork
from epilens.networks.specs import TimeConvSpec
from epilens.plan import TracePlan

REPOSITORY = "microsoft/resnet-18"


class TimeConv(SegmentNetwork):
    """One segment of one channel → one logit. `backbone` is a `ResNetModel` for RGB images."""

    def __init__(
        self,
        backbone: Any,
        provenance: Mapping[str, Any] | None = None,
        spec: TimeConvSpec | None = None,
    ):
        spec = spec or TimeConvSpec()
        super().__init__(spec.rate, provenance)
        self.spec = spec
        self.window: Tensor
        self.register_buffer("window", torch.hann_window(spec.n_fft), persistent=False)
        (first, second), kernel, edge = spec.widths, spec.kernel, spec.kernel // 2
        self.stem = nn.Sequential(
            nn.Conv2d(1, first, kernel, padding=edge),
            nn.ReLU(),
            nn.Conv2d(first, second, kernel, padding=edge),
            nn.ReLU(),
        )
        self.backbone = widen(backbone, second)
        self.head = nn.Linear(backbone.config.hidden_sizes[-1], 1)

    @classmethod
    def start(cls, spec: TimeConvSpec, folder: Path, traces: TracePlan) -> Self:
        """Start from ImageNet weights."""
        return cls(*load_pretrained("ResNetModel", folder, REPOSITORY), spec)

    def groups(self) -> list[dict[str, Any]]:
        """New layers learn faster than the ResNet, its widened convolution included."""
        new = [*self.stem.parameters(), *self.head.parameters()]
        slow = {"params": self.backbone.parameters(), "lr": self.spec.pretrained_rate}
        return [{"params": new, "lr": self.rate}, slow]

    def image(self, x: Tensor) -> Tensor:
        """X : (N, time). Returns (N, 1, frequency, time): log-magnitude with mean 0 and SD 1."""
        spectrum = torch.stft(
            x.float(), self.spec.n_fft, self.spec.hop, window=self.window, return_complex=True
        )
        v = (spectrum.abs() + 1e-6).log()
        mean, scale = v.mean((1, 2), keepdim=True), v.std((1, 2), correction=0, keepdim=True)
        return ((v - mean) / scale.where(scale > 1e-5, 1))[:, None]  # a constant map becomes 0

    def forward(self, x: Tensor) -> Tensor:
        """X : (N, time). Returns (N,)."""
        h = self.backbone(self.stem(self.image(x))).pooler_output  # (N, 512, 1, 1)
        return self.head(h.flatten(1)).squeeze(-1)


def widen(backbone: Any, channels: int) -> Any:
    """The ResNet for images of more channels: each gets the mean kernel of red, green and blue."""
    stem = backbone.embedder
    old = stem.embedder.convolution
    new = nn.Conv2d(
        channels, old.out_channels, old.kernel_size, old.stride, old.padding, bias=False
    )
    with torch.no_grad():
        new.weight.copy_(old.weight.mean(1, keepdim=True).expand_as(new.weight))
    stem.embedder.convolution = new
    stem.num_channels = channels  # the ResNet checks its input against this
    return backbone
