"""Contributions to the scores of contacts, as every kind of model returns them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from epilens.core.types import Floats
from epilens.evidence.views import VIEWS

SEARCH_FROM_S = -10.0
"""Seconds from onset at which windows begin to be shown one by one."""


@dataclass(frozen=True)
class Explanation:
    """Contributions to the EZ score: positive towards EZ. c: the contacts that are explained."""

    contacts: NDArray[np.int64]
    """Their positions among the channels (c,)."""
    by_feature: Floats
    """(c, view, descriptor): of all seizures, each alone."""
    by_window: Floats
    """(c, seizure, window): beyond what the contact shows all the time."""
    steady: Floats
    """(c, seizure): what it shows all the time, before onset as well."""
    together: Floats
    """(c,): what the score of all seizures adds to the mean of those of each alone."""
    baseline: Floats
    """EZ score of what a contact is compared with (c,)."""
    score: Floats
    """EZ score (c,)."""
    views: tuple[str, ...] = VIEWS
    """What the first axis of `by_feature` is: views of the networks, or terms of a lens."""
    average: str = "the evidence of other contacts of this patient that span the ranking"
    """What a contact is compared with."""
    others: str = "and the rest of the patient stayed as it is"
    """What is done about the other contacts."""
    located: Floats | None = None
    """(c, place, view, descriptor): `by_feature` of the contact itself, its neighbours and its
    electrode (`contact_table.PLACES`); None where a model does not separate them."""
    values: Floats | None = None
    """(c, place, view, descriptor): what the contact shows, in SD over the patient's contacts."""
    words: tuple[str, ...] = ()
    """Names of the last axis of `by_feature`; empty: those of the cube's descriptors."""
    timed: bool = True
    """Whether the windows that a contribution comes from are known."""

    @property
    def by_seizure(self) -> Floats:
        """(c, seizure): has the sign of the seizure's own score minus the baseline."""
        return self.by_window.sum(axis=2) + self.steady

    @property
    def residual(self) -> float:
        """Largest difference between a score and the sum of its contributions."""
        total = self.score - self.baseline - self.together
        sums = (self.by_feature.sum(axis=(1, 2)), self.by_seizure.sum(axis=1))
        return float(max(np.abs(part - total).max() for part in sums))
