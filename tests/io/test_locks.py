"""Two processes on one place: the second waits or is told; a killed one holds nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from epilens.core.errors import StorageError
from epilens.io.locks import alone_in, lock_path
from epilens.io.outputs import locked_output, replace_folder

HOLD = (
    "import sys, time\nfrom epilens.io.locks import alone_in, lock_path\n"
    "lock = {'in': alone_in, 'on': lock_path}[sys.argv[2]]\n"
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


@pytest.mark.parametrize(("how", "lock"), [("in", alone_in), ("on", lock_path)])
def test_the_second_is_told_who_is_there_and_a_kill_ends_the_lock(tmp_path, how, lock):
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
    with holder(tmp_path, "in", 0.5) as process:
        began = time.monotonic()
        with alone_in(tmp_path, wait_s=60):
            assert time.monotonic() - began < 30
        assert process.wait() == 0


def test_a_process_may_take_its_own_lock_again(tmp_path):
    with alone_in(tmp_path), alone_in(tmp_path):
        assert (tmp_path / ".epilens-lock").read_text() == str(os.getpid())
    assert list(tmp_path.iterdir()) == []


def test_folders_are_written_by_one_process_at_a_time(tmp_path):
    place = tmp_path / "out"
    with locked_output(place, "a test"):
        pass
    with holder(place, "in"), pytest.raises(StorageError, match="only one who writes there"):
        locked_output(place, "a test").__enter__()
    other = tmp_path / "other"
    with holder(other, "on"), pytest.raises(StorageError, match="only one who writes there"):
        replace_folder(other, "a test").__enter__()
