"""Waiting in tests: for something to happen, on a machine that may be busy."""

from __future__ import annotations

import time
from contextlib import suppress

import psutil


def alive(number: int) -> bool:
    """Whether a process runs."""
    try:
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_for(condition, seconds=900):
    """What the condition returns, as soon as it is true."""
    for _ in range(seconds * 10):
        if value := condition():
            return value
        time.sleep(0.1)
    raise AssertionError("waited in vain")


def wait_while_working(condition, processor_s=60.0):
    """Until the condition is true; fails after so much processor time of this and its processes.

    A busy machine gives them less of it per second, so they get more seconds.
    """
    limit = _processor_s() + processor_s
    while not condition():
        assert _processor_s() < limit, f"not true after {processor_s:g} s of processor time"
        time.sleep(0.1)


def _processor_s():
    own = psutil.Process()
    total = 0.0
    for process in (own, *own.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system
    return total
