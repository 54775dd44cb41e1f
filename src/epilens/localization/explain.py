"""Why: integrated gradients of a contact's score over its own evidence.

The question is: how would this contact's score change if its own evidence were that of the training
cohort's average window, while the rest of the patient stays as it is? The path is straight twice.
From the average evidence to the contact's own, as the network's first layer normalises it, window
by window; and from the seizure features of the one to those of the other. So contributions of view,
descriptor, seizure and window add up to the difference of the two scores.

(In the views themselves a straight path would be empty nearly everywhere: that first layer removes
their scale.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from scipy.special import expit
from torch import Tensor

from epilens.arrays import Floats
from epilens.evidence.contact_table import TERMS, contact_table, read_windows
from epilens.evidence.views import VIEWS
from epilens.networks.ensemble import Views, in_parallel, single_precision
from epilens.networks.held import Held
from epilens.networks.model import Branch, Model

PATIENT_NODES, LEAST_NODES = 1536, 64
"""Midpoints between the two seizure features, over all networks and of each of them at least:
medians, quantiles and spreads have kinks, whose errors the mean over networks takes away."""
WINDOW_NODES = 4
"""Gauss-Legendre nodes within a window: smooth, four are exact to 1e-4."""
AT_ONCE = 3200
"""Contacts × nodes that are computed together."""
BUDGET = 150_000
"""Networks × windows × contacts that are explained; beyond it, the lowest ranks are left out."""
LEAST = 10
"""Contacts that are explained in any case."""


@dataclass(frozen=True)
class Explanation:
    """Contributions to the EZ score: positive towards EZ. c: the contacts that are explained."""

    contacts: NDArray[np.int64]
    """Their positions among the channels (c,)."""
    by_feature: Floats
    """(c, view, descriptor)"""
    by_window: Floats
    """(c, seizure, window)"""
    baseline: Floats
    """EZ score with average evidence (c,)."""
    score: Floats
    """EZ score (c,)."""
    views: tuple[str, ...] = VIEWS
    """What the first axis of `by_feature` is: views of the networks, or terms of a lens."""
    average: str = "average evidence"
    """What a contact is compared with."""
    others: str = "and the others stayed as they are"
    """What is done about the other contacts."""

    @property
    def residual(self) -> float:
        """What the sums of the contributions miss, at most."""
        wanted = self.score - self.baseline
        sums = (self.by_feature.sum(axis=(1, 2)), self.by_window.sum(axis=(1, 2)))
        return float(max(np.abs(total - wanted).max() for total in sums))


def explain(model: Model, cube: xr.Dataset, order: NDArray[np.int64]) -> Explanation:
    """Explain the leading contacts of `order`, as many as the budget allows.

    cube : channels that are all valid in some seizure.
    """
    branches = [
        (branch, weight / len(model.pairs))
        for member in model.pairs
        for branch, weight in ((member.prq, 1 - model.weight), (member.bcr, model.weight))
    ]
    S, W, C = (cube.sizes[axis] for axis in ("seizure", "window", "channel"))
    afford = max(LEAST, BUDGET // (len(branches) * S * W))
    contacts = order[: min(afford, C)]
    views = Views.of(cube)
    which, nodes = torch.from_numpy(contacts), max(LEAST_NODES, PATIENT_NODES // len(branches))
    parts = in_parallel(lambda b: _of_branch(*b, views, which, nodes), branches)
    flow, baseline, score = (torch.stack(part).sum(0) for part in zip(*parts, strict=True))
    return Explanation(
        contacts=contacts,
        by_feature=-flow.sum((0, 1)).unflatten(-1, views.φ.shape[-2:]).numpy(),
        by_window=-flow.sum(-1).permute(2, 0, 1).numpy(),
        baseline=1 - baseline.numpy(),
        score=1 - score.numpy(),
    )


def explain_lens(model: Model, cube: xr.Dataset, order: NDArray[np.int64]) -> Explanation:
    """Explain all contacts: from the average contact of the patient to each, as its terms add up.

    The path from the one's log odds to the other's is straight, so integrated gradients are the
    parts of the log odds, scaled to the difference of the scores. The part of a term in a seizure
    is shared evenly by the windows that the term is taken from.
    """
    table = contact_table(cube)
    read = read_windows(cube)  # (S, term, W, C)
    share = read / np.maximum(read.sum(axis=2, keepdims=True), 1)
    S, W, C = (cube.sizes[axis] for axis in ("seizure", "window", "channel"))
    by_feature = np.zeros((C, *table.x.shape[2:]))
    by_window, baseline, score = np.zeros((C, S, W)), np.zeros(C), np.zeros(C)
    many = len(model.lenses)
    for lens in model.lenses:
        parts = lens.parts(table).sum(axis=2)  # (S, C, term, descriptor)
        here, average = expit(lens.logit(table)), expit(lens.average)
        total = parts.sum(axis=(0, 2, 3))
        level = np.where(total == 0, 1, total)
        scaled = parts * np.where(total == 0, 0, (here - average) / level)[:, None, None] / many
        by_feature += scaled.sum(axis=0)
        by_window += np.einsum("sct,stwc->csw", scaled.sum(axis=3), share)
        baseline += average / many
        score += here / many
    explained = (by_feature[order], by_window[order], baseline[order], score[order])
    average = "the evidence of this patient's average contact"
    return Explanation(order, *explained, TERMS, average, "its neighbours and electrode included")


def _of_branch(
    branch: Branch, weight: float, views: Views, which: Tensor, nodes: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Contributions to p_nez (S, W, c, F), and p_nez at both ends, all times the weight."""
    φ = views.standardized(branch.standardizer, torch.float32)
    held = Held(single_precision(branch.network), φ, views.valid)
    n = held.n[:, which]
    with torch.no_grad():
        end = held.z[:, which]
        start = held.pool(held.embed(torch.zeros_like(n)), which)
        ends = [held.p_nez(z, which).double() * weight for z in (start, end)]
    G = _gradient_along(held, start, end, which, nodes)
    flow = torch.zeros_like(n)
    points, weights = np.polynomial.legendre.leggauss(WINDOW_NODES)
    for node, share in zip((points + 1) / 2, weights / 2, strict=True):
        here = (float(node) * n).requires_grad_()
        z = held.pool(held.embed(here), which)
        flow += float(share) * torch.autograd.grad((z * G).sum(), here)[0] * n
    S, W, _ = held.shape
    return flow.view(S, W, *flow.shape[1:]).double() * weight, ends[0], ends[1]


def _gradient_along(held: Held, start: Tensor, end: Tensor, which: Tensor, count: int) -> Tensor:
    """Mean gradient (S, c, D) of the scores between two seizure features.

    Contacts do not touch each other here, so nodes are stacked as if they were more contacts.
    """
    total = torch.zeros_like(start)
    nodes = (torch.arange(count) + 0.5) / count
    for part in nodes.split(max(1, AT_ONCE // len(which))):
        z = torch.lerp(start[:, None], end[:, None], part[:, None, None])  # (S, node, c, D)
        z = z.flatten(1, 2).requires_grad_()
        p = held.p_nez(z, which.repeat(len(part)))
        gradient = torch.autograd.grad(p.sum(), z)[0]
        total += gradient.view(len(start), len(part), *start.shape[1:]).sum(1)
    return total / count
