"""URLs as folders of this machine: what is read is fetched first, what is written is sent.

Whoever writes gets a folder that is filled from the store, so that it goes on where it stopped. All
that is finished is sent every half minute, and at the end. What could not be sent stays here, and
the next command with the same URL takes it on.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from epilens.core.console import say
from epilens.core.errors import EpilensError, StorageError
from epilens.io.kept_here import AT_ONCE, COPY, WORK, Folder, Place, origin_of
from epilens.io.remote import Entry, Files, Store
from epilens.io.urls import joined_url, relative_url, url_of

EVERY_S = 30.0
"""How often what is finished is sent."""
WAIT_S = 600.0
"""How long one process waits for another that fetches the same store."""


def fetched(given: str | Path) -> Path:
    """A path as it is; of a URL a folder with its files, as its manifest has them now."""
    url = url_of(given)
    if not url:
        return Path(given)
    place, store = Place.of(url), Store.at(url)
    files = _listed(store)
    with place.alone(COPY, WAIT_S):
        damaged = place.copy.take(store, files)
        if damaged and (now := _listed(store)) != files:  # somebody has written meanwhile
            damaged = place.copy.take(store, now)
    if damaged:
        raise StorageError(
            f"{url}: expected {damaged[0]} as its manifest has it, found it gone or damaged "
            f"({len(damaged)} of {len(files)} files). Heal it: run the command that wrote the "
            "store again."
        )
    return place.copy.path


def _listed(store: Store) -> Files:
    files = store.files
    if files is None:
        raise StorageError(
            f"{store.url}: expected a store of EpiLENS with a manifest, found none. Check the "
            "address; describe, run and train write stores."
        )
    return files


@contextmanager
def mirrored(given: str | Path) -> Generator[Path]:
    """A path as it is; for a URL a folder to write into, whose files are sent to the store.

    At the end the folder is gone: `fetched` has the copy.
    """
    url = url_of(given)
    if not url:
        yield Path(given)
        return
    place, store = Place.of(url), Store.at(url)
    with place.alone(WORK):
        owner = place.owner
        store.hold(owner)
        try:
            with _sending(place, store, owner) as path:
                yield path
        finally:
            store.release(owner)


@contextmanager
def _sending(place: Place, store: Store, owner: str) -> Generator[Path]:
    version = store.version
    sender = _Sender(place.work, store, owner, _filled(place, store), version)
    try:
        with sender.now_and_then():
            yield place.work.path
    except Exception:
        with suppress(StorageError):
            _finish(place, sender)
        raise
    _finish(place, sender)


def _finish(place: Place, sender: _Sender) -> None:
    sender.send()
    with place.alone(COPY, WAIT_S):
        place.fsync_tree()


def _filled(place: Place, store: Store) -> Files:
    """Fill the folder of work with the store; what is damaged there is left out, to be made."""
    files = store.files
    if files is None:
        store.check_free()
        files = {}
    damaged = set(place.work.take(store, files, keep=True, beside=place.copy))
    if files:  # without a manifest nobody can tell which objects are needed
        damaged |= set(store.sweep(files))
    for name in sorted(damaged):
        say(f"{store.url}: {name} is gone or damaged in the store; it is written anew")
    return {name: entry for name, entry in files.items() if name not in damaged}


class _Sender:
    """Sends what is finished in a folder; `sent` is what the store has, in this version."""

    def __init__(self, folder: Folder, store: Store, owner: str, sent: Files, version: str | None):
        self.folder, self.store, self.owner = folder, store, owner
        self.sent, self.version = dict(sent), version
        self._ended, self._one = threading.Event(), threading.Lock()

    @contextmanager
    def now_and_then(self) -> Generator[None]:
        """Send every half minute, and renew the lock, until this ends.

        An attempt that fails is made again: only the last one, at the end, must succeed.
        """
        thread = threading.Thread(target=self._repeat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _repeat(self) -> None:
        while not self._ended.wait(EVERY_S):
            with suppress(Exception):  # whatever a store does, the work goes on
                self.store.check_held(self.owner)
                self.store.renew(self.owner)
                self.send()

    def send(self) -> None:
        """Objects that the store lacks, then the manifest, then remove what nobody needs."""
        with self._one:
            found = {name: self.folder.entry(name) for name in sorted(self.folder.names())}
            files = {name: entry for name, entry in found.items() if entry is not None}
            there = {_object(name, entry) for name, entry in self.sent.items()}
            todo = {_object(n, e): n for n, e in files.items() if _object(n, e) not in there}
            with ThreadPoolExecutor(AT_ONCE) as pool:
                put = pool.map(lambda name: self._put(name, files[name]), todo.values())
                changing = {key for key, done in zip(todo, put, strict=True) if not done}
            # A file that is changed while it is sent stays as it was, until the next time.
            for name in [n for n, e in files.items() if _object(n, e) in changing]:
                del files[name]
                if name in self.sent:
                    files[name] = self.sent[name]
            if files != self.sent:
                self.store.check_held(self.owner)
                self.version = self.store.publish(files, self.version)
                self.store.forget(self.sent, files)
                self.sent = files
            self.folder.note({n: e for n, e in files.items() if self.folder.entry(n) == e})

    def _put(self, name: str, entry: Entry) -> bool:
        path = self.folder.path / name
        try:
            before = path.stat()
            self.store.put(name, entry, path)
            after = path.stat()
        except StorageError:
            if path.exists():
                raise
            return False
        except OSError:
            return False
        return (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)


def _object(name: str, entry: Entry) -> tuple[str, str]:
    """What makes two files one object."""
    return entry.sha256, name.rpartition("/")[2]


def shown(path: str | Path) -> str:
    """A path as people call it: by its URL, where it has one."""
    return url_of(path) or origin_of(path) or str(path)


def relative_place(start: Path, path: Path) -> str | None:
    """Where a store is, seen from another one; None where neither is one, '' if it cannot be told.

    `place_at` leads back.
    """
    here, there = origin_of(start), origin_of(path)
    if not here and not there:
        return None
    return relative_url(here, there) if here and there else ""


def place_at(start: Path, relative: str) -> Path | None:
    """A copy of the store that is there, seen from another one; None: there is none."""
    url = joined_url(origin_of(start), relative)
    if not url:
        return None
    with suppress(EpilensError):
        return fetched(url)
    return None
