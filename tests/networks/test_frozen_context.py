"""The networks in stages are the networks; a held network is the network, seen by one contact."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from epilens.evidence.views import Standardizer
from epilens.networks.bcr import BCRNet
from epilens.networks.branch import Branch
from epilens.networks.gradients import FrozenContext
from epilens.networks.prq import PRQNet
from epilens.networks.specs import BCRSpec, EncoderSpec, PRQSpec
from epilens.networks.training import as_tensors, build
from epilens.testing import make_cube

NETWORKS = {
    "prq": lambda: PRQNet(),
    "prq/base": lambda: PRQNet(PRQSpec(residual=False)),
    "prq/mean": lambda: PRQNet(PRQSpec(aggregate="mean")),
    "prq/absolute": lambda: PRQNet(PRQSpec(EncoderSpec(relative=False))),
    "prq/released": lambda: PRQNet(PRQSpec(EncoderSpec(projection=True))),
    "bcr": lambda: BCRNet(),
    "bcr/released": lambda: BCRNet(BCRSpec(EncoderSpec(projection=True))),
    "bcr/q10": lambda: BCRNet(BCRSpec(quantile_head=True)),
    "bcr/q10-residual": lambda: BCRNet(BCRSpec(quantile_residual=True)),
}


@pytest.fixture(scope="module")
def cube():
    """Three seizures; a channel is missing in one of them, and some windows in another."""
    cube = make_cube(seizures=3, channels=6, fs=128.0)
    valid = cube["valid"].copy()
    valid[0, :, 2] = False
    valid[1, 40:, 3] = False
    return cube.assign(valid=valid, x=cube["x"].where(valid, 0))


def scrambled(name):
    """A network with weights that let every part matter."""
    network = build(NETWORKS[name], 3).double().eval()
    rng = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.2 * torch.randn(parameter.shape, generator=rng, dtype=torch.float64)
    return network


def ready(name, cube):
    branch = Branch(scrambled(name), Standardizer.fit([cube]))
    patient = as_tensors(cube, branch.standardizer)
    return branch.network, patient.φ.double(), patient.valid


@pytest.mark.parametrize("name", NETWORKS)
def test_two_stages_give_the_scores_of_the_network(name, cube):
    network, φ, valid = ready(name, cube)
    with torch.no_grad():
        whole = network.p_nez(φ, valid)
        again = network.p_nez_of(*network.embed(φ, valid))
    torch.testing.assert_close(again, whole, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_seizure_alone_scores_as_if_there_were_no_other(name, cube):
    network, φ, valid = ready(name, cube)
    for s in range(3):
        with torch.no_grad():
            z, m = network.embed(φ, valid)
            alone = network.p_nez(φ[s : s + 1], valid[s : s + 1])
            mine = network.p_nez_of(z[s : s + 1], m[s : s + 1])
        there = valid[s].any(0)
        torch.testing.assert_close(mine[there], alone[there], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_held_network_gives_the_same_scores(name, cube):
    network, φ, valid = ready(name, cube)
    held = FrozenContext(network, φ, valid)
    with torch.no_grad():
        mine = held.p_nez(held.z, torch.arange(6))
        whole = network.p_nez(φ, valid)
    torch.testing.assert_close(mine, whole, rtol=0, atol=1e-10)


def test_what_is_held_is_the_rest_of_the_patient():
    """Without any traffic between contacts, average evidence gives the network's own answer."""
    cube = make_cube(seizures=2, channels=4, fs=128.0)
    branch = Branch(
        build(lambda: PRQNet(PRQSpec(EncoderSpec(relative=False), residual=False)), 1),
        Standardizer.fit([cube]),
    )
    network, patient = branch.network, as_tensors(cube, branch.standardizer)
    with torch.no_grad():
        for attention in (network.encoder.window_context, network.encoder.patient_context):
            attention.outward.weight.zero_()
    φ = patient.φ.double()
    held = FrozenContext(network, φ, patient.valid)
    blank = φ.clone()
    blank[:, :, 1] = 0
    with torch.no_grad():
        start = held.pool(held.embed(torch.zeros_like(held.n)))
        mine = held.p_nez(start, torch.arange(4))[1]
        whole = network.p_nez(blank, patient.valid)[1]
    np.testing.assert_allclose(float(mine), float(whole), atol=1e-10)
