"""What a cohort of any size would cost: measured on 1, 2 and 4 workers, carried to 10⁶ patients.

`python -m benchmarks scale [SHAPE [COHORT [WORKERS…]]]` (default: demo; `paper` takes a quarter of
an hour) describes a simulated cohort and runs cells on processes and on a Dask cluster of this
machine, measures what a task costs in addition to its work, and estimates the time of 10⁶ patients
on 1,000 workers (a simulated scheduler agreed: docs/developer/performance.md). COHORT is one of
that shape that exists; WORKERS (1 2 4) begin with 1 2.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import neg
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.timing import row
from epilens.compute.dask import on_cluster
from epilens.compute.local import map_jobs
from epilens.data.bids import Recordings, read_cohort
from epilens.evaluation.protocol import run
from epilens.evidence.files import Cohort, open_cohort
from epilens.evidence.store import DescribePatient, describe_cohort
from epilens.plan import Plan, Runtime
from epilens.simulation import simulate

WORKERS = (1, 2, 4)
TASKS = 500
"""Empty tasks over which the cost of one is measured."""
PATIENTS, MANY = 10**6, 1000
"""1,000 centers × 1,000 patients, on as many workers as a large site has."""
CELLS = Plan(name="cells", seeds=(1,), methods=("prq", "lens")).override(
    splits={"folds": 5}, training={"epochs": 3, "least_epochs": 1}
)
"""Cells of both families; the networks' are shortened."""


def measure(shape: str = "demo", cohort: str = "", *workers: str) -> list[dict[str, Any]]:
    numbers = tuple(map(int, workers)) or WORKERS
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if not cohort:
            simulate(place / "cohort", shape, seed=0, jobs=2)
        root = Path(cohort) if cohort else place / "cohort"
        parts = read_cohort([root], "simulated")
        # The first pass warms the disk's cache; its lengths are not those that count.
        describe_cohort(parts, place / "cubes", Plan(), 2)
        lengths = patient_lengths(parts, place / "alone")
        signals, cubes = sizes(root, place / "cubes")
        rows = workload(open_cohort(place / "cubes"), lengths)
        rows.append(row("signals of a patient", signals / 1e6, "MB"))
        rows.append(row("cube of a patient", cubes / 1e6, "MB"))
        rows += speed_up(
            "describe",
            lambda jobs, turn: describe_cohort(parts, place / turn, Plan(), jobs, threads=1),
            numbers,
        )
        described = open_cohort(place / "cubes")
        rows += speed_up(
            "run", lambda jobs, turn: run(CELLS, described, Runtime(place / turn, jobs)), numbers
        )
    overhead = {where: task_cost(where) for where in ("processes", "cluster")}
    for where, seconds in overhead.items():
        rows.append(row(f"{where}: a task beside its work", 1000 * seconds, "ms"))
    return rows + estimated(lengths, overhead["cluster"], signals, cubes)


def patient_lengths(parts: Sequence[Recordings], out: Path) -> NDArray[np.float64]:
    """Seconds of one worker for each patient."""
    out.mkdir()
    seconds = []
    for part in parts:
        for patient in part.patients:
            began = time.perf_counter()
            DescribePatient(patient, Plan(), out, threads=1).work()
            seconds.append(time.perf_counter() - began)
    return np.array(seconds)


def workload(cohort: Cohort, lengths: NDArray[np.float64]) -> list[dict[str, Any]]:
    """Channel-seconds of a core-second, and how long patients take."""
    windows = Plan().windows
    cubes = [cohort[name] for name in cohort]
    channel_s = (windows.stop_s - windows.start_s) * sum(
        cube.sizes["channel"] * int(cube["valid"].any(["window", "channel"]).sum())
        for cube in cubes
    )
    return [
        row("patients", len(lengths), ""),
        row("describe: channel-seconds of a core-second", channel_s / lengths.sum(), ""),
        row("describe: a patient on one core, mean", lengths.mean(), "s"),
        row("describe: the longest patient over the mean", lengths.max() / lengths.mean()),
    ]


def sizes(recordings: Path, cubes: Path) -> tuple[float, float]:
    """Bytes of signals and of the cube, a patient."""
    stores = [path.stat().st_size for path in cubes.glob("*.zip")]
    signals = sum(path.stat().st_size for path in recordings.rglob("*.*") if path.is_file())
    return signals / len(stores), float(np.mean(stores))


def speed_up(
    what: str, work: Callable[[int, str], object], workers: Sequence[int]
) -> list[dict[str, Any]]:
    """Seconds on processes and on a cluster's workers, by their number."""
    seconds: dict[tuple[str, int], float] = {}
    for where in ("processes", "cluster"):
        for number in workers:
            with _place(where, number):
                began = time.perf_counter()
                work(number, f"{what}-{where}-{number}")
                seconds[where, number] = time.perf_counter() - began
    rows = [
        row(f"{what}: {where}, {number} worker{'s' * (number > 1)}", seconds[where, number], "s")
        for where, number in seconds
    ]
    for where in ("processes", "cluster"):
        ratio = seconds[where, 1] / seconds[where, 2]
        rows.append(row(f"{what}: {where}, two workers faster than one", ratio, least=1.7))
    more = 100 * (seconds["cluster", 2] / seconds["processes", 2] - 1)
    return [*rows, row(f"{what}: the cluster's time above processes', two workers", more, "%", 10)]


@contextmanager
def _place(where: str, workers: int) -> Iterator[None]:
    """A cluster that is up, as one that is used all day is; processes need nothing."""
    if where == "processes":
        yield
        return
    with on_cluster(f"local:{workers}") as client:
        if client is not None:
            client.wait_for_workers(workers)
        list(map_jobs(neg, range(workers), 1))
        yield


def task_cost(where: str) -> float:
    """Seconds of an empty task on two workers, after the workers have begun."""

    def taken(count: int) -> float:
        began = time.perf_counter()
        assert len(list(map_jobs(neg, range(count), 2))) == count
        return time.perf_counter() - began

    with _place(where, 2):
        few = taken(2)
        return max(taken(TASKS + 2) - few, 0.0) / TASKS


def estimated(
    lengths_s: NDArray[np.float64], task_s: float, signal_bytes: float, cube_bytes: float
) -> list[dict[str, Any]]:
    """10⁶ patients on 1,000 workers: work, scheduler, store; the longest of them is the time.

    lengths_s : of each patient. task_s : of handing out a task. Bytes are those of a patient.
    """
    work_s, what = PATIENTS * lengths_s.mean(), "10⁶ patients"
    rows = [
        row(f"{what}: describe", work_s / 3600, "core-h"),
        row(f"{what}: signals", PATIENTS * signal_bytes / 1e12, "TB"),
        row(f"{what}: cubes", PATIENTS * cube_bytes / 1e12, "TB"),
        row(f"{what}: 1,000 workers, their work alone", work_s / MANY / 3600, "h"),
        row(f"{what}: one scheduler, its part alone", PATIENTS * task_s / 3600, "h"),
        row(f"{what}: reading", MANY * signal_bytes / lengths_s.mean() / 1e9, "GB/s"),
    ]
    for batch in (1, 10):  # workers or scheduler, whichever is slower: the other is hidden by it
        slowest = max(work_s / MANY, PATIENTS / batch * task_s) + batch * lengths_s.max()
        rows.append(row(f"{what}, {batch} in a task: estimate on paper", slowest / 3600, "h"))
    return rows
