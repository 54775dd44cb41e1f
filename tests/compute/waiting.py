"""Waiting in tests: for something to happen, on a machine that may be busy."""

from __future__ import annotations

import time

import psutil


def alive(number: int) -> bool:
    """Whether a process runs."""
    try:
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_for(condition, seconds=300):
    """What the condition returns, as soon as it is true."""
    for _ in range(seconds * 10):
        if value := condition():
            return value
        time.sleep(0.1)
    raise AssertionError("waited in vain")


def wait_for_cluster(condition, cluster):
    """Until the condition is true, however slowly workers start; a worker that cannot is named."""
    while not condition():
        failed = [name for name, nanny in cluster.workers.items() if nanny.status.name == "failed"]
        assert not failed, f"workers that cannot start: {failed}"
        time.sleep(0.1)
