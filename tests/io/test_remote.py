"""Stores at URLs: the same bytes as in a folder, complete files only, no work lost."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import fsspec
import pytest

from epilens import open_cohort, open_run, run
from epilens.cli import main
from epilens.core.errors import EpilensError, StorageError
from epilens.io import remote
from epilens.io.object_store import ObjectStore, StoredObject
from epilens.io.outputs import MARKER, claim_output, replace_folder
from epilens.io.remote import clear, display_path, download, local_file, remove_file, writable
from epilens.io.remote_folder import RemoteFolder, cache_folder, cached_stores
from epilens.io.urls import absolute_url, join, relative_url, url_of, with_urls
from epilens.plan import Plan, Runtime
from epilens.testing import make_cohort

URL = "memory://bucket/cubes"
PLAN = Plan(name="small", seeds=(1,), methods=("line-length-change", "logistic-z"))
PLAN = PLAN.override(splits={"folds": 2})


@pytest.fixture(autouse=True)
def machine(tmp_path, monkeypatch):
    """A cache of its own, and nothing in memory://."""
    monkeypatch.setenv("EPILENS_CACHE", str(tmp_path / "cache"))
    yield
    fsspec.filesystem("memory").store.clear()


@pytest.fixture
def other_machine(tmp_path, monkeypatch):
    """From now on the cache is another one."""
    return lambda: monkeypatch.setenv("EPILENS_CACHE", str(tmp_path / "other-cache"))


@pytest.fixture
def first_machine(tmp_path, monkeypatch):
    """From now on the cache is the first one again."""
    return lambda: monkeypatch.setenv("EPILENS_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def s3():
    """A bucket of a server on this machine."""
    pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server").ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    with pytest.MonkeyPatch.context() as patch:
        server.start()
        for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_CONFIG_FILE"):
            patch.delenv(name, raising=False)
        patch.setenv("AWS_ACCESS_KEY_ID", "somebody")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "planted-secret")
        patch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:{1}".format(*server.get_host_and_port()))
        fsspec.filesystem("s3").mkdir("bucket")
        yield "s3://bucket"
        fsspec.get_filesystem_class("s3").clear_instance_cache()
        server.stop()


@pytest.fixture(params=["memory", "file", "s3"])
def place(request, tmp_path):
    """The URL of a folder, in three kinds of stores."""
    places = {"memory": "memory://bucket", "file": f"file://{tmp_path}/store"}
    top = places[request.param] if request.param in places else request.getfixturevalue("s3")
    return f"{top}/{request.node.originalname}"


def write(url, **files):
    """Write text files; `__` in a name stands for a folder, `_` at its end for a cube."""
    with writable(url) as folder:
        claim_output(folder, "a test")
        for name, text in files.items():
            path = folder / name.replace("__", "/").replace("_zip", ".zarr.zip")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def contents(folder):
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != MARKER)
    return {path.relative_to(folder).as_posix(): path.read_text() for path in files}


def objects(url):
    """Contents of the objects in a store, by name."""
    fs, root = fsspec.url_to_fs(url)
    found = fs.find(root) if fs.exists(root) else []
    return {str(path)[len(root) + 1 :]: fs.cat_file(path) for path in found}


def put(url, name, content):
    """Somebody writes an object."""
    fs, root = fsspec.url_to_fs(url)
    fs.makedirs(f"{root}/{name}".rpartition("/")[0], exist_ok=True)
    fs.pipe_file(f"{root}/{name}", content)


def command(*arguments):
    """The command line in this process."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code


# -- what is a URL ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("s3://bucket/a/", "s3://bucket/a"),
        (Path("s3://bucket/a"), "s3://bucket/a"),
        ("file:///data/a", "file:///data/a"),
        (Path("file:///data/a"), "file:///data/a"),
        ("runs/a", ""),
        ("simplecache::s3://bucket/a", ""),
        ("C:/runs", ""),
        (Path("/runs/s3:/a"), ""),
    ],
)
def test_a_url_is_known_also_when_it_was_made_a_path(given, url):
    assert url_of(given) == url


def test_a_folder_that_looks_like_a_url_is_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s3:").mkdir()
    assert url_of("s3:/bucket") == ""


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("s3://key:secret@bucket/a", "found some in the address"),
        ("s3://bucket/../a", r"s3://…: expected an address such as s3://bucket/folder"),
        ("s3://bucket//a", "expected an address"),
        ("s3://bucket/a?token=secret", "expected an address"),
        ("s3://", "expected an address"),
    ],
)
def test_an_address_that_is_none_is_refused_and_not_repeated(url, message):
    with pytest.raises(StorageError, match=message) as refused:
        url_of(url)
    assert "secret" not in str(refused.value)


def test_a_store_is_found_from_another_one_of_the_same_bucket():
    assert relative_url("s3://bucket/runs/a", "s3://bucket/cubes") == "../../cubes"
    assert absolute_url("s3://bucket/runs/a", "../../cubes") == "s3://bucket/cubes"
    assert relative_url("s3://bucket/runs/a", "s3://other/cubes") == ""
    assert absolute_url("s3://bucket/runs/a", "../../../other/cubes") == ""
    assert absolute_url("file:///data/runs", "../cubes") == "file:///data/cubes"


# -- writing and reading ---------------------------------------------------------------------------


def test_what_is_written_is_read_elsewhere(place, other_machine):
    write(place, b="one", d__c="two", empty="")
    other_machine()
    assert contents(download(place)) == {"b": "one", "d/c": "two", "empty": ""}
    write(place, b="three", d__e="two")
    assert contents(download(place)) == {"b": "three", "d/c": "two", "d/e": "two", "empty": ""}
    assert set(objects(place)) == {MARKER, "b", "d/c", "d/e", "empty"}
    assert [folder.is_unsent for folder in cached_stores()] == [False]


def test_a_store_is_updated_and_only_changes_are_downloaded(place, other_machine, first_machine):
    write(place, a="one", b="two", c="three")
    other_machine()
    download(place)
    first_machine()
    with writable(place) as folder:
        (folder / "a").unlink()
        (folder / "b").write_text("four")
    other_machine()
    with pytest.MonkeyPatch.context() as patch:
        usual, got = ObjectStore.get, []
        patch.setattr(
            ObjectStore, "get", lambda self, o, path: got.append(path.name) or usual(self, o, path)
        )
        assert contents(download(place)) == {"b": "four", "c": "three"}
    assert got == ["b"]


def test_a_cube_is_downloaded_when_it_is_opened(place, other_machine):
    write(place, a_zip="one", traces__a_zip="two", b_zip="three", notes="text")
    other_machine()
    folder = download(place)
    assert contents(folder) == {"notes": "text"}
    assert local_file(folder / "a.zarr.zip").read_text() == "one"
    assert local_file(folder / "traces" / "a.zarr.zip").read_text() == "two"
    assert not local_file(folder / "c.zarr.zip").exists()
    assert sorted(contents(folder)) == ["a.zarr.zip", "notes", "traces/a.zarr.zip"]


@pytest.mark.parametrize("name", ["versions", "files", "about.json", "writer"])
def test_any_name_of_a_store_can_be_cached(name, other_machine):
    write(f"memory://bucket/{name}", a="one")
    other_machine()
    assert contents(download(f"memory://bucket/{name}")) == {"a": "one"}
    write(f"memory://bucket/{name}", b="two")
    assert set(objects(f"memory://bucket/{name}")) == {MARKER, "a", "b"}


def test_a_relative_path_to_the_cache_is_recognised(other_machine, monkeypatch):
    write(URL, a_zip="one")
    other_machine()
    monkeypatch.chdir(download(URL))
    assert local_file(Path("a.zarr.zip")).read_text() == "one"


def test_adding_a_cube_downloads_no_other(place, other_machine):
    write(place, a_zip="one")
    other_machine()
    write(place, b_zip="two")
    assert sorted(contents(download(place))) == ["b.zarr.zip"]
    assert set(objects(place)) == {MARKER, "a.zarr.zip", "b.zarr.zip"}


def test_a_cube_that_is_not_here_can_be_removed(place, other_machine):
    write(place, a_zip="one", b_zip="two")
    other_machine()
    with writable(place) as folder:
        remove_file(folder / "a.zarr.zip")
        assert not local_file(folder / "a.zarr.zip").exists()
    assert set(objects(place)) == {MARKER, "b.zarr.zip"}


def test_what_is_finished_is_sent_while_the_rest_is_made(monkeypatch, other_machine):
    monkeypatch.setattr(remote, "SEND_EVERY_S", 0.05)
    with writable(URL) as folder:
        claim_output(folder, "a test")
        (folder / "first").write_text("complete")
        (folder / ".second.x.epilens-partial").write_text("half")
        last = time.monotonic() + 300
        while "first" not in objects(URL) and time.monotonic() < last:
            time.sleep(0.02)
        other_machine()
        assert contents(download(URL)) == {"first": "complete"}


def test_an_error_keeps_what_was_finished(other_machine):
    def stopped():
        with writable(URL) as folder:
            claim_output(folder, "a test")
            (folder / "first").write_text("complete")
            raise EpilensError("stop")

    with pytest.raises(EpilensError, match=r"^stop$"):
        stopped()
    other_machine()
    assert contents(download(URL)) == {"first": "complete"}


class Killed(BaseException):
    """Stands for SIGKILL: nothing catches it."""


def kill_after(patch, count):
    """The process is killed before the object of this number is sent."""
    usual, names = ObjectStore.put, []

    def killed(self, name, *rest):
        names.append(name)
        if len(names) > count:
            raise Killed
        return usual(self, name, *rest)

    patch.setattr(ObjectStore, "put", killed)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_kill_leaves_complete_objects_and_loses_nothing(
    count, monkeypatch, other_machine, first_machine
):
    write(URL, a="old", b="old too")
    with monkeypatch.context() as patch:
        kill_after(patch, count)
        with pytest.raises(Killed):
            write(URL, a="new", b="new too", c="more")
    other_machine()
    sent = {"a": "new", "b": "new too", "c": "more"}
    assert contents(download(URL)) == {"a": "old", "b": "old too"} | dict(
        list(sent.items())[:count]
    )
    first_machine()  # it goes on where it was begun
    write(URL, d="last")
    assert contents(download(URL)) == sent | {"d": "last"}
    other_machine()
    assert contents(download(URL)) == sent | {"d": "last"}


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_folder_in_one_piece_is_refused_until_all_of_it_is_sent(
    count, monkeypatch, other_machine, first_machine
):
    def write_folder():
        with writable(URL) as place, replace_folder(place, "a test") as folder:
            for name in "abc":
                (folder / name).write_text(name)

    with monkeypatch.context() as patch:
        kill_after(patch, count)
        with pytest.raises(Killed):
            write_folder()
    other_machine()
    with pytest.raises(StorageError, match=f"expected {'abc'[count - 1]}, found that its upload"):
        download(URL)
    first_machine()
    with writable(URL):
        pass
    other_machine()
    assert contents(download(URL)) == {"a": "a", "b": "b", "c": "c"}


def test_the_marker_of_an_inner_folder_is_sent_last(monkeypatch):
    sent = []
    monkeypatch.setattr(ObjectStore, "put", lambda self, name, *rest: sent.append(name) or name)
    with writable(URL) as place:
        claim_output(place, "a test")
        with replace_folder(place / "cell", "a cell", sealed=True) as folder:
            for name in "abc":
                (folder / name).write_text(name)
        (place / "ledger").write_text("all")
    assert sent[0] == MARKER
    assert sorted(sent[1:4]) == ["cell/a", "cell/b", "cell/c"]
    assert sent[4:] == [f"cell/{MARKER}", "ledger"]


# -- two writers -----------------------------------------------------------------------------------


def overtaken(url, other_machine, mine, theirs):
    """Somebody else writes from another machine while we do."""
    with writable(url) as folder:
        claim_output(folder, "a test")
        (folder / "a").write_text(mine)
        other_machine()
        write(url, a=theirs)


def test_of_two_writers_the_second_is_refused_and_the_first_stays(place, other_machine):
    write(place, b="old")
    with pytest.raises(StorageError, match=r"another process of EpiLENS has written it meanwhile"):
        overtaken(place, other_machine, "mine", "theirs")
    assert objects(place)["a"] == b"theirs"


def test_of_two_who_replace_a_file_the_second_is_refused(place, other_machine, first_machine):
    write(place, a="old")
    with pytest.raises(StorageError, match=r"expected a as it was read"):
        overtaken(place, other_machine, "mine", "theirs")
    assert objects(place)["a"] == b"theirs"
    first_machine()
    assert contents(download(place)) == {"a": "theirs"}  # and not what was never sent


def test_two_writers_of_the_same_content_do_not_disturb_each_other(place, other_machine):
    overtaken(place, other_machine, "same", "same")
    assert objects(place)["a"] == b"same"


def test_two_writers_of_different_cubes_both_succeed(place, other_machine, first_machine):
    with writable(place) as folder:
        claim_output(folder, "a test")
        (folder / "a.zarr.zip").write_text("mine")
        other_machine()
        write(place, b_zip="theirs")
    assert set(objects(place)) == {MARKER, "a.zarr.zip", "b.zarr.zip"}


def test_a_second_process_of_this_machine_is_refused():
    with writable(URL):
        code = (
            "from epilens.io.remote import writable; writable('memory://bucket/cubes').__enter__()"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "expected no other process that writes there, found another process" in done.stderr


def test_a_store_is_read_while_another_process_of_this_machine_writes_it():
    with writable(URL) as folder:
        claim_output(folder, "a test")
        (folder / "a").write_text("one")
        code = "from epilens.io.remote import download; print(*download('memory://bucket/cubes').iterdir())"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert str(folder / "a") in done.stdout


def test_a_store_without_conditions_is_written(s3, monkeypatch):
    url, usual = f"{s3}/plain", type(fsspec.filesystem("s3")).put_file

    def refuse(self, path, target, **options):
        if options:
            raise OSError(errno.ENOSYS, "not implemented")
        return usual(self, path, target)

    monkeypatch.setattr(type(fsspec.filesystem("s3")), "put_file", refuse)
    write(url, a="one")
    write(url, a="two")
    assert objects(url)["a"] == b"two"


def test_where_objects_grow_while_they_are_sent_they_get_their_name_at_the_end(monkeypatch):
    monkeypatch.setattr("epilens.io.object_store._ATOMIC", ())
    named, fs = [], type(fsspec.filesystem("memory"))
    usual = fs.put_file
    monkeypatch.setattr(
        fs, "put_file", lambda self, p, target: named.append(target) or usual(self, p, target)
    )
    write(URL, a="one", d__b="two")
    write(URL, a="three")
    assert all(".epilens-partial-" in name for name in named)
    assert {name: text for name, text in objects(URL).items() if name != MARKER} == {
        "a": b"three",
        "d/b": b"two",
    }


# -- damage and malice -----------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["changed", "cut", "gone"])
def test_a_damaged_object_is_downloaded_as_it_is_and_can_be_replaced(damage, place, other_machine):
    write(place, a="one", b="two and more")
    if damage == "gone":
        fs, root = fsspec.url_to_fs(place)
        fs.rm_file(f"{root}/b")
    else:
        put(place, "b", b"two and mote" if damage == "changed" else b"")
    stored = {"changed": {"b": "two and mote"}, "cut": {"b": ""}, "gone": {}}[damage]
    assert contents(download(place)) == {"a": "one"} | stored  # also where it was written
    write(place, b="two and more")  # as describe or run would
    other_machine()
    assert contents(download(place)) == {"a": "one", "b": "two and more"}


def test_an_object_that_changes_after_the_listing_is_not_mixed_in(other_machine):
    write(URL, a_zip="one")
    other_machine()
    folder = download(URL)
    put(URL, "a.zarr.zip", b"longer")
    with pytest.raises(StorageError, match=r"expected 3 bytes of a\.zarr\.zip, found 6"):
        local_file(folder / "a.zarr.zip")
    assert not (folder / "a.zarr.zip").exists()


@pytest.mark.parametrize(
    "name", ["../evil", "a/../../../evil", "a//b", "a\\..\\evil", "a\nb", "x" * 300]
)
def test_a_hostile_store_writes_nothing_outside_of_the_cache(name, tmp_path, monkeypatch):
    write(URL, a="one")
    clear(RemoteFolder.of(URL))
    usual = type(fsspec.filesystem("memory")).find

    def hostile(self, root, detail=False):
        entries = usual(self, root, detail=True)
        return entries | {f"{root}/{name}": {"size": 0, "type": "file"}}

    monkeypatch.setattr(type(fsspec.filesystem("memory")), "find", hostile)
    for use in (download, write):
        with pytest.raises(StorageError, match=r"names of files inside the store.* do not trust"):
            use(URL)
    assert not list(tmp_path.rglob("evil"))


def test_a_name_cannot_be_a_file_and_a_folder(s3):
    for name in (MARKER, "a", "a/b"):
        put(f"{s3}/both", name, b"{}")
    with pytest.raises(StorageError, match="do not trust this store"):
        download(f"{s3}/both")


def test_a_store_larger_than_the_disk_is_refused_before_it_is_downloaded(monkeypatch):
    listing = {name: StoredObject(name, 2**50, "1") for name in (MARKER, "a")}
    monkeypatch.setattr(ObjectStore, "list", lambda self: listing)
    with pytest.raises(StorageError, match=r"expected room for 2251799\.8 GB .* EPILENS_CACHE"):
        download(URL)


def test_a_place_with_other_things_is_left_alone():
    put(URL, "thesis.doc", b"dear")
    with pytest.raises(StorageError, match=r"found other things \('thesis.doc'\)"):
        write(URL, a="one")
    assert objects(URL) == {"thesis.doc": b"dear"}


def test_a_store_in_the_layout_of_an_earlier_version_is_refused():
    put(URL, f"objects/{'0' * 64}/a", b"one")
    put(URL, ".epilens-manifest.json", b"{}")
    with pytest.raises(StorageError, match=r"expected a store of EpiLENS, found other things"):
        download(URL)


# -- stores that are not there ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("memory://bucket/none", "expected a store of EpiLENS, found none"),
        ("ss3://bucket/a", r"found ss3://\. Did you mean 's3'"),
        ("https://127.0.0.1:9/a", r"expected a (store|bucket)"),
    ],
)
def test_a_store_that_cannot_be_read_is_one_sentence(url, message):
    pytest.importorskip("aiohttp")
    with pytest.raises(StorageError, match=message):
        download(url)


def test_a_bucket_that_is_not_there_is_named(s3):
    with pytest.raises(StorageError, match=r"^s3://no-such-bucket/a: expected a bucket or folder"):
        write("s3://no-such-bucket/a", a="one")


@pytest.mark.parametrize("verb", ["score", "run"])
def test_without_the_package_its_extra_is_named(verb, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.delitem(import_module("fsspec.registry")._registry, "s3", raising=False)
    given = {"score": ["s3://bucket/a"], "run": ["paper", "--cubes", "s3://bucket/a"]}
    assert command(verb, *given[verb]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "expected the package that opens s3://, found none. Install epilens[s3]." in said


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "expected a store that answers, found none"),
        ({"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None}, "expected credentials in"),
    ],
)
def test_no_network_and_no_credentials_are_one_sentence_each(s3, tmp_path, environment, message):
    changed = os.environ | {
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
    }
    changed |= {name: value for name, value in environment.items() if value is not None}
    changed = {name: v for name, v in changed.items() if environment.get(name, v) is not None}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "epilens", "score", "s3://bucket/a"],
        capture_output=True,
        text=True,
        env=changed,
    )
    said = " ".join(done.stderr.split())
    assert done.returncode == 2, said
    assert f"epilens: s3://bucket/a: {message}" in said
    assert "planted-secret" not in said
    assert "Traceback" not in said


# -- the cache -------------------------------------------------------------------------------------


def test_the_cache_is_where_it_is_asked_to_be(monkeypatch, tmp_path):
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("EPILENS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "epilens"


def test_only_the_user_may_look_into_the_cache():
    write(URL, a="one")
    assert RemoteFolder.of(URL).base.stat().st_mode & 0o077 == 0


def test_the_cache_is_listed_and_cleared(monkeypatch, capsys):
    write(URL, a="one")
    with monkeypatch.context() as patch:
        kill_after(patch, 0)
        with pytest.raises(Killed):
            write("memory://bucket/killed", a="one")
    assert command("cache", "--json") == 0
    rows = {row["store"]: row["not yet sent"] for row in json.loads(capsys.readouterr().out)}
    assert rows == {URL: "no", "memory://bucket/killed": "yes"}
    assert command("cache", "--clear") == 0
    assert "1 not removed: in use, or with results that were not" in capsys.readouterr().err
    assert [folder.url for folder in cached_stores()] == ["memory://bucket/killed"]
    assert command("cache", "--clear", "--force") == 0
    assert cached_stores() == []


def test_a_cache_that_cannot_be_written_is_named(monkeypatch):
    write(URL, a="one")
    monkeypatch.setenv("EPILENS_CACHE", "/proc/nowhere")
    with pytest.raises(StorageError, match=r"^/proc/nowhere/.*: expected a place that can be writ"):
        download(URL)


@pytest.mark.parametrize("text", ["", "[]", '{"a": 1}', "{"])
def test_a_damaged_note_in_the_cache_costs_a_download_only(text):
    write(URL, a="one")
    base = RemoteFolder.of(URL).base
    for path in [base / "listing.json", *(base / "versions").rglob("*.json")]:
        path.write_text(text)
    write(URL, b="two")
    assert contents(download(URL)) == {"a": "one", "b": "two"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["simulate", "s3://bucket/a", "--shape", "tiny"],
        ["plan", "init", "s3://bucket/a.toml"],
        ["bids", ".", "s3://bucket/a", "participant"],
        ["report", "run", "--out", "s3://bucket/a.html"],
    ],
)
def test_a_url_where_a_folder_is_needed_makes_no_folder(arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert command(*arguments) == 2
    assert "expected a place on this computer, found a URL" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_one_sentence(monkeypatch):
    write(URL, a="one")
    assert clear(RemoteFolder.of(URL))

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(fsspec.filesystem("memory")), "get_file", full)
    with pytest.raises(StorageError, match="expected room on the disk, found none left"):
        download(URL)


def test_messages_and_paths_are_said_with_the_url():
    write(URL, a="one")
    folder = download(URL)
    assert display_path(folder) == display_path(URL) == URL
    assert with_urls(f"{folder}/a: expected") == f"{URL}/a: expected"
    assert display_path(Path("runs/a")) == "runs/a"


# -- describe, run, train, localize ----------------------------------------------------------------


def test_a_run_and_its_cubes_are_stores_for_python_too(tmp_path):
    cohort = make_cohort(tmp_path / "cubes", channels=4, ez=1)
    with writable("memory://bucket/cubes") as folder:
        claim_output(folder, "cubes")
        for name in cohort:
            (folder / cohort.path(name).name).write_bytes(cohort.path(name).read_bytes())
    made = run(PLAN, open_cohort("memory://bucket/cubes"), Runtime(out="memory://bucket/runs"))
    there = open_run("memory://bucket/runs/small")
    assert there.folder == made
    assert there.cubes == download("memory://bucket/cubes")  # found from the run
    here = open_run(run(PLAN, cohort, Runtime(out=tmp_path / "runs")))
    assert there.ledger.equals(here.ledger)
    assert run(PLAN, there.cohort, Runtime(out="memory://bucket/runs")) == made


def digests(folder):
    skipped = {"times.tsv"}  # what a cell cost differs from run to run
    files = (p for p in sorted(folder.rglob("*")) if p.is_file() and p.name not in skipped)
    return {
        p.relative_to(folder).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in files
    }


def listed(url):
    skipped = {"times.tsv"}
    found = objects(url).items()
    return {name: hashlib.sha256(c).hexdigest() for name, c in found if name not in skipped}


def test_all_verbs_write_the_same_bytes_to_s3(s3, tiny, tmp_path, capsys, other_machine):
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.to_toml())
    patient, *_ = sorted((tiny / "north").glob("sub-*"))
    for place in (tmp_path, s3):
        cubes, model = join(place, "cubes"), join(place, "models/lens")
        assert command("describe", tiny, "--out", cubes) == 0
        runs = join(place, "runs")
        assert command("run", plan, "--cubes", cubes, "--out", runs) == 0
        assert command("train", plan, "--cubes", cubes, "--out", model) == 0
        assert command("localize", model, patient, "--out", join(place, "pages")) == 0
        printed = capsys.readouterr()
        assert str(join(place, "runs/small")) in printed.out
    assert str(cache_folder()) not in printed.out + printed.err
    for name in ("cubes", "runs/small", "models/lens", "pages"):
        assert digests(tmp_path / name) == listed(f"{s3}/{name}"), name
    # Another machine has all of it, and what is finished is not made again.
    other_machine()
    assert command("score", f"{s3}/runs/small", "--json") == 0
    assert command("model", "show", f"{s3}/models/lens") == 0
    capsys.readouterr()
    assert command("describe", tiny, "--out", f"{s3}/cubes") == 0
    assert "0 patients described, 8 kept" in capsys.readouterr().err
    assert command("train", plan, "--cubes", f"{s3}/cubes", "--out", f"{s3}/models/lens") == 2
    assert f"{s3}/models/lens: expected a new folder, found a model" in capsys.readouterr().err


def test_describing_another_center_downloads_no_cube(tiny, tmp_path, other_machine):
    centers = sorted(path for path in tiny.iterdir() if path.is_dir())
    for center in centers:
        assert command("describe", center, "--out", tmp_path / "cubes") == 0
        assert command("describe", center, "--out", "memory://bucket/cubes") == 0
        other_machine()
    assert listed("memory://bucket/cubes") == digests(tmp_path / "cubes")
    here = set(digests(RemoteFolder.of("memory://bucket/cubes").path))
    first = {path.name for path in centers[0].glob("sub-*")}
    assert first
    assert not {f"{name}.zarr.zip" for name in first} & here


def test_members_of_a_stopped_training_are_in_the_store(tmp_path, monkeypatch, other_machine):
    from epilens.evaluation.train import PartToFit
    from epilens.networks.model import open_model

    make_cohort(tmp_path / "cubes", channels=4, ez=1)
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.to_toml())
    arguments = ["train", plan, "--cubes", tmp_path / "cubes", "--out", "memory://bucket/model"]
    fit, done = PartToFit.work, []

    def dying(task):
        if done:
            raise StorageError("stop")
        done.append(task)
        return fit(task)

    with monkeypatch.context() as patch:
        patch.setattr(PartToFit, "work", dying)
        assert command(*arguments) == 2
    other_machine()
    again = []
    monkeypatch.setattr(PartToFit, "work", lambda task: again.append(task) or fit(task))
    assert command(*arguments) == 0
    assert len(again) == 1
    assert len(open_model("memory://bucket/model")) == 2
    assert not [name for name in fsspec.filesystem("memory").store if "members" in name]
