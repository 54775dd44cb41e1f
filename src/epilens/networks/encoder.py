"""The encoder of both branches (Eqs. 5-8), and the two stages of a network around it.

Masks accompany the tensors; what is masked never reaches a valid channel. Dropout draws from a
generator that the caller gives, so nothing depends on global state.

S seizures, W windows, C channels, F features of a window (views × descriptors), D of a seizure.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from epilens.networks.specs import BCRSpec, EncoderSpec, PRQSpec

VARIANCE_FLOOR = 1e-6
BLOCK = 64
"""Windows that are embedded together: about one seizure."""


class Dropout(nn.Module):
    """Dropout from a generator of its own: 16 random bits per element are enough, and quick."""

    def __init__(self, p: float):
        super().__init__()
        self.rng: np.random.Generator | None = None
        self.cut = round(p * 65536)

    @property
    def gain(self) -> float:
        """Factor by which the kept elements are scaled up."""
        return 65536 / (65536 - self.cut) if self.training else 1.0

    def bits(self, count: int) -> NDArray[np.uint16] | None:
        """16 random bits for each element, which is kept if they reach `cut`; None: all are."""
        if not self.training or self.cut == 0:
            return None
        if self.rng is None:
            raise RuntimeError("Dropout: expected a generator while training; call seed_dropout.")
        # Raw words are six times quicker than Generator.bytes.
        return self.rng.bit_generator.random_raw(-(-count // 4)).view(np.uint16)[:count]

    def forward(self, x: Tensor) -> Tensor:
        """Zero a share p of the elements while training and scale up the others."""
        bits = self.bits(x.numel())
        if bits is None:
            return x
        # Bytes multiply quicker than bools; the backward pass keeps them and nothing else.
        keep = torch.from_numpy((bits >= self.cut).view(np.uint8)).view(x.shape).to(x.device)
        return (x * keep).mul_(self.gain)


def seed_dropout(network: nn.Module, seed: int) -> None:
    """Give every dropout layer of a network one stream of random bits."""
    rng = np.random.Generator(np.random.SFC64(seed))
    for module in network.modules():
        if isinstance(module, Dropout):
            module.rng = rng


class Mixture(torch.autograd.Function):
    """Values of a window's channels, mixed by softmax(qkᵀ/√d) after dropout, head by head.

    By hand, because the chain of torch's own functions goes over the shares (B, C, C) twice as
    often in the backward pass; and through NumPy, whose BLAS was twice as quick as torch's for many
    small matrices on one thread, as networks are trained here. Not torch's own attention: it would
    take its dropout from the global generator.
    """

    @staticmethod
    def forward(ctx: Any, projected: Tensor, hidden: Tensor | None, dropout: Dropout) -> Tensor:
        """Mix projected : (B, C, 3, heads, d), the q, k, v. hidden : (B, C), added to the scores.

        Returns (B, C, heads, d).
        """
        x = projected.detach().cpu().numpy()
        B, C, _, heads, d = x.shape
        mixed, scores = np.empty((B, C, heads, d), x.dtype), np.empty((B, C, C), x.dtype)
        learns = ctx.needs_input_grad[0]
        shares = projected.new_empty(heads if learns else 1, B, C, C, device="cpu")
        away = None if hidden is None else hidden.cpu().numpy()[:, None]
        for head in range(heads):
            q, k, v = _of_head(x, head)
            np.matmul(q * d**-0.5, _turned(k), out=scores)
            if away is not None:
                scores += away
            share = shares[head if learns else 0]
            torch.softmax(torch.from_numpy(scores), -1, out=share)
            bits, kept = dropout.bits(scores.size), share.numpy()
            if bits is not None:
                from epilens.networks.kernels import drop  # numba is large, and scores do without

                drop(kept.reshape(-1), bits, dropout.cut, scores.reshape(-1))
                kept = scores
            np.matmul(kept, v, out=mixed[:, :, head])
        out = torch.from_numpy(mixed).mul_(dropout.gain).to(projected.device)
        ctx.save_for_backward(projected, out, shares)
        ctx.gain = dropout.gain
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None]:
        """Gradient of `projected`, from that of what `forward` returned."""
        from epilens.networks.kernels import score_gradient

        projected, mixed, shares = ctx.saved_tensors
        x = projected.detach().cpu().numpy()
        B, C, _, heads, d = x.shape
        gradient, (score, kept) = np.empty_like(x), np.empty((2, B, C, C), x.dtype)
        # Σ_j (∂/∂share_j) share_j, which softmax takes from every score, without the shares.
        common = (g * mixed).sum(-1).cpu().numpy()  # (B, C, heads)
        g = (g * ctx.gain).cpu().numpy()
        for head in range(heads):
            (q, k, v), up = _of_head(x, head), g[:, :, head]
            np.matmul(up, _turned(v), out=score)
            score_gradient(
                score.reshape(B * C, C),
                shares[head].view(B * C, C).numpy(),
                common[:, :, head].reshape(B * C),
                kept.reshape(B * C, C),
            )
            dq, dk, dv = _of_head(gradient, head)
            np.matmul(score, k, out=dq)
            np.matmul(score.swapaxes(1, 2), q, out=dk)
            np.matmul(kept.swapaxes(1, 2), up, out=dv)
        gradient[:, :, :2] *= d**-0.5
        return torch.from_numpy(gradient).to(projected.device), None, None


def _of_head(x: NDArray[Any], head: int) -> tuple[NDArray[Any], ...]:
    """q, k and v of a head, each (B, C, d), without copies."""
    return tuple(x[:, :, part, head] for part in range(3))


def _turned(x: NDArray[Any]) -> NDArray[Any]:
    """Transpose (B, C, d) to a copy (B, d, C): a product with it takes half as long."""
    return np.ascontiguousarray(x.swapaxes(1, 2))


class ChannelAttention(nn.Module):
    """𝒜(X) = LN(X + MHA(X)) over the channels of one window or one patient (Eq. 5)."""

    def __init__(self, D: int, heads: int, dropout: float):
        super().__init__()
        self.heads = heads
        self.inward, self.outward = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.dropout, self.norm = Dropout(dropout), nn.LayerNorm(D)
        nn.init.xavier_uniform_(self.inward.weight)
        nn.init.zeros_(self.inward.bias)
        nn.init.zeros_(self.outward.bias)

    def forward(self, x: Tensor, valid: Tensor) -> Tensor:
        """Attend over x : (B, C, D). valid : (B, C) bool, the channels that may be looked at."""
        B, C, D = x.shape
        projected = self.inward(x).view(B, C, 3, self.heads, D // self.heads)
        hidden = None
        if not valid.all():
            # The lowest finite number, not -inf: a window without any channel must not become NaN.
            hidden = torch.zeros_like(valid, dtype=x.dtype)
            hidden.masked_fill_(~valid, torch.finfo(x.dtype).min)
        mixed: Tensor = Mixture.apply(projected, hidden, self.dropout)
        return self.norm(x + self.outward(mixed.flatten(2)))


def masked_mean(x: Tensor, m: Tensor, dim: int) -> Tensor:
    """Mean over `dim` where `m`; 0 where nothing is left. m lacks the last axis of x."""
    w = m.unsqueeze(-1).to(x.dtype)
    return (x * w).sum(dim) / w.sum(dim).clamp_min(1)


def masked_std(x: Tensor, m: Tensor, dim: int) -> Tensor:
    """Population standard deviation over `dim` where `m`; 0 where one value or none is left.

    sqrt has an infinite slope at 0, and a patient with one seizure sits exactly there: the
    gradient would be NaN and spoil the whole batch. The root is computed only where it is safe.
    """
    w = m.unsqueeze(-1).to(x.dtype)
    n = w.sum(dim, keepdim=True).clamp_min(1)
    mean = (x * w).sum(dim, keepdim=True) / n
    var = ((x - mean).square() * w).sum(dim) / n.squeeze(dim)
    spread = var > 0
    return var.where(spread, 1.0).sqrt().where(spread, 0.0)


def mean_and_scale(g: Tensor, valid: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and scale (D,) of each feature across valid channels; the variance is 1e-6 or more."""
    w = valid.unsqueeze(-1).to(g.dtype)
    n = w.sum(0).clamp_min(1)
    mean = (g * w).sum(0) / n
    var = ((g - mean).square() * w).sum(0) / n
    return mean, var.clamp_min(VARIANCE_FLOOR).sqrt()


def prz(g: Tensor, valid: Tensor) -> Tensor:
    """Patient-relative z-score of every feature across valid channels (Eq. 8).

    g : (C, D). valid : (C,) bool. Of the population; 0 where not valid.
    """
    mean, scale = mean_and_scale(g, valid)
    return (g - mean) / scale * valid.unsqueeze(-1).to(g.dtype)


class Encoder(nn.Module):
    """Windows of one patient → seizure features z (S, C, D) and context r (C, D')."""

    def __init__(self, spec: EncoderSpec):
        super().__init__()
        self.spec, D = spec, spec.D
        self.window_mlp = nn.Sequential(
            nn.LayerNorm(spec.features),
            nn.Linear(spec.features, D),
            nn.GELU(),
            Dropout(spec.dropout),
            nn.Linear(D, D),
        )
        self.window_context = ChannelAttention(D, spec.heads, spec.dropout)
        self.projection = nn.Sequential()
        if spec.projection:
            layers = (nn.LayerNorm(2 * D), nn.Linear(2 * D, D), nn.GELU(), Dropout(spec.dropout))
            self.projection = nn.Sequential(*layers)
        self.patient_context = ChannelAttention(spec.context, spec.heads, spec.dropout)

    def forward(self, φ: Tensor, valid: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """φ : (S, W, C, F). valid : (S, W, C). Returns z (S, C, D), m (S, C), r (C, D')."""
        z, m = self.windows(φ, valid)
        return z, m, self.context(z, m)

    def windows(self, φ: Tensor, valid: Tensor) -> tuple[Tensor, Tensor]:
        """Seizure features z (S, C, D), and which seizures show a channel, m (S, C).

        One pass over all seizures and windows; no seizure sees another.
        """
        S, W, C, _ = φ.shape
        # Windows in which no channel is valid add nothing; leave them out of the attention.
        flat = valid.reshape(S * W, C)
        used = flat.any(1)
        φ = φ.reshape(S * W, C, -1)
        if used.all():
            H = self._blocks(φ, flat)
        else:
            h = self._blocks(φ[used], flat[used])
            H = h.new_zeros(S * W, C, h.shape[-1])
            H[used] = h
        return masked_mean(H.view(S, W, C, -1), valid, dim=1), valid.any(1)

    def _blocks(self, φ: Tensor, valid: Tensor) -> Tensor:
        """Embed windows in blocks whose attention weights stay in the cache."""
        blocks = zip(φ.split(BLOCK), valid.split(BLOCK), strict=True)
        return torch.cat([self.window_context(self.window_mlp(x), m) for x, m in blocks])

    def pool(self, z: Tensor, m: Tensor) -> Tensor:
        """Mean and SD over the seizures that show a channel: (C, D')."""
        return self.projection(torch.cat([masked_mean(z, m, 0), masked_std(z, m, 0)], -1))

    def context(self, z: Tensor, m: Tensor) -> Tensor:
        """Seizures pooled, relative to the patient, in the context of the others: r (C, D')."""
        g, seen = self.pool(z, m), m.any(0)
        if self.spec.relative:
            g = prz(g, seen)
        return self.patient_context(g[None], seen[None])[0]


FrozenDecision = Callable[[Tensor, Tensor, Tensor], Tensor]
"""(r, z, m) of some channels → their logits."""


class PatientNetwork(nn.Module, ABC):
    """A network on one patient, in two stages: embed the windows, decide on the channels.

    Embedding is nearly all the work, and does not depend on which seizures are put together
    afterwards: one embedding serves the patient's score and those of any of its seizures.
    """

    sign: int
    """1 where the logit is that of NEZ, -1 where it is that of EZ."""
    Spec: ClassVar[type[PRQSpec | BCRSpec]]

    def __init__(self, spec: Any = None):
        super().__init__()
        self.spec = spec or self.Spec()
        self.encoder = Encoder(self.spec.encoder)

    @classmethod
    def of(cls, tree: Mapping[str, Any]) -> Self:
        """An untrained network from the plain values of its settings."""
        return cls(cls.Spec(**tree))

    def embed(self, φ: Tensor, valid: Tensor) -> tuple[Tensor, Tensor]:
        """φ : (S, W, C, F). valid : (S, W, C). Returns z (S, C, D), and m (S, C): who is shown."""
        return self.encoder.windows(φ, valid)

    @abstractmethod
    def decide(self, z: Tensor, m: Tensor) -> Tensor:
        """Logit of every channel (C,) from the seizure features."""

    @abstractmethod
    def freeze(self, z: Tensor, m: Tensor) -> FrozenDecision:
        """`decide` for channels by themselves: what it takes from all channels stays as in z, m."""

    @abstractmethod
    def share(self, logit: Tensor, is_ez: Tensor, batch: BatchCounts) -> Tensor:
        """What one patient adds to the loss of its batch."""

    def forward(self, φ: Tensor, valid: Tensor) -> Tensor:
        """φ : (S, W, C, F). valid : (S, W, C). Returns (C,): the logit."""
        return self.decide(*self.embed(φ, valid))

    def p_nez_of(self, z: Tensor, m: Tensor) -> Tensor:
        """Probability of NEZ from the seizure features."""
        return (self.sign * self.decide(z, m)).sigmoid()

    def p_nez(self, φ: Tensor, valid: Tensor) -> Tensor:
        """Probability of NEZ (Eqs. 9, 13)."""
        return self.p_nez_of(*self.embed(φ, valid))


def bce(logit: Tensor, target: Tensor) -> Tensor:
    """Binary cross-entropy of each element."""
    return F.binary_cross_entropy_with_logits(logit, target.to(logit.dtype), reduction="none")


@dataclass(frozen=True)
class BatchCounts:
    """How many channels and patients share a step, and how many are eligible for each term.

    A loss is a sum over patients once these are known, so that a patient's graph can be freed
    before the next patient is looked at.
    """

    channels: int
    patients: int
    with_both: int
    with_ez: int

    @classmethod
    def of(cls, is_ez: Sequence[Tensor]) -> BatchCounts:
        """Count a batch from the labels of its patients."""
        some = [bool(ez.any()) for ez in is_ez]
        both = [bool(ez.any() and not ez.all()) for ez in is_ez]
        return cls(sum(map(len, is_ez)), len(is_ez), sum(both), sum(some))
