"""A batch: many patients ranked one after another in the background; starting it again resumes.

A patient whose last result comes from the same files, marks, method and code is kept. One that
fails is a row with its reason, and the batch goes on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from epilens.compute.jobs import Job, run_jobs
from epilens.compute.local import use_executor
from epilens.core.errors import DataError, EpilensError, StorageError
from epilens.core.redaction import describe_defect
from epilens.io.atomic import json_text, load_json, write_atomically
from epilens.localization.run_spec import Ranker, RunSpec
from epilens.review.jobs import RunProcesses
from epilens.review.runs import PatientRuns, ReviewRun, RunState

_POLL_S = 0.2


@dataclass(frozen=True)
class BatchRow:
    """Outcome of a patient."""

    patient: str
    kind: str = "waiting"
    """`waiting`, `running`, `done`, `kept` or `failed`."""
    run: int = 0
    problem: str = ""


@dataclass(frozen=True)
class RankPatient(Job[BatchRow]):
    """One patient of a batch: its process is started, and waited for."""

    patient: str
    ranker: Ranker
    batch: PatientBatch

    @property
    def title(self) -> str:
        """Name of the patient."""
        return self.patient

    @cached_property
    def spec(self) -> RunSpec:
        """Specification of the analysis: recordings, marks and ranker."""
        return self.batch.make_spec(self.patient, self.ranker)

    @property
    def key(self) -> str:
        """Digest of the files, marks, ranker and code."""
        return self.spec.inputs.key

    def finished(self) -> BatchRow | None:
        """The last run with the same key; one that is still running is waited for."""
        run = self.batch.runs(self.patient).find_same(self.key)
        if run is None or _wait_until_over(run).kind != "done":
            return None
        return BatchRow(self.patient, "kept", run.number)

    def work(self) -> BatchRow:
        """Start a run as soon as a process is free, and wait for its end."""
        run = self.batch.start_run(self)
        state = run.state
        if state.kind != "done":
            reason = state.problem or "Its process ended without a reason. Run it again."
            raise _FailedRunError(run.number, reason)
        return BatchRow(self.patient, "done", run.number)

    def failed(self, error: Exception) -> BatchRow:
        """A row with the reason; a batch that was stopped ends."""
        if isinstance(error, _StoppedError):
            raise error
        if isinstance(error, EpilensError):
            number = error.number if isinstance(error, _FailedRunError) else 0
            return BatchRow(self.patient, "failed", number, str(error))
        # A defect that one patient's data reveals does not stop the others.
        why = f"It failed unexpectedly ({describe_defect(error)}). Please report it."
        return BatchRow(self.patient, "failed", problem=why)


class _FailedRunError(EpilensError):
    """A run without a result."""

    def __init__(self, number: int, reason: str):
        super().__init__(reason)
        self.number = number


class _StoppedError(Exception):
    """The batch was stopped while a patient waited for a process."""


class PatientBatch:
    """The batch of a review; one at a time.

    `runs` returns the runs of a patient, `make_spec` the specification of a new one.
    """

    def __init__(
        self,
        path: Path,
        runs: Callable[[str], PatientRuns],
        make_spec: Callable[[str, Ranker], RunSpec],
        processes: RunProcesses,
    ):
        self._path, self.runs, self.make_spec, self._processes = path, runs, make_spec, processes
        self._lock, self._halt = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None
        self._choice, self._rows = _read(path)
        self.problem = ""
        """Why the batch ended before its last patient; empty: it did not."""

    @property
    def is_running(self) -> bool:
        """Whether patients are being ranked."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def choice(self) -> str:
        """Id of the method or model of the last batch; empty: there was none."""
        return self._choice

    @property
    def rows(self) -> tuple[BatchRow, ...]:
        """Every patient of the last batch."""
        with self._lock:
            return tuple(self._rows.values())

    def start(self, patients: Sequence[str], choice: Ranker) -> None:
        """Start, or resume: results from the same inputs are kept."""
        with self._lock:
            if self.is_running:
                raise DataError("batch: expected no batch in progress, found one. Stop it first.")
            self._choice, self._rows = choice.id, {code: BatchRow(code) for code in patients}
            self._halt.clear()
            self.problem = ""
            self._thread = threading.Thread(target=self._run, args=(choice,), daemon=True)
            self._save()
            self._thread.start()

    def stop(self) -> None:
        """Start no further patient; the run that is on its way goes on."""
        self._halt.set()

    def join(self, timeout_s: float | None = None) -> None:
        """Wait for the end of the batch."""
        if self._thread is not None:
            self._thread.join(timeout_s)

    def _run(self, choice: Ranker) -> None:
        jobs = [RankPatient(code, choice, self) for code in tuple(self._rows)]
        try:
            with use_executor(self._until_stopped):
                for _, done in run_jobs(jobs, check_first=False):
                    self._set(done.result)
        except _StoppedError:
            return
        except StorageError as error:
            self.problem = str(error)

    def _until_stopped(
        self, work: Callable[[Any], Any], items: Sequence[Any], title: Callable[[Any], str]
    ) -> Iterator[tuple[Any, Any]]:
        """Executor: one item after another in this thread."""
        for item in items:
            if self._halt.is_set():
                return
            yield item, work(item)

    def start_run(self, job: RankPatient) -> ReviewRun:
        """Start a run when a process is free; returns it when it is over."""
        while self._processes.is_full and not self._halt.wait(_POLL_S):
            pass
        if self._halt.is_set():
            raise _StoppedError
        run = self._processes.start(self.runs(job.patient), job.spec)
        self._set(BatchRow(job.patient, "running", run.number))
        self._processes.wait(run)
        return run

    def _set(self, row: BatchRow) -> None:
        with self._lock:
            self._rows[row.patient] = row
            self._save()

    def _save(self) -> None:
        rows = [asdict(row) for row in self._rows.values()]
        tree = {"choice": self._choice, "rows": rows}
        write_atomically(self._path, json_text(tree))


def _wait_until_over(run: ReviewRun) -> RunState:
    """Wait for a run that another process may be making."""
    pause = threading.Event()
    while (state := run.state).kind == "running":
        pause.wait(_POLL_S)
    return state


def _read(path: Path) -> tuple[str, dict[str, BatchRow]]:
    """Rows of the last batch; what was running then is waiting; empty if there was no batch."""
    try:
        tree: Mapping[str, Any] = load_json(path)
        rows = [BatchRow(**row) for row in tree["rows"]]
        choice = str(tree["choice"])
    except (OSError, ValueError, KeyError, TypeError):
        return "", {}
    rows = [BatchRow(row.patient) if row.kind == "running" else row for row in rows]
    return choice, {row.patient: row for row in rows}
