"""Faults of the machine and Ctrl-C: one sentence and the right exit code, for every way out."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time

import pytest

from epilens.cli.exit_codes import Stopped, exit_with_code
from epilens.core.errors import DataError, StorageError
from epilens.io.atomic import write_atomically
from epilens.io.os_errors import as_storage_error, explain_os_error
from epilens.io.outputs import replace_folder
from epilens.io.urls import url_of

FAULTS = {
    errno.ENOSPC: "expected room on the disk, found none left",
    errno.EDQUOT: "expected room on the disk, found none left",
    errno.EROFS: "expected a place that can be written, found: Read-only file system",
    errno.EACCES: "expected a place that can be written, found: Permission denied",
    errno.ENAMETOOLONG: "found one that is too long",
    errno.EFBIG: "expected to be allowed files of this size",
    errno.EMFILE: "expected to be allowed more open files",
    errno.EIO: "expected a disk that answers",
}


def end(error: BaseException, arguments: tuple[str, ...] = ("run",)) -> int:
    with pytest.raises(SystemExit) as stop, exit_with_code(arguments):
        raise error
    assert isinstance(stop.value.code, int)
    return stop.value.code


@pytest.mark.parametrize("code", FAULTS)
def test_a_fault_of_the_machine_is_one_sentence(code, capsys):
    assert end(OSError(code, os.strerror(code), "out/file")) == 2
    told_text = capsys.readouterr().err
    assert told_text.startswith("epilens: out/file: ")
    assert FAULTS[code] in told_text
    assert len(told_text.strip().splitlines()) == 1


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("x: can't allocate memory: y")])
def test_too_little_memory_is_one_sentence(error, capsys):
    assert end(error) == 2
    assert "expected enough memory, found too little" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("verb", "what"), [("run", "is kept: run the same"), ("report", "Nothing half-written is left")]
)
def test_ctrl_c_says_what_is_kept_and_how_to_go_on(verb, what, capsys):
    for error in (KeyboardInterrupt(), Stopped()):
        assert end(error, (verb, "x")) == 130
        assert what in capsys.readouterr().err


def test_ctrl_c_while_a_package_is_loaded_is_ctrl_c(capsys):
    error = ImportError("initialization failed")
    error.__cause__ = KeyboardInterrupt()
    assert end(error) == 130
    assert capsys.readouterr().err.startswith("epilens: stopped. What was finished is kept")


def test_a_defect_is_still_reported_as_one(capsys):
    assert end(KeyError("x")) == 1
    assert "failed unexpectedly (KeyError: 'x')" in capsys.readouterr().err
    assert explain_os_error(OSError("no number")) is None


def test_bad_input_is_not_a_fault_of_the_machine(capsys):
    assert end(DataError("x: expected, found.")) == 2
    assert capsys.readouterr().err == "epilens: x: expected, found.\n"


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "epilens", *arguments]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")  # noqa: PTH110
def test_an_output_that_is_full():
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            command("list", "datasets"), stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr.startswith("epilens: output: expected room on the disk")
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("shown", [[], ["--json"]])
def test_an_output_that_nobody_reads(shown):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        command("list", "methods", *shown),
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert done.returncode == 2
    assert "expected somebody to read the output, found it closed" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_an_output_that_is_closed_from_the_start(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(SystemExit, match="2"), exit_with_code(["list"]):
        pass
    assert "expected an output to write to, found it closed" in capsys.readouterr().err


def test_errors_that_cannot_be_printed_do_no_harm(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert end(DataError("x")) == 2
    sys.stderr.close()


def test_ctrl_c_on_processes_ends_at_once_without_a_traceback(tmp_path):
    out = tmp_path / "out"
    process = subprocess.Popen(
        command("simulate", str(out), "--shape", "demo", "--jobs", "2"),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    hidden = tmp_path / ".out.epilens-partial"
    for _ in range(1200):
        if hidden.exists() and any(hidden.rglob("*.edf")):
            break
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: parent and children
    _, text = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "epilens: stopped. Nothing half-written is left" in text
    assert "Traceback" not in text
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = write_atomically(tmp_path / "out.txt", "old")

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match=r"out\.txt: expected room on the disk"):
        write_atomically(path, "new")
    with pytest.raises(StorageError, match="expected room"), replace_folder(tmp_path / "f", "a"):
        pass
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"out.txt": "old"}


def test_a_limit_on_the_size_of_files_is_reported(tmp_path):
    code = (
        "import resource, signal, sys\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))\n"
        "from epilens.cli import main\nmain(['plan', 'init', sys.argv[1]])\n"
    )
    run = [sys.executable, "-c", code, str(tmp_path / "plan.toml")]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "plan.toml: expected to be allowed files of this size" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [("plan", "init", "x" * 300), ("simulate", "x" * 300)])
def test_a_name_that_is_too_long(arguments, tmp_path, monkeypatch, capsys):
    from epilens.cli import main

    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="2"):
        main(list(arguments))
    assert "found one that is too long. Give a shorter path" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_other_errors_pass_through():
    with pytest.raises(FileNotFoundError, match="gone"), as_storage_error("x"):
        raise FileNotFoundError(errno.ENOENT, "gone")


@pytest.mark.parametrize(
    "address",
    [
        "https://me:hunter2@host/a.edf",
        "https:/me:hunter2@host/a.edf",
        "s3://KEY:hun/ter2@bucket/a",
        "https://hunter2@host/a",
        "HTTPS://me:hunter2@host/a",
        "https://host/a.edf?X-Amz-Signature=hunter2&x=1",
    ],
)
def test_no_message_repeats_credentials_of_an_address(address, capsys):
    assert end(DataError(f"{address}: expected a recording, found nothing.")) == 2
    said = capsys.readouterr().err
    assert "ter2" not in said
    assert "KEY" not in said
    with pytest.raises(StorageError) as refused:
        url_of(address)
    assert "ter2" not in str(refused.value)
