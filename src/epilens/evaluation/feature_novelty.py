"""What a patient's contact features are like, in numbers that no gain or unit changes.

For models whose training patients are known by their contact features alone: how far each feature
reaches in the tails over contacts, whether it goes with the line length, and whether neighbours
share it. Recordings without a seizure, or of something else, differ in all of them.
"""

from __future__ import annotations

import numpy as np

from epilens.core.types import Floats
from epilens.evidence.contact_features import FEATURES
from epilens.evidence.contact_table import ContactTable

_LINE_LENGTH = FEATURES.index("ll_std")
_TAILS = (0.95, 0.05)
KINDS = ("tie to line length", "high tail", "low tail", "tie to neighbours")


def feature_summary_names() -> list[str]:
    """Names of the numbers of `feature_summary`."""
    return [f"{kind} of {feature}" for kind in KINDS for feature in FEATURES]


def feature_summary(table: ContactTable) -> Floats:
    """Four numbers per feature; the first three are means over seizures. No label enters."""
    shape = (len(table.of_seizure), len(table.channels), len(FEATURES))
    parts = [_of_seizure(z) for z in table.of_seizure.reshape(shape) if np.isfinite(z).any()]
    own, near = np.moveaxis(table.x.reshape(shape[1], -1, len(FEATURES)), 1, 0)[:2]
    of_seizures = np.mean(parts, axis=0) if parts else np.zeros(3 * len(FEATURES))
    return np.concatenate([of_seizures, _correlation(own, near)])


def _of_seizure(z: Floats) -> Floats:
    """Z : (contact, feature) of one seizure; a feature that it lacks is 0."""
    z = np.where(np.isfinite(z), z, 0)
    ties = _correlation(z, z[:, [_LINE_LENGTH]])
    return np.concatenate([ties, *(np.quantile(z, tail, axis=0) for tail in _TAILS)])


def _correlation(a: Floats, b: Floats) -> Floats:
    """Pearson's over contacts, column by column; 0 where a column does not vary."""
    a, b = (x - x.mean(axis=0) for x in (a, b))
    size = np.sqrt((a**2).sum(axis=0) * (b**2).sum(axis=0))
    varies = size > 1e-9
    return np.where(varies, (a * b).sum(axis=0) / np.where(varies, size, 1), 0)
