"""CLAP: the pretrained audio branch on segments, fine-tuned."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from epilens.methods.raw import Recipe, single_channel
from epilens.plan import Plan

if TYPE_CHECKING:
    from epilens.methods._networks.clap import Clap


def _network(plan: Plan) -> Clap:
    from epilens.methods._networks.clap import Clap

    return Clap.pretrained(Path(plan.baselines.pretrained) / "clap-htsat-fused", plan.traces)


ENTRIES = (
    single_channel(
        "clap",
        "CLAP",
        Recipe(_network, batch=8),
        "audio encoder and projection of laion/clap-htsat-fused, 64 mel bins in 0-100 Hz, FFT 256, "
        "hop 20, no segment longer than the clip, projection to 1; lr 1e-3, audio 1e-5, batch 8",
        pretrained="clap-htsat-fused",
    ),
)
