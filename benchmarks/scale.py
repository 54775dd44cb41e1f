"""What a cohort of any size would cost: measured on 1, 2 and 4 workers, carried to 10⁶ patients.

`python -m benchmarks scale [SHAPE [COHORT [WORKERS…]]]` (default: demo; `paper` takes a quarter of
an hour) describes a simulated cohort and runs cells on processes and on a Dask cluster of this
machine, measures what a task costs beside its work, and simulates a scheduler with 1,000 workers
that hands out 10⁶ tasks of the measured lengths, to check the estimate on paper. COHORT is one of
that shape that is there already; WORKERS (1 2 4) begin with 1 2.
"""

from __future__ import annotations

import heapq
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Costs:
    """What was measured of one patient or task."""

    lengths_s: NDArray[np.float64]
    """Processor time of describing each patient."""
    task_s: float
    """What handing out a task costs, all workers waiting."""
    signal_bytes: float
    cube_bytes: float
    """Of a patient, in the mean."""


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
    costs = Costs(lengths, overhead["cluster"], signals, cubes)
    return rows + on_paper(costs) + checked(costs)


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


def on_paper(costs: Costs) -> list[dict[str, Any]]:
    """10⁶ patients on 1,000 workers: work, scheduler, store. The longest of them is the time."""
    work_s = PATIENTS * costs.lengths_s.mean()
    return [
        row("10⁶ patients: describe", work_s / 3600, "core-h"),
        row("10⁶ patients: signals", PATIENTS * costs.signal_bytes / 1e12, "TB"),
        row("10⁶ patients: cubes", PATIENTS * costs.cube_bytes / 1e12, "TB"),
        row("10⁶ patients: 1,000 workers, their work alone", work_s / MANY / 3600, "h"),
        row("10⁶ patients: one scheduler, its part alone", PATIENTS * costs.task_s / 3600, "h"),
        row(
            "10⁶ patients: reading, while 1,000 workers are busy",
            MANY * costs.signal_bytes / costs.lengths_s.mean() / 1e9,
            "GB/s",
        ),
        row("10⁶ patients: estimate on paper", paper_estimate(costs) / 3600, "h"),
    ]


def paper_estimate(costs: Costs, batch: int = 1) -> float:
    """Seconds: workers or scheduler, whichever is slower; the other hides behind it."""
    workers = PATIENTS * costs.lengths_s.mean() / MANY
    return max(workers, PATIENTS / batch * costs.task_s) + batch * costs.lengths_s.max()


def checked(costs: Costs) -> list[dict[str, Any]]:
    """The estimate beside a simulated day of the scheduler, patients alone and ten in a task."""
    rows = []
    for batch in (1, 10):
        simulated = simulated_s(costs, PATIENTS, MANY, batch)
        what = "one patient a task" if batch == 1 else f"{batch} patients a task"
        rows += [
            row(f"10⁶ patients, {what}: simulated scheduler", simulated["seconds"] / 3600, "h"),
            row(f"10⁶ patients, {what}: workers busy", 100 * simulated["busy"], "%"),
            row(
                f"10⁶ patients, {what}: simulated over paper",
                simulated["seconds"] / paper_estimate(costs, batch),
            ),
        ]
    lossy = simulated_s(costs, PATIENTS, MANY, 10, lifetime_s=3300.0)
    rows.append(row("… and workers that end after 55 ± 4 min: work lost", 100 * lossy["lost"], "%"))
    return rows


def simulated_s(
    costs: Costs, tasks: int, workers: int, batch: int = 1, lifetime_s: float = float("inf")
) -> dict[str, float]:
    """A scheduler that hands out one task after the other to whoever is free first.

    It is busy for `task_s` with each. A worker whose life ends in the middle of a task loses it;
    the task is handed out again, and a new worker takes the place at once.
    """
    draw = np.random.default_rng(0)
    count = -(-tasks // batch)
    lengths = draw.choice(costs.lengths_s, (count, batch)).sum(axis=1)
    ends = [(0.0, worker) for worker in range(workers)]
    alive_until = lifetime_s + draw.uniform(-240.0, 240.0, workers)
    scheduler = work = lost = finish = 0.0
    waiting = lengths[::-1].tolist()
    while waiting:
        free, worker = heapq.heappop(ends)
        scheduler = max(scheduler, free) + costs.task_s
        length, stop = waiting.pop(), scheduler
        if scheduler + length > alive_until[worker]:
            stop = max(alive_until[worker], scheduler)
            lost += stop - scheduler
            alive_until[worker] = stop + lifetime_s + draw.uniform(-240.0, 240.0)
            waiting.append(length)
        else:
            stop = scheduler + length
            work += length
        finish = max(finish, stop)
        heapq.heappush(ends, (stop, worker))
    return {"seconds": finish, "busy": work / (workers * finish), "lost": lost / work}
