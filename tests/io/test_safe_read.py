"""Files that somebody else wrote: pipes, devices and endless ones are refused, not waited for."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from epilens.core.errors import DataError, ModelError
from epilens.io.safe_read import check_regular, read_bytes


@pytest.fixture(autouse=True)
def ten_seconds():
    """What waits for a pipe fails instead of stopping the tests."""
    signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it was waited for"))
    signal.alarm(10)
    yield
    signal.alarm(0)


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def make_folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize(
    ("make", "what"),
    [(make_pipe, "a pipe"), (make_device, "a device"), (make_folder, "a folder")],
)
def test_what_is_no_file_is_refused(tmp_path, make, what):
    make(tmp_path / "x.tsv")
    with pytest.raises(DataError, match=rf"x\.tsv: expected a file, found {what}\. Put a file"):
        read_bytes(tmp_path / "x.tsv")
    with pytest.raises(DataError) as refused:
        check_regular(tmp_path / "x.tsv")
    assert refused.value.code == "not-a-file"


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path):
    with (tmp_path / "x").open("wb") as file:
        file.truncate(3 * 1024**2)
    with pytest.raises(ModelError, match="the model: expected at most 1 MB, found 3 MB"):
        read_bytes(tmp_path / "x", "the model", ModelError, 1024**2)


def test_a_file_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(DataError, match="x: expected a file that can be read, found none"):
        read_bytes(tmp_path / "x")


def test_a_path_with_a_null_byte_is_one_sentence():
    with pytest.raises(DataError, match="found one with a null byte"):
        read_bytes(Path("a\0b"))


def test_a_file_is_read(tmp_path):
    (tmp_path / "x").write_bytes(b"\x00\xff")
    assert read_bytes(tmp_path / "x") == b"\x00\xff"
