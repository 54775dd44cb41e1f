"""Four self-referenced views of every descriptor, their standardizer, and the channel table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from epilens.core.errors import CubeError
from epilens.evidence.cube import is_reference
from epilens.evidence.descriptors import rows_of

VIEWS = ("abs", "delta", "z_delta", "log_ratio")
VIEW_EPSILON = 1e-6
SMALLEST_SCALE = 1e-6
"""A scale below this counts as 1."""


def views(cube: xr.Dataset, eps: float = VIEW_EPSILON) -> xr.DataArray:
    """ABS, Δ, Z-Δ and LOG-R of every descriptor (Eq. 4), over (…, channel, view, descriptor).

    μ and σ are over the valid reference windows of the same seizure and channel only, so no other
    channel, seizure or label can enter them. σ is the population value; where the reference does
    not vary at all, Z-Δ is 0. What is not valid is 0.

    Parameters
    ----------
    cube : xarray.Dataset
        Of one patient, from `describe` or a `Cohort`.
    eps : float
        Keeps LOG-R and the division by σ defined.

    Returns
    -------
    xarray.DataArray
        Over (seizure, window, channel, view, descriptor): ABS and Δ in the descriptor's unit, Z-Δ
        in standard deviations before onset, LOG-R without unit.

    Examples
    --------
    >>> from epilens.testing import make_cube
    >>> relative = views(make_cube(seizures=1, channels=4))
    >>> dict(relative.sizes)
    {'seizure': 1, 'window': 59, 'channel': 4, 'view': 4, 'descriptor': 9}
    >>> z = relative.sel(view="z_delta", descriptor="line_length")
    >>> bool(z[0, 40, 0] > 3)  # ten seconds after onset, in standard deviations before it
    True
    """
    x = cube["x"].values.astype(np.float64)
    valid = cube["valid"].values[..., None]
    reference = valid & is_reference(cube).values[:, :, None, None]
    μ, σ = _mean_and_sd(x, reference)
    Δ = x - μ
    z = np.where(σ > 0, Δ / (σ + eps), 0)
    log_ratio = np.log((np.abs(x) + eps) / (np.abs(μ) + eps))
    φ = np.where(valid[..., None, :], np.stack([x, Δ, z, log_ratio], axis=-2), 0)
    return xr.DataArray(
        φ.astype(np.float32),
        dims=("seizure", "window", "channel", "view", "descriptor"),
        coords={"view": list(VIEWS)} | {a: cube[a] for a in ("seizure", "channel", "descriptor")},
        name="views",
    )


def _mean_and_sd(
    x: NDArray[np.float64], where: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and population standard deviation over windows; exactly 0 where all values are equal."""
    n = np.maximum(where.sum(axis=1, keepdims=True), 1)
    μ = np.where(where, x, 0).sum(axis=1, keepdims=True) / n
    sd = np.sqrt(np.where(where, (x - μ) ** 2, 0).sum(axis=1, keepdims=True) / n)
    high = np.where(where, x, -np.inf).max(axis=1, keepdims=True)
    low = np.where(where, x, np.inf).min(axis=1, keepdims=True)
    return μ, np.where(high > low, sd, 0)


@dataclass(frozen=True)
class Standardizer:
    """One mean and scale per view and descriptor, from fit patients only."""

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def fit(cls, cubes: Iterable[xr.Dataset]) -> Standardizer:
        """Fit mean and population SD over all valid windows, channels and seizures."""
        n, mean, squares, names = 0, np.zeros(()), np.zeros(()), None
        for cube in cubes:
            names = _same_descriptors(cube, names)
            seen = views(cube).values[cube["valid"].values]  # (valid, view, descriptor)
            if not len(seen):
                continue
            # Chan's update: patients come one at a time and never lie in memory together.
            φ = seen.astype(np.float64)
            patient_mean = φ.mean(axis=0)
            total = n + len(φ)
            gap = patient_mean - mean
            squares = squares + ((φ - patient_mean) ** 2).sum(axis=0) + gap**2 * n * len(φ) / total
            mean = mean + gap * len(φ) / total
            n = total
        if not n:
            raise CubeError("standardizer: expected patients with valid windows, found none.")
        scale = np.sqrt(squares / n)
        return cls(mean, np.where(scale < SMALLEST_SCALE, 1, scale))

    def transform(self, cube: xr.Dataset, φ: xr.DataArray | None = None) -> xr.DataArray:
        """Standardized views; 0 where not valid. φ : the views of the cube, if they are known."""
        φ = views(cube) if φ is None else φ
        z = (φ.values - self.mean) / self.scale
        valid = cube["valid"].values[..., None, None]
        return φ.copy(data=np.where(valid, z, 0).astype(np.float32))


def _same_descriptors(cube: xr.Dataset, expected: list[str] | None) -> list[str]:
    names = cube["descriptor"].values.tolist()
    if expected is not None and names != expected:
        raise CubeError(
            f"{cube.attrs.get('patient', 'cube')}: expected the descriptors of the other patients, "
            f"{', '.join(expected)}, found {', '.join(names)}. Describe all with the same plan."
        )
    return names


def state_descriptors(names: Iterable[str]) -> list[str]:
    """Names of descriptors that have state terms, in the order of the channel table."""
    return [row.name for row in sorted(rows_of(names), key=lambda row: row.state) if row.state]


def channel_table(cube: xr.Dataset) -> pd.DataFrame:
    """Window terms per channel, averaged within seizures; their mean and std over seizures.

    The terms are the four views of every descriptor and, for those that have state terms (of the
    paper's nine: high gamma, line length, RMS and variance), Z-Δ and |Δ| once more: 44 for the
    nine, so 88 columns. Rows: channels that are valid in some seizure. std over seizures is the
    population value.
    """
    φ = views(cube)
    valid = cube["valid"].values
    descriptors = cube["descriptor"].values.tolist()
    stateful = state_descriptors(descriptors)
    state = [
        φ.sel(view="z_delta", descriptor=stateful).values,
        np.abs(φ.sel(view="delta", descriptor=stateful).values),
    ]
    flat = φ.values.reshape(*valid.shape, -1)
    terms = np.concatenate([flat, *state], axis=-1).astype(np.float64)
    windows = valid.sum(axis=1)  # (seizure, channel)
    per_seizure = (
        np.where(valid[..., None], terms, 0).sum(axis=1) / np.maximum(windows, 1)[..., None]
    )
    seen = windows > 0
    n = np.maximum(seen.sum(axis=0), 1)[:, None]
    mean = np.where(seen[..., None], per_seizure, 0).sum(axis=0) / n
    var = np.where(seen[..., None], (per_seizure - mean) ** 2, 0).sum(axis=0) / n
    names = [f"{view}/{name}" for view in VIEWS for name in descriptors]
    names += [f"state_{kind}/{name}" for kind in ("z_delta", "abs_delta") for name in stateful]
    columns = [f"{over}/{name}" for over in ("mean", "std") for name in names]
    table = pd.DataFrame(np.hstack([mean, np.sqrt(var)]), columns=columns)
    table.index = pd.Index(cube["channel"].values.tolist(), name="channel")
    return table[seen.any(axis=0)]
