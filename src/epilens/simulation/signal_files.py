"""Signals → EDF and BrainVision files."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import numpy as np

from epilens.simulation.noise import Signal

STARTED = datetime(1985, 1, 1)
"""A date that nobody can confuse with the date of a real recording."""
HEARTBEAT_HZ, HEARTBEAT_UV, HEARTBEAT_WIDTH = 1.1, 800, 0.02
"""Rate in Hz, height in µV and width (SD, share of a period) of the beats in the ECG."""
BRAINVISION_STEPS = 32000
"""Integer that the largest value of a channel is stored as (the limit of 16 bits is 32767)."""
RESOLUTIONS_PER_UV = 1e4
"""The size of a step in µV has four decimal digits, which a header states exactly."""


def heartbeat(samples: int, fs: float) -> Signal:
    """An ECG in µV, so that every file has a channel that is not a contact."""
    phase = (np.arange(samples) / fs * HEARTBEAT_HZ) % 1
    beats = np.exp(-0.5 * ((phase - 0.5) / HEARTBEAT_WIDTH) ** 2)
    return (HEARTBEAT_UV * beats).astype(np.float32)


def write_edf(
    folder: Path, stem: str, names: Sequence[str], rows: Sequence[Signal], fs: float
) -> None:
    """Write channels in µV as EDF."""
    import edfio

    signals = [
        edfio.EdfSignal(
            row.astype(np.float64),
            fs,
            label=name,
            physical_dimension="uV",
            physical_range=_physical_range(row),
        )
        for name, row in zip(names, rows, strict=True)
    ]
    edf = edfio.Edf(
        signals,
        recording=edfio.Recording(startdate=STARTED.date()),
        starttime=STARTED.time(),
        data_record_duration=1.0,
    )
    edf.write(folder / f"{stem}.edf")


def _physical_range(row: Signal) -> tuple[float, float]:
    """Physical limits in whole µV: header fields have eight characters."""
    limit = float(np.ceil(np.abs(row).max()) + 1)
    return -limit, limit


def write_brainvision(
    folder: Path, stem: str, names: Sequence[str], rows: Sequence[Signal], fs: float
) -> None:
    """Write channels in µV as BrainVision, with 16 bits over the range of each channel."""
    import pybv

    largest = np.array([np.abs(row).max() for row in rows])
    steps_uv = np.ceil(largest / BRAINVISION_STEPS * RESOLUTIONS_PER_UV + 1) / RESOLUTIONS_PER_UV
    volts = np.empty((len(rows), len(rows[0])))
    for out, row in zip(volts, rows, strict=True):
        np.multiply(row, 1e-6, out=out, dtype=np.float64)
    pybv.write_brainvision(
        data=volts,
        sfreq=fs,
        ch_names=list(names),
        fname_base=stem,
        folder_out=str(folder),
        resolution=steps_uv,
        unit="µV",
        fmt="binary_int16",
        meas_date=STARTED,
    )
