"""SEEGformer: the spectra of all channels of one window, three branches of masked attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from epilens.core.decisions import with_neutral
from epilens.core.types import Bools, Floats
from epilens.networks.loop import Reached, Schedule, train_epochs
from epilens.networks.raw.steps import Steps, device, mixed_precision, nez_weight, weighted_bce
from epilens.networks.specs import SEEGformerSpec, WindowTraining

BRANCHES = ("real", "imaginary", "amplitude")
AT_ONCE = 8
"""Windows that are scored together."""


class SpectrumBranch(nn.Module):
    """One part of the spectrum: projection, attention among channels, one logit per channel."""

    def __init__(self, bins: int, spec: SEEGformerSpec):
        super().__init__()
        width, mlp = spec.width, spec.mlp_ratio * spec.width
        self.project = nn.Linear(bins, width)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(width, spec.heads, mlp, spec.dropout, batch_first=True)
            for _ in range(spec.blocks)
        )
        self.head = nn.Sequential(nn.Linear(width, width // 2), nn.ReLU(), nn.Linear(width // 2, 1))

    def forward(self, part: Tensor, present: Tensor) -> Tensor:
        """Logits (B, C) from spectra (B, C, bins) and from which channels are present (B, C)."""
        h = self.project(part)
        for block in self.blocks:
            h = block(h, src_key_padding_mask=~present)
        return self.head(h).squeeze(-1)


class SEEGformer(nn.Module):
    """Windows with all their channels → a logit of the NEZ probability per channel."""

    def __init__(
        self, samples: int = 800, rate_hz: float = 200.0, spec: SEEGformerSpec | None = None
    ):
        super().__init__()
        self.spec = spec or SEEGformerSpec()
        self.points = 2 * samples
        frequency = np.fft.rfftfreq(self.points, 1 / rate_hz)
        edges = [self.spec.low_hz - 1e-9, self.spec.high_hz + 1e-9]
        first, stop = np.searchsorted(frequency, edges)
        self.bins = slice(int(first), int(stop))
        self.branches = nn.ModuleList(
            SpectrumBranch(int(stop - first), self.spec) for _ in BRANCHES
        )
        self.mixture = nn.Parameter(torch.zeros(len(BRANCHES)))

    def spectra(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Real part, imaginary part and amplitude (B, C, bins) of windows (B, C, time)."""
        # Unitary scale: noise of unit variance keeps it, whatever the number of points.
        spectrum = torch.fft.rfft(x.float(), self.points, norm="ortho")[..., self.bins]
        return spectrum.real, spectrum.imag, spectrum.abs()

    def forward(self, x: Tensor, present: Tensor) -> Tensor:
        """Logits (B, C) from windows (B, C, time) and from which channels are present (B, C)."""
        parts = zip(self.branches, self.spectra(x), strict=True)
        logits = torch.stack([branch(part, present) for branch, part in parts], -1)
        return logits @ self.mixture.softmax(0).to(logits.dtype)

    def layers(self) -> dict[str, Any]:
        """Sizes, for the record."""
        spec = self.spec
        return {
            "bins": self.bins.stop - self.bins.start,
            "branches": list(BRANCHES),
            "width": spec.width,
            "blocks": spec.blocks,
            "heads": spec.heads,
            "mlp": spec.mlp_ratio * spec.width,
            "dropout": spec.dropout,
            "head": [spec.width, spec.width // 2, 1],
        }


@dataclass(frozen=True)
class Windows:
    """The windows of one patient's seen channels."""

    x: NDArray[np.float32]  # (seizure, segment, channel, time)
    valid: Bools  # (seizure, segment, channel)
    is_ez: Bools  # (channel,)

    def examples(self) -> list[tuple[int, int]]:
        """Seizure and segment of every window that shows a channel."""
        return [(int(s), int(k)) for s, k in np.argwhere(self.valid.any(-1))]


Example = tuple[Windows, int, int]


def collate(examples: Sequence[Example]) -> tuple[Tensor, Tensor, Tensor]:
    """Windows as one batch, padded along channels: x (B, C, time), present and is_nez (B, C)."""
    widest = max(w.x.shape[2] for w, _, _ in examples)
    x = np.zeros((len(examples), widest, examples[0][0].x.shape[3]), np.float32)
    present, is_nez = np.zeros(x.shape[:2], bool), np.zeros(x.shape[:2], bool)
    for i, (w, s, k) in enumerate(examples):
        n = w.x.shape[2]
        x[i, :n], present[i, :n], is_nez[i, :n] = w.x[s, k], w.valid[s, k], ~w.is_ez
    to = device()
    return tuple(torch.from_numpy(a).to(to) for a in (x, present, is_nez))  # ty: ignore


def window_logits(network: SEEGformer, windows: Windows) -> Tensor:
    """Logits (seizure, segment, channel) in double precision; NaN where there is no channel."""
    network.eval()
    out = torch.full(windows.valid.shape, torch.nan, dtype=torch.float64)
    examples = windows.examples()
    with torch.inference_mode(), mixed_precision():
        for first in range(0, len(examples), AT_ONCE):
            part = examples[first : first + AT_ONCE]
            x, present, _ = collate([(windows, s, k) for s, k in part])
            logit = network(x, present).double().masked_fill(~present, torch.nan).cpu()
            for (s, k), row in zip(part, logit, strict=True):
                out[s, k] = row
    return out


def medians(p: Tensor) -> Tensor:
    """Median within each seizure, then over seizures: (seizure, segment, channel) → (channel,).

    NaN is left out. Of an even number of values it is the midpoint of the middle two.
    """
    return p.nanquantile(0.5, dim=1).nanquantile(0.5, dim=0)


def p_nez(network: SEEGformer, windows: Windows) -> Floats:
    """NEZ probability of every channel; neutral for one that no window shows."""
    p = medians(window_logits(network, windows).sigmoid()).numpy()
    return with_neutral(p, np.asarray(windows.valid.any((0, 1))))


def mean_loss(network: SEEGformer, patients: Sequence[Windows], weight: float) -> float:
    """Weighted cross-entropy over all windows and channels of some patients."""
    total, n = 0.0, 0
    for windows in patients:
        valid = torch.from_numpy(windows.valid)
        logit = window_logits(network, windows)[valid]
        is_nez = torch.from_numpy(~windows.is_ez).expand(valid.shape)[valid]
        total += float(weighted_bce(logit, is_nez, weight, "sum"))
        n += len(logit)
    return total / n


def window_weight(patients: Sequence[Windows]) -> float:
    """Weight of NEZ, counted over all channels of all windows of some patients."""
    flags = [np.broadcast_to(w.is_ez, w.valid.shape)[w.valid] for w in patients]
    return nez_weight(np.concatenate(flags))


def fit_windows(
    network: SEEGformer,
    patients: tuple[Sequence[Windows], Sequence[Windows]],
    training: WindowTraining,
    epochs: int,
    seed: Sequence[int],
) -> list[tuple[Any, ...]]:
    """Train in place; returns epoch, loss, held-out loss, and whether it was the best yet.

    patients : those to learn from, and those that are held out. With held-out patients the best
    epoch is kept and patience ends the training; without, all epochs are run and the last is kept.
    """
    network.to(device())
    fit, held_out = patients
    examples = [(w, s, k) for w in fit for s, k in w.examples()]
    weight = window_weight(fit)
    groups = [{"params": network.parameters(), "lr": training.rate}]
    steps = Steps(network, groups, training.weight_decay, training.clip_norm)
    shuffle, numbers = np.random.default_rng(np.random.SeedSequence([*seed, 1])), count()

    def epoch() -> float:
        network.train()
        order, size = shuffle.permutation(len(examples)), training.batch
        batches = [order[i : i + size] for i in range(0, len(order), size)]
        losses = (_loss(network, [examples[i] for i in batch], weight) for batch in batches)
        firsts = range(0, len(batches), training.together)
        parts = [len(batches[i : i + training.together]) for i in firsts]
        return float(np.mean([steps.step(losses, n) for n in parts]))

    def judge() -> tuple[Reached, tuple[Any, ...]]:
        if not held_out:  # nobody can prefer an earlier epoch
            return (next(numbers),), (np.nan,)
        loss = mean_loss(network, held_out, weight)
        return (-loss,), (loss,)

    return train_epochs(network, epoch, judge, Schedule(epochs, training.patience))


def _loss(network: SEEGformer, examples: Sequence[Example], weight: float) -> Tensor:
    x, present, is_nez = collate(examples)
    return weighted_bce(network(x, present)[present], is_nez[present], weight)
