"""Work on a Dask cluster of local workers: the same results, lost workers, clear refusals."""

from __future__ import annotations

import contextvars
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from operator import neg
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from waiting import wait_while_working

from epilens.compute.dask import Profile, Workers, _wait_for_scheduler, on_cluster, read_profile
from epilens.compute.local import map_jobs
from epilens.core.errors import PlanError, WorkerError
from epilens.data.bids import read_cohort
from epilens.evidence.store import describe_cohort
from epilens.plan import Plan
from epilens.report.run.run_analyses import run_all
from epilens.simulation import simulate
from epilens.testing import make_run

pytest.importorskip("distributed")
cloudpickle = pytest.importorskip("cloudpickle")


@pytest.fixture(scope="module")
def local():
    with on_cluster("local:2") as client:
        yield client


def die(item):
    """Kill the own process each time, or until a file is there."""
    if item == "always":
        os.kill(os.getpid(), signal.SIGKILL)
    if item.startswith("once "):
        path = Path(item.removeprefix("once "))
        if not path.exists():
            path.write_text("")
            os.kill(os.getpid(), signal.SIGKILL)
    return item.upper()


def test_every_item_comes_back_with_its_result(local):
    assert dict(map_jobs(neg, range(50), 1)) == {n: -n for n in range(50)}


def new_pages(_) -> int:
    """Pages that the system gives for the same array, made a hundred times."""
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(100):
        np.ones(500_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_workers_use_the_memory_of_an_array_again(local):
    pytest.importorskip("resource")
    # 4 MB are 1,000 pages; without the setting each of the hundred arrays would have its own.
    (_, pages), *_ = map_jobs(new_pages, [1], 1)
    assert pages < 20_000


def test_more_work_than_is_handed_out_at_once_is_done(local):
    assert len(list(map_jobs(neg, range(200), 1))) == 200


def test_a_second_cluster_can_follow_in_the_same_process():
    code = (
        "from operator import neg\n"
        "from epilens.compute.dask import on_cluster\n"
        "from epilens.compute.local import map_jobs\n"
        "if __name__ == '__main__':\n"
        "    for _ in range(2):\n"
        "        with on_cluster('local:1'):\n"
        "            print(dict(map_jobs(neg, [3], 1)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "{3: -3}\n" * 2


def test_an_error_reaches_the_caller(local):
    with pytest.raises(TypeError, match="bad operand"):
        list(map_jobs(neg, ["a"], 1))


def test_work_of_a_killed_worker_is_done_again(local, tmp_path):
    items = ["a", f"once {tmp_path / 'died'}", *"bcdef"]
    assert dict(map_jobs(die, items, 1)) == {item: item.upper() for item in items}


def test_what_kills_its_workers_is_named_after_everything_else_is_done(local):
    results = map_jobs(die, ["a", "always", "b"], 1, "<{}>".format)
    done = dict(islice(results, 2))
    with pytest.raises(WorkerError, match=r"^<always>: expected its worker to finish"):
        next(results)
    assert done == {"a": "A", "b": "B"}


def test_a_lost_piece_can_have_a_result_of_its_own(local):
    results = map_jobs(die, ["a", "always"], 1, str, lambda item, error: f"lost {item}")
    assert dict(results) == {"a": "A", "always": "lost always"}


def slow(item):
    time.sleep(0.5)
    return item


def test_work_that_a_scheduler_forgot_is_handed_out_again(local):
    """As after its restart: everything that was submitted is cancelled."""
    results = map_jobs(slow, range(4), 1)
    with ThreadPoolExecutor(1) as pool:
        context = contextvars.copy_context()
        done = pool.submit(context.run, dict, results)
        wait_while_working(lambda: local.futures or done.done())
        assert not done.done()
        local.cancel([*local.futures.values()], force=True)
        assert done.result() == {n: n for n in range(4)}


def test_a_scheduler_that_does_not_come_back_is_named():
    gone = SimpleNamespace(status="closed")
    with pytest.raises(WorkerError, match="scheduler to come back, found none for 300 s"):
        _wait_for_scheduler(gone)


def test_analyses_on_a_cluster_are_the_same(local):
    run = make_run()
    here = contextvars.Context().run(run_all, run)
    there = run_all(run)
    assert list(there.results) == list(here.results)
    assert there.missing == here.missing
    for name, result in here.results.items():
        remote = there.results[name]
        pd.testing.assert_frame_equal(remote.frame, result.frame, obj=name)
        pd.testing.assert_frame_equal(remote.drawn, result.drawn, obj=name)
        assert remote.comparisons == result.comparisons
        assert remote.verdict == result.verdict


def test_a_run_travels_without_its_tables():
    run = make_run()
    assert len(run.ledger)
    assert len(cloudpickle.dumps(run)) < 2000


def test_the_bar_knows_how_many_workers_there_are():
    with on_cluster("local:2") as client:  # not the one whose workers are killed by other tests
        workers = Workers(client)
        for number in (2, 1, 2):
            client.cluster.scale(number)
            wait_while_working(lambda number=number: workers() == number)


def test_workers_that_were_given_up_are_replaced():
    """As Dask does with one that is killed while it starts: nobody starts it again."""
    with on_cluster("local:2") as client:
        for nanny in list(client.cluster.workers.values()):
            client.sync(nanny.close)
        wait_while_working(lambda: client.scheduler_info(n_workers=0)["n_workers"] == 2)
        assert dict(map_jobs(neg, range(5), 1)) == {n: -n for n in range(5)}


def test_cubes_from_a_cluster_have_the_same_bytes(local, tmp_path):
    simulate(tmp_path / "cohort", "tiny", 3, jobs=1)
    parts = read_cohort(tmp_path / "cohort", "simulated")
    describe_cohort(parts, tmp_path / "there", Plan(), jobs=2)
    there = {p.name: p.read_bytes() for p in sorted((tmp_path / "there").glob("*.zip"))}
    with on_cluster(""):  # '' leaves things as they are around it
        pass
    assert there
    here = _described_here(tmp_path)
    assert there == here


def _described_here(folder: Path) -> dict[str, bytes]:
    """In a process without a cluster."""
    code = (
        "import sys; from epilens.data.bids import read_cohort; from epilens.plan import Plan; "
        "from epilens.evidence.store import describe_cohort; "
        "describe_cohort(read_cohort(sys.argv[1], 'simulated'), sys.argv[2], Plan())"
    )
    where = [str(folder / "cohort"), str(folder / "here")]
    subprocess.run([sys.executable, "-c", code, *where], check=True)
    return {p.name: p.read_bytes() for p in sorted((folder / "here").glob("*.zip"))}


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("local:0", r"--cluster: expected local:N with 1 to 1024 workers, found 'local:0'"),
        ("local:many", "expected local:N with 1 to 1024 workers"),
        ("locl:2", r"found 'locl:2'. Did you mean 'local'"),
        ("slurm:nowhere.toml", "expected a profile for the batch system, found: No such file"),
    ],
)
def test_a_cluster_that_cannot_be_is_refused(where, message):
    with pytest.raises(PlanError, match=message), on_cluster(where):
        pass


def test_a_scheduler_that_does_not_answer_is_named():
    message = r"expected a Dask scheduler at tcp://127\.0\.0\.1:9, found none"
    with pytest.raises(PlanError, match=message), on_cluster("tcp://127.0.0.1:9"):
        pass


def test_a_profile_is_read_and_a_strange_one_refused(tmp_path):
    path = tmp_path / "profile.toml"
    path.write_text('workers = 20\nmemory = "8GB"\nqueue = "long"\n')
    assert read_profile(path) == Profile(workers=20, memory="8GB", queue="long")
    path.write_text("workers = 0\n")
    with pytest.raises(PlanError, match="workers: Input should be greater than or equal to 1"):
        read_profile(path)
    path.write_text("workers = 2\ncores = 4\n")
    with pytest.raises(PlanError, match="cores: Extra inputs are not permitted"):
        read_profile(path)


@pytest.mark.parametrize(
    ("kind", "directive"), [("slurm", "#SBATCH"), ("pbs", "#PBS"), ("sge", "#$")]
)
def test_a_batch_system_gets_one_thread_per_job_and_a_life_shorter_than_its_walltime(
    kind, directive
):
    jobqueue = pytest.importorskip("dask_jobqueue")
    from epilens.compute.dask import batch_settings

    settings = batch_settings(Profile(workers=3, queue="long", walltime="02:00:00"))
    made = getattr(jobqueue, f"{kind.upper()}Cluster")(**settings)
    with made as cluster:
        script = cluster.job_script()
    assert directive in script
    assert "--nthreads 1" in script
    assert "--lifetime 3300s --lifetime-stagger 240s" in script
