"""Stores that are URLs: the same bytes as in a folder, old or new and never half."""

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
from epilens.io import kept_here, mirror
from epilens.io.kept_here import Place, cache_folder, clear, places
from epilens.io.mirror import fetched, mirrored, shown
from epilens.io.remote import LOCK, MANIFEST, Entry, Store, plain_name, read_manifest
from epilens.io.urls import below, in_urls, joined_url, relative_url, url_of
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


def write(url, **files):
    with mirrored(url) as folder:
        for name, text in files.items():
            place = folder / name.replace("__", "/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)


def contents(folder):
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text() for path in files}


def objects(url):
    fs, root = fsspec.url_to_fs(url)
    return sorted(fs.find(f"{root}/objects")) if fs.exists(f"{root}/objects") else []


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
    assert joined_url("s3://bucket/runs/a", "../../cubes") == "s3://bucket/cubes"
    assert relative_url("s3://bucket/runs/a", "s3://other/cubes") == ""
    assert joined_url("s3://bucket/runs/a", "../../../other/cubes") == ""
    assert joined_url("file:///data/runs", "../cubes") == "file:///data/cubes"


# -- writing and reading ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["memory", "file", "s3"])
def test_what_is_written_is_read_elsewhere(kind, tmp_path, other_machine, request):
    places_ = {"memory": "memory://bucket", "file": f"file://{tmp_path}/store"}
    url = f"{places_[kind] if kind in places_ else request.getfixturevalue('s3')}/written/a"
    write(url, b="one", d__c="two", empty="")
    other_machine()
    assert contents(fetched(url)) == {"b": "one", "d/c": "two", "empty": ""}
    write(url, b="three", d__e="two")
    assert contents(fetched(url)) == {"b": "three", "d/c": "two", "d/e": "two", "empty": ""}
    assert (
        len(objects(url)) == 4
    )  # nothing of the old b; equal content with another name is another
    assert [place.unsent for place in places()] == [False]


def test_only_what_changed_is_fetched(other_machine, monkeypatch):
    write(URL, a="one", b="two")
    other_machine()
    fetched(URL)
    got = []
    monkeypatch.setattr(Store, "get", lambda self, name, *rest: got.append(name))
    fetched(URL)
    assert got == []
    (Place.of(URL).copy.path / "b").write_text("changed here")
    with pytest.raises(StorageError, match="expected b as its manifest has it"):
        fetched(URL)
    assert got == ["b"]


def test_what_was_removed_is_gone_everywhere(other_machine):
    write(URL, a="one", b="two")
    other_machine()
    fetched(URL)
    with mirrored(URL) as folder:
        (folder / "a").unlink()
    assert contents(fetched(URL)) == {"b": "two"}
    assert len(objects(URL)) == 1


def test_what_is_finished_is_sent_while_the_rest_is_made(monkeypatch, other_machine):
    monkeypatch.setattr(mirror, "EVERY_S", 0.05)
    with mirrored(URL) as folder:
        (folder / "first").write_text("whole")
        (folder / ".second.x.epilens-partial").write_text("half")
        other_machine()
        last = time.monotonic() + 10
        while Store.at(URL).files is None and time.monotonic() < last:
            time.sleep(0.02)
        assert contents(fetched(URL)) == {"first": "whole"}


def test_an_error_keeps_what_was_finished(other_machine):
    def stopped():
        with mirrored(URL) as folder:
            (folder / "first").write_text("whole")
            raise EpilensError("stop")

    with pytest.raises(EpilensError, match=r"^stop$"):
        stopped()
    other_machine()
    assert contents(fetched(URL)) == {"first": "whole"}
    write(URL, second="too")  # nobody holds it


def kill_after(monkeypatch, count):
    """The process 'dies' before the object of this number is sent."""
    put, done = Store.put, []

    def dying(self, *what):
        done.append(what)
        if len(done) > count:
            raise KeyboardInterrupt
        put(self, *what)

    monkeypatch.setattr(Store, "put", dying)
    monkeypatch.setattr(Store, "release", lambda self, owner: None)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_kill_between_objects_leaves_the_old_store(count, monkeypatch, other_machine):
    write(URL, a="old", b="old too")
    with monkeypatch.context() as patch:
        kill_after(patch, count)
        with pytest.raises(KeyboardInterrupt):
            write(URL, a="new", b="new too", c="more")
    here = os.environ["EPILENS_CACHE"]
    other_machine()
    assert contents(fetched(URL)) == {"a": "old", "b": "old too"}
    # Where it was begun it goes on: what was finished is sent, what was sent in vain is removed.
    os.environ["EPILENS_CACHE"] = here
    write(URL, d="last")
    assert contents(fetched(URL)) == {"a": "new", "b": "new too", "c": "more", "d": "last"}
    assert len(objects(URL)) == 4


def test_a_kill_before_the_manifest_leaves_the_old_store(monkeypatch, other_machine):
    write(URL, a="old")
    with monkeypatch.context() as patch:
        patch.setattr(Store, "publish", lambda self, files, over: (_ for _ in ()).throw(SystemExit))
        with pytest.raises(SystemExit):
            write(URL, a="new")
    other_machine()
    assert contents(fetched(URL)) == {"a": "old"}


def test_what_somebody_else_sent_meanwhile_wins_over_what_was_left_here(monkeypatch, other_machine):
    write(URL, a="old", b="old")
    with monkeypatch.context() as patch:
        kill_after(patch, 0)
        with pytest.raises(KeyboardInterrupt):
            write(URL, a="mine", b="mine")
    here = os.environ["EPILENS_CACHE"]
    Store.at(URL).fs.rm_file("/bucket/cubes/.epilens-lock")
    other_machine()
    write(URL, a="theirs")
    os.environ["EPILENS_CACHE"] = here
    write(URL, c="more")
    assert contents(fetched(URL)) == {"a": "theirs", "b": "mine", "c": "more"}


# -- two writers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["memory", "file", "s3"])
def test_a_second_writer_is_told(kind, tmp_path, other_machine, request):
    places_ = {"memory": "memory://bucket", "file": f"file://{tmp_path}/store"}
    url = f"{places_[kind] if kind in places_ else request.getfixturevalue('s3')}/held"
    with mirrored(url):
        other_machine()
        message = "expected to be the only one who writes there, found another process of EpiLENS"
        with pytest.raises(StorageError, match=message), mirrored(url):
            pass


def test_a_second_process_of_this_machine_is_told():
    with mirrored(URL):
        code = (
            "from epilens.io.mirror import mirrored; mirrored('memory://bucket/cubes').__enter__()"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "expected to be the only one who writes there, found another process" in done.stderr


def test_a_lock_that_nobody_renewed_is_taken_over(monkeypatch, other_machine):
    monkeypatch.setattr(Store, "release", lambda self, owner: None)
    write(URL, a="one")
    other_machine()
    with pytest.raises(StorageError, match=r"its lock ends in 1[12]\d s"):
        write(URL, a="two")
    now = time.time() + 121
    monkeypatch.setattr(time, "time", lambda: now)
    write(URL, a="two")
    assert contents(fetched(URL)) == {"a": "two"}


def test_who_lost_the_lock_does_not_publish(other_machine):
    def overtaken():
        with mirrored(URL) as folder:
            (folder / "a").write_text("mine")
            Store.at(URL).renew("somebody else")

    with pytest.raises(StorageError, match="found another process of EpiLENS"):
        overtaken()
    other_machine()
    with pytest.raises(StorageError, match="with a manifest, found none"):
        fetched(URL)


def test_of_two_writers_at_the_same_moment_one_is_told(s3, monkeypatch, other_machine):
    """Both hold the lock, as after a long sleep, or in a store that ignores its condition."""
    url = f"{s3}/raced"
    write(url, a="one")
    monkeypatch.setattr(Store, "check_held", lambda self, owner: None)
    monkeypatch.setattr(Store, "hold", lambda self, owner: None)

    def overtaken():
        with mirrored(url) as folder:
            (folder / "mine").write_text("mine")
            other_machine()
            write(url, theirs="theirs")

    with pytest.raises(StorageError, match=r"written there meanwhile, .* finished here is kept"):
        overtaken()
    assert contents(fetched(url)) == {"a": "one", "theirs": "theirs"}


def test_of_two_who_begin_a_store_one_is_told(s3):
    store, files = Store.at(f"{s3}/begun"), {"a": Entry(size=0, sha256="0" * 64)}
    assert store.version == ""
    first = store.publish(files, store.version)
    assert first == store.version
    with pytest.raises(StorageError, match="found that another process of EpiLENS has written"):
        store.publish({"b": files["a"]}, "")
    assert store.publish(files, "an older one") == first  # sent twice: it is there
    assert store.files == files


def test_a_store_that_knows_no_conditions_is_written(s3, monkeypatch):
    store, files = Store.at(f"{s3}/plain"), {"a": Entry(size=0, sha256="0" * 64)}
    usual = store.fs.pipe_file

    def refuse(path, content, **options):
        if options:
            raise OSError(errno.ENOSYS, "not implemented")
        return usual(path, content)

    monkeypatch.setattr(store.fs, "pipe_file", refuse)
    assert store.publish(files, "") is None
    assert store.files == files


# -- damage and malice -----------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["changed", "cut", "gone"])
def test_a_damaged_object_is_named_and_healed(damage, s3, other_machine, capsys):
    url = f"{s3}/damaged-{damage}"
    write(url, a="one", b="two and more")
    fs = fsspec.filesystem("s3")
    (place,) = [name for name in objects(url) if name.endswith("/b")]
    if damage == "gone":
        fs.rm_file(place)
    else:
        fs.pipe_file(place, b"two and mote" if damage == "changed" else b"")
    other_machine()
    with pytest.raises(StorageError, match=rf"^{url}: expected b as its manifest has it, .* again"):
        fetched(url)
    with mirrored(url) as folder:
        assert contents(folder) == {"a": "one"}
        (folder / "b").write_text("two and more")  # as describe or run would make it again
    assert f"{url}: b is gone or damaged in the store" in " ".join(capsys.readouterr().err.split())
    assert contents(fetched(url)) == {"a": "one", "b": "two and more"}
    assert clear(Place.of(url))
    assert contents(fetched(url)) == {"a": "one", "b": "two and more"}


def test_an_object_that_is_gone_is_sent_again_from_where_it_was_written():
    write(URL, a="one")
    Store.at(URL).fs.rm_file(objects(URL)[0])
    write(URL, b="two")
    assert clear(Place.of(URL))
    assert contents(fetched(URL)) == {"a": "one", "b": "two"}


DIGEST = hashlib.sha256(b"").hexdigest()


@pytest.mark.parametrize(
    "name",
    [
        *("../x", "/etc/x", "a/../../x", "a//b", "a/./b", "a\\..\\x", ".", "", "a\x00b", "a\nb"),
        *(".epilens-lock", "x" * 300),
    ],
)
def test_a_name_that_leaves_the_folder_is_refused(name):
    assert not plain_name(name)
    manifest = {"format": 1, "files": {name: {"size": 0, "sha256": DIGEST}}}
    with pytest.raises(StorageError, match="expected names of files inside the store"):
        read_manifest(json.dumps(manifest).encode(), "store")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b'{"format": 1}',
        b'{"format": 1, "files": {"a": {"size": -1, "sha256": "%s"}}}' % DIGEST.encode(),
        b'{"format": 1, "files": {"a": {"size": 1, "sha256": "../../x"}}}',
        b'{"format": 1, "files": {"a": {"size": "1", "sha256": "%s"}}}' % DIGEST.encode(),
        b'{"format": 2, "files": {}}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_a_manifest_that_is_none_is_refused(text):
    with pytest.raises(StorageError, match=r"^store: expected a manifest of"):
        read_manifest(text, "store")


def test_a_name_cannot_be_a_file_and_a_folder():
    files = {name: {"size": 0, "sha256": DIGEST} for name in ("a", "a/b")}
    with pytest.raises(StorageError, match="do not trust this store"):
        read_manifest(json.dumps({"format": 1, "files": files}).encode(), "store")


def test_a_hostile_store_writes_nothing_outside_of_the_cache(tmp_path):
    fs = fsspec.filesystem("memory")
    files = {"../../../../evil": {"size": 0, "sha256": DIGEST}}
    fs.pipe_file(f"/bucket/cubes/{MANIFEST}", json.dumps({"format": 1, "files": files}).encode())
    for use in (fetched, write):
        with pytest.raises(StorageError, match="expected names of files inside the store"):
            use(URL)
    assert not list(tmp_path.rglob("evil"))
    assert {path.parts[len(tmp_path.parts)] for path in tmp_path.rglob("*")} <= {"cache"}


def test_an_object_that_is_larger_than_the_manifest_says_is_not_read_whole(monkeypatch):
    write(URL, a="small")
    assert clear(Place.of(URL))
    fs = fsspec.filesystem("memory")
    fs.pipe_file(objects(URL)[0], b"small" + b"x" * 10**6)
    asked = []
    read = type(fs).cat_file
    monkeypatch.setattr(
        type(fs),
        "cat_file",
        lambda self, path, start=None, end=None: asked.append(end) or read(self, path, start, end),
    )
    assert contents(fetched(URL)) == {"a": "small"}
    assert asked[-1] == 5


def test_a_store_larger_than_the_disk_is_refused_before_it_is_fetched():
    fs = fsspec.filesystem("memory")
    files = {"a": {"size": 2**50, "sha256": DIGEST}}
    fs.pipe_file(f"/bucket/cubes/{MANIFEST}", json.dumps({"format": 1, "files": files}).encode())
    with pytest.raises(StorageError, match=r"expected room for 1125899\.9 GB .* EPILENS_CACHE"):
        fetched(URL)


def test_a_place_with_other_things_is_left_alone():
    fsspec.filesystem("memory").pipe_file("/bucket/cubes/thesis.doc", b"dear")
    with pytest.raises(StorageError, match=r"found other things in it \('thesis.doc'\)"):
        write(URL, a="one")
    assert fsspec.filesystem("memory").cat("/bucket/cubes/thesis.doc") == b"dear"


# -- stores that are not there ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("memory://bucket/none", "expected a store of EpiLENS with a manifest, found none"),
        ("ss3://bucket/a", r"found ss3://\. Did you mean 's3'"),
        ("https://127.0.0.1:9/a", r"expected a store that answers, found none \(Client"),
    ],
)
def test_a_store_that_cannot_be_read_is_one_sentence(url, message):
    pytest.importorskip("aiohttp")
    with pytest.raises(StorageError, match=message):
        fetched(url)


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
    began = time.monotonic()
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
    assert time.monotonic() - began < 30


# -- the cache -------------------------------------------------------------------------------------


def test_the_cache_is_where_it_is_asked_to_be(monkeypatch, tmp_path):
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("EPILENS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "epilens"


def test_only_the_user_may_look_into_the_cache():
    write(URL, a="one")
    assert Place.of(URL).base.stat().st_mode & 0o077 == 0


def test_the_cache_is_listed_and_cleared(monkeypatch, capsys):
    write(URL, a="one")
    with monkeypatch.context() as patch:
        kill_after(patch, 0)
        with pytest.raises(KeyboardInterrupt):
            write("memory://bucket/killed", a="one")
    assert command("cache", "--json") == 0
    rows = {row["store"]: row["not yet sent"] for row in json.loads(capsys.readouterr().out)}
    assert rows == {URL: "no", "memory://bucket/killed": "yes"}
    assert command("cache", "--clear") == 0
    assert "kept: 1 in use or with work that was not sent" in capsys.readouterr().err
    assert [place.url for place in places()] == ["memory://bucket/killed"]
    assert command("cache", "--clear", "--force") == 0
    assert places() == []


def test_a_cache_that_cannot_be_written_is_named(monkeypatch):
    write(URL, a="one")
    monkeypatch.setenv("EPILENS_CACHE", "/proc/nowhere")
    with pytest.raises(StorageError, match=r"^/proc/nowhere/.*: expected a place that can be writ"):
        fetched(URL)


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


def test_a_lost_manifest_takes_no_object_with_it():
    write(URL, a="one")
    fsspec.filesystem("memory").rm_file(f"/bucket/cubes/{MANIFEST}")
    clear(Place.of(URL))
    write(URL, b="two")
    assert len(objects(URL)) == 2


def test_a_full_disk_is_one_sentence(monkeypatch):
    write(URL, a="one")
    assert clear(Place.of(URL))

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kept_here.shutil, "copyfileobj", full)
    monkeypatch.setattr(Store, "get", full)
    with pytest.raises(StorageError, match="expected room on the disk, found none left"):
        fetched(URL)


def test_messages_and_paths_are_said_with_the_url():
    write(URL, a="one")
    folder = fetched(URL)
    assert shown(folder) == shown(URL) == URL
    assert in_urls(f"{folder}/a: expected") == f"{URL}/a: expected"
    assert shown(Path("runs/a")) == "runs/a"


# -- describe, run, train, localize ----------------------------------------------------------------


def test_a_run_and_its_cubes_are_stores_for_python_too(tmp_path):
    cohort = make_cohort(tmp_path / "cubes", channels=4, ez=1)
    with mirrored("memory://bucket/cubes") as folder:
        for name in cohort:
            (folder / cohort.path(name).name).write_bytes(cohort.path(name).read_bytes())
    made = run(PLAN, open_cohort("memory://bucket/cubes"), Runtime(out="memory://bucket/runs"))
    there = open_run("memory://bucket/runs/small")
    assert there.folder == made
    assert there.cubes == fetched("memory://bucket/cubes")  # found from the run
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
    return {name: e.sha256 for name, e in Store.at(url).files.items() if name != "times.tsv"}


def test_all_verbs_write_the_same_bytes_to_s3(s3, tiny, tmp_path, capsys, other_machine):
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.to_toml())
    patient, *_ = sorted((tiny / "north").glob("sub-*"))
    for place in (tmp_path, s3):
        cubes, model = below(place, "cubes"), below(place, "models/lens")
        assert command("describe", tiny, "--out", cubes) == 0
        runs = below(place, "runs")
        assert command("run", plan, "--cubes", cubes, "--out", runs) == 0
        assert command("train", plan, "--cubes", cubes, "--out", model) == 0
        assert command("localize", model, patient, "--out", below(place, "pages")) == 0
        printed = capsys.readouterr()
        assert str(below(place, "runs/small")) in printed.out
    assert str(cache_folder()) not in printed.out + printed.err
    for name in ("cubes", "runs/small", "models/lens", "pages"):
        assert digests(tmp_path / name) == listed(f"{s3}/{name}"), name
    names = [path.rpartition("/")[2] for path in fsspec.filesystem("s3").find("bucket")]
    assert LOCK not in names
    # Another machine has all of it, and what is finished is not made again.
    other_machine()
    assert command("score", f"{s3}/runs/small", "--json") == 0
    assert command("model", "show", f"{s3}/models/lens") == 0
    capsys.readouterr()
    assert command("describe", tiny, "--out", f"{s3}/cubes") == 0
    assert "0 patients described, 8 kept" in capsys.readouterr().err
    assert command("train", plan, "--cubes", f"{s3}/cubes", "--out", f"{s3}/models/lens") == 2
    assert f"{s3}/models/lens: expected a new folder, found a model" in capsys.readouterr().err


def test_members_of_a_stopped_training_are_in_the_store(tmp_path, monkeypatch, other_machine):
    from epilens.evaluation import train as training
    from epilens.networks.model import open_model

    make_cohort(tmp_path / "cubes", channels=4, ez=1)
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.to_toml())
    arguments = ["train", plan, "--cubes", tmp_path / "cubes", "--out", "memory://bucket/model"]
    fit, done = training._fit, []

    def dying(task):
        if done:
            raise StorageError("stop")
        done.append(task)
        return fit(task)

    with monkeypatch.context() as patch:
        patch.setattr(training, "_fit", dying)
        assert command(*arguments) == 2
    other_machine()
    again = []
    monkeypatch.setattr(training, "_fit", lambda task: again.append(task) or fit(task))
    assert command(*arguments) == 0
    assert len(again) == 1
    assert len(open_model("memory://bucket/model")) == 2
    assert not [name for name in fsspec.filesystem("memory").store if "members" in name]
