"""Memory that describing a one-hour file needs, above the interpreter with its imports."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import row

CODE = """
import sys
from pathlib import Path
import mne, xarray, zarr
from epilens.data.bids import read_bids
from epilens.evidence.store import DescribePatient
from epilens.plan import Plan
import epilens.evidence.descriptors as d, numpy as np
d.descriptors(np.zeros((1, 600), np.float32), 200.0)
def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
before = peak()
patient = read_bids(sys.argv[1]).patients[0]
DescribePatient(patient, Plan(), Path(sys.argv[2]), threads=2).work()
print(before, peak())
"""


def write_hour(root: Path, channels: int = 128, fs: int = 1000) -> None:
    """A BrainVision file of one hour, written piece by piece."""
    place = root / "sub-01" / "ieeg"
    place.mkdir(parents=True)
    stem = "sub-01_task-ictal_run-01"
    names = [f"A{i + 1}" for i in range(channels)]
    (root / "dataset_description.json").write_text('{"Name": "hour", "BIDSVersion": "1.10.0"}')
    head = "Brain Vision Data Exchange Header File Version 1.0\n[Common Infos]\nCodepage=UTF-8\n"
    head += f"DataFile={stem}_ieeg.eeg\nMarkerFile={stem}_ieeg.vmrk\nDataFormat=BINARY\n"
    head += (
        f"DataOrientation=MULTIPLEXED\nNumberOfChannels={channels}\nSamplingInterval={1e6 / fs}\n"
    )
    head += "[Binary Infos]\nBinaryFormat=INT_16\n[Channel Infos]\n"
    head += "".join(f"Ch{i + 1}={name},,0.1,µV\n" for i, name in enumerate(names))
    (place / f"{stem}_ieeg.vhdr").write_text(head, encoding="utf-8")
    mark = "Brain Vision Data Exchange Marker File, Version 1.0\n[Common Infos]\nCodepage=UTF-8\n"
    mark += f"DataFile={stem}_ieeg.eeg\n[Marker Infos]\nMk1=New Segment,,1,1,0\n"
    (place / f"{stem}_ieeg.vmrk").write_text(mark, encoding="utf-8")
    rng = np.random.default_rng(0)
    with (place / f"{stem}_ieeg.eeg").open("wb") as file:
        for _ in range(60):
            file.write(rng.integers(-3000, 3000, (60 * fs, channels), dtype=np.int16).tobytes())
    rows = [f"{name}\tSEEG\tµV\tn/a\tn/a" for name in names]
    table = "\n".join(["name\ttype\tunits\tlow_cutoff\thigh_cutoff", *rows]) + "\n"
    (place / f"{stem}_channels.tsv").write_text(table, encoding="utf-8")
    events = "onset\tduration\ttrial_type\n1800.0\t0.0\tsz onset\n"
    (place / f"{stem}_events.tsv").write_text(events, encoding="utf-8")


def measure() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        write_hour(root / "bids")
        (root / "cubes").mkdir()
        command = [sys.executable, "-c", CODE, str(root / "bids"), str(root / "cubes")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    before, after = map(float, done.stdout.split())
    what = "128 channels, 1 kHz, one hour: memory above the interpreter"
    return [
        row(what, after - before, "MB", most=500),
        row("interpreter with imports", before, "MB"),
    ]
