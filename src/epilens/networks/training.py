"""One training loop for every network: patient batches, clipping, validation stop."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor, nn

from epilens.evidence.views import Standardizer
from epilens.networks.encoder import Batch, seed_dropout
from epilens.plan import TrainingPlan

Loss = Callable[[Tensor, Tensor, Batch], Tensor]
"""Logits and labels of one patient, and its batch → what it adds to the loss."""
Judge = Callable[
    [list[NDArray[np.float64]], list[NDArray[np.bool_]]], tuple[float, tuple[float, ...]]
]
"""Validation scores and labels → threshold and what it reaches, compared from left to right."""


@dataclass(frozen=True)
class PatientTensors:
    """One patient as a network reads it. `seen`: channels that are valid in some seizure."""

    name: str
    channels: tuple[str, ...]
    φ: Tensor  # (S, W, C, 36)
    valid: Tensor  # (S, W, C)
    seen: Tensor  # (C,)
    is_ez: Tensor | None  # (C,)


def as_tensors(cube: xr.Dataset, standardizer: Standardizer) -> PatientTensors:
    """Standardized views of a cube, ABS, Δ, Z-Δ, LOG-R × nine descriptors along the last axis."""
    φ = torch.from_numpy(standardizer.transform(cube).values).flatten(-2)
    valid = torch.from_numpy(cube["valid"].values)
    is_ez = torch.from_numpy(cube["is_ez"].values) if "is_ez" in cube else None
    names = tuple(cube["channel"].values.tolist())
    return PatientTensors(cube.attrs["patient"], names, φ, valid, valid.flatten(0, 1).any(0), is_ez)


def build(make: Callable[[], nn.Module], seed: int) -> nn.Module:
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


def fit_network(
    network: nn.Module,
    loss: Loss,
    fit: Sequence[PatientTensors],
    validation: Sequence[PatientTensors],
    judge: Judge,
    seed: int,
    plan: TrainingPlan,
) -> pd.DataFrame:
    """Train in place, keep the best epoch on validation patients; returns the history.

    An epoch is better when (Macro-F1, EZ-F1, balanced accuracy) at its own best threshold is
    strictly larger. Training stops after `patience` epochs without that, not before `least_epochs`.
    """
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=plan.learning_rate, weight_decay=plan.weight_decay
    )
    shuffle = np.random.default_rng(np.random.SeedSequence([seed, 1]))
    best: tuple[float, ...] | None = None
    best_epoch, state, history = 0, copy.deepcopy(network.state_dict()), []
    for epoch in range(1, plan.epochs + 1):
        mean_loss = _one_epoch(network, loss, fit, optimizer, shuffle, plan)
        threshold, reached = judge(
            [predict(network, patient) for patient in validation],
            [_labels(patient).numpy() for patient in validation],
        )
        better = best is None or reached > best
        if better:
            best, best_epoch, state = reached, epoch, copy.deepcopy(network.state_dict())
        history.append((epoch, mean_loss, threshold, *reached, better))
        if epoch >= plan.least_epochs and epoch - best_epoch >= plan.patience:
            break
    network.load_state_dict(state)
    columns = ["epoch", "loss", "threshold", "macro_f1", "ez_f1", "balanced_accuracy", "selected"]
    return pd.DataFrame(history, columns=columns)


def _one_epoch(
    network: nn.Module,
    loss: Loss,
    fit: Sequence[PatientTensors],
    optimizer: torch.optim.Optimizer,
    shuffle: np.random.Generator,
    plan: TrainingPlan,
) -> float:
    network.train()
    order, losses = shuffle.permutation(len(fit)), []
    for first in range(0, len(order), plan.batch):
        patients = [fit[i] for i in order[first : first + plan.batch]]
        batch = Batch.of([_labels(patient) for patient in patients])
        optimizer.zero_grad()
        value = 0.0
        for patient in patients:
            # Gradients add up; one patient's graph at a time is all that memory has to hold.
            logit = network(patient.φ, patient.valid)[patient.seen]
            share = loss(logit, _labels(patient), batch)
            share.backward()
            value += float(share.detach())
        nn.utils.clip_grad_norm_(network.parameters(), plan.clip_norm)
        optimizer.step()
        losses.append(value)
    return float(np.mean(losses))


def _labels(patient: PatientTensors) -> Tensor:
    """Labels of the seen channels."""
    if patient.is_ez is None:
        raise ValueError(f"{patient.name}: expected EZ labels to train on, found none.")
    return patient.is_ez[patient.seen]
