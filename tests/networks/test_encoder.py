"""The encoder against its transcription, its laws, its gradients and its dropout."""

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
    variable,
    weights,
    widened,
)
from torch.autograd import gradcheck

from epilens.networks.encoder import (
    ChannelAttention,
    Dropout,
    Encoder,
    Mixture,
    bce,
    masked_mean,
    masked_std,
    prz,
    seed_dropout,
)
from epilens.networks.specs import EncoderSpec

close = {"rtol": 1e-9, "atol": 1e-9}
VARIANTS = [
    {},
    {"projection": True},
    {"relative": False},
    {"projection": True, "relative": False},
]
sizes = {"S": st.integers(1, 4), "W": st.integers(1, 4), "C": st.integers(1, 6)}
seeds = st.integers(0, 10_000)


def encoder_weights(network: Encoder) -> dict[str, np.ndarray]:
    return {f"encoder.{name}": p for name, p in weights(network).items()}


def mask(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).random(shape) < 0.6)


# The pieces by hand


@pytest.mark.parametrize("axis", [0, 1])
def test_masked_mean_and_std_are_the_transcription(axis):
    x, m = randn(4, 5, 6, 3), mask(4, 5, 6)
    m[:, :, 0] = False  # nothing is left
    m[:, :, 1] = False
    m[2, 2, 1] = True  # one value or none
    for ours, theirs in ((masked_mean, hand.masked_mean), (masked_std, hand.masked_std)):
        out = ours(x, m, axis)
        np.testing.assert_allclose(out, theirs(x.numpy(), m.numpy(), axis), **close)
        assert (out[:, 0] == 0).all()
    assert (masked_std(x, m, axis)[:, 1] == 0).all()


def test_prz_is_the_transcription_with_its_floor():
    g, valid = randn(9, 6), mask(9, seed=1)
    g[:, 0] = 2.5  # no variance
    g[:, 1] *= 5e-4  # a variance below 1e-6
    g[:, 2] *= 1e3
    z = prz(g, valid)
    np.testing.assert_allclose(z, hand.prz(g.numpy(), valid.numpy()), **close)
    assert (z[~valid] == 0).all()
    assert (z[:, 0] == 0).all()
    assert z[valid][:, 1].std(correction=0) < 0.9  # the floor holds it back
    torch.testing.assert_close(z[valid][:, 2].std(correction=0).item(), 1.0)


def test_channel_attention_is_the_transcription():
    layer = randomize(ChannelAttention(8, 2, 0.4))
    x, valid = randn(6, 7, 8), mask(6, 7, seed=2)
    valid[:, 3] = True
    w = {f"a.{name}": p for name, p in weights(layer).items()}
    by_hand = [
        hand.channel_attention(*pair, w, "a") for pair in zip(x.numpy(), valid.numpy(), strict=True)
    ]
    np.testing.assert_allclose(layer(x, valid).detach(), by_hand, **close)


def test_channel_attention_is_that_of_torch():
    """The weights of the authors' checkpoints come from torch's module; they must fit ours."""
    ours = randomize(ChannelAttention(8, 2, 0.4))
    theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True).double().eval()
    inward, outward = ours.inward, ours.outward
    with torch.no_grad():
        theirs.in_proj_weight.copy_(inward.weight)
        theirs.in_proj_bias.copy_(inward.bias)
        theirs.out_proj.weight.copy_(outward.weight)
        theirs.out_proj.bias.copy_(outward.bias)
    x, valid = randn(6, 7, 8), mask(6, 7, seed=2)
    valid[:, 0] = True
    mixed, _ = theirs(x, x, x, key_padding_mask=~valid, need_weights=True)
    torch.testing.assert_close(ours(x, valid), ours.norm(x + mixed), **close)


def test_a_window_without_any_channel_is_finite_forward_and_backward():
    layer, x = randomize(ChannelAttention(4, 2, 0.0)), variable(2, 3, 4)
    out = layer(x, torch.zeros(2, 3, dtype=torch.bool))
    out.square().sum().backward()
    assert out.isfinite().all()
    assert x.grad.isfinite().all()


def test_bce_is_the_transcription():
    a, target = 3 * randn(20), mask(20)
    by_hand = [hand.cross_entropy(hand.sigmoid(v), t) for v, t in zip(a, target, strict=True)]
    np.testing.assert_allclose(bce(a, target), by_hand, **close)


# The whole encoder by hand


@pytest.mark.parametrize("change", VARIANTS, ids=str)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_encoder_is_the_transcription(change, seed):
    spec = replace(EncoderSpec(), **change)
    network, (φ, valid) = randomize(Encoder(spec), seed), patient(seed=seed)
    with torch.no_grad():
        z, m, r = network(φ, valid)
    by_hand = hand.encode(φ.numpy(), valid.numpy(), encoder_weights(network), **change)
    seen = m.any(0)
    np.testing.assert_allclose(z, by_hand[0], **close)
    np.testing.assert_array_equal(m, by_hand[1])
    np.testing.assert_allclose(r[seen], by_hand[2][seen], **close)
    assert r.shape == (5, 32 if spec.projection else 64)


@pytest.mark.parametrize("block", [1, 3, 4])
def test_blocks_of_windows_change_nothing(block, monkeypatch):
    network, (φ, valid) = randomize(Encoder(SMALL)), patient(features=5)
    whole = network(φ, valid)
    monkeypatch.setattr("epilens.networks.encoder.BLOCK", block)
    assert valid.any(2).sum() > 2 * block
    for ours, expected in zip(network(φ, valid), whole, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-12, atol=1e-12)


def test_the_random_patients_have_what_the_tests_need():
    masks = [patient(seed=seed)[1] for seed in (0, 1, 2)]
    assert any((~v.any(2)).any() for v in masks)  # windows without any channel
    partly = [v.any(1).any(0) & ~v.any(1).all(0) for v in masks]
    assert all(p.any() for p in partly)  # channels that some seizures lack


@pytest.mark.parametrize("change", VARIANTS, ids=str)
def test_the_encoder_while_training_is_the_transcription(change):
    """Dropout falls on the hidden layers and on the attention's shares, and nowhere else."""
    spec = replace(SMALL, dropout=0.4, **change)
    network, (φ, valid) = randomize(Encoder(spec)), patient(features=5)
    seed_dropout(network.train(), 7)
    rng, cut = np.random.Generator(np.random.SFC64(7)), round(0.4 * 65536)

    def draw(shape):
        n = int(np.prod(shape))
        bits = rng.bit_generator.random_raw(-(-n // 4)).view(np.uint16)[:n].reshape(shape)
        return (bits >= cut) * (65536 / (65536 - cut))

    with torch.no_grad():
        z, m, r = network(φ, valid)
    by_hand = hand.encode(φ.numpy(), valid.numpy(), encoder_weights(network), draw=draw, **change)
    np.testing.assert_allclose(z, by_hand[0], **close)
    np.testing.assert_allclose(r[m.any(0)], by_hand[2][m.any(0)], **close)


def test_single_precision_agrees_with_double():
    network, (φ, valid) = randomize(Encoder(EncoderSpec())), patient(seed=3)
    with torch.no_grad():
        _, m, exact = network(φ, valid)
        _, _, quick = network.float()(φ.float(), valid)
    assert quick.dtype == torch.float32
    torch.testing.assert_close(quick[m.any(0)].double(), exact[m.any(0)], rtol=1e-3, atol=1e-3)


# Gradients


def test_the_gradient_of_masked_std_is_right_where_values_spread_and_zero_where_one_is_left():
    x, m = variable(4, 3, 2), torch.ones(4, 3, dtype=torch.bool)
    m[1, 0] = False
    m[1:, 1] = False  # one value
    m[:, 2] = False  # none
    assert gradcheck(lambda x: masked_std(x, m, 0), (x,))
    masked_std(x, m, 0).sum().backward()
    assert (x.grad[:, 1:] == 0).all()


def test_the_gradient_of_masked_std_at_equal_values_is_zero():
    x = torch.full((4, 3, 2), 0.1, dtype=torch.float64, requires_grad=True)
    masked_std(x, torch.ones(4, 3, dtype=torch.bool), 0).sum().backward()
    assert x.grad.isfinite().all()
    assert x.grad.abs().max() <= 1


def test_the_gradient_of_prz_is_right():
    g, valid = variable(6, 3), torch.tensor([True, True, False, True, True, False])
    assert gradcheck(lambda g: prz(g, valid), (g,))
    assert gradcheck(lambda g: prz(1e-5 * g, valid), (g,))  # on the floor


def mixture(p: float, hide: bool):
    """The hand-written attention with one and the same mask in every call, and its arguments."""
    dropout = Dropout(p).train()
    hidden = torch.zeros(3, 4, dtype=torch.float64)
    hidden[0, 2] = hidden[1] = torch.finfo(torch.float64).min  # one channel; a whole window

    def call(projected):
        seed_dropout(dropout, 3)
        return Mixture.apply(projected, hidden if hide else None, dropout)

    def by_torch(projected):
        seed_dropout(dropout, 3)
        heads = []
        for q, k, v in projected.permute(3, 2, 0, 1, 4):
            scores = q @ k.mT / 2**0.5 + hide * hidden[:, None]
            heads.append(dropout(scores.softmax(-1)) @ v)
        return torch.stack(heads, 2)

    return call, by_torch, variable(3, 4, 3, 2, 2)


@pytest.mark.parametrize("hide", [False, True])
@pytest.mark.parametrize("p", [0.0, 0.4])
def test_the_gradient_of_the_attention_by_hand_is_right(p, hide):
    call, by_torch, projected = mixture(p, hide)
    places = call(projected), by_torch(projected)
    torch.testing.assert_close(*places, **close)
    g = randn(*places[0].shape, seed=1)
    ours, theirs = (torch.autograd.grad(place, projected, g)[0] for place in places)
    torch.testing.assert_close(ours, theirs, **close)
    if not hide:  # no difference quotient gets past the lowest finite number
        assert gradcheck(call, (projected,))


def test_the_gradient_of_the_attention_by_hand_is_right_next_to_hidden_channels():
    call, _, projected = mixture(0.4, hide=True)
    assert gradcheck(lambda x: call(x)[[0, 2]], (projected,))


@pytest.mark.parametrize("hide", [False, True])
def test_the_attention_by_hand_is_the_same_in_single_precision(hide):
    dropout, hidden = Dropout(0.4).train(), torch.zeros(3, 40, dtype=torch.float64)
    hidden[0, 30:] = torch.finfo(torch.float32).min
    found = []
    for dtype in (torch.float32, torch.float64):
        projected = variable(3, 40, 3, 2, 16).detach().to(dtype).requires_grad_()
        seed_dropout(dropout, 3)
        mixed = Mixture.apply(projected, hidden.to(dtype) if hide else None, dropout)
        (gradient,) = torch.autograd.grad(mixed.square().sum(), projected)
        assert (mixed.dtype, gradient.dtype) == (dtype, dtype)
        found.append((mixed.double(), gradient.double()))
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("change", VARIANTS, ids=str)
def test_the_gradient_of_the_encoder_is_right(change):
    network = randomize(Encoder(replace(SMALL, **change)))
    φ, valid = patient(S=2, W=2, C=3, features=5, seed=4)
    call, place = along_directions(network, φ, valid, pick=lambda out: out[2][out[1].any(0)])
    assert gradcheck(call, place)


CORNERS = {
    "one seizure": lambda φ, v: (φ[:1], v[:1]),
    "one window": lambda φ, v: (φ[:, :1], v[:, :1]),
    "one channel": lambda φ, v: (φ[..., :1, :], v[..., :1]),
    "one valid channel": lambda φ, v: (φ, v & (torch.arange(5) == 0)),
    "one valid place": lambda φ, v: (
        φ,
        v & (torch.arange(5) == 0) & (torch.arange(60).view(3, 4, 5) == 0),
    ),
    "equal channels": lambda φ, v: (φ[:, :, :1].expand_as(φ), torch.ones_like(v)),
    "equal seizures": lambda φ, v: (φ[:1].expand_as(φ), torch.ones_like(v)),
    "all zero": lambda φ, v: (φ * 0, v),
    "nothing valid": lambda φ, v: (φ, v & False),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("change", VARIANTS, ids=str)
@pytest.mark.parametrize("corner", CORNERS)
def test_the_encoder_and_its_gradients_are_finite_in_every_corner(corner, change, dtype):
    network = randomize(Encoder(replace(SMALL, **change))).to(dtype)
    φ, valid = patient(features=5)
    φ, valid = CORNERS[corner](φ.to(dtype), valid)
    φ = (φ * valid.unsqueeze(-1)).requires_grad_()
    z, _, r = network(φ, valid)
    found = gradients(network, r.square().sum() + z.square().sum())
    assert r.isfinite().all()
    assert found
    for name, gradient in found.items():
        assert gradient.isfinite().all(), name
    assert φ.grad.isfinite().all()


def test_what_is_not_valid_has_no_gradient():
    network, (φ, valid) = randomize(Encoder(SMALL)), patient(features=5)
    φ.requires_grad_()
    z, m, r = network(φ, valid)
    (r[m.any(0)].square().sum() + z[m].square().sum()).backward()
    assert (φ.grad[~valid] == 0).all()
    assert (φ.grad[valid] != 0).any(-1).all()


# Laws


@given(**sizes, seed=seeds, variant=st.sampled_from(VARIANTS))
@settings(deadline=None, max_examples=25)
def test_the_order_of_channels_does_not_matter(S, W, C, seed, variant):
    network = randomize(Encoder(replace(SMALL, **variant)), seed)
    φ, valid = patient(S, W, C, features=5, seed=seed)
    order = torch.from_numpy(np.random.default_rng(seed).permutation(C))
    with torch.no_grad():
        z, m, r = network(φ, valid)
        z2, m2, r2 = network(φ[:, :, order], valid[:, :, order])
    seen = m2.any(0)
    torch.testing.assert_close(z2, z[:, order], **close)
    assert torch.equal(m2, m[:, order])
    torch.testing.assert_close(r2[seen], r[order][seen], **close)


@given(**sizes, seed=seeds)
@settings(deadline=None, max_examples=15)
def test_the_order_of_seizures_and_windows_does_not_matter(S, W, C, seed):
    network, rng = randomize(Encoder(SMALL), seed), np.random.default_rng(seed)
    φ, valid = patient(S, W, C, features=5, seed=seed)
    s, w = (torch.from_numpy(rng.permutation(n)) for n in (S, W))
    with torch.no_grad():
        _, m, r = network(φ, valid)
        _, _, r2 = network(φ[s][:, w], valid[s][:, w])
    torch.testing.assert_close(r2[m.any(0)], r[m.any(0)], **close)


@given(
    **sizes,
    more=st.tuples(*[st.integers(0, 2)] * 3),
    fill=st.sampled_from(["zeros", "garbage"]),
    seed=seeds,
    variant=st.sampled_from(VARIANTS),
)
@settings(deadline=None, max_examples=40)
def test_what_is_not_there_changes_nothing(S, W, C, more, fill, seed, variant):
    network = randomize(Encoder(replace(SMALL, **variant)), seed)
    φ, valid = patient(S, W, C, features=5, seed=seed)
    with torch.no_grad():
        z, m, r = network(φ, valid)
        z2, m2, r2 = network(*widened(φ, valid, more, fill, seed))
    torch.testing.assert_close(z2[:S, :C], z, **close)
    assert torch.equal(m2[:S, :C], m)
    assert not m2[S:].any()
    assert not m2[:, C:].any()
    torch.testing.assert_close(r2[:C][m.any(0)], r[m.any(0)], **close)


@given(C=st.integers(2, 8), seed=seeds, gain=st.floats(0.1, 100), shift=st.floats(-100, 100))
@settings(deadline=None, max_examples=25)
def test_prz_forgets_gain_and_offset(C, seed, gain, shift):
    g, valid = randn(C, 3, seed=seed), torch.ones(C, dtype=torch.bool)
    if g.var(0, correction=0).min() * min(gain, 1) ** 2 > 1e-6:
        torch.testing.assert_close(prz(gain * g + shift, valid), prz(g, valid))


# Dropout


def dropped(seed: int, p: float = 0.4, n: int = 200_000) -> torch.Tensor:
    layer = Dropout(p).train()
    seed_dropout(layer, seed)
    return layer(torch.ones(n, dtype=torch.float64))


def test_the_same_seed_drops_the_same_elements_and_another_seed_others():
    assert torch.equal(dropped(1), dropped(1))
    assert not torch.equal(dropped(1), dropped(2))


@pytest.mark.parametrize("p", [0.1, 0.4, 0.5, 0.9])
def test_a_share_p_is_dropped_and_the_others_are_scaled_up(p):
    x, n = dropped(3, p), 200_000
    assert abs((x == 0).double().mean() - p) < 5 * (p * (1 - p) / n) ** 0.5 + 1e-5
    kept = x[x != 0]
    assert (kept == kept[0]).all()
    assert kept[0].item() == pytest.approx(1 / (1 - p), rel=1e-4)


def test_successive_calls_of_a_layer_differ_and_layers_share_one_stream():
    layers = torch.nn.Sequential(Dropout(0.5), Dropout(0.5)).train()
    seed_dropout(layers, 0)
    x = torch.ones(1000)
    first, second = layers[0](x), layers[1](x)
    assert not torch.equal(first, second)
    assert not torch.equal(layers[0](x), first)


def test_dropout_is_the_identity_in_evaluation_and_for_p_zero():
    x = randn(50)
    assert Dropout(0.4).eval()(x) is x
    assert Dropout(0.0).train()(x) is x


def test_dropout_without_a_generator_says_what_to_call():
    with pytest.raises(RuntimeError, match="seed_dropout"):
        Dropout(0.4).train()(torch.ones(3))


@pytest.mark.parametrize("change", VARIANTS, ids=str)
def test_a_training_pass_repeats_with_its_seed_and_leaves_global_generators_alone(change):
    network = randomize(Encoder(replace(SMALL, **change))).train()
    φ, valid = patient(features=5)
    torch_before, numpy_before = torch.get_rng_state(), np.random.get_state()  # noqa: NPY002
    passes = []
    for seed in (5, 5, 6):
        seed_dropout(network, seed)
        passes.append(network(φ, valid)[2])
        passes[-1].sum().backward()
    assert torch.equal(torch.get_rng_state(), torch_before)
    np.testing.assert_array_equal(np.random.get_state()[1], numpy_before[1])  # noqa: NPY002
    assert np.random.get_state()[2] == numpy_before[2]  # noqa: NPY002
    assert torch.equal(passes[0], passes[1])
    assert not torch.equal(passes[0], passes[2])


def test_evaluation_draws_nothing():
    network, (φ, valid) = randomize(Encoder(SMALL)), patient(features=5)
    seed_dropout(network, 0)
    rng = network.window_mlp[3].rng
    before = rng.bit_generator.state["state"]["state"].copy()
    assert torch.equal(network(φ, valid)[2], network(φ, valid)[2])
    np.testing.assert_array_equal(rng.bit_generator.state["state"]["state"], before)


def test_single_precision_stays_single_through_dropout():
    layer = Dropout(0.4).train()
    seed_dropout(layer, 0)
    assert layer(torch.ones(10)).dtype == torch.float32


def test_the_gradient_passes_where_an_element_is_kept():
    layer, x = Dropout(0.5).train(), torch.ones(100, requires_grad=True)
    seed_dropout(layer, 0)
    y = layer(x)
    y.sum().backward()
    torch.testing.assert_close(x.grad, y.detach())
