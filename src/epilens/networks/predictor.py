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
from epilens.networks.explanation import Explanation

Arrays = Mapping[str, NDArray[Any]]
"""Fitted numbers by name, as they are in a file of weights."""
NEUTRAL = 0.5
"""Score of a channel in a seizure that does not show it."""


@dataclass(frozen=True)
class Layout:
    """What model.json states about the tensors of a part."""

    part: str
    """The method that was fitted."""
    spec: Mapping[str, Any] = field(default_factory=dict)
    """As `Predictor.spec` returned it."""
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
            [np.vstack([one.p_nez(patient), each_seizure(one.p_nez, patient)]) for one in members]
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
