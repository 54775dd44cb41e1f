"""Branches of one seed have streams of their own; ablations of a branch share its streams."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from epilens.methods import METHODS
from epilens.methods.epilens import branch_seed, untrained
from epilens.networks.training import build


def encoder(name, seed):
    settings = METHODS[name].settings
    network = build(lambda: untrained(settings, 36), branch_seed(seed, settings["network"]))
    return network.encoder.state_dict(), network.encoder.window_mlp[3].rng


@pytest.mark.parametrize("seed", [0, 42, 52, 62])
def test_prq_and_bcr_of_one_seed_do_not_start_alike(seed):
    (prq, drop), (bcr, other) = encoder("prq", seed), encoder("bcr", seed)
    assert set(prq) == set(bcr)
    drawn = {name for name in prq if prq[name].std() > 0 and prq[name].numel() > 32}
    assert drawn
    assert not any(torch.equal(prq[name], bcr[name]) for name in drawn)
    assert not np.array_equal(drop.integers(1 << 30, size=8), other.integers(1 << 30, size=8))


def test_an_ablation_starts_as_its_full_network():
    full, base = encoder("prq", 42)[0], encoder("prq/base", 42)[0]
    assert all(torch.equal(full[name], base[name]) for name in full)


def test_every_seed_has_streams_of_its_own():
    seeds = {branch_seed(seed, f"epilens.networks:{n}") for seed in range(50) for n in ("a", "b")}
    assert len(seeds) == 100
