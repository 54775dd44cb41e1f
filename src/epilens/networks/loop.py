"""The one training loop: epochs, the best of them, and when to stop.

What an epoch does and how a network is judged is the caller's; all networks of the package, PRQ-Net
and BCR-Net, the controls and the raw-iEEG baselines, go through here.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # rows of methods name a schedule, and are known without torch
    from torch import nn

Reached = tuple[float, ...]
"""What a network reaches on patients that it does not learn from; from left to right, larger is
better."""
Judge = Callable[[], tuple[Reached, tuple[Any, ...]]]
"""What the network reaches now, and what to write down about it."""
HISTORY = ("epoch", "loss", "threshold", "macro_f1", "ez_f1", "balanced_accuracy", "selected")
"""Columns of a history whose epochs are judged at their own best threshold."""


@dataclass(frozen=True)
class Extension:
    """More epochs for a network that still improves at the end of its schedule.

    It does when its best (the first occurrence) lies within the `last` scheduled epochs and exceeds
    the value `last` epochs before it by `gain` or more. Then the schedule grows by `factor`.
    """

    last: int = 3
    gain: float = 0.002
    factor: tuple[int, int] = (5, 3)

    def epochs(self, reached: Sequence[float], scheduled: int) -> int:
        """Epochs in all.

        Examples
        --------
        >>> Extension().epochs([0.5] * 27 + [0.5, 0.5, 0.502], 30)
        50
        >>> Extension().epochs([0.5] * 27 + [0.5, 0.5, 0.501], 30)
        30
        """
        best = int(np.argmax(reached))
        late = len(reached) >= scheduled and best >= max(scheduled - self.last, self.last)
        # Rounded, so that 0.502 - 0.5 is 0.002.
        if late and round(reached[best] - reached[best - self.last], 12) >= self.gain:
            return scheduled * self.factor[0] // self.factor[1]
        return scheduled


@dataclass(frozen=True)
class Schedule:
    """How long to train."""

    epochs: int
    patience: int
    """Training ends after so many epochs without a better one."""
    least_epochs: int = 0
    """Training does not end before so many epochs."""
    extension: Extension | None = None


def train_epochs(
    network: nn.Module, epoch: Callable[[], float], judge: Judge, schedule: Schedule
) -> list[tuple[Any, ...]]:
    """Train in place and keep the best epoch: one that reaches strictly more than all before it.

    Returns
    -------
    list
        Of every epoch: its number, its mean loss, what the judge writes down, and whether it was
        the best yet.
    """
    number, best_number, budget = 0, 0, schedule.epochs
    best: Reached | None = None
    state = copy.deepcopy(network.state_dict())
    rows: list[tuple[Any, ...]] = []
    firsts: list[float] = []
    while number < budget and (
        number < schedule.least_epochs or number - best_number < schedule.patience
    ):
        number += 1
        loss = epoch()
        reached, noted = judge()
        better = best is None or reached > best
        if better:
            best, best_number, state = reached, number, copy.deepcopy(network.state_dict())
        rows.append((number, loss, *noted, better))
        firsts.append(reached[0])
        if number == schedule.epochs and schedule.extension is not None:
            budget = schedule.extension.epochs(firsts, schedule.epochs)
    network.load_state_dict(state)
    return rows
