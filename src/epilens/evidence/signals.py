"""Signals: the band-limited interval around onset at its native rate, for methods that need it.

Seizures differ in rate and length, so they stand one after another in one array, `signal` (channel,
sample). Where each begins and how long it is are coordinates of the seizures: selecting some of
them (`patient.isel(seizure=…)`) selects their signals as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from epilens.core.types import Bools
from epilens.data.recording import Recording
from epilens.evidence.blocks import in_blocks
from epilens.evidence.seizures import Seizures, Store, fill
from epilens.evidence.windows import band_limit
from epilens.plan import Plan

Interval = tuple[NDArray[np.float32], float]
"""Signal (channel, time), and the time of its first sample from onset."""


class Piece(NamedTuple):
    """A seizure's signal between two times from onset."""

    x: NDArray[np.floating]
    """Signal in µV (channel, time)."""
    fs: float
    start_s: float
    """Time of the first sample, in seconds from onset."""
    valid: Bools
    """Which channels the seizure has (channel,)."""
    mains_hz: float | None = None


def make_signals(recordings: Iterable[Recording], plan: Plan) -> xr.Dataset:
    """Signals of one patient in µV, and which seizure has a channel (`signal_valid`)."""
    return fill([SIGNALS], recordings, plan)["signals"]


def _of_patient(seizures: Seizures, parts: Sequence[Interval], plan: Plan) -> xr.Dataset:
    samples = np.array([signal.shape[1] for signal, _ in parts])
    of_seizures = {
        "signal_first": np.cumsum(samples) - samples,
        "signal_samples": samples,
        "signal_rate_hz": np.array([r.fs for r in seizures.about]),
        "signal_start_s": np.array([start_s for _, start_s in parts]),
        "signal_mains_hz": np.array([r.mains_hz or np.nan for r in seizures.about]),
    }
    signal = seizures.concatenate([signal for signal, _ in parts])
    # Methods read one seizure at a time: a piece on disk is as long as the longest of them.
    pieces = {"chunks": (len(signal), max(1, int(samples.max())))}
    return xr.Dataset(
        {
            "signal": (("channel", "sample"), signal, {}, pieces),
            "signal_valid": (("seizure", "channel"), seizures.present),
        },
        seizures.coords | {name: ("seizure", values) for name, values in of_seizures.items()},
        {"patient": seizures.about[0].patient},
    )


def _of_seizure(r: Recording, plan: Plan, threads: int | None = None) -> Interval:
    """The planned interval, band-limited, as far as the recording has it; and where it starts."""
    first = max(0, int(np.ceil((plan.windows.start_s - r.start_s) * r.fs - 1e-6)))
    last = min(r.signal.shape[1], int(np.floor((plan.windows.stop_s - r.start_s) * r.fs + 1e-6)))
    out = np.empty((len(r.channels), last - first), np.float32)
    # Whatever the descriptors see, methods and pages are made for signals without drifts.
    band = plan.filter.model_copy(update={"band": "butterworth"})

    def work(rows: slice) -> None:
        out[rows] = band_limit(r.signal[rows], r.fs, band, r.mains_hz)[:, first:last]

    in_blocks(work, len(r.channels), threads)
    return out, r.start_s + first / r.fs


def has_signals(patient: xr.Dataset) -> bool:
    """Whether a patient was opened or made with its signals."""
    return "signal" in patient


def without_signals(patient: xr.Dataset) -> xr.Dataset:
    """The patient's cube alone."""
    return patient.drop_vars([v for v in patient.variables if str(v).startswith("signal")])


def signal_of(
    patient: xr.Dataset, s: int, first: int = 0, last: int | None = None
) -> NDArray[np.float32]:
    """Samples (channel, time) of one seizure, or some of them; only these are read."""
    begin, samples = (int(patient[f"signal_{k}"].values[s]) for k in ("first", "samples"))
    end = samples if last is None else min(last, samples)
    return patient["signal"][:, begin + min(first, end) : begin + end].values


def each_signal(patient: xr.Dataset, start_s: float, stop_s: float) -> Iterator[Piece]:
    """Seizures of a patient that was opened with its signals, between two times from onset.

    Seizures without a valid channel are passed over.
    """
    valid = patient["valid"].any("window").values & patient["signal_valid"].values
    for s in np.flatnonzero(valid.any(axis=1)):
        fs = float(patient["signal_rate_hz"].values[s])
        begin = float(patient["signal_start_s"].values[s])
        first = max(0, round((start_s - begin) * fs))
        last = max(first, round((stop_s - begin) * fs))
        x, mains_hz = signal_of(patient, int(s), first, last), _mains_hz(patient, int(s))
        yield Piece(x, fs, begin + first / fs, valid[s], mains_hz)


def _mains_hz(patient: xr.Dataset, s: int) -> float | None:
    """Mains frequency of a seizure's recording; None where it is unknown."""
    mains_hz = patient.coords.get("signal_mains_hz")
    return None if mains_hz is None or np.isnan(mains_hz.values[s]) else float(mains_hz.values[s])


SIGNALS = Store("signals", _of_seizure, _of_patient)
