"""The same work on a Dask cluster, for more than one machine can do.

`local:4` starts four workers on this machine, `tcp://scheduler:8786` uses a running cluster, and
`slurm:FILE`, `pbs:FILE` and `sge:FILE` request workers from a batch system by a small TOML profile.
Dask schedules, retries and shows its dashboard; the results are the same to the byte.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
import tomllib
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from epilens.compute.local import Item, Result, reuse_memory, use_executor
from epilens.core.console import progress
from epilens.core.errors import PlanError, WorkerError, did_you_mean
from epilens.core.extras import require
from epilens.core.progress import Progress

if TYPE_CHECKING:
    from concurrent.futures import Future as Answer

    from distributed import Client, Future, LocalCluster

RETRIES = 2
"""How often an item is tried again after its worker was lost."""
PATIENCE_S, _PROBE_S = 300.0, 10.0
"""How long to wait for a scheduler that was lost, and for the first connection."""
_REPLACE_S = 2.0
"""How often workers of this machine are counted."""
BATCH_SYSTEMS = {"slurm": "SLURMCluster", "pbs": "PBSCluster", "sge": "SGECluster"}
_SETTINGS = {
    # Arrays live outside of what Dask manages: a worker that spills would only write its results.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": 0.95,
    "distributed.scheduler.allowed-failures": RETRIES,
    # Cells and patients are long and few; stealing them back and forth gains nothing.
    "distributed.scheduler.work-stealing": False,
}


class Profile(BaseModel):
    """Request to a batch system: one worker with one thread in each job."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    workers: Annotated[int, Field(ge=1, le=10_000)]
    memory: str = "4GB"
    walltime: str = "01:00:00"
    lifetime_s: Annotated[float, Field(gt=0)] = 3300.0
    """A worker ends by itself after this time, before the walltime ends it within an item."""
    stagger_s: Annotated[float, Field(ge=0)] = 240.0
    """Random shift of the lifetime, so that not all workers end at once."""
    queue: str | None = None
    account: str | None = None
    python: str | None = None
    interface: str | None = None
    job_extra_directives: tuple[str, ...] = ()
    job_script_prologue: tuple[str, ...] = ()


@contextmanager
def on_cluster(where: str) -> Generator[Client | None]:
    """Run the jobs that are handed out inside on a cluster; '' leaves the executor as it is."""
    if not where:
        yield None
        return
    require("--cluster", "distributed")
    import dask

    # Before its settings are changed: their defaults come with it, and would go with the change.
    import distributed  # noqa: F401

    with (
        dask.config.set(_SETTINGS),
        _client(where) as client,
        use_executor(lambda work, items, title: submit(client, work, items, title)),
    ):
        yield client


@contextmanager
def progress_on(where: str, description: str) -> Generator[Progress]:
    """Show a progress bar; for a cluster it includes the number of workers."""
    with on_cluster(where) as client:
        workers = None if client is None else Workers(client)
        with progress(description, workers) as tick:
            yield tick


class Workers:
    """Number of workers of a cluster as last reported; it never waits for an answer."""

    def __init__(self, client: Client):
        self._client = client
        self._count = int(client.scheduler_info(n_workers=0)["n_workers"])
        self._answer: Answer[dict[str, Any]] | None = None
        self._last_s = time.monotonic()

    def __call__(self) -> int:
        """Return the number of workers, at most a second old."""
        if self._answer is not None and self._answer.done():
            with suppress(Exception):  # a scheduler that is gone for a while
                self._count = int(self._answer.result()["n_workers"])
            self._answer = None
        if self._answer is None and time.monotonic() > self._last_s + 1:
            self._last_s = time.monotonic()
            scheduler, loop = self._client.scheduler, self._client.loop
            if scheduler is not None and loop is not None:
                identity = scheduler.identity(n_workers=0)
                self._answer = asyncio.run_coroutine_threadsafe(identity, loop.asyncio_loop)  # ty: ignore
        return self._count


def submit(
    client: Client,
    work: Callable[[Item], Result],
    items: Sequence[Item],
    title: Callable[[Item], str],
) -> Iterator[tuple[Item, Result | WorkerError]]:
    """Items with their results as they are ready; a `WorkerError` where workers were lost on it.

    Items that a scheduler had when it was lost are handed out again when it is back.
    """
    from distributed import as_completed

    waiting = iter(items)
    handed: dict[Future, Item] = {}
    results = as_completed()

    def hand_out(most: int) -> None:
        for item in islice(waiting, max(0, most - len(handed))):
            future = client.submit(_at_worker, work, item, pure=False, retries=RETRIES)
            handed[future] = item
            results.add(future)

    # One item per worker: a million would fill the scheduler, and when a worker is lost, Dask
    # blames all items that wait for it. The number of workers is not requested for every item.
    workers = Workers(client)
    hand_out(max(1, workers()))
    for future in results:
        item = handed.pop(future)
        try:
            result = _result(future, title(item))
        except CancelledError:
            waiting = chain([item], waiting)
            _wait_for_scheduler(client)
        else:
            yield item, result
        future.release()
        hand_out(max(1, workers()))


def _at_worker(work: Callable[[Item], Result], item: Item) -> Result:
    reuse_memory()
    return work(item)


def _wait_for_scheduler(client: Client) -> None:
    """Wait while the client tries to connect again, up to its timeout."""
    while client.status == "connecting":
        time.sleep(0.2)
    if client.status != "running":
        raise WorkerError(
            f"--cluster: expected its scheduler to come back, found none for {PATIENCE_S:g} s. "
            "Start it again, then run the same command again: what was finished is kept."
        )


def _result(future: Future, title: str) -> Any:
    from distributed import KilledWorker

    try:
        return future.result()
    except KilledWorker:
        return WorkerError(
            f"{title}: expected its worker to finish, found that it was lost {RETRIES + 1} times, "
            "perhaps for want of memory. Give workers more memory, then run the same command "
            "again: what was finished is kept."
        )


@contextmanager
def _client(where: str) -> Generator[Client]:
    from distributed import Client, LocalCluster
    from distributed.system import MEMORY_LIMIT  # bytes of this machine

    kind, _, rest = where.partition(":")
    if kind in ("tcp", "tls", "ucx"):
        with _connected(Client, where, _PROBE_S):
            pass
        with _connected(Client, where, PATIENCE_S) as client:
            yield client
    elif kind == "local":
        workers = _workers(rest, where)
        with (
            LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                memory_limit=int(MEMORY_LIMIT) // workers,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                silence_logs="CRITICAL",
            ) as cluster,
            _replacing_workers(cluster),
            Client(cluster) as client,
        ):
            yield client
    elif kind in BATCH_SYSTEMS:
        with _batch(kind, read_profile(Path(rest))) as cluster, Client(cluster) as client:
            yield client
    else:
        known = ("local:N", "tcp://HOST:PORT", *(f"{name}:PROFILE.toml" for name in BATCH_SYSTEMS))
        raise PlanError(
            f"--cluster: expected one of {', '.join(known)}, found {where!r}. "
            + did_you_mean(kind, ("local", "tcp", *BATCH_SYSTEMS))
        )


@contextmanager
def _replacing_workers(cluster: LocalCluster) -> Generator[None]:
    """Replace workers that are given up, as when one is killed before it has reported its start.

    Dask itself restarts only those that have reported it; without any worker, work would wait for
    ever.
    """
    closing = threading.Event()

    def watch() -> None:
        while not closing.wait(_REPLACE_S):
            if len(cluster.workers) < len(cluster.worker_spec):
                cluster.scale(len(cluster.worker_spec))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        closing.set()
        watcher.join()


def _connected(make: Callable[..., Client], where: str, timeout_s: float) -> Client:
    try:
        return make(where, timeout=timeout_s)
    except (OSError, TimeoutError, ValueError) as error:
        raise PlanError(
            f"--cluster: expected a Dask scheduler at {where}, found none "
            f"({type(error).__name__}). Start one, or give another address."
        ) from None


def _workers(text: str, where: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:6]) <= 1024:
        raise PlanError(
            f"--cluster: expected local:N with 1 to 1024 workers, found {where!r}. Give e.g. "
            f"local:{os.cpu_count() or 1}."
        )
    return int(text[:6])


def read_profile(path: Path) -> Profile:
    """A profile for a batch system."""
    try:
        return Profile(**tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise PlanError(
            f"{path}: expected a profile for the batch system, found: {error.strerror}. Write one "
            "with at least `workers = N` (docs/scale.md has an example)."
        ) from None
    except (ValidationError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        reason = error.errors()[0] if isinstance(error, ValidationError) else None
        said = f"{'.'.join(map(str, reason['loc']))}: {reason['msg']}" if reason else str(error)
        raise PlanError(
            f"{path}: expected a profile for the batch system, found {said}. Known fields: "
            f"{', '.join(Profile.model_fields)}."
        ) from None


def _batch(kind: str, profile: Profile) -> Any:
    """Workers from a batch system; their jobs end before the walltime."""
    require("--cluster", "dask_jobqueue")
    import dask_jobqueue

    cluster = getattr(dask_jobqueue, BATCH_SYSTEMS[kind])(**batch_settings(profile))
    cluster.scale(profile.workers)
    return cluster


def batch_settings(profile: Profile) -> dict[str, Any]:
    """Settings for dask-jobqueue."""
    own = {"workers", "lifetime_s", "stagger_s"}
    given = profile.model_dump(mode="json", exclude=own, exclude_none=True)
    life = ["--lifetime", f"{profile.lifetime_s:g}s"]
    life += ["--lifetime-stagger", f"{profile.stagger_s:g}s"]
    return {"cores": 1, "processes": 1, "worker_extra_args": life, **given}
