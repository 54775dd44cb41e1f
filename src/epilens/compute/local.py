"""Local processes: items are handed out, results come back as they are ready.

A process that is killed (for example by the system when memory runs out) takes its items with it.
The items that it may have been working on are tried once more, one at a time; an item that kills
its process again is named. Inside `use_executor` the same work goes to another executor, for
example to a cluster.
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


Executor = Callable[[Callable[[Any], Any], Sequence[Any], Callable[[Any], str]], Iterator[Any]]
"""(work, items, title) → items with their results, or with the error that a worker was lost."""
_executor: ContextVar[Executor | None] = ContextVar("executor", default=None)


@contextmanager
def use_executor(executor: Executor) -> Generator[None]:
    """Work handed out inside goes to this executor, whatever the number of processes."""
    token = _executor.set(executor)
    try:
        yield
    finally:
        _executor.reset(token)


def on_workers(processes: int) -> bool:
    """Whether work goes to several processes or to a cluster, each with one core for it."""
    return processes > 1 or _executor.get() is not None


def map_jobs(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    jobs: int,
    title: Callable[[Item], str] = str,
    lost: Callable[[Item, WorkerError], Result] | None = None,
) -> Iterator[tuple[Item, Result]]:
    """Items with their results: in order in this process, else as they are ready.

    title : name of an item in messages. lost : result to report for an item whose process is killed
    each time; without it, that is an error after everything else is done.
    """
    errors = []
    for item, result in stream_results(work, items, jobs, title):
        if not isinstance(result, WorkerError):
            yield item, result
        elif lost is not None:
            yield item, lost(item, result)
        else:
            errors.append(result)
    if errors:
        raise errors[0]


def stream_results(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    processes: int,
    title: Callable[[Item], str],
) -> Iterator[tuple[Item, Result | WorkerError]]:
    """Items with their results, or with the error that names one whose workers were lost."""
    executor = _executor.get()
    if executor is not None:
        yield from executor(work, items, title)
    elif processes <= 1:
        reuse_memory()
        yield from ((item, work(item)) for item in items)
    else:
        yield from _on_processes(work, items, processes, title)


def _on_processes(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    processes: int,
    title: Callable[[Item], str],
) -> Iterator[tuple[Item, Result | WorkerError]]:
    waiting = dict(enumerate(items))
    while waiting:
        for number, result in _until_a_kill(work, waiting, processes):
            yield waiting.pop(number), result
        # Items are handed out in order, to each process and a few ahead: one of these was lost.
        for number in list(waiting)[: 2 * processes + 1]:
            yield waiting[number], _alone(work, waiting[number], title)
            del waiting[number]


@cache
def reuse_memory() -> None:
    """Let this process reuse the memory of freed arrays instead of returning it to the system.

    By default every large array may get new pages, which makes a training step a sixth slower.
    Workers of a cluster start with a setting that gives every array new pages: half the speed.
    """
    with suppress(OSError, AttributeError, TypeError):  # another C library, or Windows
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, 32 * 2**20)
        mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)


_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Parameters of `mallopt`, from malloc.h."""


def _until_a_kill(
    work: Callable[[Item], Result], items: dict[int, Item], processes: int
) -> Iterator[tuple[int, Result]]:
    """Results as they are ready; ends early when a process is killed."""
    with _pool(min(processes, len(items))) as pool:
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
def _pool(processes: int) -> Generator[ProcessPoolExecutor]:
    """Processes that are terminated when the caller stops early, e.g. by Ctrl-C or an error."""
    before = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(max(1, processes), mp_context=context, initializer=_begin)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - before:
            process.terminate()
        raise
    pool.shutdown()


def _begin() -> None:
    """End this process with its parent: it would write into what is resumed later.

    Ctrl-C is handled by the parent, which terminates its processes.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    reuse_memory()
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
