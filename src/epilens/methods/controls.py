"""Networks on one row per channel: DeepSets + BCE, MLP + patient-wise rank, and the raw hybrid.

They read the channel table; the hybrid, one of the richer inputs of the paper's Discussion, reads a
channel's raw segments in addition to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from epilens.core.provenance import resolve
from epilens.evidence.contact_table import finite_mean
from epilens.evidence.views import channel_table
from epilens.methods import (
    Method,
    Scorer,
    Training,
    evidence_counts,
    seen_channels,
    seen_labels,
)
from epilens.methods.classical import relative_table
from epilens.methods.segments import usable, without_segments
from epilens.plan import TrainingPlan

if TYPE_CHECKING:
    from epilens.networks.training import PatientTensors

Table = Callable[[xr.Dataset], np.ndarray]
"""Patient → rows of its seen channels, those of the channel table first."""


@dataclass(frozen=True)
class Control:
    """A network on one row per channel, and how it is trained; epochs are the plan's."""

    network: str
    """Class of the network, as `module:class`; its first argument is the number of columns of the
    channel table."""
    layers: Mapping[str, Any]
    training: Mapping[str, Any]
    """Fields of `epilens.plan.TrainingPlan`; one patient per step."""


def fit_control(settings: Control, training: Training) -> Scorer:
    """A network on the channel table."""
    return _fit(settings, {}, lambda patient: channel_table(patient).to_numpy(), training)


def fit_hybrid(settings: Control, training: Training) -> Scorer:
    """A network on the channel table and the raw segments."""
    lost: dict[str, list[str]] = {}  # of every patient whose table is made

    def table_of(patient: xr.Dataset) -> NDArray[np.float32]:
        lost.update(without_segments([patient]))
        return pack(patient)

    fitted = _fit(settings, {"samples": training.plan.traces.samples}, table_of, training)
    return replace(fitted, notes={**fitted.notes, "without_segments": lost})


def _fit(
    settings: Control, sizes: Mapping[str, int], table_of: Table, training: Training
) -> Scorer:
    """Train; missing values become the fit patients' means."""
    from epilens.networks.controls import weighted_share
    from epilens.networks.training import TrainingSetup, build, fit_network, predict

    names = list(channel_table(training.fit[0]))
    columns = len(names)
    # Where no patient has a value, 0.
    fill = finite_mean(np.concatenate([table_of(p)[:, :columns] for p in training.fit]))
    is_ez = np.concatenate([seen_labels(patient) for patient in training.fit])
    nez_weight = float(is_ez.sum() / (~is_ez).sum())
    network = build(
        partial(resolve(settings.network), columns, **sizes, **settings.layers), training.seed
    )
    fit, validation = (
        [_as_tensors(patient, table_of, fill) for patient in part]
        for part in (training.fit, training.validation)
    )
    setup = TrainingSetup(
        fit,
        validation,
        partial(weighted_share, nez_weight=nez_weight),
        training.seed,
        TrainingPlan(epochs=training.plan.baselines.epochs, **settings.training),
    )
    return Scorer(
        lambda patient: predict(network, _as_tensors(patient, table_of, fill)),
        fit_network(network, setup),
        notes={
            "columns": names,
            "nez_weight": nez_weight,
            "counts": evidence_counts([*training.fit, *training.validation]),
        },
        tensors=dict(network.state_dict()),
    )


def _as_tensors(patient: xr.Dataset, table_of: Table, fill: np.ndarray) -> PatientTensors:
    """The rows of one patient in place of its windows."""
    import torch

    from epilens.networks.training import PatientTensors

    table = table_of(patient).astype(np.float32)
    columns = table[:, : len(fill)]
    table[:, : len(fill)] = np.where(np.isfinite(columns), columns, fill)
    names = tuple(patient["channel"].values[seen_channels(patient)].tolist())
    everyone = torch.ones(len(names), dtype=torch.bool)
    is_ez = torch.from_numpy(seen_labels(patient)) if "is_ez" in patient else None
    φ = torch.from_numpy(table)
    return PatientTensors(patient.attrs["patient"], names, φ, everyone, everyone, is_ez)


def pack(patient: xr.Dataset) -> NDArray[np.float32]:
    """Columns, then every segment after a flag whether it is whole: one row per seen channel."""
    table = relative_table(patient).to_numpy(np.float32)
    seen = seen_channels(patient)
    whole = usable(patient)
    trace = np.moveaxis(patient["trace"].values[..., seen, :], 2, 0)  # (C, S, segment, time)
    flags = np.moveaxis(whole[..., seen], 2, 0)[..., None]
    segments = np.concatenate([flags, np.where(flags, trace, 0)], axis=-1, dtype=np.float32)
    return np.hstack([table, segments.reshape(len(table), -1)])


def _row(name: str, title: str, network: str, **layers: Any) -> Method:
    """A method with the paper's training of these controls."""
    training = {
        "learning_rate": 1e-3,
        "weight_decay": 1e-4,
        "batch": 1,
        "patience": 6,
        "least_epochs": 6,
        "clip_norm": 1.0,
    }
    return Method(
        name,
        title,
        "cube",
        "the paper",
        fit_control,
        Control(f"epilens.networks.controls:{network}", layers, training),
        sections=("baselines",),
        requires=("torch",),
    )


ENTRIES = (
    _row("deepsets", "DeepSets + BCE", "DeepSets", hidden=96, embedded=64, dropout=0.15),
    _row("mlp-rank", "MLP + patient-wise rank", "RankedMLP", hidden=96, dropout=0.15),
    replace(
        _row(
            "rich/hybrid",
            "Raw-window CNN + descriptors",
            "Hybrid",
            convolutions=((16, 15, 4), (32, 9, 4)),
            hidden=96,
            dropout=0.15,
        ),
        input="traces",
        reference="the paper, Discussion",
        fitter=fit_hybrid,
        sections=("baselines", "traces"),
    ),
)
