"""Checkpoints of the authors' released code → our networks, without running code from the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy._core import multiarray
from torch import Tensor

from epilens.errors import ModelError
from epilens.evidence.released_descriptors import RELEASED_NINE
from epilens.evidence.views import Standardizer
from epilens.networks.model import NETWORKS, Branch, Model, group_members
from epilens.plan import FilterPlan, Plan

_FIELDS = ("model", "standardizer_mean", "standardizer_scale", "branch", "seed", "outer_fold")
# Their names → ours. Sequential numbers and torch's attention layout are the same on both sides.
_RENAMED = (
    ("encoder.window_context.attention.in_proj_", "encoder.window_context.inward."),
    ("encoder.window_context.attention.out_proj.", "encoder.window_context.outward."),
    ("encoder.window_context.normalization.", "encoder.window_context.norm."),
    ("encoder.patient_context.attention.in_proj_", "encoder.patient_context.inward."),
    ("encoder.patient_context.attention.out_proj.", "encoder.patient_context.outward."),
    ("encoder.patient_context.normalization.", "encoder.patient_context.norm."),
    ("encoder.patient_projection.", "encoder.projection."),
    ("seizure_ez_head.", "seizure_head."),
    ("seizure_head.0.", "tail.norm."),
    ("seizure_head.1.", "tail.w_q."),
    ("residual_gate", "tail.gamma"),
)

RELEASED_PLAN = Plan(
    name="released", filter=FilterPlan(band="none"), descriptors=RELEASED_NINE, methods=("cdel",)
)
"""What the checkpoints were trained on: that code's descriptors of the unfiltered signal."""


def import_released(paths: Sequence[str | Path]) -> Model:
    """A model from released checkpoints, one file per branch, seed and fold.

    The checkpoints hold neither threshold nor plan: 0.5 is set, evidence is described as that code
    does, and the card says so.
    """
    if not paths:
        raise ModelError("model import: expected checkpoints, found none. Name the .pt files.")
    branches = [_branch(Path(path), read_checkpoint(Path(path))) for path in paths]
    about = {
        "source": "checkpoints of the authors' released code",
        "plan": RELEASED_PLAN.model_dump(mode="json"),
        "plan_digest": RELEASED_PLAN.digest,
        "notes": [
            "the checkpoints hold no threshold: 0.5 is set; choose one on labelled patients",
            "the checkpoints hold no plan: evidence is described by the released code's "
            "descriptors, without band limits; all else is the paper's",
        ],
    }
    members = group_members(branches)
    return Model(members, 0.5, 0.2, about, descriptors=RELEASED_NINE)


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Tensors, NumPy arrays and plain values of a checkpoint; anything else is refused."""
    rebuild, scalar = multiarray._reconstruct, multiarray.scalar
    allowed: list[Any] = [np.ndarray, np.dtype, rebuild, scalar]
    allowed += [type(np.dtype(kind)) for kind in ("f4", "f8", "i4", "i8", "?")]
    # The same functions under the name that NumPy 1 wrote into files.
    allowed += [(rebuild, "numpy.core.multiarray._reconstruct")]
    allowed += [(scalar, "numpy.core.multiarray.scalar")]
    try:
        with torch.serialization.safe_globals(allowed):
            checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many kinds, all of which mean: not such a file
        raise ModelError(
            f"{path}: expected a checkpoint with tensors, arrays and plain values only, found: "
            f"{str(error).strip().splitlines()[0][:160]} It is not opened."
        ) from None
    missing = [f for f in _FIELDS if not isinstance(checkpoint, dict) or f not in checkpoint]
    if missing:
        raise ModelError(
            f"{path}: expected a released checkpoint with {', '.join(_FIELDS)}, found no "
            f"{missing[0]}."
        )
    return checkpoint


def _branch(path: Path, c: Mapping[str, Any]) -> tuple[str, int, str, Branch]:
    name = str(c["branch"])
    if name not in NETWORKS:
        raise ModelError(f"{path}: expected branch prq or bcr, found {name!r}.")
    if c.get("quantile_control"):
        raise ModelError(
            f"{path}: expected a PRQ or BCR checkpoint, found the quantile control. It has no "
            "place in CDEL; import the full branch."
        )
    network = NETWORKS[name].of(_spec(name, c))
    try:
        network.load_state_dict(_renamed(name, c["model"], set(network.state_dict())))
    except (RuntimeError, AttributeError) as error:
        raise ModelError(
            f"{path}: expected the released {name} network, found: "
            f"{str(error).splitlines()[-1].strip()}"
        ) from None
    mean, scale = (np.asarray(c[f"standardizer_{w}"], np.float64) for w in ("mean", "scale"))
    if mean.size != 36 or scale.size != 36:
        raise ModelError(f"{path}: expected 36 means and scales, found {mean.size}, {scale.size}.")
    # Their order is fixed: ABS, Δ, Z-Δ, LOG-R × the nine.
    standardizer = Standardizer(mean.reshape(4, 9), scale.reshape(4, 9))
    return name, int(c["seed"]), str(c["outer_fold"]), Branch(network, standardizer)


def _spec(name: str, c: Mapping[str, Any]) -> dict[str, Any]:
    encoder = {"projection": True, "relative": bool(c.get("use_patient_relative", True))}
    if name == "bcr":
        return {"encoder": encoder}
    mean = str(c.get("temporal_aggregation", "quantile")).lower() == "mean"
    return {
        "encoder": encoder,
        "residual": bool(c.get("use_temporal", True)),
        "quantile": float(c.get("quantile", 0.10)),
        "aggregate": "mean" if mean else "quantile",
    }


def _renamed(name: str, state: Mapping[str, Tensor], ours: set[str]) -> dict[str, Tensor]:
    """The state under our names; heads that this row does not have are left out."""
    renamed = {}
    for key, value in state.items():
        for theirs, mine in _RENAMED:
            if name == "bcr" and mine.startswith("tail."):
                continue
            if key.startswith(theirs):
                key = mine + key.removeprefix(theirs)
                break
        renamed[key] = value
    return {key: value for key, value in renamed.items() if key in ours}
