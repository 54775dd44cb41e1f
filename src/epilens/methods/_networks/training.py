"""Training of the raw-iEEG baselines: seeds, devices, optimizer steps, the single-channel loop."""

from __future__ import annotations

import copy
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from epilens.methods.raw import Recipe, Segments, nez_weight
from epilens.thresholds import select_threshold

WEIGHT_DECAY, CLIP_NORM, PATIENCE, LEAST_EPOCHS = 1e-4, 1.0, 6, 6
COLUMNS = ["epoch", "loss", "threshold", "macro_f1", "ez_f1", "balanced_accuracy", "selected"]


class SegmentNetwork(nn.Module):
    """A network that turns segments (N, time) into logits (N,) of the NEZ probability."""

    def __init__(self, provenance: Mapping[str, Any] | None = None):
        super().__init__()
        self.provenance = dict(provenance or {})

    def groups(self) -> list[dict[str, Any]]:
        """Parameters with their learning rates."""
        return [{"params": self.parameters(), "lr": 1e-3}]

    def prepare(self, x: NDArray[np.float32]) -> Tensor:
        """What `forward` reads of each segment, computed once and not in every epoch."""
        return torch.from_numpy(x)


def device() -> torch.device:
    """CUDA where it is, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@contextmanager
def seeded(*seed: int) -> Generator[None]:
    """Weights and dropout inside depend on the seed alone; the random state outside is untouched.

    One number is torch's own seed; more are mixed into one.
    """
    one = seed[0] if len(seed) == 1 else np.random.SeedSequence(seed).generate_state(1).item()
    devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices):
        torch.manual_seed(one)
        yield


class Steps:
    """AdamW with clipped gradients; mixed precision where CUDA is."""

    def __init__(self, network: nn.Module, groups: list[dict[str, Any]]):
        self._network, self._cuda = network, device().type == "cuda"
        self._adamw = torch.optim.AdamW(groups, weight_decay=WEIGHT_DECAY)
        self._scaler = torch.amp.GradScaler("cuda", enabled=self._cuda)

    def step(self, losses: Iterable[Tensor], parts: int = 1) -> float:
        """One step along the mean of `parts` losses; a graph is freed before the next is made."""
        self._adamw.zero_grad()
        value, losses = 0.0, iter(losses)
        for _ in range(parts):
            with mixed_precision():
                loss = next(losses) / parts
            self._scaler.scale(loss).backward()
            value += float(loss.detach())
        self._scaler.unscale_(self._adamw)
        nn.utils.clip_grad_norm_(self._network.parameters(), CLIP_NORM)
        self._scaler.step(self._adamw)
        self._scaler.update()
        return value


def mixed_precision() -> torch.autocast:
    """Half precision where it is safe, on CUDA only."""
    return torch.autocast("cuda", torch.float16, enabled=device().type == "cuda")


def weighted_bce(logit: Tensor, is_nez: Tensor, weight: float, reduction: str = "mean") -> Tensor:
    """Binary cross-entropy with NEZ as the positive class of this weight."""
    pos_weight = torch.tensor(weight, device=logit.device)
    return binary_cross_entropy_with_logits(
        logit.float(), is_nez.float(), pos_weight=pos_weight, reduction=reduction
    )


def p_nez(network: nn.Module, x: Tensor, batch: int = 256) -> NDArray[np.float64]:
    """NEZ probability of every segment."""
    network.eval()
    with torch.inference_mode(), mixed_precision():
        logits = [network(part.to(device())).double().cpu() for part in x.split(batch)]
    return torch.cat(logits).sigmoid().numpy()


def fit_segments(
    network: SegmentNetwork, own: Segments, held: Segments, recipe: Recipe, seed: int, epochs: int
) -> pd.DataFrame:
    """Train in place, keep the best epoch on held patients; returns the history.

    Better is a strictly larger (Macro-F1, EZ-F1, balanced accuracy) of the channels' mean
    probabilities at their own best threshold, as for the networks of the paper.
    """
    assert held.is_ez is not None
    network.to(device())
    x, held_x = network.prepare(own.x), network.prepare(held.x)
    is_ez, truth = own.ez_of_segments(), held.by_patient(held.is_ez)
    is_nez, weight = torch.from_numpy(~is_ez), nez_weight(is_ez)
    steps = Steps(network, network.groups())
    shuffle = np.random.default_rng(np.random.SeedSequence([seed, 1]))
    rows: list[tuple[Any, ...]] = []
    best, best_epoch, state = (-1.0,), 0, network.state_dict()
    budget, epoch = epochs, 0
    while epoch < budget and (epoch < LEAST_EPOCHS or epoch - best_epoch < PATIENCE):
        epoch += 1
        network.train()
        batches = torch.from_numpy(shuffle.permutation(len(x))).split(recipe.batch)
        losses = (
            weighted_bce(network(x[i].to(device())), is_nez[i].to(device()), weight)
            for i in batches
        )
        loss = np.mean([steps.step(losses) for _ in batches])
        threshold, reached = select_threshold(held.channel_means(p_nez(network, held_x)), truth)
        better = reached > best
        if better:
            best, best_epoch, state = reached, epoch, copy.deepcopy(network.state_dict())
        rows.append((epoch, loss, threshold, *reached, better))
        if epoch == epochs:
            budget = recipe.budget([row[3] for row in rows], epochs)
    network.load_state_dict(state)
    return pd.DataFrame(rows, columns=COLUMNS)


def about(network: nn.Module) -> dict[str, Any]:
    """How large it is and where it was trained."""
    return {
        "parameters": sum(p.numel() for p in network.parameters()),
        "device": device().type,
        "mixed_precision": device().type == "cuda",
    }


def tensors(network: nn.Module, part: str = "") -> dict[str, Tensor]:
    """Weights and running statistics, for the checkpoint; `part` goes before their names."""
    before = f"{part}." if part else ""
    state = network.state_dict()
    return {before + name: v.detach().cpu().contiguous() for name, v in state.items()}
