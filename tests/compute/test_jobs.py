"""The job runner: what is finished is kept, what fails is reported or raised, all of it resumes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pytest
from waiting import alive, wait_for

from epilens.compute.jobs import Job, JobResult, run_job, run_jobs
from epilens.compute.local import use_executor
from epilens.core.errors import DataError, WorkerError
from epilens.core.progress import Progress


@dataclass(frozen=True)
class Write(Job[str]):
    """Writes its name and process to a file; a name says what else happens."""

    folder: Path
    name: str
    together: str = ""
    size: int = 1
    reports: bool = False

    @property
    def title(self):
        return f"<{self.name}>"

    @property
    def key(self):
        return self.name

    @property
    def steps(self):
        return self.size

    @property
    def group(self):
        return self.together

    def finished(self):
        path = self.folder / self.key
        return path.read_text() if path.exists() else None

    def work(self):
        if self.name.startswith("bad"):
            raise DataError(f"{self.name}: expected a good one.")
        if self.name.startswith("kills"):
            os.kill(os.getpid(), signal.SIGKILL)
        if self.name.startswith("interrupted"):
            raise KeyboardInterrupt
        (self.folder / self.name).write_text(str(os.getpid()))
        return str(os.getpid())

    def failed(self, error):
        if self.reports:
            return f"{type(error).__name__}: {str(error)[:12]}"
        raise error


def statuses(jobs, *arguments, **options):
    return {job.name: done.status for job, done in run_jobs(jobs, *arguments, **options)}


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("check_first", [True, False])
def test_what_is_finished_is_kept(tmp_path, processes, check_first):
    jobs = [Write(tmp_path, name) for name in "abc"]
    (tmp_path / "b").write_text("before")
    done = dict(run_jobs(jobs, processes, check_first=check_first))
    assert {job.name: result.status for job, result in done.items()} == {
        "a": "done",
        "b": "kept",
        "c": "done",
    }
    assert done[jobs[1]].result == "before"
    here = str(os.getpid())
    assert {done[jobs[i]].result == here for i in (0, 2)} == {processes == 1}
    assert set(statuses(jobs, processes, check_first=check_first).values()) == {"kept"}


def test_no_process_is_started_for_finished_jobs(tmp_path):
    def refuse(work, items, title):
        assert not items
        return iter(())

    (tmp_path / "a").write_text("")
    with use_executor(refuse):
        assert statuses([Write(tmp_path, "a")], 2) == {"a": "kept"}


def test_progress_counts_steps_and_names_what_was_not_computed(tmp_path):
    notes = []
    progress = Progress(lambda note, steps: notes.append((note, steps)))
    (tmp_path / "a").write_text("")
    jobs = [
        Write(tmp_path, "b", size=3),
        Write(tmp_path, "a"),
        Write(tmp_path, "bad", reports=True),
    ]
    results = run_jobs(jobs, 1, progress)
    next(results)
    assert progress.total == 5
    assert notes == []  # reported after the caller has dealt with it
    list(results)
    assert notes == [("<a> kept", 1), ("<b>", 3), ("<bad> failed", 1)]


@pytest.mark.parametrize("processes", [1, 2])
def test_a_job_reports_its_failure_or_ends_everything(tmp_path, processes):
    reported = [Write(tmp_path, "bad", reports=True), Write(tmp_path, "a")]
    done = {job.name: result for job, result in run_jobs(reported, processes)}
    assert done["bad"] == JobResult("DataError: bad: expecte", "failed")
    assert done["a"].status == "done"
    with pytest.raises(DataError, match="bad: expected a good one"):
        list(run_jobs([Write(tmp_path, "bad"), Write(tmp_path, "b")], processes))
    if processes == 1:
        assert not (tmp_path / "b").exists()


def test_a_lost_worker_is_reported_by_its_job(tmp_path):
    jobs = [Write(tmp_path, name, reports=True) for name in ("a", "kills", "b")]
    done = {job.name: result for job, result in run_jobs(jobs, 2)}
    assert done["kills"] == JobResult("WorkerError: <kills>: exp", "failed")
    assert done["a"].status == done["b"].status == "done"


def test_a_lost_worker_that_is_not_reported_is_raised_after_all_others(tmp_path):
    results = run_jobs([Write(tmp_path, name) for name in ("a", "kills", "b")], 2)
    assert {job.name for job, _ in islice(results, 2)} == {"a", "b"}
    with pytest.raises(WorkerError, match=r"^<kills>: expected its process to finish"):
        next(results)


def test_a_group_goes_to_one_process(tmp_path):
    handed = []

    def executor(work, items, title):
        handed.extend([job.name for job in group] for group in items)
        return ((group, work(group)) for group in items)

    names = {"a": "", "b": "together", "c": "", "d": "together"}
    jobs = [Write(tmp_path, name, group) for name, group in names.items()]
    with use_executor(executor):
        assert statuses(jobs, 2) == dict.fromkeys("abdc", "done")
    assert handed == [["a"], ["b", "d"], ["c"]]


@pytest.mark.parametrize("after", range(4))
def test_jobs_that_were_stopped_resume(tmp_path, after):
    jobs = [Write(tmp_path, name) for name in "abc"]
    list(islice(run_jobs(jobs), after))
    assert list(statuses(jobs).values()) == ["kept"] * after + ["done"] * (3 - after)


def test_ctrl_c_is_not_a_failure_of_the_job(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run_job(Write(tmp_path, "interrupted", reports=True))


class Locked(Write):
    """Notes when it is locked."""

    @contextmanager
    def locked(self):
        (self.folder / "lock").mkdir()
        yield
        (self.folder / "lock").rmdir()

    def finished(self):
        assert (self.folder / "lock").is_dir()
        return super().finished()

    def work(self):
        assert (self.folder / "lock").is_dir()
        return super().work()


def test_a_job_is_locked_from_the_test_to_the_result(tmp_path):
    assert run_job(Locked(tmp_path, "a")).status == "done"
    assert run_job(Locked(tmp_path, "a")).status == "kept"
    assert not (tmp_path / "lock").exists()


def test_ctrl_c_ends_the_processes(tmp_path):
    (tmp_path / "slow.py").write_text(
        "import os, time\n"
        "from dataclasses import dataclass\n"
        "from pathlib import Path\n"
        "from epilens.compute.jobs import Job, run_jobs\n"
        "@dataclass(frozen=True)\n"
        "class Slow(Job[int]):\n"
        "    folder: str\n"
        "    name: str\n"
        "    title = key = 'slow'\n"
        "    def finished(self): return None\n"
        "    def work(self):\n"
        "        (Path(self.folder) / f'{self.name}.began').write_text(str(os.getpid()))\n"
        "        time.sleep(600)\n"
    )
    (tmp_path / "main.py").write_text(
        "import sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "from slow import Slow, run_jobs\n"
        "if __name__ == '__main__':\n"
        "    list(run_jobs([Slow(sys.argv[1], n) for n in 'ab'], 2))\n"
    )
    command = [sys.executable, str(tmp_path / "main.py"), str(tmp_path)]
    parent = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    wait_for(lambda: len([p for p in tmp_path.glob("*.began") if p.read_text()]) == 2)
    os.killpg(parent.pid, signal.SIGINT)  # as a terminal does: the whole group
    _, stderr = parent.communicate()
    assert "KeyboardInterrupt" in stderr
    processes = [int(path.read_text()) for path in tmp_path.glob("*.began")]
    wait_for(lambda: not any(alive(process) for process in processes))
