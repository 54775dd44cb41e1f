"""Stores at URLs as local folders: files are downloaded to a cache, finished files are uploaded.

Files are sent in the order in which they were finished, so a store passes through the same states
as a local folder: every file is complete, and the marker of a folder written in one piece comes
last. A kill loses nothing: the next command that writes to the URL sends the rest.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from epilens.core.console import say
from epilens.core.errors import EpilensError, StorageError
from epilens.io.locks import LockedError
from epilens.io.object_store import ObjectStore, StoredObject
from epilens.io.outputs import MARKER
from epilens.io.remote_folder import AT_ONCE, ON_DEMAND, WAIT_S, RemoteFolder
from epilens.io.urls import absolute_url, relative_url, url_of

SEND_EVERY_S = 30.0
_FIRST_SEND_S = 2.0


def download(given: str | Path) -> Path:
    """Return a path as it is; for a URL, the local folder with the files of the store."""
    url = url_of(given)
    if not url:
        return Path(given)
    folder = RemoteFolder.of(url)
    with folder.locked("sync", WAIT_S), suppress(LockedError), folder.locked("writer"):
        # While another process of this computer writes the store, its files here are the newest.
        folder.pull(ObjectStore.at(url))
        if folder.is_unsent:
            say(f"{url}: includes files of an interrupted command that are not sent yet")
    return folder.path


@contextmanager
def writable(given: str | Path) -> Generator[Path]:
    """Yield a path as it is; for a URL, a local folder whose finished files are uploaded."""
    url = url_of(given)
    if not url:
        yield Path(given)
        return
    folder, store = RemoteFolder.of(url), ObjectStore.at(url)
    with folder.locked("writer"):
        with folder.locked("sync", WAIT_S):
            folder.pull(store, to_write=True)
        sender = _Sender(folder, store)
        try:
            with sender.in_background():
                yield folder.path
        except Exception:
            with suppress(StorageError):
                sender.send()
            raise
        sender.send()


def local_file(path: Path) -> Path:
    """Return the path of a file; one of a store that is not here yet is downloaded first."""
    if not path.exists() and (folder := RemoteFolder.around(path)) is not None:
        folder.fetch(folder.name_of(path))
    return path


def local_files(paths: Iterable[Path]) -> None:
    """Download the files of a store that are not here yet, several at a time."""
    if missing := [path for path in paths if not path.exists()]:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(local_file, missing))


def remove_file(path: Path) -> None:
    """Remove a file, if it exists; one of a store also if it is not here."""
    if (folder := RemoteFolder.around(path)) is not None:
        folder.mark_removed(folder.name_of(path))
    path.unlink(missing_ok=True)


def names_on_demand(folder: Path) -> list[str]:
    """Files of a store that are not here yet; none for any other folder."""
    store = RemoteFolder.around(folder)
    return [] if store is None else store.missing()


class _Sender:
    """Uploads the finished files of a folder."""

    def __init__(self, folder: RemoteFolder, store: ObjectStore):
        self.folder, self.store = folder, store
        self._listing = dict(folder.listing)
        self._ended, self._one_at_a_time = threading.Event(), threading.Lock()

    @contextmanager
    def in_background(self) -> Generator[None]:
        """Send every half minute. A failure is reported once; only the last attempt must work."""
        thread = threading.Thread(target=self._repeat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _repeat(self) -> None:
        wait_s, reported = _FIRST_SEND_S, ""
        while not self._ended.wait(min(wait_s, SEND_EVERY_S)):
            wait_s = SEND_EVERY_S
            try:
                self.send()
            except Exception as error:
                if str(error) != reported:
                    say(f"not sent yet: {error}")
                reported = str(error)

    def send(self) -> None:
        """Upload what the store lacks, then remove what was removed here."""
        with self._one_at_a_time:
            unsent, removed = self.folder.unsent(), self.folder.removed()
            for batch in _batches(unsent):
                with ThreadPoolExecutor(AT_ONCE) as pool:
                    list(pool.map(self._put, batch))
            for name in removed:
                self.store.remove(name)
                self.folder.forget(name)
                self._listing.pop(name, None)
            if unsent or removed:
                self.folder.save_listing(self._listing)

    def _put(self, name: str) -> None:
        path, stored = self.folder.path / name, self._listing.get(name)
        try:
            about = path.stat()
            version = self.store.put(name, path, stored and stored.version)
        except (OSError, StorageError):
            if path.exists():
                raise
            return  # it was removed meanwhile
        # A file that was changed meanwhile has another time and is sent again.
        self.folder.record(name, version, about)
        self._listing[name] = StoredObject(f"{self.store.root}/{name}", about.st_size, version)


def _batches(names: Sequence[str]) -> Iterator[list[str]]:
    """Files to send at the same time; markers, and files next to folders, are sent alone."""
    batch: list[str] = []
    for name in names:
        is_part = "/" in name and not name.endswith(f"/{MARKER}")
        if is_part or name.endswith(ON_DEMAND):
            batch.append(name)
            continue
        yield from ([batch] if batch else [])
        yield [name]
        batch = []
    yield from ([batch] if batch else [])


def display_path(path: str | Path) -> str:
    """A path for people: the URL, if it has one."""
    return url_of(path) or origin_of(path) or str(path)


def origin_of(path: str | Path) -> str:
    """The URL that a local folder stands for; '' for any other."""
    folder = RemoteFolder.around(Path(path))
    return folder.url if folder is not None and folder.path == Path(path).absolute() else ""


def relative_origin(start: Path, path: Path) -> str | None:
    """The path from one store to another; None if neither has a URL, '' if there is none.

    `download_relative` is the inverse.
    """
    start_url, url = origin_of(start), origin_of(path)
    if not start_url and not url:
        return None
    return relative_url(start_url, url) if start_url and url else ""


def download_relative(start: Path, relative: str) -> Path | None:
    """The local folder of a store, given its path from another store; None if there is none."""
    url = absolute_url(origin_of(start), relative)
    with suppress(EpilensError):
        return download(url) if url else None
    return None


def clear(folder: RemoteFolder, unsent: bool = False) -> bool:
    """Remove the local files of a store; False if they are in use, or not sent yet."""
    try:
        with folder.locked("writer"), folder.locked("sync"):
            if folder.is_unsent and not unsent:
                return False
            shutil.rmtree(folder.path, ignore_errors=True)
    except LockedError:
        return False
    shutil.rmtree(folder.base, ignore_errors=True)
    return True
