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

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from epilens.core.types import Bools, Floats
from epilens.evidence.cube import is_reference
from epilens.evidence.views import Standardizer
from epilens.networks.encoder import PatientNetwork
from epilens.networks.ensemble import Views, in_parallel, single_precision
from epilens.networks.explanation import SEARCH_FROM_S, Explanation
from epilens.networks.frozen_context import FrozenContext

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
    views, shown = Views.of(cube), cube["valid"].any("window").values
    against = [spanning(contacts, order, of_seizure) for of_seizure in shown]
    parts = in_parallel(lambda one: _of_network(one, views, contacts, against), networks)
    flow, ends, joint = (torch.stack(part).sum(0).numpy() for part in zip(*parts, strict=True))
    n = np.maximum(shown[:, contacts].sum(axis=0), 1)
    # Of p_nez, so contributions towards EZ are its negative. (S, W, c, F), (start or end, S, c)
    flow, showing = -flow / n[:, None], shown[:, contacts]
    baseline, alone = ((showing * (1 - end)).sum(axis=0) / n for end in ends)
    by_window, steady = _apart(flow.sum(axis=3), cube, contacts)
    return Explanation(
        contacts=contacts,
        by_feature=flow.sum(axis=(0, 1)).reshape(len(contacts), *views.φ.shape[-2:]),
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
    views: Views,
    contacts: NDArray[np.int64],
    against: list[NDArray[np.int64]],
) -> tuple[Tensor, Tensor, Tensor]:
    """Contributions to p_nez alone (S, W, c, F), its ends (2, S, c), p_nez of all seizures (c,).

    All times the weight.
    """
    trained, standardizer, weight = weighted
    network, φ = single_precision(trained), views.standardized(standardizer, torch.float32)
    S, W, _, F = φ.shape
    flow, ends = φ.new_zeros(S, W, len(contacts), F), φ.new_zeros(2, S, len(contacts))
    z = []
    for s in range(S):
        context = FrozenContext(network, φ[s : s + 1], views.valid[s : s + 1])
        z.append(context.z)
        showing = torch.from_numpy(np.flatnonzero(context.m[0].numpy()[contacts]))
        if len(showing):
            bases = torch.from_numpy(against[s][:, showing.numpy()])
            flow[s][:, showing], ends[:, s, showing] = _of_seizure(
                context, torch.from_numpy(contacts)[showing], bases
            )
    with torch.no_grad():
        joint = network.p_nez_of(torch.cat(z), views.valid.any(1))[torch.from_numpy(contacts)]
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
        here = (n_start + float(node) * apart).requires_grad_()
        z = context.pool(context.embed(here), repeated)
        flow += float(share) * torch.autograd.grad((z * G).sum(), here)[0] * apart
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
