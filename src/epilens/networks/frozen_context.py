"""A network with a frozen context, for explanations of single contacts.

Tests compare it with the network's own forward pass.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from epilens.networks.encoder import (
    ChannelAttention,
    PatientNetwork,
    masked_mean,
    mean_and_scale,
)


class FrozenContext:
    """A network whose context is frozen: a contact's score from its own evidence alone.

    What a contact sees of the others (keys and values of both attentions, the patient's mean and
    SD, what the decision takes from all channels) stays as it is in the patient. Every
    contact's score is then a function of its own evidence, so one backward pass explains all of
    them.
    """

    def __init__(self, network: PatientNetwork, φ: Tensor, valid: Tensor):
        self.network, self.encoder, self.valid = network, network.encoder, valid
        S, W, C, _ = φ.shape
        self.shape, self.m = (S, W, C), valid.any(1)
        first: Any = self.encoder.window_mlp[0]
        with torch.no_grad():
            self.n = F.layer_norm(φ, (φ.shape[-1],), None, None, first.eps).flatten(0, 1)
            h = self.encoder.window_mlp(φ).flatten(0, 1)
            self.windows = FrozenAttention(self.encoder.window_context, h, valid.flatten(0, 1))
            self.z = self.pool(self.embed(self.n))
            g, seen = self.encoder.pool(self.z, self.m), self.m.any(0)
            self.mean, self.scale = mean_and_scale(g, seen)
            self.patient = FrozenAttention(
                self.encoder.patient_context, self._relative(g)[None], seen[None]
            )
            self.decide = network.freeze(self.z, self.m)

    def embed(self, n: Tensor) -> Tensor:
        """H (S·W, c, D) from normalised evidence n (S·W, c, F)."""
        first: Any = self.encoder.window_mlp[0]
        rest = self.encoder.window_mlp[1:]
        return self.windows.attend(rest(n * first.weight + first.bias))

    def pool(self, H: Tensor, which: Tensor | None = None) -> Tensor:
        """Seizure features z (S, c, D): mean over the valid windows of each seizure."""
        S, W, _ = self.shape
        valid = self.valid if which is None else self.valid[:, :, which]
        return masked_mean(H.view(S, W, *H.shape[1:]), valid, dim=1)

    def _relative(self, g: Tensor) -> Tensor:
        return (g - self.mean) / self.scale if self.encoder.spec.relative else g

    def p_nez(self, z: Tensor, which: Tensor) -> Tensor:
        """NEZ probability (c,) of the channels `which` from their seizure features (S, c, D)."""
        m = self.m[:, which]
        r = self.patient.attend(self._relative(self.encoder.pool(z, m))[None])[0]
        return (self.network.sign * self.decide(r, z, m)).sigmoid()


class FrozenAttention:
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
