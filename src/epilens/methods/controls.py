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


COLUMNS = 88
Table = Callable[[xr.Dataset], np.ndarray]
"""Patient → rows of its seen channels; the first 88 numbers are the channel table."""


def _training(plan: Plan) -> TrainingPlan:
    """The paper's settings of these controls: one patient per step."""
    return TrainingPlan(
        learning_rate=1e-3, weight_decay=1e-4, epochs=plan.baselines.epochs, batch=1
    )


def fit_control(
    make: Callable[[], Any],
    table_of: Table,
    fit: Sequence[xr.Dataset],
    validation: Sequence[xr.Dataset],
    seed: int,
    plan: Plan,
) -> Scorer:
    """Train a network on one row per channel; missing values become the fit patients' means."""
    from epilens.networks.controls import weighted_share
    from epilens.networks.training import build, fit_network, predict

    fill = _column_means([table_of(patient) for patient in fit])
    is_ez = np.concatenate([seen_labels(patient) for patient in fit])
    nez_weight = float(is_ez.sum() / (~is_ez).sum())
    network = build(make, seed)
    history = fit_network(
        network,
        partial(weighted_share, nez_weight=nez_weight),
        [_as_tensors(patient, table_of, fill) for patient in fit],
        [_as_tensors(patient, table_of, fill) for patient in validation],
        select_threshold,
        seed,
        _training(plan),
    )
    return Scorer(
        lambda patient: predict(network, _as_tensors(patient, table_of, fill)),
        history,
        notes={"nez_weight": nez_weight},
        tensors=dict(network.state_dict()),
    )


def _column_means(tables: Sequence[np.ndarray]) -> np.ndarray:
    """Of the 88 columns, from fit patients only; 0 where nobody has a value."""
    table = np.concatenate([part[:, :COLUMNS] for part in tables])
    there = np.isfinite(table)
    return np.where(there, table, 0).sum(0) / np.maximum(there.sum(0), 1)


def _as_tensors(patient: xr.Dataset, table_of: Table, fill: np.ndarray) -> PatientTensors:
    """The rows of one patient in place of its windows."""
    import torch

    from epilens.networks.training import PatientTensors

    table = table_of(patient).astype(np.float32)
    columns = table[:, :COLUMNS]
    table[:, :COLUMNS] = np.where(np.isfinite(columns), columns, fill)
    names = tuple(patient["channel"].values[seen_channels(patient)].tolist())
    everyone = torch.ones(len(names), dtype=torch.bool)
    is_ez = torch.from_numpy(seen_labels(patient)) if "is_ez" in patient else None
    φ = torch.from_numpy(table)
    return PatientTensors(patient.attrs["patient"], names, φ, everyone, everyone, is_ez)


def _columns(patient: xr.Dataset) -> np.ndarray:
    return channel_table(patient).to_numpy()


def _fit(
    network: str,
    fit: Sequence[xr.Dataset],
    validation: Sequence[xr.Dataset],
    seed: int,
    plan: Plan,
) -> Scorer:
    from epilens.networks import controls

    return fit_control(getattr(controls, network), _columns, fit, validation, seed, plan)


def _row(name: str, title: str, network: str) -> Method:
    fitter: Callable[..., Any] = partial(_fit, network)
    reference = "the paper"
    return Method(name, title, "cube", reference, fitter, network, reads=("baselines",))


ENTRIES = (
    _row("deepsets", "DeepSets + BCE", "DeepSets"),
    _row("mlp-rank", "MLP + patient-wise rank", "RankedMLP"),
)
