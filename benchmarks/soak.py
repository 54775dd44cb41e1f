"""`python -m benchmarks soak [SECONDS]`: the same work over and over; does anything grow?

In one process that never ends (as a notebook or a server does) a cohort is described, methods are
run on it, a patient is localized to its page, and the review bench answers screens, in turns, for
600 seconds. Memory, threads, open files, children and files in the output and in the place for
temporary files are counted after each turn. The first third warms caches; what counts is the last
third against the middle one.
"""

from __future__ import annotations

import gc
import http.client
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.localize import make_model, write_edf
from benchmarks.timing import row
from epilens.cli.localize import run_localize
from epilens.data.bids import read_cohort
from epilens.data.discovery import cases_of
from epilens.evaluation.protocol import run
from epilens.evidence.files import open_cohort
from epilens.evidence.store import describe_cohort
from epilens.localization import Request
from epilens.networks.model import save_model
from epilens.plan import Plan, Runtime
from epilens.review.session import open_session
from epilens.review.start import make_review
from epilens.simulation import simulate
from epilens.testing import make_cohort

COUNTED = ("memory", "threads", "open files", "children", "files in the output", "temporary files")
PLAN = Plan(name="soak", seeds=(1,), methods=("lens", "line-length-change", "prq")).override(
    splits={"folds": 2}, training={"epochs": 1, "least_epochs": 1}
)


def measure(seconds: str = "600") -> list[dict[str, Any]]:
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "temporary").mkdir()
        tempfile.tempdir = str(place / "temporary")
        try:
            counts = soaked(place, float(seconds))
        finally:
            tempfile.tempdir = before
    return rows(counts)


def soaked(place: Path, seconds: float) -> np.ndarray:
    """(turn, counted)"""
    edf = write_edf(place / "patient.edf", 40, 512.0, 0)
    cases = cases_of([edf], "Soak")
    counts, last = [], time.monotonic() + seconds
    with make_review(open_session(cases, place / "reviewed")) as server:
        name = cases[0].files[0].name
        works = works_of(place, edf)
        while time.monotonic() < last or len(counts) < 6:
            for work in works:
                work()
            scroll(server, f"/{server.token}/api/case/{cases[0].code}/file/{name}/screen")
            counts.append(count(place))
    return np.array(counts, float)


def works_of(place: Path, edf: Path) -> list[Callable[[], object]]:
    """One turn. Everything is made anew each time, into the same folders."""
    simulate(place / "cohort", "tiny", seed=0, jobs=2)
    parts = read_cohort([place / "cohort"], "simulated")
    make_cohort(place / "made", patients=8)
    model = save_model(make_model(1), place / "model")
    out = place / "out"

    def describe() -> None:
        shutil.rmtree(out / "cubes", ignore_errors=True)
        describe_cohort(parts[:1], out / "cubes", Plan(), 2)

    def run_methods() -> None:
        shutil.rmtree(out / "runs", ignore_errors=True)
        run(PLAN, open_cohort(place / "made"), Runtime(out / "runs", 1))

    def localize() -> None:
        request = Request([str(edf)], model=str(model), onsets=[60.0])
        run_localize(request, out / "localized")

    return [describe, run_methods, localize]


def scroll(server: Any, path: str) -> None:
    """Twenty screens, each on a connection of its own."""
    for start in range(20):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        asked = f"{path}?start={start}&seconds=10&columns=800&montage=bipolar&high=0.5&low=&notch="
        connection.request("GET", asked)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status
        connection.close()


def count(place: Path) -> tuple[float, ...]:
    """As in `COUNTED`; memory in MB."""
    gc.collect()
    me = psutil.Process(os.getpid())
    return (
        me.memory_info().rss / 1e6,
        me.num_threads(),
        me.num_fds(),
        len(me.children(recursive=True)),
        sum(1 for _ in (place / "out").rglob("*")),
        sum(1 for _ in (place / "temporary").rglob("*")),
    )


def rows(counts: np.ndarray) -> list[dict[str, Any]]:
    """What each count was in the middle third, and how much more it is in the last."""
    third = len(counts) // 3
    middle, end = np.median(counts[third : 2 * third], 0), np.median(counts[-third:], 0)
    lines = [row("turns", len(counts), "")]
    for name, was, now in zip(COUNTED, middle, end, strict=True):
        unit = "MB" if name == "memory" else ""
        lines.append(row(f"{name}, middle third", was, unit))
        # Memory is measured in pages that a busy allocator may or may not give back.
        most = 0.02 * float(was) if name == "memory" else 0
        lines.append(row(f"{name}: more in the last third", now - was, unit, most=most))
    return lines
