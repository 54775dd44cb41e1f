"""Traces: what the raw-iEEG baselines read (appendix "Shared Raw-iEEG Preprocessing").

Of each seizure the five 4 s segments nearest to onset that lie wholly inside the recording. Each is
filtered by itself (0.5-80 Hz, one notch at 50 Hz), brought to 200 Hz, divided by its own
interquartile range and clipped. The plan has the other ways (`traces.filtered`, `traces.mains`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.signal
import xarray as xr
from numpy.typing import NDArray

from epilens.core.types import Bools, Floats
from epilens.data.audit import AuditRow, Note
from epilens.data.recording import Recording
from epilens.evidence.blocks import in_blocks
from epilens.evidence.seizures import Seizures, Store, fill
from epilens.evidence.windows import band_limit
from epilens.plan import FilterPlan, Plan, TracePlan


@dataclass(frozen=True)
class Segments:
    """Segments of one seizure in the order of time; if it has too few, the last ones are empty.

    A segment of a channel is valid where it lies in the recording and no sample of it was missing.
    """

    x: NDArray[np.float32]  # (segment, channel, time), 0 where not valid
    valid: Bools  # (segment, channel)
    start_s: Floats  # (segment,), from onset; NaN where there is none


def make_traces(recordings: Iterable[Recording], plan: Plan) -> xr.Dataset:
    """Traces of one patient: `trace` (seizure, segment, channel, time), `trace_valid`."""
    return fill([TRACES], recordings, plan)["traces"]


def _of_patient(seizures: Seizures, parts: Sequence[Segments], plan: Plan) -> xr.Dataset:
    valid = seizures.stack([part.valid for part in parts])
    start_s = np.stack([part.start_s for part in parts])
    rows = [*_lacking_rows(seizures, valid, start_s), *_channel_rows(seizures, valid)]
    return xr.Dataset(
        {
            "trace": (
                ("seizure", "segment", "channel", "time"),
                seizures.stack([part.x for part in parts]),
            ),
            "trace_valid": (("seizure", "segment", "channel"), valid),
        },
        seizures.coords | {"trace_start_s": (("seizure", "segment"), start_s)},
        {
            "patient": seizures.about[0].patient,
            "trace_rate_hz": plan.traces.rate_hz,
            "audit": [row.to_json() for row in rows],
        },
    )


def _lacking_rows(seizures: Seizures, valid: Bools, start_s: Floats) -> list[AuditRow]:
    """A row for every seizure, or channel of it, with fewer segments than planned."""
    rows, planned = [], start_s.shape[1]
    text = "samples are missing in {} of {} segments around onset; they are not used"
    for s, whole in enumerate(np.isfinite(start_s).sum(axis=1)):
        if whole < planned:
            lacking = f"has {whole} whole segments around onset in place of {planned}"
            rows.append(seizures.row(Note(lacking, "signal-missing"), s))
        touched = whole - valid[s].sum(axis=0)  # (channel,)
        rows += [
            seizures.row(Note(text.format(touched[c], whole), "signal-missing"), s, c)
            for c in np.flatnonzero(seizures.present[s] & (touched > 0))
        ]
    return rows


def _channel_rows(seizures: Seizures, valid: Bools) -> list[AuditRow]:
    """A row for every channel that no seizure has a segment of."""
    note = Note(
        "has no whole segment around onset in any seizure; raw-iEEG methods score it as neutral",
        "signal-missing",
    )
    who = seizures.about[0].patient
    return [
        AuditRow.of("channel", note, (who, "", seizures.channels[c]), "noted")
        for c in np.flatnonzero(~valid.any(axis=(0, 1)))
    ]


def nearest_windows(r: Recording, plan: TracePlan) -> Floats:
    """Start, in seconds from onset, of the windows nearest to it, in the order of time.

    They are of the contiguous grid that is centred on onset, lie wholly inside the recording, and
    some channel has every sample of them. Of two equally near ones the earlier counts as nearer.
    """
    origin = -plan.segments / 2 * plan.length_s
    # Every window of the grid that the recording can hold, and one more on both sides.
    ends = np.array([r.start_s, r.stop_s]) - origin
    low, high = np.floor(ends / plan.length_s).astype(int)
    start_s = origin + plan.length_s * np.arange(low, high + 1, dtype=np.float64)
    start_s = np.array([at_s for at_s in start_s if _whole(r, at_s, plan).any()])
    distance = np.abs(start_s + plan.length_s / 2)
    chosen = np.argsort(distance.round(9), kind="stable")[: plan.segments]
    return np.sort(start_s[chosen])


def _window(r: Recording, start_s: float, plan: TracePlan) -> slice:
    """Samples of a window; as in `window_grid` it begins at or just before its time."""
    first = int(np.floor((start_s - r.start_s) * r.fs + 1e-6))
    return slice(first, first + round(plan.length_s * r.fs))


def _whole(r: Recording, start_s: float, plan: TracePlan) -> Bools:
    """Channels that have every sample of a window."""
    window = _window(r, start_s, plan)
    inside = window.start >= 0 and window.stop <= r.signal.shape[1]
    if not inside or r.missing is None:
        return np.full(len(r.channels), inside)
    return ~np.asarray(r.missing[:, window].any(axis=1))


def _of_seizure(r: Recording, whole_plan: Plan, threads: int | None = None) -> Segments:
    plan, channels = whole_plan.traces, len(r.channels)
    windows_s = nearest_windows(r, plan)
    x = np.zeros((plan.segments, channels, plan.samples), np.float32)
    valid = np.zeros((plan.segments, channels), bool)
    start_s = np.full(plan.segments, np.nan)
    start_s[: len(windows_s)] = windows_s
    cut = _from_segments if plan.filtered == "segment" else _from_recording

    def work(rows: slice) -> None:
        for k, segment in enumerate(cut(r, rows, windows_s, plan)):
            x[k, rows] = robust_scale(_fitted(segment, plan.samples), plan.clip)

    in_blocks(work, channels, threads)
    for k, at_s in enumerate(windows_s):
        valid[k] = _whole(r, at_s, plan)
    x[~valid] = 0
    return Segments(x, valid, start_s)


def _from_segments(
    r: Recording, rows: slice, windows_s: Floats, plan: TracePlan
) -> Iterable[NDArray[np.float32]]:
    """Each window of some channels, cut and then filtered by itself."""
    return (_slow(r.signal[rows, _window(r, at_s, plan)], r, plan) for at_s in windows_s)


def _from_recording(
    r: Recording, rows: slice, windows_s: Floats, plan: TracePlan
) -> Iterable[NDArray[np.float32]]:
    """Each window of some channels, from their whole signal, filtered before it is cut."""
    slow = _slow(r.signal[rows], r, plan)
    first = np.round((windows_s - r.start_s) * plan.rate_hz).astype(int)
    return (slow[:, at : at + plan.samples] for at in first)


def _slow(x: NDArray[np.float32], r: Recording, plan: TracePlan) -> NDArray[np.float32]:
    """Return the signal filtered, without mains, at the plan's rate."""
    fixed = plan.mains == "fixed"
    mains_hz = plan.mains_hz if fixed else r.mains_hz or plan.mains_hz
    band = FilterPlan(
        low_hz=plan.low_hz,
        high_hz=plan.high_hz,
        order=4,
        notch="fundamental" if fixed else "auto",
    )
    y = band_limit(x, r.fs, band, mains_hz)
    return scipy.signal.resample(y, round(x.shape[1] * plan.rate_hz / r.fs), axis=-1)


def _fitted(x: NDArray[np.float32], samples: int) -> NDArray[np.float32]:
    """Pad with 0 or truncate: fractional rates can give one sample more or less."""
    return np.pad(x[:, :samples], ((0, 0), (0, max(0, samples - x.shape[1]))))


def robust_scale(x: NDArray[np.float32], clip: float = 8.0) -> NDArray[np.float32]:
    """(x - median) / interquartile range along time, clipped; a constant becomes 0."""
    low, median, high = np.quantile(x, [0.25, 0.5, 0.75], axis=-1, keepdims=True)
    iqr = high - low
    return np.clip((x - median) / np.where(iqr > 0, iqr, 1), -clip, clip).astype(np.float32)


TRACES = Store("traces", _of_seizure, _of_patient, frozenset({"traces"}))
