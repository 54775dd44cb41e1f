"""The richer inputs of the paper's Discussion, under the same protocol.

Three add columns to the 88 of a channel and use logistic regression with patient-wise z-scores:
connectivity and graph-node features, HFO-lite markers (80-150 Hz), and the residual of every column
from its neighbours in the patient's graph. The fourth joins a CNN on raw segments with the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from epilens.evidence.signals import each_signal
from epilens.evidence.views import channel_table
from epilens.evidence.windows import band_limit
from epilens.methods import Method, Scorer, seen_channels
from epilens.methods.classical import fit_table, logistic, patient_z_score
from epilens.plan import FilterPlan, Plan

BEFORE_S, AFTER_S = (-30.0, -2.0), (0.0, 20.0)
HFO_HZ, HFO_SD = (80.0, 150.0), 3.0
Columns = Callable[[NDArray[np.floating], float], NDArray[np.float64]]
"""(signal (channel, time), rate) → (channel, column)."""


def graph(x: NDArray[np.floating]) -> NDArray[np.float64]:
    """|correlation| between channels without the diagonal; a flat channel has no neighbours."""
    x = np.asarray(x, np.float64)
    x = x - x.mean(axis=1, keepdims=True)
    norm = np.linalg.norm(x, axis=1, keepdims=True)
    unit = np.divide(x, norm, out=np.zeros_like(x), where=norm > 0)
    weights = np.abs(unit @ unit.T)
    np.fill_diagonal(weights, 0)
    return weights


def node_features(x: NDArray[np.floating], fs: float) -> NDArray[np.float64]:
    """Strength, clustering (Onnela) and eigenvector centrality of every channel of the graph."""
    W = graph(x)
    n = len(W)
    strength = W.sum(1) / max(n - 1, 1)
    root = np.cbrt(W / (W.max() or 1))
    triangles = np.einsum("ij,jk,ki->i", root, root, root, optimize=True)
    clustering = triangles / max((n - 1) * (n - 2), 1)
    values, vectors = np.linalg.eigh(W)
    return np.stack([strength, clustering, np.abs(vectors[:, values.argmax()])], axis=1)


def hfo_markers(x: NDArray[np.floating], fs: float) -> NDArray[np.float64]:
    """Log mean envelope and events per second (3 SD above the mean) at 80-150 Hz.

    A rate below 180 Hz shows nothing of this band: its markers are missing.
    """
    if fs / 2 <= HFO_HZ[0] / 0.9:
        return np.full((len(x), 2), np.nan)
    band = band_limit(
        np.asarray(x, np.float32), fs, FilterPlan(low_hz=HFO_HZ[0], high_hz=HFO_HZ[1])
    )
    width = max(1, round(0.02 * fs))
    power = np.cumsum(band.astype(np.float64) ** 2, axis=1)
    envelope = np.sqrt(np.maximum(power[:, width:] - power[:, :-width], 0) / width)
    cut = envelope.mean(1, keepdims=True) + HFO_SD * envelope.std(1, keepdims=True)
    events = np.diff((envelope > cut).astype(np.int8), axis=1) == 1
    return np.stack([np.log(envelope.mean(1) + 1e-6), events.sum(1) * fs / x.shape[1]], axis=1)


def over_seizures(patient: xr.Dataset, columns: Columns) -> NDArray[np.float64]:
    """Columns before and after onset and their change, mean over seizures: seen channels first."""
    pieces = zip(each_signal(patient, *BEFORE_S), each_signal(patient, *AFTER_S), strict=True)
    parts = []
    for (before, fs, _, valid), (after, _, _, _) in pieces:
        if min(before.shape[1], after.shape[1]) < 2 * fs:
            continue
        first, second = columns(before[valid], fs), columns(after[valid], fs)
        row = np.full((len(valid), 3 * first.shape[1]), np.nan)
        row[valid] = np.hstack([first, second, second - first])
        parts.append(row)
    if not parts:
        return np.full((int(seen_channels(patient).sum()), 1), np.nan)
    stack = np.stack(parts)[:, seen_channels(patient)]
    there = np.isfinite(stack)
    total = np.where(there, stack, 0).sum(0)
    return np.where(there.any(0), total / np.maximum(there.sum(0), 1), np.nan)


def with_columns(columns: Columns, count: int, patient: xr.Dataset) -> pd.DataFrame:
    """The channel table with more columns, z-scored across the patient's channels."""
    table = channel_table(patient)
    more = over_seizures(patient, columns)
    if more.shape[1] != count:  # no seizure long enough: missing, and imputed by fit means
        more = np.full((len(table), count), np.nan)
    names = [f"more/{i}" for i in range(count)]
    return patient_z_score(table.join(pd.DataFrame(more, index=table.index, columns=names)))


def with_residual(patient: xr.Dataset) -> pd.DataFrame:
    """The channel table and, beside each column, its difference from the graph's neighbours."""
    table = patient_z_score(channel_table(patient))
    seen = seen_channels(patient)
    W, there = np.zeros((seen.sum(),) * 2), np.zeros((seen.sum(),) * 2)
    for x, _, _, valid in each_signal(patient, *BEFORE_S):
        both = np.outer(valid[seen], valid[seen])
        W += np.where(both, graph(x[seen]), 0)
        there += both
    W /= np.maximum(there, 1)
    degree = W.sum(1, keepdims=True)
    around = np.divide(W, degree, out=np.zeros_like(W), where=degree > 0) @ table.to_numpy()
    return table.join((table - around).add_prefix("residual/"))


def _fit(
    table_of: Callable[[xr.Dataset], pd.DataFrame],
    fit: Sequence[xr.Dataset],
    validation: Sequence[xr.Dataset],
    seed: int,
    plan: Plan,
) -> Scorer:
    return fit_table(logistic, True, table_of, fit, seed)


def _hybrid(
    fit: Sequence[xr.Dataset], validation: Sequence[xr.Dataset], seed: int, plan: Plan
) -> Scorer:
    from epilens.methods.controls import fit_control
    from epilens.networks.controls import Hybrid

    return fit_control(Hybrid, _pack, fit, validation, seed, plan)


def _pack(patient: xr.Dataset) -> NDArray[np.float32]:
    """Columns, then every segment with a flag whether it is there: one row per seen channel."""
    table = patient_z_score(channel_table(patient)).to_numpy(np.float32)
    seen = seen_channels(patient)
    there = patient["trace_valid"].values & patient["valid"].any("window").values[:, None]
    trace = np.moveaxis(patient["trace"].values[..., seen, :], 2, 0)  # (C, S, segment, time)
    flags = np.moveaxis(there[..., seen], 2, 0)[..., None]
    segments = np.concatenate([flags, np.where(flags, trace, 0)], axis=-1, dtype=np.float32)
    return np.hstack([table, segments.reshape(len(table), -1)])


def _row(name: str, title: str, table_of: Callable[[xr.Dataset], pd.DataFrame]) -> Method:
    reference = "the paper, Discussion"
    return Method(name, title, "signals", reference, partial(_fit, table_of), f"{name} 1")


ENTRIES = (
    _row("rich/connectivity", "Connectivity, graph nodes", partial(with_columns, node_features, 9)),
    _row("rich/hfo", "HFO-lite markers, 80-150 Hz", partial(with_columns, hfo_markers, 6)),
    _row("rich/graph-residual", "Graph residual", with_residual),
    Method(
        name="rich/hybrid",
        title="Raw-window CNN + descriptors",
        input="traces",
        reference="the paper, Discussion",
        fitter=_hybrid,
        spec="rich/hybrid 1",
        reads=("baselines", "traces"),
    ),
)
