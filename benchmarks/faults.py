"""`python -m benchmarks faults`: faults on a Dask cluster of this machine; the loss is counted.

A scheduler and two workers, processes of their own that are started again when they end, do
`describe` and `run`. In the middle of a piece a worker is killed, the scheduler is killed and
started again, a worker takes more memory than it may, or a worker stands still for a while. What is
written must be byte for byte what it is on one process without any of it.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.kills import contents
from benchmarks.timing import row
from benchmarks.watched_worker import LOG
from epilens.compute.dask import on_cluster
from epilens.data.bids import read_cohort
from epilens.evaluation.protocol import run
from epilens.evidence.store import describe_cohort
from epilens.plan import Plan, Runtime
from epilens.simulation import simulate
from epilens.testing import make_cohort

WORKERS, MEMORY, STILL_S = 2, "2GB", 8.0
PLAN = Plan(name="faults", seeds=(1, 2, 3), methods=("prq",)).override(
    splits={"folds": 2}, training={"epochs": 12, "least_epochs": 12}
)
Event = tuple[float, int, str, str]
"""Time, process, begin or end, piece."""


class Cluster:
    """A scheduler and workers as a site runs them: what ends is started again."""

    def __init__(self, place: Path):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        self.log = place / "watched.jsonl"
        self.log.touch()
        self._ended = threading.Event()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._keeper = threading.Thread(target=self._keep, daemon=True)

    def __enter__(self) -> Cluster:
        self._keeper.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._keeper.join()
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            process.wait()

    def _keep(self) -> None:
        while not self._ended.wait(0.5):
            for name in ("scheduler", *(f"worker-{i}" for i in range(WORKERS))):
                process = self._processes.get(name)
                if process is None or process.poll() is not None:
                    self._processes[name] = self._start(name)

    def _start(self, name: str) -> subprocess.Popen[bytes]:
        base = [sys.executable, "-m", f"distributed.cli.dask_{name.partition('-')[0]}"]
        if name == "scheduler":
            host, _, port = self.address.removeprefix("tcp://").partition(":")
            own = ["--host", host, "--port", port, "--no-dashboard"]
        else:
            own = [self.address, "--nworkers", "1", "--nthreads", "1", "--memory-limit", MEMORY]
            own += ["--preload", "benchmarks.watched_worker", "--no-dashboard"]
            own += ["--local-directory", str(self.log.parent / name)]
        paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        about = {LOG: str(self.log), "PYTHONPATH": os.pathsep.join(paths)}
        quiet = subprocess.DEVNULL
        return subprocess.Popen([*base, *own], env=os.environ | about, stdout=quiet, stderr=quiet)

    def events(self) -> list[Event]:
        return [tuple(json.loads(line)) for line in self.log.read_text().splitlines()]

    def kill_scheduler(self) -> None:
        self._processes["scheduler"].kill()

    def ask_to_grow(self, process: int) -> None:
        self.log.with_suffix(".fill").write_text(str(process))


def stand_still(cluster: Cluster, process: int) -> None:
    os.kill(process, signal.SIGSTOP)
    time.sleep(STILL_S)
    os.kill(process, signal.SIGCONT)


FAULTS: dict[str, Callable[[Cluster, int], object]] = {
    "a worker is killed": lambda cluster, process: os.kill(process, signal.SIGKILL),
    "the scheduler is restarted": lambda cluster, _: cluster.kill_scheduler(),
    "a worker is out of memory": lambda cluster, process: cluster.ask_to_grow(process),
    f"a worker stands still for {STILL_S:g} s": stand_still,
}


def measure() -> list[dict[str, Any]]:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        verbs = prepare(place)
        with Cluster(place) as cluster:
            for verb, work in verbs.items():
                work(place / "here" / verb)
                expected = contents(place / "here" / verb)
                on(cluster, work, place / "warm" / verb)
                usual_s = on(cluster, work, place / "usual" / verb)
                half_s = median(lengths_s(cluster.events())) / 2
                rows.append(row(f"{verb}: without a fault", usual_s, "s"))
                for number, (title, fault) in enumerate(FAULTS.items()):
                    out = place / f"fault-{number}" / verb
                    lost = disturbed(cluster, work, out, fault, half_s)
                    differ = sum(contents(out).get(n) != expected[n] for n in expected)
                    differ += len(contents(out).keys() - expected.keys())
                    name = f"{verb}, {title}"
                    rows += [
                        row(f"{name}: files that differ", differ, "", most=0),
                        row(f"{name}: pieces begun again", lost["again"], ""),
                        row(f"{name}: work that was lost", lost["work_s"], "s"),
                        row(f"{name}: later than without", lost["seconds"] - usual_s, "s"),
                    ]
    return rows


def prepare(place: Path) -> dict[str, Callable[[Path], object]]:
    simulate(place / "cohort", "tiny", seed=0, jobs=2)
    parts = read_cohort([place / "cohort"], "simulated")
    cohort = make_cohort(place / "cubes", patients=8)
    return {
        "describe": lambda out: describe_cohort(parts, out, Plan(), threads=1),
        "run": lambda out: run(PLAN, cohort, Runtime(out)),
    }


def on(cluster: Cluster, work: Callable[[Path], object], out: Path) -> float:
    """Seconds of the work on the cluster, all of whose workers are there."""
    with on_cluster(cluster.address) as client:
        assert client is not None
        client.wait_for_workers(WORKERS, 300)
        began = time.monotonic()
        work(out)
        return time.monotonic() - began


def disturbed(
    cluster: Cluster,
    work: Callable[[Path], object],
    out: Path,
    fault: Callable[[Cluster, int], object],
    half_s: float,
) -> dict[str, float]:
    """Do the work with a fault in the middle of a piece; what was lost by it."""
    before, at = len(cluster.events()), [0.0]

    def wait_and_do() -> None:
        piece = running(cluster, before, half_s)
        at[0] = time.time()
        fault(cluster, piece[1])

    thread = threading.Thread(target=wait_and_do)
    thread.start()
    seconds = on(cluster, work, out)
    thread.join()
    events = cluster.events()[before:]
    begun = [(when, process, key) for when, process, event, key in events if event == "begin"]
    ended = {(process, key) for _, process, event, key in events if event == "end"}
    lost = [(when, process) for when, process, key in begun if (process, key) not in ended]
    # A process that grows dies later than it is told to.
    last = {process: max(at[0], when) for when, process, *_ in events}
    work_s = sum(max(0.0, last[process] - when) for when, process in lost)
    return {"seconds": seconds, "again": len(lost), "work_s": work_s}


def lengths_s(events: list[Event], last: int = 6) -> list[float]:
    """Of the last pieces that ended."""
    begun = {(process, key): when for when, process, event, key in events if event == "begin"}
    return [w - begun[p, key] for w, p, event, key in events if event == "end"][-last:]


def running(cluster: Cluster, before: int, half_s: float, pieces: int = 3) -> Event:
    """A piece that is half done, after some others were begun."""
    while True:
        time.sleep(0.02)
        events = cluster.events()[before:]
        begun = [event for event in events if event[2] == "begin"]
        if len(begun) < pieces or time.time() < begun[-1][0] + half_s:
            continue
        ended = {(event[1], event[3]) for event in events if event[2] == "end"}
        if (begun[-1][1], begun[-1][3]) not in ended:
            return begun[-1]
