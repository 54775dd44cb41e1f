"""Methods, one file per family: fit labelled patients, predict blind ones; one contract."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pandas as pd
import xarray as xr

from epilens.plan import Plan
from epilens.registry import Registry


class Fitted(Protocol):
    """A fitted method."""

    history: pd.DataFrame
    """One row per epoch; empty for methods that have none."""

    def predict(self, cubes: Sequence[xr.Dataset]) -> pd.DataFrame:
        """NEZ probability of every valid channel of blind cubes: patient, channel, p_nez."""
        ...

    def weights(self) -> Mapping[str, object]:
        """Tensors that make up the fitted method, by name, for the checkpoint."""
        ...


FitFunction = Callable[[Sequence[xr.Dataset], Sequence[xr.Dataset], int, Plan], Fitted]


@dataclass(frozen=True)
class Method:
    """A row of the main table: what it is called, what it reads, how it is fitted."""

    name: str
    title: str
    input: str
    reference: str
    fit: FitFunction | None
    """(fit cubes, validation cubes, seed, plan) → Fitted; None: fused from `parts`."""
    spec: str
    """Everything that sets this row apart, as text: a changed spec is another method."""
    parts: tuple[str, ...] = ()
    """Methods whose ledgers are fused into this one."""


METHODS: Registry[Method] = Registry("epilens.methods", "method")
