"""Local processes: work is handed out, results come back as they are ready."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def work_through(
    work: Callable[[Item], Result], items: Sequence[Item], jobs: int
) -> Iterator[tuple[Item, Result]]:
    """Items with their results: in order here, or as they are ready on processes."""
    if jobs <= 1:
        yield from ((item, work(item)) for item in items)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        max(1, min(jobs, len(items))), mp_context=context, initializer=_end_with_parent
    ) as pool:
        futures = {pool.submit(work, item): item for item in items}
        for future in as_completed(futures):
            yield futures[future], future.result()


def _end_with_parent() -> None:
    """A process whose parent was killed would go on and write into what is resumed later."""
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
