"""Fitted objects that a model stores: one protocol to score, explain, save and open them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from epilens.core.types import Floats
from epilens.evidence.views import VIEWS

Arrays = Mapping[str, NDArray[Any]]
"""Fitted numbers by name, as they are in a file of weights."""
NEUTRAL = 0.5
"""Score of a channel in a seizure that does not show it."""


SEARCH_FROM_S = -10.0
"""Seconds from onset at which windows begin to be shown one by one."""


@dataclass(frozen=True)
class Explanation:
    """Contributions to the EZ score: positive towards EZ. c: the contacts that are explained."""

    contacts: NDArray[np.int64]
    """Positions of the contacts among the channels (c,)."""
    by_feature: Floats
    """Contributions of features (c, view, descriptor) in all seizures, each alone."""
    by_window: Floats
    """Contributions of windows (c, seizure, window) beyond what the contact shows all the time."""
    steady: Floats
    """Contributions of what it shows all the time, before onset as well (c, seizure)."""
    together: Floats
    """What the score of all seizures adds to the mean of those of each alone (c,)."""
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
    """`by_feature` of the contact itself, its neighbours and its electrode (c, place, view,
    descriptor; `contact_table.PLACES`); None where a model does not separate them."""
    values: Floats | None = None
    """What the contact shows, in SD over the patient's contacts (c, place, view, descriptor)."""
    words: tuple[str, ...] = ()
    """Names of the last axis of `by_feature`; empty: those of the cube's descriptors."""
    timed: bool = True
    """Whether the windows that a contribution comes from are known."""

    @property
    def by_seizure(self) -> Floats:
        """Contributions of seizures (c, seizure): the sign is that of their score − baseline."""
        return self.by_window.sum(axis=2) + self.steady

    @property
    def residual(self) -> float:
        """Largest difference between a score and the sum of its contributions."""
        total = self.score - self.baseline - self.together
        sums = (self.by_feature.sum(axis=(1, 2)), self.by_seizure.sum(axis=1))
        return float(max(np.abs(part - total).max() for part in sums))


@dataclass(frozen=True)
class Layout:
    """What model.json states about the tensors of a part."""

    part: str
    """The method that was fitted."""
    spec: Mapping[str, Any] = field(default_factory=dict)
    """Settings, as `Predictor.spec` returned them."""
    descriptors: tuple[str, ...] = ()
    views: tuple[str, ...] = VIEWS


class Predictor(ABC):
    """A fitted method that can be stored in a model folder and used for localization.

    A class must define `p_nez`, `tensors` and `open`. The other methods have defaults.
    """

    @abstractmethod
    def p_nez(self, patient: xr.Dataset) -> Floats:
        """NEZ probability of the channels that are valid in some window of some seizure."""

    @abstractmethod
    def tensors(self) -> Arrays:
        """All fitted numbers, by name."""

    @classmethod
    @abstractmethod
    def open(cls, tensors: Arrays, layout: Layout) -> Self:
        """The fitted object again; raises ValueError with the reason if the tensors do not fit."""

    def spec(self) -> dict[str, Any]:
        """Settings that `open` needs in addition to the tensors, as plain JSON."""
        return {}

    @classmethod
    def score_members(cls, members: Sequence[Self], patient: xr.Dataset) -> Floats:
        """NEZ probability from all seizures, then from each alone (member, 1 + S, C).

        patient : its channels are all valid in some seizure. A seizure's score of a channel that
        it does not show is not used.
        """
        return np.array(
            [np.vstack([m.p_nez(patient), each_seizure(m.p_nez, patient)]) for m in members]
        )

    @classmethod
    def explain(
        cls, members: Sequence[tuple[Any, float]], patient: xr.Dataset, order: NDArray[np.int64]
    ) -> Explanation | None:
        """Contributions to the scores of the first channels of `order`; None if not available.

        members : fitted objects and their weights in the mean, which sum to 1.
        """
        return None


def each_seizure(p_nez: Callable[[xr.Dataset], Floats], patient: xr.Dataset) -> Floats:
    """Scores from each seizure alone (S, C); `NEUTRAL` where it does not show a channel."""
    shown = patient["valid"].any("window").values
    scores = np.full(shown.shape, NEUTRAL)
    for s, channels in enumerate(shown):
        if channels.any():
            part = patient.isel(seizure=[s], channel=np.flatnonzero(channels))
            scores[s, channels] = p_nez(part)
    return scores
