"""PRQ-Net against its transcription, its laws and its gradients."""

from __future__ import annotations

from dataclasses import replace

import networks_by_hand as hand
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from random_patients import (
    SMALL,
    along_directions,
    gradients,
    patient,
    randn,
    randomize,
    small_network,
    variable,
    weights,
)
from torch.autograd import gradcheck

from epilens.networks.prq import (
    LowerTail,
    PRQNet,
    masked_mean_over_seizures,
    masked_quantile,
    prq_loss,
    robust_z,
)
from epilens.networks.specs import EncoderSpec, PRQSpec

close = {"rtol": 1e-9, "atol": 1e-9}
seeds = st.integers(0, 10_000)

# A change of the settings, and the same change in words of the transcription.
VARIANTS = {
    "full": (PRQSpec(), {}),
    "base": (PRQSpec(residual=False), {"residual": False}),
    "temporal": (PRQSpec(aggregate="mean"), {"aggregate": hand.mean_of}),
    "not relative": (PRQSpec(encoder=EncoderSpec(relative=False)), {"relative": False}),
    "released": (PRQSpec(encoder=EncoderSpec(projection=True)), {"projection": True}),
}


def small(name: str = "full", seed: int = 0) -> PRQNet:
    return small_network(VARIANTS[name][0], seed)


def seizure_mask(S: int, C: int, seed: int = 0) -> torch.Tensor:
    """Channel 0 has one seizure, the last channel has none (if there is more than one)."""
    m = torch.from_numpy(np.random.default_rng(seed).random((S, C)) < 0.7)
    m[:, 0] = torch.arange(S) == S - 1
    if C > 1:
        m[:, -1] = False
    return m


# The pieces by hand


@pytest.mark.parametrize("q", [0.0, 0.1, 0.25, 0.5, 1.0])
@pytest.mark.parametrize("S", [1, 2, 3, 11, 31])
def test_the_quantile_over_seizures_is_the_transcription_and_that_of_numpy(S, q):
    u, m = randn(S, 9).sigmoid(), seizure_mask(S, 9)
    ours = masked_quantile(u, m, q)
    by_hand = hand.over_seizures(u.numpy(), m.numpy(), lambda own: hand.quantile(own, q))
    np.testing.assert_allclose(ours, by_hand, **close)
    for c in range(8):
        if m[:, c].any():
            assert ours[c].item() == pytest.approx(np.quantile(u[m[:, c], c].numpy(), q), abs=1e-9)


def test_the_quantile_of_one_seizure_is_that_seizure_and_of_none_one_half():
    u, m = randn(4, 3).sigmoid(), seizure_mask(4, 3)
    out = masked_quantile(u, m, 0.1)
    assert out[0] == u[3, 0]
    assert out[2] == 0.5


def test_the_mean_over_seizures_is_the_transcription():
    u, m = randn(5, 9).sigmoid(), seizure_mask(5, 9)
    by_hand = hand.over_seizures(u.numpy(), m.numpy(), hand.mean_of)
    np.testing.assert_allclose(masked_mean_over_seizures(u, m, 0.1), by_hand, **close)


ROBUST = {
    "odd": randn(7),
    "even": randn(8),
    "two": randn(2),
    "one": randn(1),
    "equal": torch.full((5,), -11.5, dtype=torch.float64),
    "most equal, so the SD": torch.tensor([1.0, 1, 1, 1, 5, -2], dtype=torch.float64),
    "MAD just below the limit": torch.tensor([-9e-7, 0, 9e-7, 3], dtype=torch.float64),
    "MAD just above the limit": torch.tensor([-1.1e-6, 0, 1.1e-6], dtype=torch.float64),
    "SD below the limit": torch.tensor([-1e-8, 0, 1e-8], dtype=torch.float64),
}


@pytest.mark.parametrize("case", ROBUST)
def test_robust_z_is_the_transcription(case):
    v = ROBUST[case]
    np.testing.assert_allclose(robust_z(v), hand.robust_z(v.tolist()), **close)


def test_robust_z_has_the_true_median_and_the_scale_of_a_normal_distribution():
    even = torch.tensor([1.0, 2.0, 4.0, 9.0])
    assert robust_z(even)[1:3].sum() == 0  # 3 is in the middle
    assert robust_z(randn(20_001)).std().item() == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("aggregate", ["quantile", "mean"])
@pytest.mark.parametrize("relative", [True, False])
def test_the_lower_tail_is_the_transcription(relative, aggregate):
    by_hand = {"quantile": hand.q10, "mean": hand.mean_of}[aggregate]
    spec = PRQSpec(encoder=replace(SMALL, relative=relative), aggregate=aggregate)
    tail, z, m = randomize(LowerTail(spec)), 2 * randn(4, 8, 4), seizure_mask(4, 8)
    expected = hand.lower_tail(z.numpy(), m.numpy(), weights(tail), relative, by_hand, name="")
    np.testing.assert_allclose(tail(z, m).detach(), expected, **close)
    assert tail(z, m)[-1] == 0  # no seizure shows it


def test_a_saturated_score_is_clamped_before_its_logit():
    """sigm(±60) is 0 or 1: without the clamp the logit would be infinite."""
    tail = randomize(LowerTail(PRQSpec(encoder=replace(SMALL, relative=False))))
    z, m = randn(3, 4, 4), torch.ones(3, 4, dtype=torch.bool)
    for bias in (-60.0, 60.0):
        tail.w_q.bias.data.fill_(bias)
        expected = hand.lower_tail(z.numpy(), m.numpy(), weights(tail), relative=False, name="")
        np.testing.assert_allclose(tail(z, m).detach(), expected, **close)


# The whole network and its loss by hand


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_network_is_the_transcription(variant, seed):
    spec, words = VARIANTS[variant]
    network, (φ, valid) = randomize(PRQNet(spec), seed), patient(seed=seed)
    with torch.no_grad():
        logit, p = network(φ, valid), network.p_nez(φ, valid)
    by_hand = hand.prq(φ.numpy(), valid.numpy(), weights(network), **words)
    seen = valid.any(0).any(0)
    assert logit.isfinite().all()
    np.testing.assert_allclose(logit[seen], by_hand[seen], **close)
    np.testing.assert_allclose(p[seen], [hand.sigmoid(v) for v in by_hand[seen]], **close)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", range(2, 12))
def test_small_networks_are_the_transcription_for_many_masks(variant, seed):
    network, words = small(variant, seed), VARIANTS[variant][1]
    φ, valid = patient(1 + seed % 4, 3, 6, features=5, seed=seed)
    by_hand = hand.prq(φ.numpy(), valid.numpy(), weights(network), **words)
    seen = valid.any(0).any(0)
    np.testing.assert_allclose(network(φ, valid).detach()[seen], by_hand[seen], **close)


def test_the_variants_differ():
    """So that a switch that does nothing cannot pass for the transcription."""
    φ, valid = patient(features=5)
    same = {"full", "base", "temporal", "not relative"}  # of the same parameters but for the tail
    outs = {name: small(name)(φ, valid).detach() for name in same}
    for one in same:
        for other in same - {one}:
            assert not torch.allclose(outs[one], outs[other])


def batch(*sizes: int) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    logits = [3 * randn(C, seed=i) for i, C in enumerate(sizes)]
    return logits, [randn(C, seed=90 + i) > 0.5 for i, C in enumerate(sizes)]


def test_the_loss_is_the_transcription_over_all_channels_of_the_batch():
    logits, is_ez = batch(3, 17, 1, 8)
    by_hand = hand.prq_loss([a.tolist() for a in logits], [z.tolist() for z in is_ez])
    assert prq_loss(logits, is_ez).item() == pytest.approx(by_hand, abs=1e-9)
    # A patient with more channels weighs more, so it is not the mean of patients.
    alone = [prq_loss([a], [z]) for a, z in zip(logits, is_ez, strict=True)]
    assert abs(torch.stack(alone).mean() - by_hand) > 1e-3


@pytest.mark.parametrize("is_ez", [True, False])
def test_the_loss_falls_as_the_nez_logit_moves_to_the_truth(is_ez):
    truth = [torch.full((4,), is_ez)]
    right, wrong = (
        prq_loss([torch.full((4,), v)], truth) for v in ((-3.0, 3.0) if is_ez else (3.0, -3.0))
    )
    assert right < 0.1 < wrong


# Gradients


def test_the_gradient_of_the_quantile_is_right():
    u, m = variable(5, 6), seizure_mask(5, 6)
    for q in (0.1, 0.5):
        assert gradcheck(lambda u, q=q: masked_quantile(u, m, q), (u,))
    masked_quantile(u, m, 0.1).sum().backward()
    assert (u.grad[~m] == 0).all()
    assert gradcheck(lambda u: masked_mean_over_seizures(u, m, 0.1), (u,))


@pytest.mark.parametrize("case", ["odd", "even", "two", "most equal, so the SD"])
def test_the_gradient_of_robust_z_is_right(case):
    v = ROBUST[case].clone()
    if case == "most equal, so the SD":  # apart by less than a MAD, by more than a step
        v += torch.tensor([0, 1e-7, 2e-7, 3e-7, 0, 0])
        assert gradcheck(robust_z, (v.requires_grad_(),), eps=1e-9, atol=1e-4)
    else:
        assert gradcheck(robust_z, (v.requires_grad_(),))


@pytest.mark.parametrize("case", ROBUST)
def test_the_gradient_of_robust_z_is_finite(case):
    for dtype in (torch.float32, torch.float64):
        v = ROBUST[case].to(dtype).clone().requires_grad_()
        robust_z(v).square().sum().backward()
        assert v.grad.isfinite().all()


@pytest.mark.parametrize("relative", [True, False])
def test_the_gradient_of_the_lower_tail_is_right(relative):
    tail = randomize(LowerTail(PRQSpec(encoder=replace(SMALL, relative=relative))))
    z, m = variable(3, 6, 4), seizure_mask(3, 6)
    assert gradcheck(lambda z: tail(z, m), (z,))
    assert gradcheck(*along_directions(tail, z.detach(), m))


@pytest.mark.parametrize("bias", [-200.0, 200.0])
def test_a_saturated_tail_has_finite_gradients(bias):
    network, (φ, valid) = small(), patient(features=5)
    network.tail.w_q.bias.data.fill_(bias)
    found = gradients(network, network(φ, valid).square().sum())
    assert all(gradient.isfinite().all() for gradient in found.values())


def test_every_parameter_is_trained():
    network, (φ, valid) = small(), patient(features=5)
    found = gradients(network, network(φ, valid)[valid.any(0).any(0)].square().sum())
    assert all((gradient.abs() > 1e-12).any() for gradient in found.values())


# Laws


@given(C=st.integers(1, 8), S=st.integers(1, 4), seed=seeds, gamma=st.floats(-50, 50))
@settings(deadline=None, max_examples=40)
def test_the_residual_is_bounded(C, S, seed, gamma):
    """|ρη| ≤ 0.2 · 4, whatever the gate and the scores."""
    relative = bool(seed % 2)
    tail = randomize(LowerTail(PRQSpec(encoder=replace(SMALL, relative=relative))), seed)
    tail.gamma.data.fill_(gamma)
    tail.w_q.weight.data.mul_(20)
    m = torch.from_numpy(np.random.default_rng(seed).random((S, C)) < 0.8)
    m[0, 0] = True
    out = tail(5 * randn(S, C, 4, seed=seed), m)
    assert out.abs().max() <= 0.8 * hand.sigmoid(gamma) + 1e-12
    assert (out[~m.any(0)] == 0).all()


def test_the_bound_is_reached():
    tail = randomize(LowerTail(PRQSpec(encoder=replace(SMALL, relative=False))))
    tail.gamma.data.fill_(50.0)
    tail.w_q.bias.data.fill_(-60.0)
    m = torch.ones(2, 3, dtype=torch.bool)
    torch.testing.assert_close(tail(randn(2, 3, 4), m), torch.full((3,), -0.8).double())


def test_the_gate_starts_in_its_middle():
    assert PRQNet().tail.gamma.item() == 0  # ρ = 0.1


@given(S=st.integers(1, 6), C=st.integers(1, 4), q=st.floats(0, 1), seed=seeds)
@settings(deadline=None, max_examples=40)
def test_a_quantile_lies_between_the_extremes_and_ignores_what_is_masked(S, C, q, seed):
    u, rng = randn(S, C, seed=seed).sigmoid(), np.random.default_rng(seed)
    m = torch.from_numpy(rng.random((S, C)) < 0.6)
    m[0] = True
    out = masked_quantile(u, m, q)
    assert (out >= u.masked_fill(~m, 2).amin(0) - 1e-12).all()
    assert (out <= u.masked_fill(~m, -1).amax(0) + 1e-12).all()
    assert torch.equal(out, masked_quantile(u.masked_fill(~m, -7), m, q))


@given(n=st.integers(3, 12), gain=st.floats(0.01, 100), shift=st.floats(-100, 100), seed=seeds)
@settings(deadline=None, max_examples=30)
def test_robust_z_forgets_gain_and_offset(n, gain, shift, seed):
    v = randn(n, seed=seed)
    torch.testing.assert_close(robust_z(gain * v + shift), robust_z(v), rtol=1e-6, atol=1e-6)


def test_one_outlier_among_seizures_lowers_q10_more_than_the_mean():
    """Why there is a quantile: EZ-like in one of five seizures must show."""
    u = torch.full((5, 2), 0.9)
    u[3, 1] = 0.1
    m = torch.ones(5, 2, dtype=torch.bool)
    assert masked_quantile(u, m, 0.1)[1] < masked_mean_over_seizures(u, m, 0.1)[1]
