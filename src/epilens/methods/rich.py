"""The richer inputs of the paper's Discussion, under the same protocol.

Each adds columns to those of a channel and uses logistic regression with patient-wise z-scores:
connectivity and graph-node features, HFO-lite markers (80-150 Hz), and the residual of every column
from its neighbours in the patient's graph. (A fourth, a CNN on raw segments and columns, is with
the other networks on columns in `controls`.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from epilens.core.provenance import resolve
from epilens.core.types import Floats
from epilens.evidence.contact_table import finite_mean
from epilens.evidence.signals import each_signal
from epilens.evidence.views import channel_table
from epilens.evidence.windows import band_limit
from epilens.methods import Method, Scorer, Training, seen_channels
from epilens.methods.classical import (
    LOGISTIC,
    Classifier,
    fit_table,
    patient_z_score,
    relative_table,
)
from epilens.plan import FilterPlan

Interval = tuple[float, float]
BEFORE_S: Interval = (-30.0, -2.0)
AFTER_S: Interval = (0.0, 20.0)
"""Interval after onset, in seconds from onset."""
Columns = Callable[[NDArray[np.floating], float], Floats]
"""Function of signal (channel, time) and rate that returns (channel, column)."""


@dataclass(frozen=True)
class MoreColumns:
    """Columns in addition to the channel table: before onset, after it, and their change."""

    classifier: Classifier
    columns: str
    """Signal and rate → columns of every channel, as `module:function`."""
    count: int
    """How many there are in all."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """What else the function is given."""
    before_s: Interval = BEFORE_S
    after_s: Interval = AFTER_S


@dataclass(frozen=True)
class Residual:
    """The residual of every column from its neighbours in the graph of this interval."""

    classifier: Classifier
    interval_s: Interval = BEFORE_S


def graph(x: NDArray[np.floating]) -> Floats:
    """|correlation| between channels without the diagonal; a flat channel has no neighbours."""
    x = np.asarray(x, np.float64)
    x = x - x.mean(axis=1, keepdims=True)
    norm = np.linalg.norm(x, axis=1, keepdims=True)
    unit = np.divide(x, norm, out=np.zeros_like(x), where=norm > 0)
    weights = np.abs(unit @ unit.T)
    np.fill_diagonal(weights, 0)
    return weights


def node_features(x: NDArray[np.floating], fs: float) -> Floats:
    """Strength, clustering (Onnela) and eigenvector centrality of every channel of the graph."""
    W = graph(x)
    n = len(W)
    strength = W.sum(1) / max(n - 1, 1)
    root = np.cbrt(W / (W.max() or 1))
    triangles = np.einsum("ij,jk,ki->i", root, root, root, optimize=True)
    clustering = triangles / max((n - 1) * (n - 2), 1)
    values, vectors = np.linalg.eigh(W)
    return np.stack([strength, clustering, np.abs(vectors[:, values.argmax()])], axis=1)


def hfo_markers(
    x: NDArray[np.floating],
    fs: float,
    band_hz: Interval = (80.0, 150.0),
    sd: float = 3.0,
    smooth_s: float = 0.02,
) -> Floats:
    """Log mean envelope and events per second (`sd` above the mean) in a band.

    A rate that shows nothing of the band (below 180 Hz for 80 Hz) has no markers: they are missing.
    """
    if fs / 2 <= band_hz[0] / 0.9:
        return np.full((len(x), 2), np.nan)
    band = band_limit(
        np.asarray(x, np.float32), fs, FilterPlan(low_hz=band_hz[0], high_hz=band_hz[1])
    )
    width = max(1, round(smooth_s * fs))
    power = np.cumsum(band.astype(np.float64) ** 2, axis=1)
    envelope = np.sqrt(np.maximum(power[:, width:] - power[:, :-width], 0) / width)
    cut = envelope.mean(1, keepdims=True) + sd * envelope.std(1, keepdims=True)
    events = np.diff((envelope > cut).astype(np.int8), axis=1) == 1
    return np.stack([np.log(envelope.mean(1) + 1e-6), events.sum(1) * fs / x.shape[1]], axis=1)


def over_seizures(
    patient: xr.Dataset,
    columns: Columns,
    before_s: Interval = BEFORE_S,
    after_s: Interval = AFTER_S,
) -> Floats:
    """Columns before and after onset and their change, mean over seizures, of the seen channels."""
    pieces = zip(each_signal(patient, *before_s), each_signal(patient, *after_s), strict=True)
    parts = []
    for (before, fs, _, valid, _), (after, *_) in pieces:
        if min(before.shape[1], after.shape[1]) < 2 * fs:
            continue
        first, second = columns(before[valid], fs), columns(after[valid], fs)
        row = np.full((len(valid), 3 * first.shape[1]), np.nan)
        row[valid] = np.hstack([first, second, second - first])
        parts.append(row)
    if not parts:
        return np.full((int(seen_channels(patient).sum()), 1), np.nan)
    stack = np.stack(parts)[:, seen_channels(patient)]
    return np.where(np.isfinite(stack).any(0), finite_mean(stack), np.nan)


def with_columns(more: Floats, count: int, patient: xr.Dataset) -> pd.DataFrame:
    """The channel table with more columns, z-scored across the patient's channels."""
    table = channel_table(patient)
    if more.shape[1] != count:  # no seizure long enough: missing, and imputed by fit means
        more = np.full((len(table), count), np.nan)
    names = [f"more/{i}" for i in range(count)]
    return patient_z_score(table.join(pd.DataFrame(more, index=table.index, columns=names)))


def with_residual(patient: xr.Dataset, interval_s: Interval = BEFORE_S) -> pd.DataFrame:
    """The channel table and, for each column, its difference from the graph's neighbours."""
    table = relative_table(patient)
    seen = seen_channels(patient)
    W, seizures = np.zeros((seen.sum(),) * 2), np.zeros((seen.sum(),) * 2)
    for x, _, _, valid, _ in each_signal(patient, *interval_s):
        both = np.outer(valid[seen], valid[seen])
        W += np.where(both, graph(x[seen]), 0)
        seizures += both
    W /= np.maximum(seizures, 1)
    degree = W.sum(1, keepdims=True)
    around = np.divide(W, degree, out=np.zeros_like(W), where=degree > 0) @ table.to_numpy()
    return table.join((table - around).add_prefix("residual/"))


def fit_columns(settings: MoreColumns, training: Training) -> Scorer:
    """A classifier on the channel table and more columns."""
    columns = partial(resolve(settings.columns), **settings.arguments)

    def table_of(patient: xr.Dataset) -> pd.DataFrame:
        more = over_seizures(patient, columns, settings.before_s, settings.after_s)
        return with_columns(more, settings.count, patient)

    return fit_table(settings.classifier, table_of, training)


def fit_residual(settings: Residual, training: Training) -> Scorer:
    """A classifier on the channel table and its residual from the graph."""
    table_of = partial(with_residual, interval_s=settings.interval_s)
    return fit_table(settings.classifier, table_of, training)


_row = partial(
    Method, input="signals", reference="the paper, Discussion", requires=("sklearn",), seeded=False
)


ENTRIES = (
    _row(
        "rich/connectivity",
        "Connectivity, graph nodes",
        fitter=fit_columns,
        settings=MoreColumns(LOGISTIC, "epilens.methods.rich:node_features", 9),
    ),
    _row(
        "rich/hfo",
        "HFO-lite markers, 80-150 Hz",
        fitter=fit_columns,
        settings=MoreColumns(
            LOGISTIC,
            "epilens.methods.rich:hfo_markers",
            6,
            {"band_hz": (80.0, 150.0), "sd": 3.0, "smooth_s": 0.02},
        ),
    ),
    _row("rich/graph-residual", "Graph residual", fitter=fit_residual, settings=Residual(LOGISTIC)),
)
