"""Traces: what the raw-iEEG baselines read (appendix "Shared Raw-iEEG Preprocessing").

The five 4 s segments nearest to onset, contiguous and centred on it (-10 to +10 s), 0.5-80 Hz,
without mains, at 200 Hz, each divided by its own interquartile range and clipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import scipy.signal
import xarray as xr
from numpy.typing import NDArray

from epilens.arrays import Bools
from epilens.data.recording import Recording
from epilens.evidence.blocks import in_blocks
from epilens.evidence.seizures import Seizures, Store, fill
from epilens.evidence.windows import band_limit
from epilens.plan import FilterPlan, Plan, TracePlan

Segments = tuple[NDArray[np.float32], Bools]
"""(segment, channel, time), and which segments (segment, channel) lie inside the recording."""


def make_traces(recordings: Iterable[Recording], plan: Plan) -> xr.Dataset:
    """Traces of one patient: `trace` (seizure, segment, channel, time), `trace_valid`."""
    return fill([TRACES], recordings, plan)["traces"]


def _of_patient(seizures: Seizures, parts: Sequence[Segments], plan: Plan) -> xr.Dataset:
    trace, valid = (seizures.stack(part) for part in zip(*parts, strict=True))
    return xr.Dataset(
        {
            "trace": (("seizure", "segment", "channel", "time"), trace),
            "trace_valid": (("seizure", "segment", "channel"), valid),
        },
        seizures.coords | {"trace_start_s": ("segment", starts_s(plan.traces))},
        {"patient": seizures.about[0].patient, "trace_rate_hz": plan.traces.rate_hz},
    )


def starts_s(plan: TracePlan) -> NDArray[np.float64]:
    """Start of each segment from onset: contiguous, centred on it."""
    return plan.length_s * (np.arange(plan.segments, dtype=np.float64) - plan.segments / 2)


def _of_seizure(r: Recording, whole_plan: Plan, threads: int | None = None) -> Segments:
    plan, channels = whole_plan.traces, len(r.channels)
    mains = (r.mains_hz or plan.mains_hz) if plan.mains == "recorded" else plan.mains_hz
    band = FilterPlan(low_hz=plan.low_hz, high_hz=plan.high_hz, order=4, notch="auto")
    samples = round(r.signal.shape[1] * plan.rate_hz / r.fs)
    slow = np.empty((channels, samples), np.float32)

    def work(rows: slice) -> None:
        y = band_limit(r.signal[rows], r.fs, band, mains)
        slow[rows] = scipy.signal.resample(y, samples, axis=-1)

    in_blocks(work, channels, threads)
    first = np.round((starts_s(plan) - r.start_s) * plan.rate_hz).astype(int)
    inside = (first >= 0) & (first + plan.samples <= samples)
    out = np.zeros((plan.segments, channels, plan.samples), np.float32)
    for k in np.flatnonzero(inside):
        out[k] = robust_scale(slow[:, first[k] : first[k] + plan.samples], plan.clip)
    return out, np.repeat(inside[:, None], channels, axis=1)


def robust_scale(x: NDArray[np.float32], clip: float = 8.0) -> NDArray[np.float32]:
    """(x - median) / interquartile range along time, clipped; a constant becomes 0."""
    low, median, high = np.quantile(x, [0.25, 0.5, 0.75], axis=-1, keepdims=True)
    iqr = high - low
    return np.clip((x - median) / np.where(iqr > 0, iqr, 1), -clip, clip).astype(np.float32)


TRACES = Store("traces", _of_seizure, _of_patient, frozenset({"traces"}))
