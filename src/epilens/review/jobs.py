"""Runs in the background: each in a process of its own, which ends with the server."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from epilens.core.errors import DataError
from epilens.review.run_spec import RunSpec
from epilens.review.runs import PatientRuns, ReviewRun, RunState

AT_ONCE = 2
"""Runs that a server makes at the same time."""


class RunProcesses:
    """The processes of one server."""

    def __init__(self, at_once: int = AT_ONCE):
        self._at_once, self._lock = at_once, threading.Lock()
        self._children: dict[Path, subprocess.Popen[str]] = {}
        self._over: dict[Path, threading.Event] = {}
        self._closing = False

    def start(self, runs: PatientRuns, order: RunSpec) -> ReviewRun:
        """Begin a run, unless enough are on their way."""
        with self._lock:
            if len(self._children) >= self._at_once:
                raise DataError(
                    f"run: expected at most {self._at_once} runs at a time, found as many. Wait "
                    "for one, or stop one."
                )
            run = runs.begin(order.asked)
            child = _child(run.folder)
            self._children[run.folder] = child
            self._over[run.folder] = threading.Event()
        threading.Thread(target=self._attend, args=(run, child, order), daemon=True).start()
        return run

    def _attend(self, run: ReviewRun, child: subprocess.Popen[str], order: RunSpec) -> None:
        """Hand the order over, keep the pipe open until the child ends, and see how it ended."""
        assert child.stdin is not None
        with suppress(OSError):  # it may be gone already
            child.stdin.write(order.to_json())
            child.stdin.flush()
        code = child.wait()
        with suppress(OSError):
            child.stdin.close()
        if run.state.kind in ("running", "interrupted") and not self._closing:
            run.fail(f"Its process ended before the result was there (code {code}). Run it again.")
        with self._lock:
            self._children.pop(run.folder, None)
            self._over.pop(run.folder).set()

    @property
    def is_full(self) -> bool:
        """Whether no other run can begin now."""
        with self._lock:
            return len(self._children) >= self._at_once

    def state(self, run: ReviewRun) -> RunState:
        """How far a run is; one of this server lives as long as its process, however slow."""
        with self._lock:
            here = run.folder in self._children
        state = run.state
        return replace(state, kind="running") if here and state.kind == "interrupted" else state

    def stop(self, run: ReviewRun) -> None:
        """End a run of this server; what it would have been is not kept."""
        with self._lock:
            child = self._children.get(run.folder)
        if child is None:
            raise DataError(f"run {run.number}: expected one that runs here, found none. Reload.")
        run.fail("It was stopped by the user.")
        child.kill()

    def wait(self, run: ReviewRun, timeout_s: float | None = None) -> None:
        """Until a run of this server is over."""
        with self._lock:
            over = self._over.get(run.folder)
        if over is not None:
            over.wait(timeout_s)

    def close(self) -> None:
        """End all: their runs are interrupted, and can be made again."""
        with self._lock:
            self._closing = True
            children = list(self._children.values())
        for child in children:
            child.kill()


def _child(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "epilens.review.worker", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )
