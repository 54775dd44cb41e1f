"""TimeConv-CNN: an ImageNet ResNet-18 on the time-frequency image of a segment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from epilens.methods.raw import Recipe, single_channel
from epilens.plan import Plan

if TYPE_CHECKING:
    from epilens.methods._networks.timeconv import TimeConv


def _network(plan: Plan) -> TimeConv:
    from epilens.methods._networks.timeconv import TimeConv

    return TimeConv.pretrained(Path(plan.baselines.pretrained) / "resnet-18")


ENTRIES = (
    single_channel(
        "timeconv-cnn",
        "TimeConv-CNN",
        Recipe(_network, batch=128),
        "Hann STFT 128 hop 20, log-magnitude standardized per map, Conv2D 1 to 16 to 32 (3x3, "
        "ReLU), ImageNet ResNet-18 with the mean kernel in 32 input channels, 512 to 1; lr 1e-3, "
        "ResNet 1e-4, batch 128",
        pretrained="resnet-18",
    ),
)
