"""The scorer of `lens`: one weight for every term of a contact, its neighbours and its electrode.

A logistic regression, so each term's part in a score can be read off: the parts add up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from scipy.special import expit

from epilens.core.types import Floats
from epilens.evidence.contact_table import ContactTable, contact_table, with_context

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Lens:
    """Weights of a fitted lens; evidence for EZ is positive."""

    mean: Floats
    """The average contact of the fit patients (place, term, descriptor)."""
    weight: Floats
    """(place, term, descriptor)"""
    intercept: float
    """Log odds of EZ of the average contact."""

    def tensors(self) -> dict[str, Tensor]:
        """For a checkpoint or a model's file."""
        import torch  # heavy, and only needed here

        arrays = {"mean": self.mean, "weight": self.weight, "intercept": np.array(self.intercept)}
        return {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor]) -> Lens:
        """The other way round."""
        mean, weight, intercept = (tensors[k].numpy() for k in ("mean", "weight", "intercept"))
        return cls(mean, weight, float(intercept))

    def logit(self, table: ContactTable) -> Floats:
        """Log odds of EZ of every contact."""
        return self.intercept + ((table.x - self.mean) * self.weight).sum(axis=(1, 2, 3))

    def p_nez_of(self, table: ContactTable) -> Floats:
        """Probability of NEZ from a table."""
        return expit(-self.logit(table))

    def p_nez(self, cube: xr.Dataset) -> Floats:
        """NEZ probability of the seen channels."""
        return self.p_nez_of(contact_table(cube))

    @property
    def average(self) -> float:
        """Log odds of a contact that is like the average of its patient."""
        return self.intercept - float((self.mean * self.weight).sum())

    def parts(self, table: ContactTable) -> Floats:
        """What adds up to a contact's log odds, from those of the average contact of its patient.

        (seizure, channel, place, term, descriptor): a seizure's part is what it adds to the means.
        """
        known = np.isfinite(table.of_seizure)
        shares = np.where(known, table.of_seizure, 0) / np.maximum(known.sum(axis=0), 1)
        # One pass for all seizures: which contacts are neighbours is read from names.
        parts = with_context(table.channels, np.moveaxis(shares, 0, 1))
        return np.moveaxis(parts, 2, 0) * self.weight
