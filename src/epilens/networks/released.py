"""Checkpoints of the authors' released code → our networks, without running code from the file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from numpy._core import multiarray
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from torch import Tensor

from epilens.core.decisions import LOCKED_WEIGHT
from epilens.core.errors import ModelError
from epilens.evidence.released_descriptors import RELEASED_NINE
from epilens.evidence.views import Standardizer
from epilens.io.safe_read import check_regular
from epilens.networks.branch import NETWORKS, Branch
from epilens.networks.model import Member, Model
from epilens.networks.model_schema import first_problem
from epilens.networks.specs import BCRSpec, EncoderSpec, PRQSpec
from epilens.plan import FilterPlan, Plan

_MOST_BYTES = 1024**3
# Their names → ours. Sequential numbers and torch's attention layout are the same on both sides.
_RENAMED = {
    r"(_context)\.attention\.in_proj_": r"\1.inward.",
    r"(_context)\.attention\.out_proj\.": r"\1.outward.",
    r"(_context)\.normalization\.": r"\1.norm.",
    r"encoder\.patient_projection\.": "encoder.projection.",
}
_RENAMED_HEADS = {
    "prq": {
        r"seizure_head\.0\.": "tail.norm.",
        r"seizure_head\.1\.": "tail.w_q.",
        "residual_gate": "tail.gamma",
    },
    "bcr": {r"seizure_ez_head\.": "seizure_head."},
}

RELEASED_PLAN = Plan(
    name="released", filter=FilterPlan(band="none"), descriptors=RELEASED_NINE, methods=("cdel",)
)
"""What the checkpoints were trained on: that code's descriptors of the unfiltered signal."""


def import_released(paths: Sequence[str | Path]) -> Model:
    """A model from released checkpoints, one file per branch, seed and fold.

    The checkpoints contain neither threshold nor plan: the threshold is 0.5, evidence is described
    as that code does, and the card states it.
    """
    if not paths:
        raise ModelError("model import: expected checkpoints, found none. Name the .pt files.")
    about = {
        "source": "checkpoints of the authors' released code",
        "plan": RELEASED_PLAN.model_dump(mode="json"),
        "plan_digest": RELEASED_PLAN.digest,
        "notes": [
            "the checkpoints contain no threshold: 0.5 is set; choose one on labelled patients",
            "the checkpoints contain no plan: evidence is described by the released code's "
            "descriptors, without band limits; all else is the paper's",
        ],
    }
    return Model(
        members=group_members([_branch(Path(path)) for path in paths]),
        threshold=0.5,
        weight=LOCKED_WEIGHT,
        about=about,
        descriptors=RELEASED_NINE,
    )


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Tensors, NumPy arrays and plain values of a checkpoint; anything else is refused."""
    check_regular(path, str(path), ModelError, _MOST_BYTES)
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
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise ModelError(
            f"{path}: expected a checkpoint with tensors, arrays and plain values only, found: "
            f"{lines[0][:160]} It is not opened."
        ) from None
    required = [name for name, field in Checkpoint.model_fields.items() if field.is_required()]
    for name in required:
        if not isinstance(checkpoint, dict) or name not in checkpoint:
            raise ModelError(
                f"{path}: expected a released checkpoint with {', '.join(required)}, found no "
                f"{name}."
            )
    return checkpoint


class Checkpoint(BaseModel):
    """The fields of a released checkpoint; others are not looked at."""

    model_config = ConfigDict(extra="ignore", arbitrary_types_allowed=True, allow_inf_nan=False)

    model: dict[str, Tensor]
    standardizer_mean: Any
    standardizer_scale: Any
    branch: str
    seed: int
    outer_fold: int | Annotated[str, Field(min_length=1, max_length=100)]
    quantile_control: bool = False
    use_patient_relative: bool = True
    use_temporal: bool = True
    temporal_aggregation: str = "quantile"
    quantile: Annotated[float, Field(ge=0, le=1)] = 0.10

    @field_validator("seed", "outer_fold", "branch", "quantile", mode="before")
    @classmethod
    def _single(cls, value: Any) -> Any:
        """A plain value of a tensor or array that contains one."""
        size = value.numel() if isinstance(value, Tensor) else getattr(value, "size", None)
        return value.item() if size == 1 and hasattr(value, "item") else value


def _typed(checkpoint: Mapping[str, Any], path: Path) -> Checkpoint:
    try:
        return Checkpoint.model_validate(checkpoint)
    except ValidationError as error:
        field, why = first_problem(error)
        raise ModelError(
            f"{path}: expected a released checkpoint, found {field[:80]} wrong ({why})."
        ) from None


def _standardizer(path: Path, c: Checkpoint) -> Standardizer:
    """Their order is fixed: ABS, Δ, Z-Δ, LOG-R × the nine."""
    both = (c.standardizer_mean, c.standardizer_scale)
    try:
        # Counted before anything is copied: a small file can say that it has very many.
        sizes = [int(v.numel() if isinstance(v, Tensor) else np.size(v)) for v in both]
        if sizes != [36, 36]:
            raise ValueError(", ".join(map(str, sizes)))
        mean, scale = (np.asarray(values, np.float64).reshape(4, 9) for values in both)
        if not np.isfinite([mean, scale]).all():
            raise ValueError("numbers that are not finite")
    except (TypeError, ValueError, RuntimeError) as error:
        raise ModelError(f"{path}: expected 36 means and scales, found {error}.") from None
    return Standardizer(mean, scale)


def _branch(path: Path) -> tuple[str, int, str, Branch]:
    """Branch, seed, fold and fitted network of a checkpoint."""
    c = _typed(read_checkpoint(path), path)
    name = c.branch
    if name not in NETWORKS:
        raise ModelError(f"{path}: expected branch prq or bcr, found {name[:40]!r}.")
    if c.quantile_control:
        raise ModelError(
            f"{path}: expected a PRQ or BCR checkpoint, found the quantile control. It has no "
            "place in CDEL; import the full branch."
        )
    network = NETWORKS[name](_spec(c))
    ours = set(network.state_dict())
    renamed = {_our_name(name, key): value for key, value in c.model.items()}
    try:  # heads that this network does not have are left out
        network.load_state_dict({key: value for key, value in renamed.items() if key in ours})
    except (RuntimeError, AttributeError, TypeError) as error:
        lines = str(error).splitlines() or [type(error).__name__]
        raise ModelError(
            f"{path}: expected the released {name} network, found: {lines[-1].strip()}"
        ) from None
    if not all(bool(part.isfinite().all()) for part in network.state_dict().values()):
        raise ModelError(f"{path}: expected finite weights, found others.")
    return name, c.seed, str(c.outer_fold), Branch(network, _standardizer(path, c))


def _spec(c: Checkpoint) -> PRQSpec | BCRSpec:
    encoder = EncoderSpec(projection=True, relative=c.use_patient_relative)
    if c.branch == "bcr":
        return BCRSpec(encoder)
    mean = c.temporal_aggregation.lower() == "mean"
    return PRQSpec(encoder, c.use_temporal, c.quantile, "mean" if mean else "quantile")


def _our_name(branch: str, name: str) -> str:
    for theirs, ours in (_RENAMED | _RENAMED_HEADS[branch]).items():
        name = re.sub(theirs, ours, name)
    return name


def group_members(fits: Sequence[tuple[str, int, str, Branch]]) -> tuple[Member, ...]:
    """Members of CDEL from (method, seed, fold, branch); both branches of each are needed."""
    members: dict[tuple[int, str], dict[str, Branch]] = {}
    for method, seed, fold, branch in fits:
        parts = members.setdefault((seed, fold), {})
        if method in parts:
            raise ModelError(
                f"model: expected {method} of seed {seed} fold {fold} once, found it twice."
            )
        parts[method] = branch
    for (seed, fold), parts in members.items():
        for method in NETWORKS:
            if method not in parts:
                raise ModelError(
                    f"model: expected both branches of seed {seed} fold {fold}, found no {method}. "
                    "CDEL needs a PRQ and a BCR checkpoint of every seed and fold."
                )
    return tuple(
        Member(seed, fold, {method: parts[method] for method in NETWORKS})
        for (seed, fold), parts in sorted(members.items())
    )
