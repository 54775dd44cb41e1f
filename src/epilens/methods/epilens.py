"""PRQ-Net, BCR-Net, CDEL, and every ablation: rows that differ in one argument."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import xarray as xr

from epilens.evidence.views import Standardizer
from epilens.methods import Method, Scorer
from epilens.plan import Plan
from epilens.thresholds import select_threshold


@dataclass
class FittedNetwork(Scorer):
    """A trained network with the standardizer of its fit patients."""

    network: Any = None
    standardizer: Standardizer | None = None


def _fit(
    make: Callable[[], tuple[Any, Any]],
    fit: Sequence[xr.Dataset],
    validation: Sequence[xr.Dataset],
    seed: int,
    plan: Plan,
) -> FittedNetwork:
    """Standardize on fit patients, train, keep the epoch that validation patients prefer."""
    from epilens.networks.training import as_tensors, build, fit_network, predict

    standardizer = Standardizer.fit(fit)
    network_of, loss = make()
    network = build(network_of, seed)
    history = fit_network(
        network,
        loss,
        [as_tensors(cube, standardizer) for cube in fit],
        [as_tensors(cube, standardizer) for cube in validation],
        select_threshold,
        seed,
        plan.training,
    )
    return FittedNetwork(
        lambda cube: predict(network, as_tensors(cube, standardizer)),
        history,
        tensors=_tensors(network, standardizer),
        network=network,
        standardizer=standardizer,
    )


def _tensors(network: Any, standardizer: Standardizer) -> dict[str, Any]:
    """Network and standardizer, for the checkpoint."""
    import torch

    scaling = {"mean": standardizer.mean, "scale": standardizer.scale}
    tensors = {f"standardizer.{key}": torch.from_numpy(v) for key, v in scaling.items()}
    return {k: v.contiguous() for k, v in network.state_dict().items()} | tensors


def _prq(**changes: Any) -> tuple[Any, Any]:
    """PRQ-Net and its loss; `encoder` holds changes to the encoder."""
    from epilens.networks.encoder import EncoderSpec
    from epilens.networks.prq import PRQNet, PRQSpec, masked_mean_over_seizures, prq_share

    if changes.pop("mean_over_seizures", False):
        changes["aggregate"] = masked_mean_over_seizures
    spec = PRQSpec(EncoderSpec(**changes.pop("encoder", {})), **changes)
    return partial(PRQNet, spec), prq_share


def _bcr(**changes: Any) -> tuple[Any, Any]:
    """BCR-Net and its loss."""
    from epilens.networks.bcr import BCRNet, BCRSpec, bcr_share
    from epilens.networks.encoder import EncoderSpec

    spec = BCRSpec(EncoderSpec(**changes.pop("encoder", {})), **changes)
    return partial(BCRNet, spec), partial(bcr_share, spec=spec)


def _row(name: str, title: str, reference: str, **changes: Any) -> Method:
    make = _prq if name.startswith("prq") else _bcr
    return Method(
        name=name,
        title=title,
        input="cube",
        reference=reference,
        fitter=partial(_fit, partial(_remake, make, changes)),
        spec=f"{make.__name__[1:]} {sorted(changes.items())}",
        reads=("training",),
    )


def _remake(make: Callable[..., tuple[Any, Any]], changes: dict[str, Any]) -> tuple[Any, Any]:
    return make(**{key: dict(v) if isinstance(v, dict) else v for key, v in changes.items()})


_TABLE, _QUANTILES = "component ablation table", "quantile table"

ENTRIES = (
    _row("prq", "PRQ-Net", "Eqs. 11-13"),
    _row("prq/base", "PRQ-Net: base, no residual", _TABLE, residual=False),
    _row("prq/temporal", "PRQ-Net: mean over seizures", _TABLE, mean_over_seizures=True),
    _row("prq/absolute", "PRQ-Net without PRZ and RZ", _TABLE, encoder={"relative": False}),
    _row("prq/q05", "PRQ-Net: Q05", _QUANTILES, quantile=0.05),
    _row("prq/q20", "PRQ-Net: Q20", _QUANTILES, quantile=0.20),
    _row("prq/released", "PRQ-Net as released", "released code", encoder={"projection": True}),
    _row("bcr", "BCR-Net", "Eqs. 14-21"),
    _row("bcr/base", "BCR-Net: BCE", _TABLE, boundary=0.0, coverage=0.0),
    _row("bcr/q10", "BCR-Net: Q10 control", _TABLE, boundary=0.0, coverage=0.0, quantile_head=True),
    _row("bcr/boundary", "BCR-Net: BCE + boundary", _TABLE, coverage=0.0),
    _row("bcr/coverage", "BCR-Net: BCE + coverage", _TABLE, boundary=0.0),
    _row("bcr/released", "BCR-Net as released", "released code", encoder={"projection": True}),
    Method("cdel", "CDEL", "cube", "Eq. 9", None, "0.8 prq + 0.2 bcr", parts=("prq", "bcr")),
)
