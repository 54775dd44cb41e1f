"""Integrated gradients: the parts of a contact's score by networks, which a reader can check.

Each seizure is explained alone, because its own score can be looked up: integrated gradients of
that score over the contact's own evidence, on straight paths from the evidence of other contacts of
the same patient that span the ranking, while the rest of the patient stays as it is. At the start
of such a path the score is that of the other contact, so a seizure's part is by how much its score
alone lies above theirs, divided by the number of seizures. What the score of all seizures adds to
the mean of theirs is a part of its own.

Gradients of the joint score over seizures would be misleading: networks read the variability over
seizures, whose gradients oppose each other, however similar the seizures are. An average contact
would be misleading as well: networks never saw one in training.

Contributions of windows, from 10 s before onset on, are relative to the mean window before onset;
the rest is what the contact shows all the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as nnf
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from epilens.core.types import Bools, Floats
from epilens.evidence.cube import is_reference
from epilens.evidence.views import Standardizer, views
from epilens.networks.encoder import ChannelAttention, PatientNetwork, masked_mean, mean_and_scale
from epilens.networks.ensemble import in_parallel, single_precision
from epilens.networks.predictor import SEARCH_FROM_S, Explanation
from epilens.networks.training import as_tensors

AGAINST = 5
"""Other contacts that a contact is compared with."""
FEATURE_NODES = 32
"""Midpoints between two seizure features: the clamps of the tail are kinks."""
WINDOW_NODES = 7
"""Gauss-Legendre nodes within a window, where the score is smooth."""
AT_ONCE = 3200
"""Contacts × nodes that are computed together."""
BUDGET = 60_000
"""Networks × windows × contacts that are explained; beyond it, the lowest ranks are left out."""
LEAST = 10
"""Contacts that are explained in any case."""


WeightedNetwork = tuple[PatientNetwork, Standardizer, float]
"""A network, the standardizer of its fit patients, and its weight in the mean of the scores."""


def explain_networks(
    networks: Sequence[WeightedNetwork], cube: xr.Dataset, order: NDArray[np.int64]
) -> Explanation:
    """Explain the leading contacts of `order`, as many as the budget allows.

    cube : channels that are all valid in some seizure. order : all of them, leading ones first.
    """
    S, W, C = (cube.sizes[axis] for axis in ("seizure", "window", "channel"))
    afford = max(LEAST, BUDGET // (len(networks) * S * W))
    contacts = order[: min(afford, C)]
    φ, shown = views(cube), cube["valid"].any("window").values
    against = [spanning(contacts, order, of_seizure) for of_seizure in shown]
    parts = in_parallel(lambda network: _of_network(network, cube, φ, contacts, against), networks)
    flow, ends, joint = (torch.stack(part).sum(0).numpy() for part in zip(*parts, strict=True))
    n = np.maximum(shown[:, contacts].sum(axis=0), 1)
    # Of p_nez, so contributions towards EZ are its negative. (S, W, c, F), (start or end, S, c)
    flow, showing = -flow / n[:, None], shown[:, contacts]
    baseline, alone = ((showing * (1 - end)).sum(axis=0) / n for end in ends)
    by_window, steady = _apart(flow.sum(axis=3), cube, contacts)
    return Explanation(
        contacts=contacts,
        by_feature=flow.sum(axis=(0, 1)).reshape(len(contacts), *φ.shape[-2:]),
        by_window=np.moveaxis(by_window, 2, 0),
        steady=steady.T,
        together=1 - joint - alone,
        baseline=baseline,
        score=1 - joint,
    )


def spanning(
    contacts: NDArray[np.int64], order: NDArray[np.int64], shown: Bools
) -> NDArray[np.int64]:
    """For each contact, up to five others that a seizure shows, evenly over the ranking (k, c)."""
    candidates = order[shown[order]]
    chosen = []
    for contact in contacts:
        others = candidates[candidates != contact]
        k = min(AGAINST, max(len(candidates) - 1, 0))
        at = ((np.arange(k) + 0.5) / max(k, 1) * len(others)).astype(int)
        # A contact that the seizure does not show is not explained there; its row is not read.
        chosen.append(others[at])
    return np.array(chosen, np.int64).reshape(len(contacts), -1).T


def _apart(flow: Floats, cube: xr.Dataset, contacts: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Windows (S, W, c) beyond the mean window before onset, and all the rest (S, c).

    The network reads noise as closely as a seizure, so single windows long before onset carry no
    information: they count as one.
    """
    valid = cube["valid"].values[:, :, contacts]
    before = valid & is_reference(cube).values[..., None]
    mean = (flow * before).sum(axis=1) / np.maximum(before.sum(axis=1), 1)
    counted = valid & (cube["start_s"].values >= SEARCH_FROM_S)[..., None]
    windows = np.where(counted, flow - mean[:, None], 0)
    return windows, flow.sum(axis=1) - windows.sum(axis=1)


def _of_network(
    weighted: WeightedNetwork,
    cube: xr.Dataset,
    patient_views: xr.DataArray,
    contacts: NDArray[np.int64],
    against: list[NDArray[np.int64]],
) -> tuple[Tensor, Tensor, Tensor]:
    """Contributions to p_nez alone (S, W, c, F), its ends (2, S, c), p_nez of all seizures (c,).

    All times the weight.
    """
    trained, standardizer, weight = weighted
    network, patient = single_precision(trained), as_tensors(cube, standardizer, patient_views)
    φ, valid = patient.φ, patient.valid
    S, W, _, F = φ.shape
    flow, ends = φ.new_zeros(S, W, len(contacts), F), φ.new_zeros(2, S, len(contacts))
    z = []
    for s in range(S):
        context = FrozenContext(network, φ[s : s + 1], valid[s : s + 1])
        z.append(context.z)
        showing = torch.from_numpy(np.flatnonzero(context.m[0].numpy()[contacts]))
        if len(showing):
            bases = torch.from_numpy(against[s][:, showing.numpy()])
            flow[s][:, showing], ends[:, s, showing] = _of_seizure(
                context, torch.from_numpy(contacts)[showing], bases
            )
    with torch.no_grad():
        joint = network.p_nez_of(torch.cat(z), valid.any(1))[torch.from_numpy(contacts)]
    return flow.double() * weight, ends.double() * weight, joint.double() * weight


def _of_seizure(context: FrozenContext, which: Tensor, bases: Tensor) -> tuple[Tensor, Tensor]:
    """Mean contributions to p_nez (W, c, F) over the contacts `bases` (k, c), and its ends (2, c).

    Paths to several bases are stacked as if they were more contacts: they do not touch each other.
    """
    k, c = bases.shape
    end = context.z[:, which]
    with torch.no_grad():
        last = context.p_nez(end, which)
    if not k:  # the seizure shows no other contact
        return context.n.new_zeros(len(context.n), c, context.n.shape[-1]), torch.stack(
            [last, last]
        )
    repeated = which.repeat(k)
    n_start, n_end = context.n[:, bases.flatten()], context.n[:, repeated]
    with torch.no_grad():
        start = context.pool(context.embed(n_start), repeated)
        first = context.p_nez(start, repeated).view(k, c).mean(0)
    G = _gradient_along(context, start, end.repeat(1, k, 1), repeated, FEATURE_NODES)
    flow, apart = torch.zeros_like(n_start), n_end - n_start
    points, weights = np.polynomial.legendre.leggauss(WINDOW_NODES)
    for node, share in zip((points + 1) / 2, weights / 2, strict=True):
        point = (n_start + float(node) * apart).requires_grad_()
        z = context.pool(context.embed(point), repeated)
        flow += float(share) * torch.autograd.grad((z * G).sum(), point)[0] * apart
    return flow.unflatten(1, (k, c)).mean(1), torch.stack([first, last])


def _gradient_along(
    context: FrozenContext, start: Tensor, end: Tensor, which: Tensor, count: int
) -> Tensor:
    """Mean gradient (1, c, D) of the scores between two seizure features.

    Contacts do not touch each other here, so nodes are stacked as if they were more contacts.
    """
    total = torch.zeros_like(start)
    nodes = (torch.arange(count) + 0.5) / count
    for part in nodes.split(max(1, AT_ONCE // len(which))):
        z = torch.lerp(start[:, None], end[:, None], part[:, None, None])  # (1, node, c, D)
        z = z.flatten(1, 2).requires_grad_()
        p = context.p_nez(z, which.repeat(len(part)))
        gradient = torch.autograd.grad(p.sum(), z)[0]
        total += gradient.view(len(start), len(part), *start.shape[1:]).sum(1)
    return total / count


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
            self.n = nnf.layer_norm(φ, (φ.shape[-1],), None, None, first.eps).flatten(0, 1)
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
        q = self._heads(nnf.linear(x, a.inward.weight[:D], a.inward.bias[:D]), 1)[0]
        mask = None if self.all else self.hidden
        mixed = nnf.scaled_dot_product_attention(q, self.k, self.v, attn_mask=mask)
        return a.norm(x + a.outward(mixed.transpose(1, 2).flatten(2)))
