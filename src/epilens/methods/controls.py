"""Neural controls on the 88-column channel table: DeepSets + BCE, MLP + patient-wise rank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from epilens.evidence.views import channel_table
from epilens.methods import Method, Scorer, seen_channels, seen_labels
from epilens.plan import Plan, TrainingPlan
from epilens.thresholds import select_threshold

if TYPE_CHECKING:
    from epilens.networks.training import PatientTensors


def _training(plan: Plan) -> TrainingPlan:
    """The paper's settings of these controls: one patient per step."""
    return TrainingPlan(
        learning_rate=1e-3, weight_decay=1e-4, epochs=plan.baselines.epochs, batch=1
    )


def _fit(
    network_name: str,
    fit: Sequence[xr.Dataset],
    validation: Sequence[xr.Dataset],
    seed: int,
    plan: Plan,
) -> Scorer:
    from epilens.networks import controls
    from epilens.networks.training import build, fit_network, predict

    fill = _column_means(fit)
    is_ez = np.concatenate([seen_labels(patient) for patient in fit])
    loss = partial(controls.weighted_share, nez_weight=is_ez.sum() / (~is_ez).sum())
    network = build(getattr(controls, network_name), seed)
    history = fit_network(
        network,
        loss,
        [_as_tensors(patient, fill) for patient in fit],
        [_as_tensors(patient, fill) for patient in validation],
        select_threshold,
        seed,
        _training(plan),
    )
    return Scorer(
        lambda patient: predict(network, _as_tensors(patient, fill)),
        history,
        notes={"nez_weight": float(is_ez.sum() / (~is_ez).sum())},
        tensors=dict(network.state_dict()),
    )


def _column_means(fit: Sequence[xr.Dataset]) -> np.ndarray:
    """For imputation, from fit patients only."""
    return np.nanmean(np.concatenate([channel_table(p).to_numpy() for p in fit]), axis=0)


def _as_tensors(patient: xr.Dataset, fill: np.ndarray) -> PatientTensors:
    """The table of one patient in place of its windows."""
    import torch

    from epilens.networks.training import PatientTensors

    table = channel_table(patient).to_numpy()
    table = np.where(np.isnan(table), fill, table).astype(np.float32)
    names = tuple(patient["channel"].values[seen_channels(patient)].tolist())
    everyone = torch.ones(len(names), dtype=torch.bool)
    is_ez = torch.from_numpy(seen_labels(patient)) if "is_ez" in patient else None
    φ = torch.from_numpy(table)
    return PatientTensors(patient.attrs["patient"], names, φ, everyone, everyone, is_ez)


def _row(name: str, title: str, network: str) -> Method:
    fitter: Callable[..., Any] = partial(_fit, network)
    reference = "the paper"
    return Method(name, title, "cube", reference, fitter, network, reads=("baselines",))


ENTRIES = (
    _row("deepsets", "DeepSets + BCE", "DeepSets"),
    _row("mlp-rank", "MLP + patient-wise rank", "RankedMLP"),
)
