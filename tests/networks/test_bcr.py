"""BCR-Net and its three terms against their transcription, their laws and their gradients."""

from __future__ import annotations

import networks_by_hand as hand
import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_patients import (
    along_directions,
    gradients,
    patient,
    randn,
    randomize,
    small_network,
    weights,
)
from scipy.stats import rankdata
from torch.autograd import gradcheck

from epilens.networks.bcr import (
    BCRNet,
    bcr_loss,
    boundary_sets,
    boundary_term,
    coverage_term,
    soft_rank,
    soft_top_k,
)
from epilens.networks.specs import BCRSpec, EncoderSpec

close = {"rtol": 1e-9, "atol": 1e-9}
seeds = st.integers(0, 10_000)

VARIANTS = {
    "full": (BCRSpec(), {}),
    "quantile head": (BCRSpec(quantile_head=True), {"quantile_head": True}),
    "quantile residual": (BCRSpec(quantile_residual=True), {"quantile_residual": True}),
    "not relative": (BCRSpec(encoder=EncoderSpec(relative=False)), {"relative": False}),
    "released": (BCRSpec(encoder=EncoderSpec(projection=True)), {"projection": True}),
}


def small(name: str = "full", seed: int = 0) -> BCRNet:
    return small_network(VARIANTS[name][0], seed)


def some(C: int, ez: int) -> torch.Tensor:
    """The first `ez` of C channels are EZ."""
    return torch.arange(C) < ez


# The terms by hand


@pytest.mark.parametrize(
    ("ez", "nez", "m", "k"),
    [
        (1, 9, 1, 1),
        (3, 9, 1, 3),
        (4, 9, 2, 4),
        (10, 50, 3, 10),
        (11, 50, 4, 11),
        (20, 50, 6, 16),
        (30, 5, 9, 5),
        (70, 100, 21, 16),
        (90, 1, 27, 1),
    ],
)
def test_the_boundary_sets_have_the_sizes_of_the_paper(ez, nez, m, k):
    weak, strong = boundary_sets(randn(ez + nez), some(ez + nez, ez))
    assert (len(weak), len(strong)) == (m, k)


@pytest.mark.parametrize("ez", range(1, 60, 3))
def test_the_boundary_sets_are_the_transcription(ez):
    e, is_ez = randn(64, seed=ez), some(64, ez)[torch.randperm(64, generator=generator(ez))]
    by_hand = hand.boundary_sets(e.tolist(), is_ez.tolist())
    for ours, theirs in zip(boundary_sets(e, is_ez), by_hand, strict=True):
        np.testing.assert_array_equal(ours.sort().values, sorted(theirs))


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("C", [1, 2, 9, 30])
def test_soft_rank_and_soft_top_k_are_the_transcription(C):
    e = randn(C, seed=C)
    np.testing.assert_allclose(soft_rank(e), hand.soft_rank(e.tolist()), **close)
    np.testing.assert_allclose(soft_rank(e, 0.7), hand.soft_rank(e.tolist(), 0.7), **close)
    for K in (1, C // 2, C):
        np.testing.assert_allclose(soft_top_k(e, K), hand.soft_top_k(e.tolist(), K), **close)


@pytest.mark.parametrize("ez", [1, 3, 8, 11])
def test_boundary_and_coverage_terms_are_the_transcription(ez):
    e, is_ez = randn(12, seed=ez), some(12, ez)
    for ours, theirs in (
        (boundary_term, hand.boundary_term),
        (coverage_term, hand.coverage_term),
    ):
        assert ours(e, is_ez).item() == pytest.approx(theirs(e.tolist(), is_ez.tolist()), abs=1e-9)


BATCHES = {
    "mixed": [(5, 2), (17, 4), (3, 0), (4, 4), (1, 1), (2, 0)],
    "one patient": [(9, 3)],
    "no EZ at all": [(4, 0), (2, 0)],
    "only EZ": [(4, 4), (1, 1)],
}


def batch(name: str) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    sizes = BATCHES[name]
    logits = [2 * randn(C, seed=i) for i, (C, _) in enumerate(sizes)]
    return logits, [some(C, ez) for C, ez in sizes]


@pytest.mark.parametrize("share", [(0.05, 0.08), (0.0, 0.08), (0.05, 0.0), (0.0, 0.0), (1.0, 1.0)])
@pytest.mark.parametrize("name", BATCHES)
def test_the_loss_is_the_transcription_over_eligible_patients(name, share):
    logits, is_ez = batch(name)
    by_hand = hand.bcr_loss([e.tolist() for e in logits], [z.tolist() for z in is_ez], *share)
    spec = BCRSpec(boundary=share[0], coverage=share[1])
    assert bcr_loss(logits, is_ez, spec).item() == pytest.approx(by_hand, abs=1e-9)


def test_a_patient_without_ez_dilutes_the_bce_and_nothing_else():
    """The released code counts such a patient as zero in the other two terms."""
    (e, f), (ez, none) = (randn(6), torch.full((4,), -80.0).double()), (some(6, 2), some(4, 0))
    alone, both = (
        bcr_loss(*pair, BCRSpec()) - bcr_loss(*pair, BCRSpec(boundary=0, coverage=0))
        for pair in (([e], [ez]), ([e, f], [ez, none]))
    )
    torch.testing.assert_close(alone, both, **close)


def test_every_patient_has_the_same_weight():
    logits, is_ez = batch("mixed")
    alone = [
        bcr_loss([e], [z], BCRSpec(boundary=0, coverage=0))
        for e, z in zip(logits, is_ez, strict=True)
    ]
    together = bcr_loss(logits, is_ez, BCRSpec(boundary=0, coverage=0))
    torch.testing.assert_close(together, torch.stack(alone).mean(), **close)


@pytest.mark.parametrize("term", [boundary_term, coverage_term])
def test_the_right_order_costs_less_than_the_wrong_one(term):
    e = torch.linspace(2, -2, 9)
    assert term(e, some(9, 3)) < 0.4 < term(-e, some(9, 3))


# The whole network by hand


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_network_is_the_transcription(variant, seed):
    spec, words = VARIANTS[variant]
    network, (φ, valid) = randomize(BCRNet(spec), seed), patient(seed=seed)
    with torch.no_grad():
        e, p = network(φ, valid), network.p_nez(φ, valid)
    by_hand = hand.bcr(φ.numpy(), valid.numpy(), weights(network), **words)
    seen = valid.any(0).any(0)
    assert e.isfinite().all()
    np.testing.assert_allclose(e[seen], by_hand[seen], **close)
    np.testing.assert_allclose(p[seen], [1 - hand.sigmoid(v) for v in by_hand[seen]], **close)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", range(2, 12))
def test_small_networks_are_the_transcription_for_many_masks(variant, seed):
    network, words = small(variant, seed), VARIANTS[variant][1]
    φ, valid = patient(1 + seed % 4, 3, 6, features=5, seed=seed)
    by_hand = hand.bcr(φ.numpy(), valid.numpy(), weights(network), **words)
    seen = valid.any(0).any(0)
    np.testing.assert_allclose(network(φ, valid).detach()[seen], by_hand[seen], **close)


def test_a_saturated_control_is_clamped_with_finite_gradients():
    network, (φ, valid) = small("quantile head"), patient(features=5)
    for bias in (-200.0, 200.0):
        network.seizure_head[1].bias.data.fill_(bias)
        e = network(φ, valid)
        seen = valid.any(0).any(0)
        expected = torch.full_like(e[seen], -np.sign(bias) * hand.logit(1 - 1e-5))
        torch.testing.assert_close(e[seen], expected, **close)
        found = gradients(network, e.sum())
        assert all(gradient.isfinite().all() for gradient in found.values())


# Gradients


def test_the_gradients_of_soft_rank_and_soft_top_k_are_right():
    e = (0.3 * randn(6)).requires_grad_()
    assert gradcheck(soft_rank, (e,))
    assert gradcheck(lambda e: soft_top_k(e, 2), (e,))


@pytest.mark.parametrize("ez", [1, 3, 6])
def test_the_gradients_of_the_terms_are_right(ez):
    is_ez = some(7, ez)
    e = (0.3 * randn(7, seed=ez)).requires_grad_()
    assert gradcheck(lambda e: boundary_term(e, is_ez), (e,))
    assert gradcheck(lambda e: coverage_term(e, is_ez), (e,))
    assert gradcheck(lambda e: bcr_loss([e, 2 * e], [is_ez, ~is_ez], BCRSpec()), (e,))


def test_the_gradient_of_the_loss_through_the_network_is_right():
    φ, valid = patient(S=3, W=2, C=6, features=5, seed=4)
    seen = valid.any(0).any(0)
    is_ez = some(6, 2)[seen]
    call, place = along_directions(
        small(), φ, valid, pick=lambda e: bcr_loss([e[seen]], [is_ez], BCRSpec())
    )
    assert is_ez.any()
    assert not is_ez.all()
    assert gradcheck(call, place)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("ez", [0, 1, 3, 6])
@pytest.mark.parametrize(
    "e", [[0.5] * 6, [1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [1e4, -1e4, 0, 1e4, -1e4, 0]], ids=str
)
def test_loss_and_gradients_are_finite_for_ties_and_extremes(e, ez, dtype):
    e = torch.tensor(e, dtype=dtype, requires_grad=True)
    loss = bcr_loss([e], [some(6, ez)], BCRSpec())
    loss.backward()
    assert loss.isfinite()
    assert e.grad.isfinite().all()


# Laws


@given(values=st.lists(st.integers(-20, 20), min_size=1, max_size=12))
@settings(deadline=None, max_examples=50)
def test_the_soft_rank_becomes_the_rank_as_tau_becomes_small(values):
    """1 for the largest; those that tie share the mean of their ranks."""
    e = 0.1 * torch.tensor(values, dtype=torch.float64)
    rank = rankdata([-v for v in values])
    errors = [np.abs(soft_rank(e, tau).numpy() - rank).max() for tau in (0.1, 0.03, 1e-3)]
    assert errors[2] < 1e-9
    assert errors[1] <= errors[0] + 1e-12


@given(C=st.integers(1, 12), seed=seeds)
@settings(deadline=None, max_examples=50)
def test_soft_ranks_add_up_to_the_sum_of_ranks(C, seed):
    """Of every pair, the two shares of being ahead add up to 1."""
    assert soft_rank(randn(C, seed=seed)).sum().item() == pytest.approx(C * (C + 1) / 2)


@given(C=st.integers(2, 12), K=st.integers(1, 12), seed=seeds)
@settings(deadline=None, max_examples=50)
def test_the_leading_k_are_members_when_the_logits_are_far_apart(C, K, seed):
    assume(K <= C)
    e = 10 * torch.from_numpy(np.random.default_rng(seed).permutation(C)).double()
    π = soft_top_k(e, K)
    leading = torch.zeros(C, dtype=torch.bool)
    leading[e.topk(K).indices] = True
    assert torch.equal(π > 0.5, leading)


@given(C=st.integers(2, 10), ez=st.integers(1, 9), shift=st.floats(-5, 5), seed=seeds)
@settings(deadline=None, max_examples=50)
def test_the_ranking_terms_see_neither_order_nor_a_common_shift(C, ez, shift, seed):
    assume(ez < C)
    e, is_ez = randn(C, seed=seed), some(C, ez)
    order = torch.from_numpy(np.random.default_rng(seed).permutation(C))
    for term in (boundary_term, coverage_term):
        torch.testing.assert_close(term((e + shift)[order], is_ez[order]), term(e, is_ez))


def test_the_loss_itself_draws_nothing_at_random():
    logits, is_ez = batch("mixed")
    before = torch.get_rng_state()
    bcr_loss(logits, is_ez, BCRSpec())
    assert torch.equal(torch.get_rng_state(), before)
