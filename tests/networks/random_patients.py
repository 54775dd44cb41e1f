"""Random patients, random weights, and the gradients of a network, for the tests beside this."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from epilens.networks.bcr import BCRNet
from epilens.networks.encoder import PatientNetwork
from epilens.networks.prq import PRQNet
from epilens.networks.specs import BCRSpec, EncoderSpec, PRQSpec

SMALL = EncoderSpec(features=5, D=4, heads=2)


def randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def variable(*shape: int, seed: int = 0) -> Tensor:
    return randn(*shape, seed=seed).requires_grad_()


def patient(
    S: int = 3, W: int = 4, C: int = 5, features: int = 36, seed: int = 0
) -> tuple[Tensor, Tensor]:
    """φ and its mask: holes, channels that some seizures lack, and windows without any channel.

    Channel 0 is always seen. φ is 0 where it is not valid, as the package has it.
    """
    rng = np.random.default_rng(seed)
    valid = rng.random((S, W, C)) < 0.8
    valid &= rng.random((S, 1, C)) < 0.8  # missing in a whole seizure
    valid &= rng.random((S, W, 1)) < 0.8  # no channel in the window
    valid[0, 0, 0] = True
    φ = rng.normal(size=(S, W, C, features)) * valid[..., None]
    return torch.from_numpy(φ), torch.from_numpy(valid)


def randomize(network: nn.Module, seed: int = 0) -> nn.Module:
    """Double precision, evaluation, and every parameter away from what it starts as."""
    rng = np.random.default_rng(seed)
    network = network.double().eval()
    with torch.no_grad():
        for name, p in network.named_parameters():
            noise = torch.from_numpy(np.asarray(rng.normal(size=tuple(p.shape))))
            is_scale = name.endswith("weight") and p.dim() == 1  # of a LayerNorm
            width = p.shape[-1] if p.dim() == 2 else 4
            p.copy_(noise * 1.5 / width**0.5 if not is_scale else 1 + 0.4 * noise)
    return network


def small_network(spec: PRQSpec | BCRSpec, seed: int = 0) -> PatientNetwork:
    """A network of these settings with few features and random weights."""
    network = PRQNet if isinstance(spec, PRQSpec) else BCRNet
    encoder = replace(spec.encoder, features=SMALL.features, D=SMALL.D)
    return randomize(network(replace(spec, encoder=encoder)), seed)


def weights(network: nn.Module) -> dict[str, np.ndarray]:
    return {name: p.detach().numpy() for name, p in network.named_parameters()}


def gradients(network: nn.Module, loss: Tensor) -> dict[str, Tensor]:
    """Of every parameter that the loss depends on."""
    network.zero_grad()
    loss.backward()
    return {name: p.grad for name, p in network.named_parameters() if p.grad is not None}


def along_directions(network: nn.Module, *inputs: Tensor, pick=lambda out: out):
    """The network as a function of steps along random directions, and the place of no step.

    One direction for the first input and one for each parameter, so that gradcheck sees all of
    them at the price of some twenty numbers.
    """
    x, *others = inputs
    start = {name: p.detach() for name, p in network.named_parameters()}
    ways = [randn(*p.shape, seed=i) for i, p in enumerate((x, *start.values()))]

    def call(steps):
        moved = {
            name: p + t * way
            for (name, p), t, way in zip(start.items(), steps[1:], ways[1:], strict=True)
        }
        return pick(torch.func.functional_call(network, moved, (x + steps[0] * ways[0], *others)))

    return call, torch.zeros(len(ways), dtype=torch.float64, requires_grad=True)


def widened(x: Tensor, valid: Tensor, more: tuple[int, int, int], fill: str, seed: int = 0):
    """The same patient with more seizures, windows and channels that are not there.

    fill : what stands in all invalid places, "zeros" or "garbage".
    """
    S, W, C, features = x.shape
    big = torch.zeros(S + more[0], W + more[1], C + more[2], features, dtype=x.dtype)
    mask = torch.zeros(big.shape[:3], dtype=torch.bool)
    big[:S, :W, :C], mask[:S, :W, :C] = x, valid
    if fill == "garbage":
        big = torch.where(mask.unsqueeze(-1), big, 1e3 * randn(*big.shape, seed=seed).to(x.dtype))
    return big, mask
