"""Laws of both branches: padding, order of channels, gradients, degenerate patients, randomness."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from random_patients import along_directions, gradients, patient, small_network, widened
from torch.autograd import gradcheck

from epilens.networks.bcr import bcr_loss
from epilens.networks.encoder import seed_dropout
from epilens.networks.prq import prq_loss
from epilens.networks.specs import BCRSpec, EncoderSpec, PRQSpec

VARIANTS = {
    "prq": PRQSpec(),
    "prq, base": PRQSpec(residual=False),
    "prq, temporal": PRQSpec(aggregate="mean"),
    "prq, not relative": PRQSpec(encoder=EncoderSpec(relative=False)),
    "prq, released": PRQSpec(encoder=EncoderSpec(projection=True)),
    "bcr": BCRSpec(),
    "bcr, quantile head": BCRSpec(quantile_head=True),
    "bcr, quantile residual": BCRSpec(quantile_residual=True),
    "bcr, not relative": BCRSpec(encoder=EncoderSpec(relative=False)),
    "bcr, released": BCRSpec(encoder=EncoderSpec(projection=True)),
}
every_variant = pytest.mark.parametrize("variant", VARIANTS)


def small(variant: str, seed: int = 0):
    return small_network(VARIANTS[variant], seed)


def loss_of(network, logit, is_ez):
    if isinstance(network.spec, PRQSpec):
        return prq_loss([logit], [is_ez])
    return bcr_loss([logit], [is_ez], network.spec)


@every_variant
def test_the_gradient_of_the_network_is_right(variant):
    φ, valid = patient(S=3, W=2, C=4, features=5, seed=4)
    seen = valid.any(0).any(0)
    call, place = along_directions(small(variant), φ, valid, pick=lambda out: out[seen])
    assert gradcheck(call, place)


CORNERS = {
    "one seizure": lambda φ, v: (φ[:1], torch.ones_like(v[:1])),
    "one valid channel": lambda φ, v: (φ, v & (torch.arange(5) == 0)),
    "one valid channel in one seizure": lambda φ, v: (φ[:1], v[:1] & (torch.arange(5) == 0)),
    "two valid channels": lambda φ, v: (φ, torch.ones_like(v) & (torch.arange(5) < 2)),
    "equal channels": lambda φ, v: (φ[:, :, :1].expand_as(φ), torch.ones_like(v)),
    "most channels equal": lambda φ, v: (
        torch.cat([φ[:, :, :1].expand_as(φ)[:, :, 1:], φ[:, :, 1:2]], 2),
        torch.ones_like(v),
    ),
    "equal seizures": lambda φ, v: (φ[:1].expand_as(φ), torch.ones_like(v)),
    "all zero": lambda φ, v: (φ * 0, v),
}
LABELS = {
    "none": torch.zeros(5, dtype=torch.bool),
    "all": torch.ones(5, dtype=torch.bool),
    "first": torch.arange(5) < 2,
    "odd": torch.arange(5) % 2 == 1,
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@every_variant
@pytest.mark.parametrize("corner", CORNERS)
def test_loss_and_gradients_are_finite_in_every_corner(corner, variant, dtype):
    network = small(variant).to(dtype)
    φ, valid = patient(features=5)
    φ, valid = CORNERS[corner](φ.to(dtype), valid)
    φ, seen = φ * valid.unsqueeze(-1), valid.any(0).any(0)
    for is_ez in LABELS.values():
        loss = loss_of(network, network(φ, valid)[seen], is_ez[seen])
        by_parameter = gradients(network, loss)
        assert loss.isfinite()
        assert by_parameter
        if variant.startswith("prq"):
            assert len(by_parameter) == len(list(network.parameters()))
        for name, gradient in by_parameter.items():
            assert gradient.isfinite().all(), name


@every_variant
def test_a_patient_without_any_valid_channel_is_finite(variant):
    φ, valid = patient(features=5)
    assert small(variant)(φ * 0, valid & False).isfinite().all()


@given(
    S=st.integers(1, 3),
    C=st.integers(1, 6),
    more=st.tuples(*[st.integers(0, 2)] * 3),
    fill=st.sampled_from(["zeros", "garbage"]),
    variant=st.sampled_from(list(VARIANTS)),
    seed=st.integers(0, 10_000),
)
@settings(deadline=None, max_examples=60)
def test_padding_and_the_order_of_channels_change_nothing(S, C, more, fill, variant, seed):
    network, (φ, valid) = small(variant, seed), patient(S, 3, C, features=5, seed=seed)
    big, mask = widened(φ, valid, more, fill, seed)
    order = torch.from_numpy(np.random.default_rng(seed).permutation(C + more[2]))
    seen = valid.any(0).any(0)
    with torch.no_grad():
        alone = network(φ, valid)
        among = network(big[:, :, order], mask[:, :, order])[order.argsort()]
    tolerance = 1e-7 if variant.startswith("prq") else 1e-9
    torch.testing.assert_close(among[:C][seen], alone[seen], rtol=tolerance, atol=tolerance)


@every_variant
def test_a_training_pass_repeats_with_its_seed_and_leaves_the_global_generator_alone(variant):
    network, (φ, valid) = small(variant).train(), patient(features=5)
    before, passes = torch.get_rng_state(), []
    for seed in (1, 1, 2):
        seed_dropout(network, seed)
        passes.append(network(φ, valid))
        passes[-1].sum().backward()
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(passes[0], passes[1])
    assert not torch.equal(passes[0], passes[2])
