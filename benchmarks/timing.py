"""How long something takes next to something else, and rows of results."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def side_by_side(works: dict[str, Callable[[], object]], repeats: int = 7) -> dict[str, float]:
    """Shortest run of each, taken in turns so that a noisy moment meets all of them.

    A turn is two runs: what ran before has taken the cache from the first. The very first run,
    which warms caches, does not count.
    """
    times = {name: float("inf") for name in works}
    for work in works.values():
        work()
    for _ in range(repeats):
        for name, work in works.items():
            for _ in range(2):
                start = time.perf_counter()
                work()
                times[name] = min(times[name], time.perf_counter() - start)
    return times


def best(work: Callable[[], object], repeats: int = 7) -> float:
    """Shortest run of one."""
    return side_by_side({"it": work}, repeats)["it"]


def row(
    what: str, value: float, unit: str = "×", most: float | None = None, least: float | None = None
) -> dict[str, Any]:
    """One line of a benchmark, with its goal if it has one."""
    value = float(value)
    line: dict[str, Any] = {"what": what, "value": value, "unit": unit}
    if most is not None:
        line |= {"goal": f"<= {most:g}", "met": value <= most}
    if least is not None:
        line |= {"goal": f">= {least:g}", "met": value >= least}
    return line
