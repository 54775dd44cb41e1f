"""`python -m benchmarks checking`: the cost of checking a store for damage while reading it.

Every chunk of a store is checked against its checksum when it is read. The checksums of all chunks
are timed alone, next to reading the whole store: from the disk, and from the page cache.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.timing import row, side_by_side
from epilens.evidence import zip_store
from epilens.evidence.files import open_cube, save
from epilens.evidence.signals import make_signals
from epilens.evidence.zip_store import open_store, save_store
from epilens.plan import Plan
from epilens.testing import make_cube, make_recording


def measure() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        cube = save(make_cube(seizures=3, channels=120), Path(folder) / "sub-01.zarr.zip")
        parts = [make_recording(run=f"run-{s}", seed=s, channels=100, fs=512.0) for s in range(3)]
        signals = save_store(make_signals(parts, Plan()), Path(folder) / "sub-02.zarr.zip")
        return [
            *_rows("a cube", lambda: open_cube(cube), cube),
            *_rows("signals", lambda: _read(signals), signals),
        ]


def _read(path: Path) -> None:
    with open_store(path) as store:
        store.load()


def _rows(what: str, read: Callable[[], object], path: Path) -> list[dict[str, Any]]:
    with zipfile.ZipFile(path) as file:
        chunks = [file.read(name) for name in file.namelist()]

    def from_disk() -> None:
        _forget(path)
        read()

    def check() -> None:
        for chunk in chunks:
            zip_store.fast_checksum(chunk)

    times = side_by_side({"disk": from_disk, "memory": read, "sums": check})
    lines = []
    for where in ("disk", "memory"):
        about = f"{what} of {path.stat().st_size / 1e6:.1f} MB from {where}"
        lines.append(row(f"{about}: reading it, checked", 1000 * times[where], "ms"))
        share = 100 * times["sums"] / (times[where] - times["sums"])
        lines.append(row(f"{about}: what the check adds", share, "%", most=10))
    return lines


def _forget(path: Path) -> None:
    """The next read is from the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
