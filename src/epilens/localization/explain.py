"""Why: the parts of a contact's score, which a reader can check.

Each seizure is explained alone, because its own score can be looked up: integrated gradients of
that score over the contact's own evidence, on straight paths from the evidence of other contacts of
the same patient that span the ranking, while the rest of the patient stays as it is. At the start
of such a path the score is that of the other contact, so a seizure's part is by how much its score
alone lies above theirs, divided by the number of seizures. What the score of all seizures adds to
the mean of theirs is a part of its own.

Gradients of the joint score over seizures would not do: networks read the spread over seizures,
whose gradients oppose each other, however alike the seizures are. Nor would an average contact:
networks were never shown one, and score it as nobody would.

Contributions of windows, from 10 s before onset on, are told against the mean window before onset;
the rest is what the contact shows all the time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from scipy.special import expit
from torch import Tensor

from epilens.core.types import Bools, Floats
from epilens.evidence.contact_table import TERMS, contact_table, placed_windows
from epilens.evidence.cube import is_reference
from epilens.evidence.views import VIEWS
from epilens.localization.timing import SEARCH_FROM_S
from epilens.networks.ensemble import Views, in_parallel, single_precision
from epilens.networks.frozen_context import Held
from epilens.networks.model import Branch, Model

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


@dataclass(frozen=True)
class Explanation:
    """Contributions to the EZ score: positive towards EZ. c: the contacts that are explained."""

    contacts: NDArray[np.int64]
    """Their positions among the channels (c,)."""
    by_feature: Floats
    """(c, view, descriptor): of all seizures, each alone."""
    by_window: Floats
    """(c, seizure, window): beyond what the contact shows all the time."""
    steady: Floats
    """(c, seizure): what it shows all the time, before onset too."""
    together: Floats
    """(c,): what the score of all seizures adds to the mean of those of each alone."""
    baseline: Floats
    """EZ score of what a contact is compared with (c,)."""
    score: Floats
    """EZ score (c,)."""
    views: tuple[str, ...] = VIEWS
    """What the first axis of `by_feature` is: views of the networks, or terms of a lens."""
    average: str = "the evidence of other contacts of this patient that span the ranking"
    """What a contact is compared with."""
    others: str = "and the rest of the patient stayed as it is"
    """What is done about the other contacts."""

    @property
    def by_seizure(self) -> Floats:
        """(c, seizure): has the sign of the seizure's own score, seen from the baseline."""
        return self.by_window.sum(axis=2) + self.steady

    @property
    def residual(self) -> float:
        """What the sums of the contributions miss, at most."""
        wanted = self.score - self.baseline - self.together
        sums = (self.by_feature.sum(axis=(1, 2)), self.by_seizure.sum(axis=1))
        return float(max(np.abs(total - wanted).max() for total in sums))


def explain(model: Model, cube: xr.Dataset, order: NDArray[np.int64]) -> Explanation:
    """Explain the leading contacts of `order`, as many as the budget allows.

    cube : channels that are all valid in some seizure. order : all of them, leading ones first.
    """
    branches = [
        (branch, weight / len(model.pairs))
        for member in model.pairs
        for branch, weight in ((member.prq, 1 - model.weight), (member.bcr, model.weight))
    ]
    S, W, C = (cube.sizes[axis] for axis in ("seizure", "window", "channel"))
    afford = max(LEAST, BUDGET // (len(branches) * S * W))
    contacts = order[: min(afford, C)]
    views, shown = Views.of(cube), cube["valid"].any("window").values
    against = [spanning(contacts, order, of_seizure) for of_seizure in shown]
    parts = in_parallel(lambda b: _of_branch(*b, views, contacts, against), branches)
    flow, ends, joint = (torch.stack(part).sum(0).numpy() for part in zip(*parts, strict=True))
    n = np.maximum(shown[:, contacts].sum(axis=0), 1)
    # Of p_nez, so contributions towards EZ are its negative. (S, W, c, F), (start or end, S, c)
    flow, told = -flow / n[:, None], shown[:, contacts]
    baseline, alone = ((told * (1 - end)).sum(axis=0) / n for end in ends)
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
    there = order[shown[order]]
    chosen = []
    for contact in contacts:
        others = there[there != contact]
        k = min(AGAINST, max(len(there) - 1, 0))
        at = ((np.arange(k) + 0.5) / max(k, 1) * len(others)).astype(int)
        # A contact that the seizure does not show is not explained there; its row is not read.
        chosen.append(others[at])
    return np.array(chosen, np.int64).reshape(len(contacts), -1).T


def _apart(flow: Floats, cube: xr.Dataset, contacts: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Windows (S, W, c) beyond the mean window before onset, and all the rest (S, c).

    The network looks at noise as closely as at a seizure, so single windows long before onset tell
    nothing: they count as one.
    """
    valid = cube["valid"].values[:, :, contacts]
    before = valid & is_reference(cube).values[..., None]
    mean = (flow * before).sum(axis=1) / np.maximum(before.sum(axis=1), 1)
    told = valid & (cube["start_s"].values >= SEARCH_FROM_S)[..., None]
    windows = np.where(told, flow - mean[:, None], 0)
    return windows, flow.sum(axis=1) - windows.sum(axis=1)


def explain_lens(model: Model, cube: xr.Dataset, order: NDArray[np.int64]) -> Explanation:
    """Explain all contacts: from the average contact of the patient to each, as its terms add up.

    The path from the one's log odds to the other's is straight, so integrated gradients are the
    parts of the log odds, scaled to the difference of the scores. A term that is taken from some
    time of the seizure is shared by those windows; the others are what is there all the time.
    """
    table, share = contact_table(cube), placed_windows(cube)  # (S, term, W, C, descriptor)
    S, W, C = (cube.sizes[axis] for axis in ("seizure", "window", "channel"))
    by_feature = np.zeros((C, *table.x.shape[2:]))
    by_window, by_seizure = np.zeros((C, S, W)), np.zeros((C, S))
    baseline, score = np.zeros(C), np.zeros(C)
    many = len(model.lenses)
    for lens in model.lenses:
        parts = lens.parts(table).sum(axis=2)  # (S, C, term, descriptor)
        here, average = expit(lens.logit(table)), expit(lens.average)
        total = parts.sum(axis=(0, 2, 3))
        level = np.where(total == 0, 1, total)
        scaled = parts * np.where(total == 0, 0, (here - average) / level)[:, None, None] / many
        by_feature += scaled.sum(axis=0)
        by_seizure += scaled.sum(axis=(2, 3)).T
        by_window += np.einsum("sctd,stwcd->csw", scaled, share)
        baseline += average / many
        score += here / many
    return Explanation(
        contacts=order,
        by_feature=by_feature[order],
        by_window=by_window[order],
        steady=(by_seizure - by_window.sum(axis=2))[order],
        together=np.zeros(len(order)),
        baseline=baseline[order],
        score=score[order],
        views=TERMS,
        average="the evidence of this patient's average contact",
        others="its neighbours and electrode included",
    )


def _of_branch(
    branch: Branch,
    weight: float,
    views: Views,
    contacts: NDArray[np.int64],
    against: list[NDArray[np.int64]],
) -> tuple[Tensor, Tensor, Tensor]:
    """Contributions to p_nez alone (S, W, c, F), its ends (2, S, c), p_nez of all seizures (c,).

    All times the weight.
    """
    network = single_precision(branch.network)
    φ = views.standardized(branch.standardizer, torch.float32)
    S, W, _, F = φ.shape
    flow, ends = φ.new_zeros(S, W, len(contacts), F), φ.new_zeros(2, S, len(contacts))
    z = []
    for s in range(S):
        held = Held(network, φ[s : s + 1], views.valid[s : s + 1])
        z.append(held.z)
        there = torch.from_numpy(np.flatnonzero(held.m[0].numpy()[contacts]))
        if len(there):
            bases = torch.from_numpy(against[s][:, there.numpy()])
            flow[s][:, there], ends[:, s, there] = _of_seizure(
                held, torch.from_numpy(contacts)[there], bases
            )
    with torch.no_grad():
        joint = network.p_nez_of(torch.cat(z), views.valid.any(1))[torch.from_numpy(contacts)]
    return flow.double() * weight, ends.double() * weight, joint.double() * weight


def _of_seizure(held: Held, which: Tensor, bases: Tensor) -> tuple[Tensor, Tensor]:
    """Mean contributions to p_nez (W, c, F) over the contacts `bases` (k, c), and its ends (2, c).

    Paths to several bases are stacked as if they were more contacts: they do not touch each other.
    """
    k, c = bases.shape
    end = held.z[:, which]
    with torch.no_grad():
        last = held.p_nez(end, which)
    if not k:  # the seizure shows no other contact
        return held.n.new_zeros(len(held.n), c, held.n.shape[-1]), torch.stack([last, last])
    many = which.repeat(k)
    n_start, n_end = held.n[:, bases.flatten()], held.n[:, many]
    with torch.no_grad():
        start = held.pool(held.embed(n_start), many)
        first = held.p_nez(start, many).view(k, c).mean(0)
    G = _gradient_along(held, start, end.repeat(1, k, 1), many, FEATURE_NODES)
    flow, apart = torch.zeros_like(n_start), n_end - n_start
    points, weights = np.polynomial.legendre.leggauss(WINDOW_NODES)
    for node, share in zip((points + 1) / 2, weights / 2, strict=True):
        here = (n_start + float(node) * apart).requires_grad_()
        z = held.pool(held.embed(here), many)
        flow += float(share) * torch.autograd.grad((z * G).sum(), here)[0] * apart
    return flow.unflatten(1, (k, c)).mean(1), torch.stack([first, last])


def _gradient_along(held: Held, start: Tensor, end: Tensor, which: Tensor, count: int) -> Tensor:
    """Mean gradient (1, c, D) of the scores between two seizure features.

    Contacts do not touch each other here, so nodes are stacked as if they were more contacts.
    """
    total = torch.zeros_like(start)
    nodes = (torch.arange(count) + 0.5) / count
    for part in nodes.split(max(1, AT_ONCE // len(which))):
        z = torch.lerp(start[:, None], end[:, None], part[:, None, None])  # (1, node, c, D)
        z = z.flatten(1, 2).requires_grad_()
        p = held.p_nez(z, which.repeat(len(part)))
        gradient = torch.autograd.grad(p.sum(), z)[0]
        total += gradient.view(len(start), len(part), *start.shape[1:]).sum(1)
    return total / count
