"""The local folder of a URL: which version of its object each file is, and what is not sent yet.

CACHE/stores/DIGEST/      one per URL; CACHE is `cache_folder()`
    about.json            the URL
    listing.json          the objects of the store when it was last listed
    files/NAME/           the files; a cube (`*.zarr.zip`) is downloaded when it is opened
    versions/             which version of its object each file here is, and its size and time

A file whose size or time is not the one in `versions` was changed here and is not sent yet.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
from collections.abc import Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from epilens.core.errors import StorageError
from epilens.io.atomic import load_json, write_atomically
from epilens.io.locks import lock_path
from epilens.io.object_store import ObjectStore, StoredObject
from epilens.io.os_errors import not_writable_error
from epilens.io.outputs import MARKER, is_leftover
from epilens.io.urls import alias

ON_DEMAND = ".zarr.zip"
"""End of the names of files that are downloaded when they are opened."""
WAIT_S = 600.0
"""How long one process waits for another that downloads the same store."""
AT_ONCE = 8
"""Files that are downloaded or uploaded at the same time."""
_MOST_LISTING = 256 * 1024**2
_ABOUT, _LISTING, _VERSIONS = "about.json", "listing.json", "versions"


def cache_folder() -> Path:
    """$EPILENS_CACHE, or epilens in the user's cache folder."""
    if given := os.environ.get("EPILENS_CACHE"):
        return Path(given)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "epilens"


@dataclass(frozen=True)
class RemoteFolder:
    """The local folder of a URL."""

    base: Path
    url: str

    @classmethod
    def of(cls, url: str) -> RemoteFolder:
        """Return the folder of a URL; nothing is created yet."""
        digest = hashlib.sha256(url.encode()).hexdigest()[:16]
        folder = cls(cache_folder().absolute() / "stores" / digest, url)
        alias(folder.base, url)
        alias(folder.path, url)
        return folder

    @classmethod
    def around(cls, path: Path) -> RemoteFolder | None:
        """The folder that a path is in; None for a path outside of the cache."""
        path, stores = path.absolute(), cache_folder().absolute() / "stores"
        if not path.is_relative_to(stores) or len(parts := path.relative_to(stores).parts) < 2:
            return None
        with suppress(OSError, ValueError, KeyError, TypeError):
            folder = cls.of(str(load_json(stores / parts[0] / _ABOUT)["url"]))
            return folder if path.is_relative_to(folder.path) else None
        return None

    @property
    def path(self) -> Path:
        """Where the files are."""
        return self.base / "files" / self.url.rpartition("/")[2]

    def name_of(self, path: Path) -> str:
        """The name of the object of a file here."""
        return path.absolute().relative_to(self.path).as_posix()

    @contextmanager
    def locked(self, purpose: str, wait_s: float = 0.0) -> Generator[None]:
        """Lock the folder against other processes of this computer."""
        try:
            self.base.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not (self.base / _ABOUT).exists():
                write_atomically(self.base / _ABOUT, json.dumps({"url": self.url}))
        except OSError as error:
            raise not_writable_error(self.base, error) from None
        with lock_path(self.base / purpose, wait_s):
            yield

    @property
    def listing(self) -> dict[str, StoredObject]:
        """The objects of the store when it was last listed."""
        try:
            path = self.base / _LISTING
            return _read_listing(path, path.stat().st_mtime_ns)
        except (OSError, ValueError, TypeError, AttributeError):
            return {}

    def save_listing(self, listing: Mapping[str, StoredObject]) -> None:
        """Remember the objects of the store."""
        write_atomically(self.base / _LISTING, json.dumps(listing))

    def pull(self, store: ObjectStore, to_write: bool = False) -> None:
        """Update the folder from the store, except for files that were not sent yet."""
        listing = store.list()
        if MARKER not in listing and (listing or not to_write):
            content = f"other things ({min(listing)!r})" if listing else "none"
            raise StorageError(
                f"{self.url}: expected a store of EpiLENS, found {content}. Check the address; "
                "describe, run and train write stores."
            )
        self._drop_outdated(listing)
        self.save_listing(listing)
        names = [name for name in self.missing() if not name.endswith(ON_DEMAND)]
        _check_room(sum(listing[name].size for name in names))
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(self.fetch, names))
        if not to_write:
            self._check_complete(listing)

    def _drop_outdated(self, listing: Mapping[str, StoredObject]) -> None:
        """Remove files here that were replaced or removed in the store."""
        files, recorded = set(self.names()), set(self._recorded())
        for name in files | recorded:
            version = self.version(name)
            expected = listing[name].version if name in listing else None
            if version != expected or name not in files:
                (self.path / name).unlink(missing_ok=True)
                self._record_path(name).unlink(missing_ok=True)

    def _check_complete(self, listing: Mapping[str, StoredObject]) -> None:
        """Refuse a folder written in one piece of which some files were not sent yet."""
        absent = []
        with suppress(OSError, ValueError, TypeError, AttributeError):
            expected = load_json(self.path / MARKER).get("files") or ()
            absent = [name for name in expected if name not in listing]
        if absent:
            raise StorageError(
                f"{self.url}: expected {absent[0]}, found that its upload was interrupted. Run the "
                "command that wrote it again, on the same computer."
            )

    def missing(self) -> list[str]:
        """Objects of the store that are not here, and were not removed here."""
        return [n for n in self.listing if not (self.path / n).exists() and not self.version(n)]

    def fetch(self, name: str) -> None:
        """Download an object, unless it is here or was removed here."""
        stored, path = self.listing.get(name), self.path / name
        if stored is None or self.version(name):
            return
        with lock_path(path, WAIT_S):
            if not path.exists():
                _check_room(stored.size)
                ObjectStore.at(self.url).get(stored, path)
                self.record(name, stored.version, path.stat())

    def names(self) -> Iterator[str]:
        """Finished files that are here."""
        for parent, folders, names in os.walk(self.path):
            folders[:] = [name for name in folders if not is_leftover(name)]
            for name in names:
                path = Path(parent) / name
                if not is_leftover(name) and path.is_file() and not path.is_symlink():
                    yield path.relative_to(self.path).as_posix()

    def unsent(self) -> list[str]:
        """Files that are not in the store as they are here, in the order to send them."""
        times = {}
        for name in self.names():
            with suppress(OSError):
                about = (self.path / name).stat()
                if self._record(name)[1:] != [about.st_size, about.st_mtime_ns]:
                    times[name] = about.st_mtime_ns
        return sorted(times, key=lambda name: (name != MARKER, times[name], name))

    def removed(self) -> list[str]:
        """Objects whose files were removed here."""
        return [name for name in self._recorded() if not (self.path / name).exists()]

    @property
    def is_unsent(self) -> bool:
        """Whether something here is not in the store."""
        return bool(self.unsent() or self.removed())

    def mark_removed(self, name: str) -> None:
        """Note that an object is to be removed, also if its file is not here."""
        if name in self.listing and not self.version(name):
            self._write_record(name, [self.listing[name].version, -1, -1])

    def version(self, name: str) -> str | None:
        """The version of the object that a file here was, when both were last the same."""
        return self._record(name)[0]

    def record(self, name: str, version: str, about: os.stat_result) -> None:
        """Note that a file with this size and time is this version of its object."""
        self._write_record(name, [version, about.st_size, about.st_mtime_ns])

    def forget(self, name: str) -> None:
        """Note that an object is removed from the store."""
        self._record_path(name).unlink(missing_ok=True)

    def _record(self, name: str) -> list:
        with suppress(OSError, ValueError, TypeError):
            version, size, time_ns = load_json(self._record_path(name))
            return [str(version), size, time_ns]
        return [None, None, None]

    def _write_record(self, name: str, record: list) -> None:
        path = self._record_path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.{threading.get_ident()}")
        partial.write_text(json.dumps(record), encoding="utf-8")
        partial.replace(path)  # without fsync: a record that is lost costs a download

    def _record_path(self, name: str) -> Path:
        return self.base / _VERSIONS / f"{name}.json"

    def _recorded(self) -> list[str]:
        top = self.base / _VERSIONS
        records = (path.relative_to(top).as_posix() for path in top.rglob("*.json"))
        return [name.removesuffix(".json") for name in records]

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        files = (Path(parent) / name for parent, _, names in os.walk(self.base) for name in names)
        return sum(path.lstat().st_size for path in files if path.exists())


@lru_cache(maxsize=8)
def _read_listing(path: Path, _time_ns: int) -> dict[str, StoredObject]:
    listing = load_json(path, _MOST_LISTING)
    return {name: StoredObject(*entry) for name, entry in listing.items()}


def _check_room(size: int) -> None:
    cache = cache_folder().absolute()
    nearest = next(path for path in (cache, *cache.parents) if path.exists())
    if size > (free := shutil.disk_usage(nearest).free):
        raise StorageError(
            f"{cache}: expected room for {size / 1e9:.1f} GB of the store, found {free / 1e9:.1f} "
            "GB. Make room (`epilens cache --clear`), or set EPILENS_CACHE to another folder."
        )


def cached_stores() -> list[RemoteFolder]:
    """What this computer keeps of stores."""
    urls = []
    for about in (cache_folder() / "stores").glob(f"*/{_ABOUT}"):
        with suppress(OSError, ValueError, KeyError, TypeError):
            urls.append(str(load_json(about)["url"]))
    return [RemoteFolder.of(url) for url in sorted(urls)]
