"""What the raw-iEEG networks share while they learn: seeds, devices, optimizer steps, the loss."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from epilens.core.types import Bools


def device() -> torch.device:
    """CUDA where it is, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def mixed_precision() -> torch.autocast:
    """Half precision where it is safe, on CUDA only."""
    return torch.autocast("cuda", torch.float16, enabled=device().type == "cuda")


@contextmanager
def seeded(*seed: int) -> Generator[None]:
    """Weights and dropout inside depend on the seed alone; the random state outside is untouched.

    One number is torch's own seed; more are mixed into one.
    """
    mixed = seed[0] if len(seed) == 1 else np.random.SeedSequence(seed).generate_state(1).item()
    devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices):
        torch.manual_seed(mixed)
        yield


class Steps:
    """AdamW with clipped gradients; mixed precision where CUDA is."""

    def __init__(
        self,
        network: nn.Module,
        groups: list[dict[str, Any]],
        weight_decay: float = 1e-4,
        clip_norm: float = 1.0,
    ):
        self._network, self._clip_norm = network, clip_norm
        self._adamw = torch.optim.AdamW(groups, weight_decay=weight_decay)
        self._scaler = torch.amp.GradScaler("cuda", enabled=device().type == "cuda")

    def step(self, losses: Iterable[Tensor], parts: int = 1) -> float:
        """Take one step along the mean of `parts` losses; graphs are freed one by one."""
        self._adamw.zero_grad()
        value, losses = 0.0, iter(losses)
        for _ in range(parts):
            with mixed_precision():
                loss = next(losses) / parts
            self._scaler.scale(loss).backward()
            value += float(loss.detach())
        self._scaler.unscale_(self._adamw)
        nn.utils.clip_grad_norm_(self._network.parameters(), self._clip_norm)
        self._scaler.step(self._adamw)
        self._scaler.update()
        return value


def nez_weight(is_ez: Bools) -> float:
    """Weight of NEZ, the positive class of the loss: n_EZ / n_NEZ; 1 where a class is missing."""
    n_ez, n_nez = int(is_ez.sum()), int((~is_ez).sum())
    return n_ez / n_nez if n_ez and n_nez else 1.0


def weighted_bce(logit: Tensor, is_nez: Tensor, weight: float, reduction: str = "mean") -> Tensor:
    """Binary cross-entropy with NEZ as the positive class of this weight."""
    pos_weight = torch.tensor(weight, device=logit.device)
    return binary_cross_entropy_with_logits(
        logit.float(), is_nez.float(), pos_weight=pos_weight, reduction=reduction
    )


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
