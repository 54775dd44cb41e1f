"""Signals: the band-limited interval around onset at its native rate, for methods that need it.

Seizures differ in rate and length, so each has an array of its own: `signal_0`, `signal_1`, …
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from epilens.data.recording import Recording, align
from epilens.evidence.descriptors import in_blocks
from epilens.evidence.windows import band_limit
from epilens.plan import Plan


def make_signals(recordings: Iterable[Recording], plan: Plan) -> xr.Dataset:
    """Signals of one patient: `signal_k` (channel, time_k) in µV, and which seizure has a channel.

    `signal_start_s` (seizure) is the time of the first sample from onset.
    """
    about, parts = [], []
    for recording in recordings:
        parts.append(_interval(recording, plan))
        about.append(recording)
    names, _ = align(about)
    column = {name: i for i, name in enumerate(names)}
    there = np.zeros((len(about), len(names)), bool)
    data = {}
    for s, (recording, (signal, _)) in enumerate(zip(about, parts, strict=True)):
        columns = [column[name] for name in recording.channels]
        whole = np.zeros((len(names), signal.shape[1]), np.float32)
        whole[columns], there[s, columns] = signal, True
        data[f"signal_{s}"] = (("channel", f"time_{s}"), whole)
    data["signal_valid"] = (("seizure", "channel"), there)
    coords = {
        "seizure": [r.run for r in about],
        "channel": list(names),
        "signal_start_s": ("seizure", np.array([start_s for _, start_s in parts])),
        "signal_rate_hz": ("seizure", np.array([r.fs for r in about])),
    }
    return xr.Dataset(data, coords, {"patient": about[0].patient})


def _interval(r: Recording, plan: Plan) -> tuple[NDArray[np.float32], float]:
    """The planned interval, band-limited, as far as the recording has it; and where it starts."""
    first = max(0, int(np.ceil((plan.windows.start_s - r.start_s) * r.fs - 1e-6)))
    last = min(r.signal.shape[1], int(np.floor((plan.windows.stop_s - r.start_s) * r.fs + 1e-6)))
    out = np.empty((len(r.channels), last - first), np.float32)

    def work(rows: slice) -> None:
        out[rows] = band_limit(r.signal[rows], r.fs, plan.filter, r.mains_hz)[:, first:last]

    in_blocks(work, len(r.channels))
    return out, r.start_s + first / r.fs


def each_signal(
    patient: xr.Dataset, start_s: float, stop_s: float
) -> Iterator[tuple[NDArray[np.float32], float, float, NDArray[np.bool_]]]:
    """Seizures of a patient that was opened with its signals.

    Yields signal (channel, time) between two times from onset, rate (Hz), the time of its first
    sample, and which channels (channel) are valid; seizures without any are passed over.
    """
    valid = patient["valid"].any("window").values & patient["signal_valid"].values
    for s in np.flatnonzero(valid.any(axis=1)):
        fs = float(patient["signal_rate_hz"].values[s])
        begin = float(patient["signal_start_s"].values[s])
        first = max(0, round((start_s - begin) * fs))
        last = max(first, round((stop_s - begin) * fs))
        signal = patient[f"signal_{s}"].values[:, first:last]
        yield signal, fs, begin + first / fs, valid[s]
