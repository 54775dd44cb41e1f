"""What this machine keeps of stores that are URLs.

CACHE/stores/DIGEST/            one for every URL; CACHE is $EPILENS_CACHE, or epilens in the user's
    about.json                  folder for caches; here the URL, and who writes from this machine
    copy/NAME/  copy.json       the store as it was when it was last read, and digests of its files
    work/NAME/  work.json       while something is written, and after a kill: what is not yet sent
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from epilens.core.errors import StorageError
from epilens.io.atomic import load_json, not_writable_error, replace_file, write_atomically
from epilens.io.locks import lock_path
from epilens.io.os_errors import as_storage_error
from epilens.io.outputs import is_leftover
from epilens.io.remote import Entry, Files, Store
from epilens.io.urls import call_by_url

AT_ONCE = 8
"""Files that are fetched or sent at the same time."""
COPY, WORK = "copy", "work"
_ABOUT = "about.json"
_MOST_NOTE = 256 * 1024**2


def cache_folder() -> Path:
    """Where copies of stores are kept: $EPILENS_CACHE, or epilens in the user's cache folder."""
    if given := os.environ.get("EPILENS_CACHE"):
        return Path(given)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "epilens"


@dataclass
class Folder:
    """Files of a store in a folder here, with what they were when both were last alike."""

    path: Path
    known: dict[str, list] = field(default_factory=dict)
    """Size, time in ns, and SHA-256 by name."""

    @classmethod
    def at(cls, path: Path) -> Folder:
        """A folder with what was noted of it; where the note is damaged, nothing is known."""
        folder = cls(path)
        with suppress(OSError, ValueError, TypeError):
            noted = load_json(folder._note, _MOST_NOTE)
            folder.known = {n: [int(a), int(b), str(c)] for n, (a, b, c) in noted.items()}
        return folder

    @property
    def _note(self) -> Path:
        return self.path.parent.with_suffix(".json")

    def names(self) -> Iterator[str]:
        """Finished files; what is being written has a hidden name."""
        for place, folders, names in os.walk(self.path):
            folders[:] = [name for name in folders if not is_leftover(name)]
            for name in names:
                path = Path(place) / name
                if not is_leftover(name) and path.is_file() and not path.is_symlink():
                    yield path.relative_to(self.path).as_posix()

    def entry(self, name: str) -> Entry | None:
        """Size and digest of a file as it is now; None: it is not there."""
        try:
            about = (self.path / name).stat()
            size, time_ns, digest = self.known.get(name, (0, 0, ""))
            if (about.st_size, about.st_mtime_ns) != (size, time_ns):
                with (self.path / name).open("rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
            return Entry(size=about.st_size, sha256=digest)
        except (OSError, ValueError):
            return None

    def note(self, files: Files) -> None:
        """Remember these files, which are alike here and in the store."""
        self.known = {}
        for name, entry in files.items():
            with suppress(OSError):
                about = (self.path / name).stat()
                self.known[name] = [about.st_size, about.st_mtime_ns, entry.sha256]
        write_atomically(self._note, json.dumps(self.known))

    def take(
        self, store: Store, files: Files, keep: bool = False, beside: Folder | None = None
    ) -> list[str]:
        """Make the folder what the manifest says; returns what is gone or damaged in the store.

        keep : what was finished here and not yet sent stays. beside : another folder of the same
        store, from which files are taken that are the same.
        """
        mine = {name: self.entry(name) for name in self.names()}
        todo = {n: e for n, e in files.items() if e != mine.get(n) and not self._unsent(n, e, keep)}
        for name in mine:
            if name not in files and (not keep or name in self.known):
                (self.path / name).unlink(missing_ok=True)
        self._check_room(sum(entry.size for entry in todo.values()))
        with as_storage_error(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            with ThreadPoolExecutor(AT_ONCE) as pool:
                got = pool.map(lambda n: self._get(n, todo[n], store, beside), todo)
                damaged = [name for name, whole in zip(todo, got, strict=True) if not whole]
        self.note({n: e for n, e in files.items() if n not in damaged and self.entry(n) == e})
        return damaged

    def _unsent(self, name: str, entry: Entry, keep: bool) -> bool:
        """Whether a file was changed here, and not in the store, since both were alike."""
        there = keep and (self.path / name).exists()
        return there and self.known.get(name, ["", "", ""])[2] == entry.sha256

    def _get(self, name: str, entry: Entry, store: Store, beside: Folder | None) -> bool:
        place = self.path / name
        with suppress(_Damaged), replace_file(place) as hidden, hidden.open("wb") as file:
            if beside is not None and beside.entry(name) == entry:
                with (beside.path / name).open("rb") as source:
                    shutil.copyfileobj(source, file)
            elif not store.get(name, entry, file):
                raise _Damaged
            return True
        place.unlink(missing_ok=True)  # what was there is not what is wanted either
        return False

    def _check_room(self, size: int) -> None:
        there = next(p for p in (self.path, *self.path.parents) if p.exists())
        if size > (free := shutil.disk_usage(there).free):
            raise StorageError(
                f"{cache_folder()}: expected room for {size / 1e9:.1f} GB of the store, found "
                f"{free / 1e9:.1f} GB. Make room (`epilens cache --clear`), or set EPILENS_CACHE "
                "to another folder."
            )


class _Damaged(Exception):
    """An object is not what the manifest says."""


@dataclass(frozen=True)
class Place:
    """What this machine has of a URL."""

    base: Path
    url: str
    copy: Folder
    work: Folder

    @classmethod
    def of(cls, url: str) -> Place:
        """The folders of a URL; nobody else on this machine may look into them."""
        digest = hashlib.sha256(url.encode()).hexdigest()[:16]
        base, name = cache_folder().absolute() / "stores" / digest, url.rpartition("/")[2]
        place = cls(base, url, Folder.at(base / COPY / name), Folder.at(base / WORK / name))
        for folder in (base / COPY, base / WORK):
            call_by_url(folder, url)
            call_by_url(folder / name, url)
        return place

    @property
    def owner(self) -> str:
        """By this name the store knows who writes from this machine."""
        try:
            about = load_json(self.base / _ABOUT)
            return str(about["owner"])
        except (OSError, ValueError, KeyError, TypeError):
            about = {"url": self.url, "owner": uuid.uuid4().hex}
            write_atomically(self.base / _ABOUT, json.dumps(about))
            return str(about["owner"])

    @contextmanager
    def alone(self, what: str, wait_s: float = 0.0) -> Generator[None]:
        """Hold the copy, or the folder of work, against other processes of this machine."""
        try:
            self.base.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise not_writable_error(self.base, error) from None
        with lock_path(self.base / what, wait_s):
            self.owner  # noqa: B018  is noted, and so is the URL
            # Whoever held it before has noted more.
            self.copy.known, self.work.known = (
                Folder.at(f.path).known for f in (self.copy, self.work)
            )
            yield

    def fsync_tree(self) -> None:
        """What was sent becomes the copy; nothing is left to be sent."""
        files = {name: entry for name in self.work.names() if (entry := self.work.entry(name))}
        for name in files:
            place = self.copy.path / name
            with as_storage_error(place):
                place.parent.mkdir(parents=True, exist_ok=True)
                (self.work.path / name).replace(place)
        for name in set(self.copy.names()) - set(files):
            (self.copy.path / name).unlink(missing_ok=True)
        self.copy.note(files)
        shutil.rmtree(self.work.path.parent, ignore_errors=True)
        self.work.note({})

    @property
    def unsent(self) -> bool:
        """Whether there is work that the store does not have."""
        return self.work.path.parent.exists()

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        files = (Path(place) / name for place, _, names in os.walk(self.base) for name in names)
        return sum(path.lstat().st_size for path in files if path.exists())


def origin_of(path: str | Path) -> str:
    """The URL that a folder here stands for; '' for any other."""
    path = Path(path).absolute()
    if path.parent.name not in (COPY, WORK):
        return ""
    try:
        about = load_json(path.parent.parent / _ABOUT)
        return str(about["url"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def places() -> list[Place]:
    """What this machine has of all URLs."""
    urls = []
    for about in sorted((cache_folder() / "stores").glob(f"*/{_ABOUT}")):
        with suppress(OSError, ValueError, KeyError, TypeError):
            urls.append(str(load_json(about)["url"]))
    return [Place.of(url) for url in sorted(urls)]


def clear(place: Place, unsent: bool = False) -> bool:
    """Remove what this machine has of a URL; False where it is in use, or not yet sent."""
    if place.unsent and not unsent:
        return False
    try:
        with place.alone(WORK), place.alone(COPY):
            shutil.rmtree(place.base / COPY, ignore_errors=True)
            shutil.rmtree(place.base / WORK, ignore_errors=True)
    except StorageError:
        return False
    shutil.rmtree(place.base, ignore_errors=True)
    return True
