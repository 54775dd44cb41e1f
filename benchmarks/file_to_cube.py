"""From simulated files to a cube, beside MNE reading the same interval."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import mne
import numpy as np

from benchmarks.timing import row, side_by_side
from epilens.data.bids import read_bids
from epilens.data.bids_scan import Patient
from epilens.evidence.files import SUFFIX
from epilens.evidence.store import DescribePatient
from epilens.plan import Plan
from epilens.simulation.files import write_center, write_run
from epilens.simulation.patients import make_patients
from epilens.simulation.shapes import EAST, NORTH, Center


def make_patient(folder: Path, center: Center, channels: int, seizures: int, fs: float) -> Patient:
    """One simulated patient of a given size, on disk and as the reader sees it."""
    size = {"patients": 1, "seizures": seizures, "channels": channels, "ez_channels": channels // 5}
    center = replace(center, single_seizure_patients=0, rates_hz=(fs,), **size)
    (patient,) = make_patients(center, 0, seed=0)
    patient = replace(patient, runs=tuple(run for run in patient.runs if not run.oddity))
    write_center(folder, center, [patient])
    for run in patient.runs:
        write_run(folder, patient, run)
    return read_bids(folder, "simulated").patients[0]


def with_mne(patient: Patient) -> None:
    """Only read the interval that we need, as MNE gives it."""
    for run in patient.runs:
        raw = mne.io.read_raw(run.source, preload=False, verbose="ERROR")
        fs, onset_s = raw.info["sfreq"], run.onset.onset_s
        raw.get_data(start=round((onset_s - 35) * fs), stop=round((onset_s + 35) * fs))


def ours(patient: Patient, out: Path, threads: int) -> None:
    """File to stored cube, every check included; nothing is kept from the run before."""
    (out / f"{patient.name}{SUFFIX}").unlink(missing_ok=True)
    DescribePatient(patient, Plan(), out, threads=threads).work()


def measure() -> list[dict[str, Any]]:
    rows = []
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        (root / "cubes").mkdir()
        for center, fs in ((NORTH, 512.0), (NORTH, 1024.0), (EAST, 1000.0)):
            name = f"{center.file_format}-{fs:g}"
            patient = make_patient(root / name, center, 100, 3, fs)
            times = side_by_side(
                {
                    "ours": lambda p=patient: ours(p, root / "cubes", 2),
                    "mne": lambda p=patient: with_mne(p),
                },
                repeats=7,
            )
            what = f"{center.file_format}, 100 channels × 3 seizures at {fs:g} Hz"
            rows.append(row(f"{what}: time / MNE reading", times["ours"] / times["mne"], most=4))
            speed = 100 * 3 * 60 / times["ours"]
            rows.append(row(f"{what}: channel-seconds per second", speed, "1/s"))
        rows += growth(root, "channels", [(25, 3), (50, 3), (100, 3), (200, 3)])
        rows += growth(root, "seizures", [(60, 1), (60, 2), (60, 4), (60, 8)])
    return rows


def growth(root: Path, axis: str, sizes: list[tuple[int, int]]) -> list[dict[str, Any]]:
    """Time per channel and seizure, at the largest size over the smallest; 1 is linear."""
    patients = {
        f"{c}x{s}": make_patient(root / f"{axis}-{c}x{s}", EAST, c, s, 1000.0) for c, s in sizes
    }
    works = {name: lambda p=p: ours(p, root / "cubes", 2) for name, p in patients.items()}
    times = side_by_side(works, repeats=5)
    amounts = np.array([c * s for c, s in sizes], float)
    seconds = np.array(list(times.values()))
    # A patient costs a fixed amount (opening, checking, storing); growth is what comes on top.
    slope, fixed = np.polyfit(amounts, seconds, 1)
    fit = fixed + slope * amounts
    worst = float(np.abs(seconds / fit - 1).max())
    labels = f"{sizes[0][0]}×{sizes[0][1]} to {sizes[-1][0]}×{sizes[-1][1]}"
    return [
        row(
            f"growth over {axis} ({labels}): largest deviation from a line",
            100 * worst,
            "%",
            most=20,
        ),
        row(f"growth over {axis}: fixed cost per patient", 1000 * fixed, "ms"),
    ]
