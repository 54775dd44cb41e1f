"""DeepSets and the ranked MLP: by hand, sizes, loss, laws."""

from __future__ import annotations

import numpy as np
import torch
from scipy.special import erf, expit
from scipy.stats import rankdata
from torch import nn

from epilens.networks.controls import DeepSets, RankedMLP, average_ranks, weighted_share
from epilens.networks.encoder import BatchCounts
from epilens.networks.training import build


def table(channels=7, seed=0):
    φ = torch.from_numpy(np.random.default_rng(seed).normal(size=(channels, 88)))
    return φ, torch.ones(channels, dtype=torch.bool)


def weights(network):
    return {name: value.detach().numpy() for name, value in network.state_dict().items()}


def layer_norm(x, w, name):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * w[f"{name}.weight"] + w[f"{name}.bias"]


def linear(x, w, name):
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def gelu(x):
    return x * 0.5 * (1 + erf(x / np.sqrt(2)))


def test_deep_sets_is_the_appendix_s():
    network, (φ, valid) = build(DeepSets, 0).double().eval(), table()
    w, x = weights(network), φ.numpy()
    h = gelu(linear(layer_norm(x, w, "embed.0"), w, "embed.1"))
    h = gelu(linear(h, w, "embed.4"))
    assert h.shape == (7, 64)
    rows = [np.concatenate([row, h.mean(0), h.max(0)]) for row in h]
    by_hand = linear(gelu(linear(np.array(rows), w, "head.0")), w, "head.3")[:, 0]
    np.testing.assert_allclose(network(φ, valid).detach(), by_hand, rtol=1e-9)
    np.testing.assert_allclose(network.p_nez(φ, valid).detach(), expit(by_hand), rtol=1e-9)


def test_the_ranked_mlp_is_the_appendix_s():
    network, (φ, valid) = build(RankedMLP, 0).double().eval(), table()
    w = weights(network)
    hidden = gelu(linear(layer_norm(φ.numpy(), w, "layers.0"), w, "layers.1"))
    by_hand = linear(hidden, w, "layers.4")[:, 0]
    np.testing.assert_allclose(network(φ, valid).detach(), by_hand, rtol=1e-9)
    np.testing.assert_allclose(network.p_nez(φ, valid).detach(), rankdata(by_hand) / 8)


def test_sizes_are_the_appendix_s():
    count = {make: sum(p.numel() for p in make().parameters()) for make in (DeepSets, RankedMLP)}
    assert count[DeepSets] == 176 + (88 * 96 + 96) + (96 * 64 + 64) + (192 * 96 + 96) + 97
    assert count[RankedMLP] == 176 + (88 * 96 + 96) + 97


def test_ranks_are_scipy_s_with_ties():
    for seed in range(20):
        v = np.random.default_rng(seed).integers(0, 5, 9).astype(float)
        np.testing.assert_allclose(average_ranks(torch.from_numpy(v)), rankdata(v))


def test_the_loss_is_torch_s_with_a_weight_of_the_positive_class():
    logit, is_ez = torch.randn(9, dtype=torch.float64), torch.arange(9) < 2
    nez = (~is_ez).double()
    wanted = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(2 / 7, dtype=torch.float64))(logit, nez)
    ours = weighted_share(logit, is_ez, BatchCounts.of([is_ez]), 2 / 7)
    torch.testing.assert_close(ours, wanted)


def test_deep_sets_follows_the_order_of_channels():
    network, (φ, valid) = build(DeepSets, 0).double().eval(), table()
    order = torch.randperm(7)
    torch.testing.assert_close(network(φ[order], valid), network(φ, valid)[order])
