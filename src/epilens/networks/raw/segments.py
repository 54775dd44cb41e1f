"""Networks that score one segment of one channel at a time, and their training."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from epilens.core.types import Bools, Floats
from epilens.networks.loop import HISTORY, Reached, Schedule, train_epochs
from epilens.networks.raw.steps import Steps, device, mixed_precision, nez_weight, weighted_bce
from epilens.networks.specs import SegmentTraining
from epilens.plan import TracePlan


class SegmentNetwork(nn.Module):
    """A network that turns segments (N, time) into logits (N,) of the NEZ probability.

    rate : learning rate of the layers that start at random.
    """

    def __init__(self, rate: float = 1e-3, provenance: Mapping[str, Any] | None = None):
        super().__init__()
        self.rate, self.provenance = rate, dict(provenance or {})

    @classmethod
    def start(cls, spec: Any, folder: Path, traces: TracePlan) -> Self:
        """A network to train, for these traces; pretrained weights come from `folder`."""
        return cls(spec)

    def groups(self) -> list[dict[str, Any]]:
        """Parameters with their learning rates."""
        return [{"params": self.parameters(), "lr": self.rate}]

    def prepare(self, x: NDArray[np.float32]) -> Tensor:
        """What `forward` reads of each segment, computed once and not in every epoch."""
        return torch.from_numpy(x)


@dataclass(frozen=True)
class SegmentTrainingSetup:
    """Segments, labels, validation and seed with which a network is trained."""

    x: NDArray[np.float32]  # (segment, time) of fit patients
    is_ez: Bools  # (segment,)
    validation: NDArray[np.float32]  # (segment, time) of validation patients
    judge: Callable[[Floats], tuple[float, Reached]]
    """p_nez of the validation segments → their threshold, and what it reaches."""
    seed: int


def p_nez(network: nn.Module, x: Tensor, batch: int = 256) -> Floats:
    """NEZ probability of every segment."""
    network.eval()
    with torch.inference_mode(), mixed_precision():
        logits = [network(part.to(device())).double().cpu() for part in x.split(batch)]
    return torch.cat(logits).sigmoid().numpy()


def fit_segments(
    network: SegmentNetwork, setup: SegmentTrainingSetup, training: SegmentTraining, epochs: int
) -> pd.DataFrame:
    """Train in place, keep the epoch that the judge prefers; returns the history."""
    network.to(device())
    x, validation = network.prepare(setup.x), network.prepare(setup.validation)
    is_nez, weight = torch.from_numpy(~setup.is_ez), nez_weight(setup.is_ez)
    steps = Steps(network, network.groups(), training.weight_decay, training.clip_norm)
    shuffle = np.random.default_rng(np.random.SeedSequence([setup.seed, 1]))

    def epoch() -> float:
        network.train()
        batches = torch.from_numpy(shuffle.permutation(len(x))).split(training.batch)
        losses = (
            weighted_bce(network(x[i].to(device())), is_nez[i].to(device()), weight)
            for i in batches
        )
        return float(np.mean([steps.step(losses) for _ in batches]))

    def judge() -> tuple[Reached, tuple[Any, ...]]:
        threshold, reached = setup.judge(p_nez(network, validation))
        return reached, (threshold, *reached)

    schedule = Schedule(epochs, training.patience, training.least_epochs, training.extension)
    rows = train_epochs(network, epoch, judge, schedule)
    return pd.DataFrame(rows, columns=list(HISTORY))
