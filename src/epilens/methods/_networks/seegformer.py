"""SEEGformer: the spectra of all channels of one window, three branches of masked attention."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from epilens.methods._networks.training import (
    PATIENCE,
    Steps,
    device,
    mixed_precision,
    weighted_bce,
)
from epilens.methods.raw import nez_weight

BRANCHES = ("real", "imaginary", "amplitude")
LOW_HZ, HIGH_HZ = 0.5, 80.0
WIDTH, HEADS, BLOCKS, MLP_RATIO, DROPOUT = 64, 4, 2, 2, 0.2
RATE, BATCH, ACCUMULATED = 5e-4, 8, 2


class Branch(nn.Module):
    """One part of the spectrum: projection, attention among channels, one logit per channel."""

    def __init__(self, bins: int):
        super().__init__()
        self.project = nn.Linear(bins, WIDTH)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, HEADS, MLP_RATIO * WIDTH, DROPOUT, batch_first=True)
            for _ in range(BLOCKS)
        )
        self.head = nn.Sequential(nn.Linear(WIDTH, WIDTH // 2), nn.ReLU(), nn.Linear(WIDTH // 2, 1))

    def forward(self, part: Tensor, there: Tensor) -> Tensor:
        """(B, C, bins) and (B, C) bool, which channels are there → (B, C)."""
        h = self.project(part)
        for block in self.blocks:
            h = block(h, src_key_padding_mask=~there)
        return self.head(h).squeeze(-1)


class SEEGformer(nn.Module):
    """Windows with all their channels → a logit of the NEZ probability per channel."""

    def __init__(self, samples: int = 800, rate_hz: float = 200.0):
        super().__init__()
        self.points = 2 * samples
        frequency = np.fft.rfftfreq(self.points, 1 / rate_hz)
        first, stop = np.searchsorted(frequency, [LOW_HZ - 1e-9, HIGH_HZ + 1e-9])
        self.bins = slice(int(first), int(stop))
        self.branches = nn.ModuleList(Branch(int(stop - first)) for _ in BRANCHES)
        self.mixture = nn.Parameter(torch.zeros(len(BRANCHES)))

    def spectra(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(B, C, time) → real part, imaginary part and amplitude, each (B, C, bins)."""
        # Unitary scale: noise of unit variance keeps it, whatever the number of points.
        spectrum = torch.fft.rfft(x.float(), self.points, norm="ortho")[..., self.bins]
        return spectrum.real, spectrum.imag, spectrum.abs()

    def forward(self, x: Tensor, there: Tensor) -> Tensor:
        """(B, C, time) and (B, C) bool, which channels are there → (B, C)."""
        parts = zip(self.branches, self.spectra(x), strict=True)
        logits = torch.stack([branch(part, there) for branch, part in parts], -1)
        return logits @ self.mixture.softmax(0).to(logits.dtype)

    def layers(self) -> dict[str, Any]:
        """Sizes, for the record."""
        return {
            "bins": self.bins.stop - self.bins.start,
            "branches": list(BRANCHES),
            "width": WIDTH,
            "blocks": BLOCKS,
            "heads": HEADS,
            "mlp": MLP_RATIO * WIDTH,
            "dropout": DROPOUT,
            "head": [WIDTH, WIDTH // 2, 1],
        }


@dataclass(frozen=True)
class Windows:
    """The windows of one patient's seen channels."""

    x: NDArray[np.float32]  # (seizure, segment, channel, time)
    valid: NDArray[np.bool_]  # (seizure, segment, channel)
    is_ez: NDArray[np.bool_]  # (channel,)

    def examples(self) -> list[tuple[int, int]]:
        """Seizure and segment of every window that shows a channel."""
        return [(int(s), int(k)) for s, k in np.argwhere(self.valid.any(-1))]


Example = tuple[Windows, int, int]


def collate(examples: Sequence[Example]) -> tuple[Tensor, Tensor, Tensor]:
    """Windows as one batch, padded along channels: x (B, C, time), there and is_nez (B, C)."""
    widest = max(w.x.shape[2] for w, _, _ in examples)
    x = np.zeros((len(examples), widest, examples[0][0].x.shape[3]), np.float32)
    there, is_nez = np.zeros(x.shape[:2], bool), np.zeros(x.shape[:2], bool)
    for i, (w, s, k) in enumerate(examples):
        n = w.x.shape[2]
        x[i, :n], there[i, :n], is_nez[i, :n] = w.x[s, k], w.valid[s, k], ~w.is_ez
    to = device()
    return tuple(torch.from_numpy(a).to(to) for a in (x, there, is_nez))  # ty: ignore


def window_logits(network: SEEGformer, windows: Windows) -> Tensor:
    """Logits (seizure, segment, channel) in double precision; NaN where there is no channel."""
    network.eval()
    out = torch.full(windows.valid.shape, torch.nan, dtype=torch.float64)
    examples = windows.examples()
    with torch.inference_mode(), mixed_precision():
        for first in range(0, len(examples), BATCH):
            part = examples[first : first + BATCH]
            x, there, _ = collate([(windows, s, k) for s, k in part])
            logit = network(x, there).double().masked_fill(~there, torch.nan).cpu()
            for (s, k), row in zip(part, logit, strict=True):
                out[s, k] = row
    return out


def medians(p: Tensor) -> Tensor:
    """Median within each seizure, then over seizures: (seizure, segment, channel) → (channel,).

    NaN is left out. Of an even number of values it is the midpoint of the middle two.
    """
    return p.nanquantile(0.5, dim=1).nanquantile(0.5, dim=0)


def p_nez(network: SEEGformer, windows: Windows) -> NDArray[np.float64]:
    """NEZ probability of every channel."""
    return medians(window_logits(network, windows).sigmoid()).numpy()


def mean_loss(network: SEEGformer, held: Sequence[Windows], weight: float) -> float:
    """Weighted cross-entropy over all windows and channels of some patients."""
    total, n = 0.0, 0
    for windows in held:
        there = torch.from_numpy(windows.valid)
        logit = window_logits(network, windows)[there]
        is_nez = torch.from_numpy(~windows.is_ez).expand(there.shape)[there]
        total += float(weighted_bce(logit, is_nez, weight, "sum"))
        n += len(logit)
    return total / n


def window_weight(own: Sequence[Windows]) -> float:
    """Weight of NEZ, counted over all channels of all windows of some patients."""
    flags = [np.broadcast_to(w.is_ez, w.valid.shape)[w.valid] for w in own]
    return nez_weight(np.concatenate(flags))


def fit_windows(
    network: SEEGformer,
    own: Sequence[Windows],
    held: Sequence[Windows],
    seed: Sequence[int],
    epochs: int,
) -> list[tuple[int, float, float, bool]]:
    """Train in place; returns epoch, loss, loss of held patients, and whether it was the best yet.

    With held patients the best epoch is kept and patience ends the training; without, all epochs
    are run and the last is kept.
    """
    network.to(device())
    examples = [(w, s, k) for w in own for s, k in w.examples()]
    weight = window_weight(own)
    steps = Steps(network, [{"params": network.parameters(), "lr": RATE}])
    shuffle = np.random.default_rng(np.random.SeedSequence([*seed, 1]))
    rows: list[tuple[int, float, float, bool]] = []
    best, best_epoch, state = np.inf, 0, network.state_dict()
    for epoch in range(1, epochs + 1):
        loss = _one_epoch(network, examples, weight, steps, shuffle)
        held_loss = mean_loss(network, held, weight) if held else np.nan
        better = not held or held_loss < best
        if better:
            best, best_epoch, state = held_loss, epoch, copy.deepcopy(network.state_dict())
        rows.append((epoch, loss, held_loss, better))
        if epoch - best_epoch >= PATIENCE:
            break
    network.load_state_dict(state)
    return rows


def _one_epoch(
    network: SEEGformer,
    examples: Sequence[Example],
    weight: float,
    steps: Steps,
    shuffle: np.random.Generator,
) -> float:
    network.train()
    order = shuffle.permutation(len(examples))
    batches = [order[i : i + BATCH] for i in range(0, len(order), BATCH)]
    losses = (_loss(network, [examples[i] for i in batch], weight) for batch in batches)
    groups = [len(batches[i : i + ACCUMULATED]) for i in range(0, len(batches), ACCUMULATED)]
    return float(np.mean([steps.step(losses, parts) for parts in groups]))


def _loss(network: SEEGformer, examples: Sequence[Example], weight: float) -> Tensor:
    x, there, is_nez = collate(examples)
    return weighted_bce(network(x, there)[there], is_nez[there], weight)
