"""Objects below a URL (s3, memory, file, … through fsspec): list, get, put, remove.

An object is replaced in one step and only if it still has the version that was read, so that of two
writers one gets an error. Errors of a store become one sentence about the URL. Its own words are
never repeated, because they may contain a key. Nothing in a store is trusted: a name that leaves
the folder that it is downloaded to is refused.
"""

from __future__ import annotations

import errno
import re
import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from epilens.core.errors import EpilensError, StorageError, did_you_mean
from epilens.io.atomic import replace_file
from epilens.io.os_errors import explain_os_error
from epilens.io.safe_read import is_plain_path

_ONE_REQUEST = 90 * 1024**2
"""Objects up to this size are sent in one request, which can carry a condition."""
_EXTRAS = {"s3": "s3", "s3a": "s3"}
"""Extras of this package by the scheme whose package they install."""
_ATOMIC = ("abfs", "abfss", "az", "gcs", "gs", "memory", "s3", "s3a")
"""Schemes whose objects appear complete."""
_OPTIONS: dict[str, dict[str, Any]] = {
    "file": {"auto_mkdir": True},
    # Short timeouts: a store that does not answer is reported within half a minute.
    "s3": {
        "use_listings_cache": False,
        "config_kwargs": {
            "connect_timeout": 4,
            "read_timeout": 30,
            "retries": {"total_max_attempts": 2},
        },
    },
}
_COMMON = ("abfs", "file", "gs", "http", "https", "memory", "s3", "sftp")
"""Schemes that are suggested for a misspelt one."""
_CONFLICT = re.compile("FileExistsError|PreconditionFailed|ConditionalRequestConflict|NoSuchKey")
"""How S3 answers if a condition is not met."""
_VERSION_KEYS = ("ETag", "etag", "md5Hash", "content_md5", "ino", "mtime", "created", "modified")
_RERUN = "then run the same command again: what was finished is kept"


class StoredObject(NamedTuple):
    """Where an object is, how large, and what distinguishes it from earlier versions of it."""

    path: str
    size: int
    version: str


@dataclass(frozen=True)
class ObjectStore:
    """The objects below a URL."""

    url: str
    fs: Any
    root: str

    @classmethod
    def at(cls, url: str) -> ObjectStore:
        """Open a URL; no request is sent yet."""
        from fsspec.core import url_to_fs

        scheme = url.partition("://")[0]
        try:
            fs, root = url_to_fs(url, **_OPTIONS.get(scheme, {}))
        except ImportError:
            extra = f"epilens[{_EXTRAS[scheme]}]" if scheme in _EXTRAS else "it (see fsspec)"
            raise StorageError(
                f"{url}: expected the package that opens {scheme}://, found none. Install {extra}."
            ) from None
        except ValueError:
            raise StorageError(
                f"{url}: expected an address of a kind that fsspec knows, found {scheme}://. "
                f"{did_you_mean(scheme, _COMMON)}"
            ) from None
        return cls(url, fs, str(root).rstrip("/"))

    def list(self) -> dict[str, StoredObject]:
        """All objects by name, without those whose name begins with `.epilens-`."""
        with self._errors():
            entries = self.fs.find(self.root, detail=True)
        names = {str(path)[len(self.root) + 1 :]: entry for path, entry in entries.items()}
        objects = {
            name: StoredObject(f"{self.root}/{name}", int(entry["size"]), _version(entry))
            for name, entry in names.items()
            if entry.get("type") != "directory" and not _is_internal(name)
        }
        self._check_names(objects)
        return objects

    def _check_names(self, objects: Mapping[str, StoredObject]) -> None:
        folders = {str(parent) for name in objects for parent in PurePosixPath(name).parents}
        for name in objects:
            if not is_plain_path(name) or name in folders:
                raise StorageError(
                    f"{self.url}: expected names of files inside the store, found {name[:80]!r}. "
                    "Nothing of it is read: do not trust this store."
                )

    def get(self, stored: StoredObject, path: Path) -> None:
        """Download an object to a local file."""
        with self._errors(), replace_file(path) as hidden:
            try:
                self.fs.get_file(stored.path, str(hidden))
            except FileNotFoundError:
                hidden.write_bytes(b"")
            if (size := hidden.stat().st_size) != stored.size:
                raise StorageError(
                    f"{self.url}: expected {stored.size} bytes of {path.name}, found {size}: the "
                    "object is gone or was replaced. Run the same command again."
                )

    def put(self, name: str, path: Path, replaced: str | None) -> str:
        """Upload a local file in one step and return its version.

        replaced : version of the object that it replaces; None if there must be none. Otherwise
        it is an error, unless the object that is there has the same content.
        """
        target = f"{self.root}/{name}"
        with self._errors():
            try:
                self._put(path, target, replaced)
            except _ConflictError:
                if not self._is_same(path, target):
                    raise StorageError(
                        f"{self.url}: expected {name} as it was read, found that another process "
                        "of EpiLENS has written it meanwhile, whose work stays. Run the same "
                        "command again: what was finished here is kept."
                    ) from None
            return _version(self.fs.info(target))

    def _put(self, path: Path, target: str, replaced: str | None) -> None:
        scheme = self.url.partition("://")[0]
        if scheme in ("s3", "s3a") and (replaced is None or path.stat().st_size < _ONE_REQUEST):
            condition = {"mode": "create"} if replaced is None else {"IfMatch": f'"{replaced}"'}
            try:
                self.fs.put_file(str(path), target, **condition)
                return
            except OSError as error:
                if _CONFLICT.search(f"{error!r} {error.__cause__!r}"):
                    raise _ConflictError from error
                if error.errno != errno.ENOSYS:  # a store without conditions
                    raise
        if self._current(target) != replaced:
            raise _ConflictError
        if scheme in ("file", "local"):
            with replace_file(target) as hidden:
                shutil.copyfile(path, hidden)
        elif scheme in _ATOMIC:
            self.fs.put_file(str(path), target)
        else:
            folder, _, name = target.rpartition("/")
            self.fs.makedirs(folder, exist_ok=True)
            self.fs.put_file(str(path), f"{folder}/.epilens-partial-{name}")
            self.fs.mv(f"{folder}/.epilens-partial-{name}", target)

    def _current(self, target: str) -> str | None:
        try:
            return _version(self.fs.info(target))
        except FileNotFoundError:
            return None

    def _is_same(self, path: Path, target: str) -> bool:
        with suppress(FileNotFoundError):
            return self.fs.info(target)["size"] == path.stat().st_size and (
                self.fs.cat_file(target) == path.read_bytes()
            )
        return False

    def remove(self, name: str) -> None:
        """Remove an object, if it is there."""
        with self._errors(), suppress(FileNotFoundError):
            self.fs.rm_file(f"{self.root}/{name}")

    @contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except EpilensError:
            raise
        except Exception as error:
            raise StorageError(self._explain(error)) from error

    def _explain(self, error: Exception) -> str:
        kind = type(error).__name__
        if re.search("Credential|Profile|Token", kind):
            return (
                f"{self.url}: expected credentials in the environment, found none that can be used "
                f"({kind}). Set them as for other programs, e.g. AWS_PROFILE, or AWS_ACCESS_KEY_ID "
                "and AWS_SECRET_ACCESS_KEY."
            )
        for reason, text in _REASONS.items():
            if isinstance(error, reason):
                return f"{self.url}: expected {text}"
        is_local = self.url.startswith(("file://", "local://"))
        return (is_local and explain_os_error(error, self.url)) or (
            f"{self.url}: expected a store that answers, found none ({kind}). Check the address "
            f"and the network, {_RERUN}."
        )


_REASONS: dict[type[Exception], str] = {
    PermissionError: "permission to use the store, found none. Check the credentials in the "
    "environment, and what they allow.",
    FileNotFoundError: "a bucket or folder that exists, found none. Check the address, or create "
    "it.",
    NotImplementedError: "a store that can be written, found one that can only be read. Give "
    "another address.",
}


class _ConflictError(Exception):
    """An object does not have the version that it should have."""


def _version(entry: Mapping[str, Any]) -> str:
    """What changes whenever an object is replaced."""
    values = [entry[key] for key in _VERSION_KEYS if entry.get(key) is not None]
    numbers = [value.timestamp() if isinstance(value, datetime) else value for value in values]
    return " ".join(str(number).strip('"') for number in numbers) or str(entry["size"])


def _is_internal(name: str) -> bool:
    return any(part.startswith(".epilens-") for part in name.split("/"))
