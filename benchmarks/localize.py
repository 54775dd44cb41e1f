"""From the command to the page of a new patient: seizures × 100 contacts at 1 kHz, cold."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import edfio
import numpy as np

from benchmarks.timing import best, row
from epilens.evidence.views import Standardizer
from epilens.localization.sources import ModelSource
from epilens.networks.branch import NETWORKS, Branch
from epilens.networks.model import Member, Model, save_model
from epilens.networks.training import build
from epilens.report.patient.page import page
from epilens.testing import make_cube, make_recording

COMMAND = """
import sys
from pathlib import Path
from epilens.localization import Request
from epilens.cli.localize import run_localize
model, out, *files = sys.argv[1:]
print(run_localize(Request(files, model=model, onsets=[60.0] * len(files)), Path(out)))
"""


def names(contacts: int) -> list[str]:
    """Electrodes of ten contacts."""
    return [f"{chr(65 + i // 260)}{chr(65 + i // 10 % 26)}{i % 10 + 1}" for i in range(contacts)]


def write_edf(path: Path, contacts: int, fs: float, seed: int) -> Path:
    """A recording of two minutes with its onset after one; the first contacts become fast."""
    made = make_recording(fs=fs, channels=names(contacts), ez=8, start_s=-60, stop_s=60, seed=seed)
    about = {"physical_dimension": "uV", "physical_range": (-999, 999)}
    signals = [
        edfio.EdfSignal(x.astype(np.float64), fs, label=name, **about)
        for name, x in zip(made.channels, made.signal.clip(-998, 998), strict=True)
    ]
    recording = edfio.Recording(startdate=date(1985, 1, 1))
    edfio.Edf(signals, recording=recording, data_record_duration=1.0).write(path)
    return path


def make_model(members: int) -> Model:
    """Untrained networks take as long as trained ones."""
    fitted = Standardizer.fit([make_cube(seizures=1, channels=6, fs=256.0)])
    made = [
        Member(i, "0", {name: Branch(build(net, i), fitted) for name, net in NETWORKS.items()})
        for i in range(members)
    ]
    return Model(tuple(made), 0.5, 0.2, {"source": "benchmark"})


def measure() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        rows = one_seizure(write_edf(root / "one.edf", 100, 1000.0, 0), root / "one")
        files = [write_edf(root / f"s{i}.edf", 100, 1000.0, i) for i in range(3)]
        for members in (3, 15):
            model = save_model(make_model(members), root / f"model{members}")
            call = [sys.executable, "-c", COMMAND, str(model), str(root / "out"), *map(str, files)]
            page, seconds, used = _timed(call)
            what = f"command to page, 3 seizures × 100 contacts at 1 kHz, {members} members"
            rows.append(row(what, seconds, "s", most=15))
            rows.append(row(what + ", processor time", used, "s"))
        size = Path(page).stat().st_size / 1e6
        rows.append(row("page of 3 seizures × 100 contacts", size, "MB", most=15))
    cube = make_cube(seizures=3, channels=names(100), ez=8, fs=256.0)
    for members in (3, 15):
        source = ModelSource(make_model(members))
        took = best(lambda source=source: source.score(cube), repeats=3)
        what = f"prediction alone, with each seizure, {members} members"
        rows.append(row(what, took, "s", most=1))
    rows.append(row("page of 5 seizures × 200 contacts", largest_page(), "MB", most=15))
    return rows


READ = "import mne, sys; mne.io.read_raw_edf(sys.argv[1], preload=True, verbose='error')"
"""A Python process that reads the file, and does nothing else."""


def one_seizure(edf: Path, out: Path, repeats: int = 3) -> list[dict[str, Any]]:
    """`epilens localize` of one seizure with the shipped model, next to reading the file with MNE.

    Processor time is compared as well, because it depends less on what else the machine does.
    """
    localize = [sys.executable, "-m", "epilens", "localize", str(edf), "--onset", "60"]
    localize += ["--patient", "P1", "--out", str(out)]
    measured: dict[str, list[tuple[float, float]]] = {"MNE": [], "EpiLENS": []}
    for _ in range(repeats):  # alternating, so that both see the same machine
        for name, call in (("MNE", [sys.executable, "-c", READ, str(edf)]), ("EpiLENS", localize)):
            measured[name].append(_timed(call)[1:])
    (mne_s, mne_used), (our_s, our_used) = (
        map(min, zip(*m, strict=True)) for m in measured.values()
    )
    what = "one seizure × 100 contacts at 1 kHz"
    return [
        row(f"{what}, read by MNE", mne_s, "s"),
        row(f"{what}, EDF to page", our_s, "s"),
        row("EDF to page, times reading with MNE", our_s / mne_s, "x", most=2.5),
        row("EDF to page, times reading with MNE, processor time", our_used / mne_used, "x"),
        row("EDF to page, peak memory", _peak_mb(localize), "MB", most=400),
        row("EDF to page, first progress on a terminal", _first_output_s(localize), "s", most=0.5),
    ]


def _peak_mb(call: list[str]) -> float:
    """Through a small process: a child's peak begins with the size of the one that started it."""
    code = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], capture_output=True); "
    code += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    done = subprocess.run([sys.executable, "-c", code, *call], check=True, capture_output=True)
    return int(done.stdout) / 1024


def _first_output_s(call: list[str]) -> float:
    """Seconds until something is shown."""
    import pty

    ours, theirs = pty.openpty()
    start = time.perf_counter()
    process = subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=theirs)
    os.read(ours, 1)
    seconds = time.perf_counter() - start
    process.kill()
    process.wait()
    os.close(ours)
    os.close(theirs)
    return seconds


def _timed(call: list[str]) -> tuple[str, float, float]:
    """Output, seconds and processor time of a command; the latter depends less on other work."""
    import resource

    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(call, check=True, capture_output=True, text=True)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout.strip(), seconds, used


def largest_page() -> float:
    """Megabytes of the largest page that was asked for."""
    from epilens.report.patient.localize import localize

    parts = [
        make_recording(run=f"run-0{i}", fs=512.0, channels=names(200), ez=9, seed=i)
        for i in range(5)
    ]
    parts = [replace(part, patient="sub-big") for part in parts]
    return len(page(localize(parts, make_model(1))).encode()) / 1e6
