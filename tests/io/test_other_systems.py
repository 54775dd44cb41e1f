"""Writing, locking and reading on systems like Windows, imitated: no such machine is here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from epilens.compute import local
from epilens.io import atomic, locks, safe_read
from epilens.io.atomic import check_writable, write_atomically, write_new, write_together
from epilens.io.locks import LockedError, lock_folder, lock_path, remove_unlocked

POSIX_ONLY = ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "pwrite", "statvfs", "sysconf", "geteuid")


class LockedBytes:
    """`msvcrt`, as far as it is used: one holder of a byte of a file."""

    LK_NBLCK = 2

    def __init__(self):
        self.holders = {}

    def locking(self, handle, mode, count):
        about = os.fstat(handle)
        key = (about.st_dev, about.st_ino)
        holder = self.holders.setdefault(key, handle)
        if holder != handle:
            raise PermissionError(13, "locked")

    def closed(self, handle):
        self.holders = {key: h for key, h in self.holders.items() if h != handle}


@pytest.fixture
def like_windows(monkeypatch):
    """No POSIX calls, other locks, and open files that can be neither renamed nor removed."""
    opened, byte_locks = {}, LockedBytes()
    really_open, really_close = os.open, os.close

    def open_file(path, flags, mode=0o777, **where):
        handle = really_open(path, flags, mode, **where)
        opened[handle] = Path(path).absolute()
        return handle

    def close_file(handle):
        opened.pop(handle, None)
        byte_locks.closed(handle)
        really_close(handle)

    def refuse_open(name):
        really = getattr(Path, name)

        def call(self, *given, **options):
            if self.absolute() in opened.values():
                raise PermissionError(13, "used by another process", str(self))
            return really(self, *given, **options)

        return call

    monkeypatch.setattr(os, "open", open_file)
    monkeypatch.setattr(os, "close", close_file)
    for name in ("replace", "rename", "unlink"):
        monkeypatch.setattr(Path, name, refuse_open(name))
    for name in POSIX_ONLY:
        monkeypatch.delattr(os, name)
    monkeypatch.setattr(locks, "fcntl", None)
    monkeypatch.setattr(locks, "msvcrt", byte_locks)
    for module in (locks, atomic):
        monkeypatch.setattr(module, "RENAMES_OPEN_FILES", False)
    for module in (locks, safe_read):
        monkeypatch.setattr(module, "NEVER_BLOCKS", 0)
    return opened


@pytest.mark.usefixtures("like_windows")
def test_files_are_replaced_and_nothing_is_left_behind(tmp_path):
    for text in ("one\n", "two\r\nthree\n"):
        write_atomically(tmp_path / "a.tsv", text)
        assert safe_read.read_bytes(tmp_path / "a.tsv") == text.encode()
    write_together(tmp_path, {"b.html": b"b", "c.json": b"c"})
    assert write_new(tmp_path / "d.json", "d")
    assert not write_new(tmp_path / "d.json", "again")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a.tsv",
        "b.html",
        "c.json",
        "d.json",
    ]


def test_no_handle_stays_open(like_windows, tmp_path):
    write_atomically(tmp_path / "a.tsv", "one\n")
    with lock_folder(tmp_path):
        assert len(like_windows) == 1
    assert not like_windows


@pytest.mark.usefixtures("like_windows")
def test_a_second_writer_is_kept_away(tmp_path, monkeypatch):
    with lock_path(tmp_path / "run"):
        monkeypatch.setattr(locks, "_locked", locks._ThreadLocks())  # as another process
        with (
            pytest.raises(LockedError, match="expected no other process"),
            lock_path(tmp_path / "run"),
        ):
            pass
    with lock_path(tmp_path / "run"):
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("like_windows")
def test_what_a_kill_left_is_removed_unless_it_is_in_use(tmp_path):
    (tmp_path / "left").write_text("x")
    remove_unlocked(tmp_path / "left")
    assert not (tmp_path / "left").exists()


@pytest.mark.usefixtures("like_windows")
def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *given: False)
    with pytest.raises(ValueError, match="Permission denied"):
        check_writable(tmp_path)


def test_settings_of_another_c_library_are_left_alone(monkeypatch):
    asked = []

    def no_library(name):
        asked.append(name)
        raise TypeError("argument of type 'NoneType' is not iterable")  # as on Windows

    monkeypatch.setattr(local.ctypes, "CDLL", no_library)
    local.reuse_memory.__wrapped__()
    assert asked == [None]


@pytest.mark.parametrize("name", ["with space", "Épilepsie-Ä", "日本", "a" * 120 + "/" + "b" * 120])
def test_names_with_blanks_other_letters_and_long_paths(name, tmp_path):
    folder = tmp_path / name
    code = (
        "import sys; from pathlib import Path; from epilens.io.atomic import write_atomically\n"
        "from epilens.io.locks import lock_folder\n"
        "folder = Path(sys.argv[1]); folder.mkdir(parents=True)\n"
        "with lock_folder(folder): write_atomically(folder / 'ä b.tsv', 'µV')\n"
    )
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True)
    assert (folder / "ä b.tsv").read_text(encoding="utf-8") == "µV"
