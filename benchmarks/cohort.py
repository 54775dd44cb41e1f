"""The whole `paper` shape: simulate, describe with one worker and with two; time and memory."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from benchmarks.timing import row
from epilens.data.bids import read_bids
from epilens.evidence.store import describe_cohort
from epilens.plan import Plan
from epilens.simulation import simulate


def watched(work: Callable[[], object]) -> tuple[float, float, float]:
    """Seconds; largest memory of any one process and of all together, in GB."""
    me, largest, together, done = psutil.Process(), [0.0], [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(0.1):
            sizes = []
            for process in [me, *me.children(recursive=True)]:
                try:
                    sizes.append(process.memory_info().rss / 1e9)
                except psutil.Error:
                    continue
            largest[0], together[0] = max(largest[0], *sizes), max(together[0], sum(sizes))

    thread = threading.Thread(target=watch)
    thread.start()
    start = time.perf_counter()
    work()
    seconds = time.perf_counter() - start
    done.set()
    thread.join()
    return seconds, largest[0], together[0]


def measure() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        made = watched(lambda: simulate(root / "cohort", "paper", 0, jobs=2))
        parts = [
            read_bids(p, "simulated") for p in sorted((root / "cohort").iterdir()) if p.is_dir()
        ]
        # Twice in turns, the shorter counts: the first pass also warms the disk's cache.
        one = two = (float("inf"), 0.0, 0.0)
        for turn in range(2):
            one = min(
                one,
                watched(
                    lambda t=turn: describe_cohort(parts, root / f"one{t}", Plan(), 1, threads=1)
                ),
            )
            two = min(
                two, watched(lambda t=turn: describe_cohort(parts, root / f"two{t}", Plan(), 2))
            )
    return [
        row("simulate the paper shape on two processes", made[0], "s", most=1200),
        row("simulate: memory of all processes", made[2], "GB", most=2),
        row("describe it with one worker", one[0], "s"),
        row("describe it with two workers: faster than one", one[0] / two[0], least=1.6),
        row("describe: largest memory of one worker", two[1], "GB", most=1.5),
    ]
