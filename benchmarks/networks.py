"""Training and inference next to a Python loop over windows; thresholds next to scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.metrics import balanced_accuracy_score, f1_score
from torch import nn

from benchmarks.timing import best, row, side_by_side
from epilens.compute.local import reuse_memory
from epilens.core.decisions import GRID, select_threshold
from epilens.networks.encoder import BLOCK, masked_mean, masked_std, prz
from epilens.networks.ensemble import one_thread_each
from epilens.networks.prq import LowerTail, PRQNet, PRQSpec, prq_loss
from epilens.networks.training import build


class Looped(nn.Module):
    """The same PRQ-Net, one seizure and window at a time, around torch's MultiheadAttention."""

    def __init__(self) -> None:
        super().__init__()
        self.mlp = nn.Sequential(
            nn.LayerNorm(36), nn.Linear(36, 32), nn.GELU(), nn.Dropout(0.4), nn.Linear(32, 32)
        )
        self.first = nn.MultiheadAttention(32, 2, dropout=0.4, batch_first=True)
        self.second = nn.MultiheadAttention(64, 2, dropout=0.4, batch_first=True)
        self.norm1, self.norm2, self.head = nn.LayerNorm(32), nn.LayerNorm(64), nn.Linear(64, 1)
        self.tail = LowerTail(PRQSpec())

    def window(self, φ: torch.Tensor, valid: torch.Tensor) -> torch.Tensor:
        x = self.mlp(φ)[None]
        mixed, _ = self.first(x, x, x, key_padding_mask=~valid[None], need_weights=False)
        return self.norm1(x + mixed)[0]

    def forward(self, φ: torch.Tensor, valid: torch.Tensor) -> torch.Tensor:
        seizures = []
        for s in range(φ.shape[0]):
            windows = [self.window(φ[s, w], valid[s, w]) for w in range(φ.shape[1])]
            seizures.append(masked_mean(torch.stack(windows), valid[s], dim=0))
        z, m = torch.stack(seizures), valid.any(1)
        g = prz(torch.cat([masked_mean(z, m, 0), masked_std(z, m, 0)], -1), m.any(0))[None]
        mixed, _ = self.second(g, g, g, need_weights=False)
        return self.head(self.norm2(g + mixed)[0]).squeeze(-1) + self.tail(z, m)


def training_step(
    network: nn.Module, φ: torch.Tensor, valid: torch.Tensor, is_ez: torch.Tensor
) -> Any:
    optimizer = torch.optim.AdamW(network.parameters(), 1e-4)
    network.train()

    def step() -> None:
        optimizer.zero_grad()
        prq_loss([network(φ, valid)], [is_ez]).backward()
        optimizer.step()

    return step


def _infer(network: nn.Module, φ: torch.Tensor, valid: torch.Tensor) -> Any:
    def infer() -> None:
        network.eval()
        with torch.no_grad():
            network(φ, valid)

    return infer


def _products(windows: int, channels: int, features: int = 36) -> tuple[list[Any], list[Any]]:
    """The matrix products of a PRQ-Net, forward and backward: what no implementation can leave out.

    In blocks of windows and head by head on contiguous arrays, as the network has them.
    """
    forward, backward = [], []

    def add(*sizes: int) -> None:
        *batch, rows, inner, columns = sizes
        x, y = torch.randn(*batch, rows, inner), torch.randn(*batch, inner, columns)
        g = torch.randn(*batch, rows, columns)
        forward.append((x, y))
        backward.extend([(g, y.mT.contiguous()), (x.mT.contiguous(), g)])

    for start in range(0, windows, BLOCK):
        block = min(BLOCK, windows - start)
        for inner, columns in ((features, 32), (32, 32), (32, 96), (32, 32)):
            add(block * channels, inner, columns)
        for _ in range(2):
            add(block, channels, 16, channels)
            add(block, channels, channels, 16)
    return forward, backward


def _multiply(pairs: list[Any]) -> Any:
    """By whom the network has them multiplied: torch takes matrices, NumPy many small ones."""

    def multiply() -> None:
        with torch.no_grad():
            for x, y in pairs:
                torch.matmul(x, y) if x.ndim == 2 else np.matmul(x.numpy(), y.numpy())

    return multiply


def threshold_by_sklearn(p_nez: list[np.ndarray], is_ez: list[np.ndarray]) -> float:
    """The same choice by calling scikit-learn per patient and threshold."""

    def means(t: float) -> tuple[float, ...]:
        patients = [(ez, p < t) for p, ez in zip(p_nez, is_ez, strict=True)]
        macro = [f1_score(*pair, average="macro", zero_division=0) for pair in patients]
        ez_f1 = [f1_score(*pair, zero_division=0) for pair in patients]
        balanced = [balanced_accuracy_score(*pair) for pair in patients]
        return np.mean(macro), np.mean(ez_f1), np.mean(balanced), -abs(t - 0.5), -t  # ty: ignore

    return -max(map(means, GRID))[-1]


def measure() -> list[dict[str, Any]]:
    reuse_memory()
    with one_thread_each():  # as networks are trained and asked
        return _measure()


def _measure() -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    φ = torch.from_numpy(rng.normal(size=(3, 59, 95, 36)).astype(np.float32))
    valid, is_ez = torch.ones(3, 59, 95, dtype=torch.bool), torch.arange(95) < 15
    networks = {"ours": build(PRQNet, 0), "loop": build(Looped, 0)}
    forward, backward = _products(3 * 59, 95)
    works = {
        "training step": {n: training_step(net, φ, valid, is_ez) for n, net in networks.items()}
        | {"products": _multiply(forward + backward)},
        "inference": {n: _infer(net, φ, valid) for n, net in networks.items()}
        | {"products": _multiply(forward)},
    }
    rows = []
    for (what, work), least in zip(works.items(), (5, 6), strict=True):
        name = f"3 seizures × 59 windows × 95 channels: {what}"
        s = side_by_side(work, 15)
        rows += [
            row(f"{name}, faster than the loop", s["loop"] / s["ours"], least=least),
            row(name, 1000 * s["ours"], "ms"),
            row(f"{name}, of its matrix products", s["ours"] / s["products"], most=2.5),
        ]
    ez = [rng.random(95) < 0.2 for _ in range(13)]
    p = [np.clip(rng.normal(0.6, 0.2, 95) - 0.2 * e, 0, 1) for e in ez]
    assert threshold_by_sklearn(p, ez) == select_threshold(p, ez)[0]
    ratio = best(lambda: threshold_by_sklearn(p, ez), 1) / best(lambda: select_threshold(p, ez), 50)
    name = "threshold, 13 patients × 95 channels: faster than scikit-learn"
    return [*rows, row(name, ratio, least=2000)]
