"""Checkpoints as the authors' released code writes them, with random weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from epilens.networks.bcr import BCRNet
from epilens.networks.prq import PRQNet
from epilens.networks.specs import EncoderSpec, PRQSpec

# The released code's names, as its description lists them, for each of ours.
THEIRS = {
    "encoder.window_context.inward.": "encoder.window_context.attention.in_proj_",
    "encoder.window_context.outward.": "encoder.window_context.attention.out_proj.",
    "encoder.window_context.norm.": "encoder.window_context.normalization.",
    "encoder.patient_context.inward.": "encoder.patient_context.attention.in_proj_",
    "encoder.patient_context.outward.": "encoder.patient_context.attention.out_proj.",
    "encoder.patient_context.norm.": "encoder.patient_context.normalization.",
    "encoder.projection.": "encoder.patient_projection.",
    "tail.norm.": "seizure_head.0.",
    "tail.w_q.": "seizure_head.1.",
    "tail.gamma": "residual_gate",
    "seizure_head.": "seizure_ez_head.",
}


def their_name(name: str) -> str:
    for ours, theirs in THEIRS.items():
        if name.startswith(ours):
            return theirs + name.removeprefix(ours)
    return name


def random_state(network: torch.nn.Module, seed: int) -> dict[str, torch.Tensor]:
    rng = np.random.default_rng(seed)
    return {
        name: torch.from_numpy(rng.normal(0, 0.3, tuple(value.shape)).astype(np.float32))
        for name, value in network.state_dict().items()
    }


def checkpoint(path: Path, name: str, seed: int = 42, fold: int = 0, **changes) -> dict:
    """A checkpoint in the released format; returns our names → weights."""
    spec = EncoderSpec(projection=True)
    network = PRQNet(PRQSpec(spec)) if name == "prq" else BCRNet(type(BCRNet().spec)(spec))
    state = random_state(network, seed + (name == "prq"))
    rng = np.random.default_rng(3)
    content = {
        "model": {their_name(key): value for key, value in state.items()},
        "standardizer_mean": rng.normal(size=36).astype(np.float32),
        "standardizer_scale": rng.uniform(0.5, 2, 36).astype(np.float32),
        "branch": name,
        "seed": seed,
        "outer_fold": fold,
        "quantile": 0.10,
        "use_temporal": True,
        "use_patient_relative": True,
        "temporal_aggregation": "quantile",
        "quantile_control": False,
    }
    torch.save(content | changes, path)
    return {key: value.double().numpy() for key, value in state.items()}
