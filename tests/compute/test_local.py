"""Work on local processes: the same results, errors that arrive, no orphans."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from operator import neg
from pathlib import Path

import pytest
from waiting import alive, wait_for

from epilens.compute.local import map_jobs
from epilens.core.errors import WorkerError


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_every_item_comes_back_with_its_result(jobs):
    assert dict(map_jobs(neg, [3, 1, 2], jobs)) == {3: -3, 1: -1, 2: -2}


def test_nothing_to_do_is_nothing():
    assert list(map_jobs(neg, [], 2)) == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_reaches_the_caller(jobs):
    with pytest.raises(TypeError, match="bad operand"):
        list(map_jobs(neg, [1, "a"], jobs))


def kill_own_process(item):
    """Die where the item says so; `once` until its file is there."""
    if item == "always":
        os.kill(os.getpid(), signal.SIGKILL)
    if item.startswith("once"):
        path = Path(item.partition(" ")[2])
        if not path.exists():
            path.write_text("")
            os.kill(os.getpid(), signal.SIGKILL)
    return item.upper()


def test_work_of_a_killed_process_is_done_again(tmp_path):
    items = ["a", "b", f"once {tmp_path / 'died'}", *"cdefghij"]
    done = dict(map_jobs(kill_own_process, items, 2))
    assert done == {item: item.upper() for item in items}


def test_what_kills_its_process_twice_is_named():
    results = map_jobs(kill_own_process, ["a", "always", *"bc"], 2, "<{}>".format)
    message = r"^<always>: expected its process to finish, found it killed twice"
    with pytest.raises(WorkerError, match=message):
        dict(results)


def test_processes_end_with_a_killed_parent(tmp_path):
    """Each process notes its number once a second; after the parent's death nobody does."""
    code = """
import os, pathlib, sys, time
sys.path.insert(0, sys.argv[1])
from orphans import note_for_ever
from epilens.compute.local import map_jobs
if __name__ == "__main__":
    list(map_jobs(note_for_ever, [sys.argv[1]] * 2, 2))
"""
    (tmp_path / "orphans.py").write_text(
        "import os, pathlib, time\n"
        "def note_for_ever(folder):\n"
        "    for _ in range(600):\n"
        "        (pathlib.Path(folder) / f'{os.getpid()}.alive').write_text('')\n"
        "        time.sleep(0.1)\n"
    )
    (tmp_path / "main.py").write_text(code)
    command = [sys.executable, str(tmp_path / "main.py"), str(tmp_path)]
    parent = subprocess.Popen(command)
    workers = wait_for(lambda: found if len(found := sorted(tmp_path.glob("*.alive"))) == 2 else [])
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    numbers = [int(path.stem) for path in workers]
    wait_for(lambda: not any(alive(number) for number in numbers))
