"""Local processes: work is handed out, results come back as they are ready.

A process that is killed (by whoever is short of memory) takes its work with it. What it may have
been at is tried once more, one piece at a time; what kills its process again is named. Inside of
`elsewhere` the same work goes another way, e.g. to a cluster.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar

from epilens.core.errors import WorkerError

Item = TypeVar("Item")
Result = TypeVar("Result")


Way = Callable[[Callable[[Any], Any], Sequence[Any], Callable[[Any], str]], Iterator[Any]]
"""(work, items, title) → items with their results, or with the error that a worker was lost."""
_way: ContextVar[Way | None] = ContextVar("way", default=None)


@contextmanager
def use_executor(way: Way) -> Generator[None]:
    """Whatever is worked through inside goes this way, however many jobs are asked for."""
    token = _way.set(way)
    try:
        yield
    finally:
        _way.reset(token)


def map_jobs(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    jobs: int,
    title: Callable[[Item], str] = str,
    lost: Callable[[Item, WorkerError], Result] | None = None,
) -> Iterator[tuple[Item, Result]]:
    """Items with their results: in order here, or as they are ready elsewhere.

    title : what people call an item. lost : what stands for the result of one whose process is
    killed each time; without it, that is an error after everything else is done.
    """
    way, errors = _way.get(), []
    if way is None and jobs <= 1:
        reuse_memory()
        yield from ((item, work(item)) for item in items)
        return
    for item, result in way(work, items, title) if way else _here(work, items, jobs, title):
        if not isinstance(result, WorkerError):
            yield item, result
        elif lost is not None:
            yield item, lost(item, result)
        else:
            errors.append(result)
    if errors:
        raise errors[0]


def _here(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    jobs: int,
    title: Callable[[Item], str],
) -> Iterator[tuple[Item, Result | WorkerError]]:
    waiting = dict(enumerate(items))
    while waiting:
        for number, result in _until_a_kill(work, waiting, jobs):
            yield waiting.pop(number), result
        # Work is handed out in order, to each process and a few ahead: one of these was lost.
        for number in list(waiting)[: 2 * jobs + 1]:
            yield waiting[number], _alone(work, waiting[number], title)
            del waiting[number]


@cache
def reuse_memory() -> None:
    """Let this process use the memory of its arrays again instead of asking the system each time.

    As it is, every large array may be new pages: a training step then takes a sixth longer. Workers
    of a cluster are even started with a setting by which all arrays are: half the speed.
    """
    with suppress(OSError, AttributeError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, 32 * 2**20)
        mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)


_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Of malloc.h."""


def available_bytes() -> int:
    """Memory that is free now; where nobody tells, more than there can be."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:  # noqa: PTH123
            told = dict(line.split(":", 1) for line in lines)
        return int(told["MemAvailable"].split()[0]) * 1024
    except (OSError, ValueError, KeyError, IndexError):
        return 2**63


def _until_a_kill(
    work: Callable[[Item], Result], items: dict[int, Item], jobs: int
) -> Iterator[tuple[int, Result]]:
    """Results as they are ready; ends early when a process is killed."""
    with _pool(min(jobs, len(items))) as pool:
        try:
            futures = {pool.submit(work, item): number for number, item in items.items()}
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool:
            return


def _alone(
    work: Callable[[Item], Result], item: Item, title: Callable[[Item], str]
) -> Result | WorkerError:
    with _pool(1) as pool:
        try:
            return pool.submit(work, item).result()
        except BrokenProcessPool:
            return WorkerError(
                f"{title(item)}: expected its process to finish, found it killed twice, perhaps "
                "for want of memory. Use fewer --jobs or close other programs, then run the same "
                "command again: what was finished is kept."
            )


@contextmanager
def _pool(jobs: int) -> Generator[ProcessPoolExecutor]:
    """Processes that end at once when the work is given up: nobody waits for what is not wanted."""
    before = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(max(1, jobs), mp_context=context, initializer=_begin)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - before:
            process.terminate()
        raise
    pool.shutdown()


def _begin() -> None:
    """A process whose parent was killed would go on and write into what is resumed later.

    Ctrl-C is the parent's alone to answer: it ends its processes.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    reuse_memory()
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
