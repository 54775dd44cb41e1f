"""A lens on the 33 contact features of `epilens.evidence.contact_features`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from epilens.core.types import Floats
from epilens.evidence.contact_features import (
    MEASURES,
    SUMMARIES,
    WORDS,
    feature_table,
    features_shown,
)
from epilens.evidence.contact_table import ContactTable
from epilens.networks.explanation import Explanation
from epilens.networks.lens import Lens
from epilens.networks.predictor import NEUTRAL, Layout


@dataclass(frozen=True)
class FeatureLens(Lens):
    """Weights of a fitted lens: (place, summary over windows, measure)."""

    terms: ClassVar[tuple[str, ...]] = SUMMARIES

    @classmethod
    def table(cls, patient: xr.Dataset) -> ContactTable:
        """Contact features, relative to the other contacts of each seizure."""
        return feature_table(patient)

    @classmethod
    def columns(cls, layout: Layout) -> tuple[str, ...]:
        """The measures, whatever the descriptors of the cube are."""
        return MEASURES

    @classmethod
    def shares(cls, patient: xr.Dataset) -> Floats:
        """None: a feature is computed from all windows of a seizure."""
        sizes = [patient.sizes[axis] for axis in ("seizure", "window", "channel")]
        return np.broadcast_to(0.0, (sizes[0], len(SUMMARIES), *sizes[1:], len(MEASURES)))

    @classmethod
    def score_members(cls, members: Sequence[Lens], patient: xr.Dataset) -> Floats:
        """Neutral in a seizure that has no contact features."""
        scores = super().score_members(members, patient)
        scores[:, 1:][:, ~features_shown(patient).any(axis=1)] = NEUTRAL
        return scores

    @classmethod
    def explain(
        cls, members: Sequence[tuple[Any, float]], patient: xr.Dataset, order: NDArray[np.int64]
    ) -> Explanation:
        """As for every lens, in the words of the features; windows are not listed separately."""
        return replace(super().explain(members, patient, order), words=WORDS, timed=False)
