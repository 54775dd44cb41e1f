"""The networks of a model in two stages, so that the costly one is done once.

Embedding the windows is nearly all the work, and does not depend on which seizures are put together
afterwards: one embedding serves the score of the patient, the scores of single seizures and, with
everything around a contact held still, the explanation of its score. Tests hold the stages to the
networks' own forward pass.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
import torch.nn.functional as F
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from epilens.evidence.views import views
from epilens.networks.encoder import (
    BLOCK,
    VARIANCE_FLOOR,
    ChannelAttention,
    masked_mean,
    masked_std,
    prz,
)
from epilens.networks.model import Branch
from epilens.networks.prq import DEGENERATE, Q_CLAMP, masked_quantile

Item = TypeVar("Item")
Result = TypeVar("Result")


@contextmanager
def one_thread_each() -> Generator[None]:
    """One torch thread per network: for tensors of this size, more of them wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def in_parallel(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """`map` over networks, as many at a time as there are processors."""
    with one_thread_each(), ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(work, items))


@dataclass(frozen=True)
class Views:
    """The views of a patient, computed once for all members: (S, W, C, 36)."""

    φ: NDArray[np.float32]
    valid: Tensor

    @classmethod
    def of(cls, cube: xr.Dataset) -> Views:
        """From a cube."""
        φ = views(cube).values
        return cls(φ.reshape(*φ.shape[:3], -1), torch.from_numpy(cube["valid"].values))

    def standardized(self, branch: Branch, dtype: torch.dtype) -> Tensor:
        """As `Standardizer.transform` has it: 0 where not valid."""
        fitted = branch.standardizer
        φ = ((self.φ - fitted.mean.ravel()) / fitted.scale.ravel()).astype(np.float32)
        return torch.from_numpy(φ).masked_fill_(~self.valid[..., None], 0).to(dtype)


def single_precision(network: Any) -> Any:
    """A copy of a network in single precision: a third of the time, and 1e-6 in the scores."""
    return copy.deepcopy(network).float().requires_grad_(False)


def seizure_features(network: Any, φ: Tensor, valid: Tensor) -> Tensor:
    """Seizure features z (S, C, D): windows embedded, then averaged within each seizure."""
    encoder = network.encoder
    S, W, C, _ = φ.shape
    x, mask = φ.reshape(S * W, C, -1), valid.reshape(S * W, C)
    blocks = zip(x.split(BLOCK), mask.split(BLOCK), strict=True)
    with torch.no_grad():
        H = torch.cat([encoder.window_context(encoder.window_mlp(b), m) for b, m in blocks])
        return masked_mean(H.view(S, W, C, -1), valid, dim=1)


def p_nez_of(network: Any, z: Tensor, m: Tensor) -> Tensor:
    """NEZ probability of every channel from the seizure features; m (S, C) says who is there."""
    encoder, seen = network.encoder, m.any(0)
    with torch.no_grad():
        g = encoder.projection(torch.cat([masked_mean(z, m, 0), masked_std(z, m, 0)], -1))
        g = prz(g, seen) if encoder.spec.relative else g
        r = encoder.patient_context(g[None], seen[None])[0]
        if hasattr(network, "base_head"):
            tail = 0 if network.tail is None else network.tail(z, m)
            return (network.base_head(r).squeeze(-1) + tail).sigmoid()
        if network.spec.quantile_head:
            u = network.seizure_head(z).squeeze(-1).sigmoid()
            return masked_quantile(u, m, network.spec.quantile).clamp(Q_CLAMP, 1 - Q_CLAMP)
        return (-network.ez_head(r).squeeze(-1)).sigmoid()


class Held:
    """A network around a patient that is held still: a contact's score from its own evidence alone.

    What a contact sees of the others (keys and values of both attentions, the patient's mean and
    spread, the median and MAD of the tail) stays as it is in the patient. Every contact's score is
    then a function of its own evidence, so one backward pass explains all of them.
    """

    def __init__(self, network: Any, φ: Tensor, valid: Tensor):
        self.network, self.encoder, self.valid = network, network.encoder, valid
        S, W, C, _ = φ.shape
        self.shape, self.m = (S, W, C), valid.any(1)
        self.seen = self.m.any(0)
        first = self.encoder.window_mlp[0]
        with torch.no_grad():
            self.n = F.layer_norm(φ, (φ.shape[-1],), None, None, first.eps).flatten(0, 1)
            h = self.encoder.window_mlp(φ).flatten(0, 1)
            self.windows = Context(self.encoder.window_context, h, valid.flatten(0, 1))
            self.z = self.pool(self.embed(self.n))
            self._hold_patient()

    def _hold_patient(self) -> None:
        g, w = self._pooled(self.z), self.seen[:, None].to(self.z.dtype)
        n = w.sum().clamp_min(1)
        self.mean = (g * w).sum(0) / n
        var = ((g - self.mean).square() * w).sum(0) / n
        self.scale = var.clamp_min(VARIANCE_FLOOR).sqrt()
        self.patient = Context(
            self.encoder.patient_context, self._relative(g)[None], self.seen[None]
        )
        tail = getattr(self.network, "tail", None)
        if tail is not None:
            self.middle, self.width = _median_and_width(self._tail_logit(self.z)[self.seen])

    def embed(self, n: Tensor) -> Tensor:
        """H (S·W, c, D) from normalised evidence n (S·W, c, 36)."""
        first, rest = self.encoder.window_mlp[0], self.encoder.window_mlp[1:]
        return self.windows.attend(rest(n * first.weight + first.bias))

    def pool(self, H: Tensor, which: Tensor | None = None) -> Tensor:
        """Seizure features z (S, c, D): mean over the valid windows of each seizure."""
        S, W, _ = self.shape
        valid = self.valid if which is None else self.valid[:, :, which]
        return masked_mean(H.view(S, W, *H.shape[1:]), valid, dim=1)

    def _pooled(self, z: Tensor, which: Tensor | None = None) -> Tensor:
        m = self.m if which is None else self.m[:, which]
        return self.encoder.projection(torch.cat([masked_mean(z, m, 0), masked_std(z, m, 0)], -1))

    def _relative(self, g: Tensor) -> Tensor:
        return (g - self.mean) / self.scale if self.encoder.spec.relative else g

    def _tail_logit(self, z: Tensor, which: Tensor | None = None) -> Tensor:
        m = self.m if which is None else self.m[:, which]
        tail = self.network.tail
        u = tail.w_q(tail.norm(z)).squeeze(-1).sigmoid()
        q = tail.spec.aggregate(u, m, tail.spec.quantile)
        return q.clamp(Q_CLAMP, 1 - Q_CLAMP).logit()

    def p_nez(self, z: Tensor, which: Tensor) -> Tensor:
        """NEZ probability (c,) of the channels `which` from their seizure features (S, c, D)."""
        network = self.network
        if not hasattr(network, "base_head") and network.spec.quantile_head:
            u = network.seizure_head(z).squeeze(-1).sigmoid()
            q = masked_quantile(u, self.m[:, which], network.spec.quantile)
            return q.clamp(Q_CLAMP, 1 - Q_CLAMP)
        r = self.patient.attend(self._relative(self._pooled(z, which))[None])[0]
        if not hasattr(network, "base_head"):
            return (-network.ez_head(r).squeeze(-1)).sigmoid()
        a = network.base_head(r).squeeze(-1)
        if network.tail is not None:
            logit = self._tail_logit(z, which)
            relative = network.tail.spec.encoder.relative
            η = (logit - self.middle) / self.width if relative else logit
            a = a + 0.2 * network.tail.gamma.sigmoid() * η.clamp(-4, 4)
        return a.sigmoid()


class Context:
    """An attention whose keys and values are those of the patient; only the queries move."""

    def __init__(self, attention: ChannelAttention, x: Tensor, valid: Tensor):
        self.attention = attention
        _, k, v = self._heads(attention.inward(x), 3)
        self.k, self.v = k.contiguous(), v.contiguous()
        hidden = torch.zeros_like(valid, dtype=x.dtype)
        self.hidden = hidden.masked_fill_(~valid, torch.finfo(x.dtype).min)[:, None, None]
        self.all = bool(valid.all())

    def _heads(self, projected: Tensor, parts: int) -> Tensor:
        B, C, _ = projected.shape
        return projected.view(B, C, parts, self.attention.heads, -1).permute(2, 0, 3, 1, 4)

    def attend(self, x: Tensor) -> Tensor:
        """LN(X + MHA(X)) with queries from x (B, c, D)."""
        a, D = self.attention, x.shape[-1]
        q = self._heads(F.linear(x, a.inward.weight[:D], a.inward.bias[:D]), 1)[0]
        mask = None if self.all else self.hidden
        mixed = F.scaled_dot_product_attention(q, self.k, self.v, attn_mask=mask)
        return a.norm(x + a.outward(mixed.transpose(1, 2).flatten(2)))


def _median_and_width(v: Tensor) -> tuple[Tensor, Tensor]:
    """Median and scale as `epilens.networks.prq.robust_z` takes them."""
    median = v.quantile(0.5)
    width = 1.4826 * (v - median).abs().quantile(0.5)
    if width < 1.4826 * DEGENERATE:
        spread = v.std(correction=0)
        width = spread if spread > DEGENERATE else torch.ones_like(spread)
    return median, width
