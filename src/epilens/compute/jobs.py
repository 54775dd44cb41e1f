"""The job runner: skip what is finished, do the rest, write it whole, report progress.

Describing, running, training, the BIDS App and the review's batch all hand their work to `run_jobs`
as keyed jobs. It does them in this process, on local processes (`compute.local`) or on a Dask
cluster (`compute.dask`). A job writes its result atomically before it counts as finished, so the
same command after a kill or Ctrl-C resumes to the same bytes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from epilens.compute.local import stream_results
from epilens.core.errors import WorkerError
from epilens.core.progress import Progress, StepFunction

Result = TypeVar("Result")
AnyJob = TypeVar("AnyJob", bound="Job[Any]")


class Job(ABC, Generic[Result]):
    """A piece of work whose result is stored under a key; it is sent to whichever process does it.

    Subclasses are dataclasses. What they keep between `finished`, `work` and `failed` (a digest, an
    audit) stays in the process that works on the job.
    """

    @property
    @abstractmethod
    def title(self) -> str:
        """Name of the job in progress and messages."""

    @property
    @abstractmethod
    def key(self) -> str:
        """Digest of everything that the result comes from: the same key, the same result."""

    @property
    def steps(self) -> int:
        """Steps of progress that the job stands for."""
        return 1

    @property
    def group(self) -> str:
        """Jobs of one group are done by one process, one after another; '': no group."""
        return ""

    @abstractmethod
    def finished(self) -> Result | None:
        """The stored result, if it is complete and has this key; None: it must be computed."""

    @abstractmethod
    def work(self) -> Result:
        """Compute the result and write it atomically."""

    def failed(self, error: Exception) -> Result:
        """The result to report instead of an error, or the error raised: then everything ends.

        A lost worker (`WorkerError`) that is raised ends everything only after all other jobs.
        """
        raise error

    def locked(self) -> AbstractContextManager[Any]:
        """Lock held from the test whether the job is finished until its result is written."""
        return nullcontext()


@dataclass(frozen=True)
class JobResult(Generic[Result]):
    """Result of a job, and where it comes from."""

    result: Result
    status: Literal["kept", "done", "failed"]
    """Stored before, computed now, or reported instead of an error."""


def run_job(job: Job[Result]) -> JobResult[Result]:
    """Do one job in this process, unless it is finished."""
    try:
        with job.locked():
            stored = job.finished()
            if stored is not None:
                return JobResult(stored, "kept")
            return JobResult(job.work(), "done")
    except Exception as error:
        return JobResult(job.failed(error), "failed")


def run_jobs(
    jobs: Sequence[AnyJob],
    processes: int = 1,
    progress: Progress | StepFunction | None = None,
    *,
    check_first: bool = True,
) -> Iterator[tuple[AnyJob, JobResult[Any]]]:
    """Do what is not finished; yields jobs with their results, in order here, else as ready.

    Parameters
    ----------
    jobs : sequence of Job
        In the order in which they are handed out.
    processes : int
        Local processes; ignored inside `compute.local.use_executor`.
    progress : Progress or function of (note, steps)
        Called for every job after its result was consumed.
    check_first : bool
        Look for finished jobs here, before any process is started. False where that is expensive
        or needs the job's lock: the process that gets the job looks.
    """
    progress = Progress.of(progress)
    progress.expect(sum(job.steps for job in jobs))
    waiting = []
    for job in jobs:
        stored = job.finished() if check_first else None
        if stored is None:
            waiting.append(job)
        else:
            yield job, JobResult(stored, "kept")
            progress(f"{job.title} kept", job.steps)
    for job, result in _run_waiting(waiting, processes):
        yield job, result
        note = job.title if result.status == "done" else f"{job.title} {result.status}"
        progress(note, job.steps)


def _run_waiting(jobs: Sequence[AnyJob], processes: int) -> Iterator[tuple[AnyJob, JobResult[Any]]]:
    """Jobs with their results; lost workers that a job does not report are raised at the end."""
    # One process needs no groups, and shows every job as it is done.
    groups = _grouped(jobs) if processes > 1 else [(job,) for job in jobs]
    lost = []
    for group, outcome in stream_results(_run_group, groups, processes, _title):
        if not isinstance(outcome, WorkerError):
            yield from zip(group, outcome, strict=True)
            continue
        for job in group:
            try:
                result = job.failed(outcome)
            except WorkerError as error:
                lost.append(error)
            else:
                yield job, JobResult(result, "failed")
    if lost:
        raise lost[0]


def _grouped(jobs: Sequence[AnyJob]) -> list[tuple[AnyJob, ...]]:
    groups: dict[object, list[AnyJob]] = {}
    for number, job in enumerate(jobs):
        groups.setdefault(job.group or number, []).append(job)
    return [tuple(group) for group in groups.values()]


def _run_group(jobs: tuple[AnyJob, ...]) -> list[JobResult[Any]]:
    return [run_job(job) for job in jobs]


def _title(jobs: tuple[AnyJob, ...]) -> str:
    return jobs[0].title
