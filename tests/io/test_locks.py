"""Two processes on one place: the second waits or is told; a killed one holds nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from epilens.core.errors import StorageError
from epilens.io.atomic import write_atomically
from epilens.io.locks import lock_folder, lock_path
from epilens.io.outputs import locked_output, replace_folder
from epilens.report.patient.derivative import write_dataset_files

HOLD = (
    "import sys, time\nfrom epilens.io.locks import lock_folder, lock_path\n"
    "lock = {'in': lock_folder, 'on': lock_path}[sys.argv[2]]\n"
    "with lock(sys.argv[1]):\n    print('held', flush=True)\n    time.sleep(float(sys.argv[3]))\n"
)


@contextmanager
def holder(path, how: str, seconds: float = 60) -> Generator[subprocess.Popen]:
    """Another process that holds a place, and is killed at the end."""
    command = [sys.executable, "-c", HOLD, str(path), how, str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


@pytest.mark.parametrize(("how", "lock"), [("in", lock_folder), ("on", lock_path)])
def test_the_second_gets_the_number_of_the_first_and_a_kill_ends_the_lock(tmp_path, how, lock):
    place = tmp_path / "out"
    place.mkdir()
    message = "found another process of EpiLENS .process {}"
    with (
        holder(place, how) as process,
        pytest.raises(StorageError, match=message.format(process.pid)),
    ):
        lock(place).__enter__()
    with lock(place):
        pass
    assert [p.name for p in tmp_path.rglob("*")] == ["out"], "no lock is left behind"


def test_who_may_wait_waits(tmp_path):
    with holder(tmp_path, "in", 0.5) as process, lock_folder(tmp_path, wait_s=600):
        assert process.wait() == 0


def test_a_process_may_take_its_own_lock_again(tmp_path):
    with lock_folder(tmp_path), lock_folder(tmp_path):
        assert (tmp_path / ".epilens-lock").read_text() == str(os.getpid())
    assert list(tmp_path.iterdir()) == []


def test_folders_are_written_by_one_process_at_a_time(tmp_path):
    place = tmp_path / "out"
    with locked_output(place, "a test"):
        pass
    with (
        holder(place, "in"),
        pytest.raises(StorageError, match="no other process"),
    ):
        locked_output(place, "a test").__enter__()
    other = tmp_path / "other"
    with (
        holder(other, "on"),
        pytest.raises(StorageError, match="no other process"),
    ):
        replace_folder(other, "a test").__enter__()


def test_threads_of_one_process_take_turns(tmp_path):
    out = tmp_path / "out"
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: write_dataset_files(out), range(80)))  # raises what a thread raised
    assert sorted(path.name for path in out.iterdir()) == [
        ".bidsignore", ".epilens", "README.md", "dataset_description.json"
    ]  # fmt: skip


def test_threads_may_replace_the_same_file(tmp_path):
    path = tmp_path / "page.html"
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: write_atomically(path, str(n)), range(200)))
    assert path.read_text() in map(str, range(200))
    assert list(tmp_path.iterdir()) == [path]


def test_a_lock_keeps_other_threads_away(tmp_path):
    with lock_folder(tmp_path), ThreadPoolExecutor(1) as pool:
        second = pool.submit(lock_folder(tmp_path).__enter__)
        with pytest.raises(StorageError, match="found another thread of this process"):
            second.result()


def test_a_forked_process_does_not_release_its_parents_lock(tmp_path):
    with lock_folder(tmp_path):
        child = os.fork()
        if child == 0:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        code = "import sys, epilens.io.locks as locks; locks.lock_folder(sys.argv[1]).__enter__()"
        run = [sys.executable, "-c", code, str(tmp_path)]
        done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert f"found another process of EpiLENS (process {os.getpid()})" in done.stderr


def test_a_stale_lock_file_is_harmless(tmp_path):
    (tmp_path / ".epilens-lock").write_text("999999")
    with lock_folder(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []
