"""Training on whole patients: a few per step, clipped gradients, judged on validation patients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor, nn

from epilens.core.decisions import select_threshold
from epilens.evidence.views import Standardizer
from epilens.networks.encoder import BatchCounts, seed_dropout
from epilens.networks.loop import HISTORY, Reached, Schedule, train_epochs
from epilens.plan import TrainingPlan

Loss = Callable[[Tensor, Tensor, BatchCounts], Tensor]
"""Logits and labels of one patient, and its batch → what it adds to the loss."""


@dataclass(frozen=True)
class PatientTensors:
    """One patient as a network reads it. `seen`: channels that are valid in some seizure."""

    name: str
    channels: tuple[str, ...]
    φ: Tensor  # (S, W, C, F)
    valid: Tensor  # (S, W, C)
    seen: Tensor  # (C,)
    is_ez: Tensor | None  # (C,)


def as_tensors(
    cube: xr.Dataset, standardizer: Standardizer, φ: xr.DataArray | None = None
) -> PatientTensors:
    """Standardized views of a cube, views × descriptors along the last axis."""
    x = torch.from_numpy(standardizer.transform(cube, φ).values).flatten(-2)
    valid = torch.from_numpy(cube["valid"].values)
    is_ez = torch.from_numpy(cube["is_ez"].values) if "is_ez" in cube else None
    names = tuple(cube["channel"].values.tolist())
    return PatientTensors(cube.attrs["patient"], names, x, valid, valid.flatten(0, 1).any(0), is_ez)


def build(make: Callable[[], nn.Module], seed: int) -> Any:
    """A network whose weights and dropout depend on the seed alone; no global state is touched."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = make()
    seed_dropout(network, seed)
    return network


def predict(network: nn.Module, patient: PatientTensors) -> NDArray[np.float64]:
    """NEZ probabilities of the patient's seen channels."""
    network.eval()
    with torch.no_grad():
        φ = patient.φ.to(next(network.parameters()).dtype)
        p = network.p_nez(φ, patient.valid)  # ty: ignore
    return p[patient.seen].numpy().astype(np.float64)


@dataclass(frozen=True)
class TrainingSetup:
    """Patients, loss, seed and settings with which a network is trained."""

    fit: Sequence[PatientTensors]
    validation: Sequence[PatientTensors]
    loss: Loss
    seed: int
    plan: TrainingPlan


def fit_network(network: nn.Module, setup: TrainingSetup) -> pd.DataFrame:
    """Train in place, keep the best epoch on validation patients; returns the history.

    An epoch is better when (Macro-F1, EZ-F1, balanced accuracy) at its own best threshold is
    strictly larger. Training stops after `patience` epochs without that, not before `least_epochs`.
    """
    plan = setup.plan
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=plan.learning_rate, weight_decay=plan.weight_decay
    )
    shuffle = np.random.default_rng(np.random.SeedSequence([setup.seed, 1]))
    truth = [_labels(patient).numpy() for patient in setup.validation]

    def epoch() -> float:
        network.train()
        order = shuffle.permutation(len(setup.fit))
        batches = [order[i : i + plan.batch] for i in range(0, len(order), plan.batch)]
        return float(np.mean([_step(network, setup, optimizer, batch) for batch in batches]))

    def judge() -> tuple[Reached, tuple[Any, ...]]:
        scores = [predict(network, patient) for patient in setup.validation]
        threshold, reached = select_threshold(scores, truth)
        return reached, (threshold, *reached)

    schedule = Schedule(plan.epochs, plan.patience, plan.least_epochs)
    return pd.DataFrame(train_epochs(network, epoch, judge, schedule), columns=list(HISTORY))


def _step(
    network: nn.Module,
    setup: TrainingSetup,
    optimizer: torch.optim.Optimizer,
    batch: NDArray[np.intp],
) -> float:
    """Take one step along the loss of a batch of patients; returns the loss."""
    patients = [setup.fit[i] for i in batch]
    counts = BatchCounts.of([_labels(patient) for patient in patients])
    optimizer.zero_grad()
    value = 0.0
    for patient in patients:
        # Gradients add up; one patient's graph at a time is all that memory has to hold.
        logit = network(patient.φ, patient.valid)[patient.seen]
        share = setup.loss(logit, _labels(patient), counts)
        share.backward()
        value += float(share.detach())
    nn.utils.clip_grad_norm_(network.parameters(), setup.plan.clip_norm)
    optimizer.step()
    return value


def _labels(patient: PatientTensors) -> Tensor:
    """Labels of the seen channels."""
    if patient.is_ez is None:
        raise ValueError(f"{patient.name}: expected EZ labels to train on, found none.")
    return patient.is_ez[patient.seen]
