"""Runs in the background: each in its own process, which ends with the server."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

from epilens.core.errors import DataError, StorageError
from epilens.localization.run_spec import RunSpec
from epilens.review.runs import PatientRuns, ReviewRun, RunState

MAX_PROCESSES = 2
"""Runs that a server computes at the same time."""


class RunProcesses:
    """The processes of one server."""

    def __init__(self, max_processes: int = MAX_PROCESSES):
        self._max, self._lock = max_processes, threading.Lock()
        self._children: dict[Path, subprocess.Popen[str]] = {}
        self._ended: dict[Path, threading.Event] = {}
        self._unstored: dict[Path, str] = {}
        self._closing = False

    def start(self, runs: PatientRuns, spec: RunSpec) -> ReviewRun:
        """Start a run, unless too many are running."""
        with self._lock:
            if len(self._children) >= self._max:
                raise DataError(
                    f"run: expected at most {self._max} runs at a time, found as many. Wait for "
                    "one, or stop one."
                )
            run = runs.begin(spec.inputs)
            child = _start_worker(run.folder)
            self._children[run.folder] = child
            self._ended[run.folder] = threading.Event()
        threading.Thread(target=self._attend, args=(run, child, spec), daemon=True).start()
        return run

    def _attend(self, run: ReviewRun, child: subprocess.Popen[str], spec: RunSpec) -> None:
        """Wait for the end of the process, record a failure, and make room for another run."""
        try:
            code = _send_and_wait(child, spec)
            if run.state.kind in ("running", "interrupted") and not self._closing:
                run.fail(f"Its process ended without a result (code {code}). Run it again.")
        except StorageError as error:
            self._unstored[run.folder] = str(error)
        finally:
            with self._lock:
                self._children.pop(run.folder, None)
                self._ended.pop(run.folder).set()

    @property
    def is_full(self) -> bool:
        """Whether no other run can start now."""
        with self._lock:
            return len(self._children) >= self._max

    def state(self, run: ReviewRun) -> RunState:
        """Return the state of a run; a slow one of this server is still running.

        A failure that could not be stored, for instance on a full disk, is known here only.
        """
        with self._lock:
            is_ours = run.folder in self._children
        state, problem = run.state, self._unstored.get(run.folder)
        if problem and state.kind in ("running", "interrupted"):
            return RunState(kind="failed", problem=problem)
        if is_ours and state.kind == "interrupted":
            return state.model_copy(update={"kind": "running"})
        return state

    def stop(self, run: ReviewRun) -> None:
        """End a run of this server without a result."""
        with self._lock:
            child = self._children.get(run.folder)
        if child is None:
            raise DataError(
                f"run {run.number}: expected a run in progress, found none. Reload the page."
            )
        try:
            run.fail("It was stopped by the user.")
        finally:
            child.kill()

    def wait(self, run: ReviewRun, timeout_s: float | None = None) -> None:
        """Wait until a run of this server has ended."""
        with self._lock:
            ended = self._ended.get(run.folder)
        if ended is not None:
            ended.wait(timeout_s)

    def close(self) -> None:
        """End all processes; their runs are interrupted and can be started again."""
        with self._lock:
            self._closing = True
            children = list(self._children.values())
        for child in children:
            child.kill()


def _send_and_wait(child: subprocess.Popen[str], spec: RunSpec) -> int:
    """Send the specification and keep the pipe open until the process ends; returns its code."""
    assert child.stdin is not None
    with suppress(OSError):  # it may have ended already
        child.stdin.write(json.dumps(spec.to_json()) + "\n")
        child.stdin.flush()
    code = child.wait()
    with suppress(OSError):
        child.stdin.close()
    return code


def _start_worker(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "epilens.review.worker", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )
