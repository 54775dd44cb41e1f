"""Stores that are URLs (`s3://bucket/cubes`, and whatever else fsspec opens): objects, a manifest.

ROOT/.epilens-manifest.json   every file with its size and SHA-256; what it lists is the store
ROOT/objects/SHA256/NAME      contents; an object never changes, so an older manifest stays true
ROOT/.epilens-lock            who writes now, and until when nobody else does

Objects come first and the manifest last: whoever is killed in between leaves the store as it was.
S3 replaces a manifest only if it is still the one that was read: of two writers one is told.
Nothing is believed of a manifest: its names cannot leave a folder, its objects are found by their
digests, and of an object no more is read than the manifest says.
"""

from __future__ import annotations

import errno
import hashlib
import json
import posixpath
import re
import time
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, BinaryIO

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from epilens.core.errors import EpilensError, StorageError, did_you_mean
from epilens.io.atomic import write_bytes_atomically, write_new
from epilens.io.os_errors import explain_os_error

MANIFEST, LOCK, OBJECTS = ".epilens-manifest.json", ".epilens-lock", "objects"
MEMBERS = ".epilens-members"
"""A store in the store of a model: what is trained of it already."""
LEASE_S = 120.0
"""A lock that was not renewed for so long belongs to nobody."""
_FORMAT = 1
_CHUNK = 16 * 1024**2
_MOST_MANIFEST = 256 * 1024**2
_MOST_PLAIN_NAME = 240
_EXTRAS = {"s3": "s3", "s3a": "s3"}
"""Schemes whose package comes with an extra of ours."""
_OPTIONS: dict[str, dict[str, Any]] = {
    "file": {"auto_mkdir": True},
    # Short: a store that does not answer shall be told within half a minute, not in ten.
    "s3": {
        "use_listings_cache": False,
        "config_kwargs": {
            "connect_timeout": 4,
            "read_timeout": 30,
            "retries": {"total_max_attempts": 2},
        },
    },
}
_OFTEN = ("abfs", "file", "gs", "http", "https", "memory", "s3", "sftp")
"""Schemes that are proposed to who misspells one."""
_OTHERWISE = re.compile("FileExistsError|PreconditionFailed|ConditionalRequestConflict|NoSuchKey")
"""What S3 says where a condition does not hold."""
_AGAIN = "then run the same command again: what was finished is kept"


class Entry(BaseModel):
    """A file of a store."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    size: Annotated[int, Field(ge=0, le=2**50, strict=True)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Manifest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    format: int
    files: dict[str, Entry]


Files = Mapping[str, Entry]
"""Files of a store by their names below it."""


@dataclass(frozen=True)
class Store:
    """A store at a URL. What goes wrong with it is one sentence about the URL."""

    url: str
    fs: Any
    root: str

    @classmethod
    def at(cls, url: str) -> Store:
        """Open a URL; nothing is asked of the store yet."""
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
                f"{did_you_mean(scheme, _OFTEN)}"
            ) from None
        return cls(url, fs, str(root).rstrip("/"))

    @property
    def files(self) -> Files | None:
        """What the manifest lists; None: there is none."""
        content = self._read(MANIFEST, _MOST_MANIFEST)
        return None if content is None else read_manifest(content, self.url)

    def _read(self, name: str, most: int = _CHUNK) -> bytes | None:
        return self._piece(f"{self.root}/{name}", 0, most)

    def _piece(self, path: str, start: int, end: int) -> bytes | None:
        """Bytes of an object, fewer where it is shorter; None: it is not there."""
        with self._answered():
            try:
                # A server of the web may send all of it, whatever it was asked for.
                return self.fs.cat_file(path, start=start, end=end)[: end - start]
            except (FileNotFoundError, IsADirectoryError):
                return None
            except OSError as error:
                if "InvalidRange" in repr(error.__cause__):  # it ends before the start
                    return b""
                raise

    def _write(self, name: str, content: bytes) -> None:
        with self._answered():
            if self._local:
                write_bytes_atomically(f"{self.root}/{name}", content)
            else:
                self.fs.pipe_file(f"{self.root}/{name}", content)

    @property
    def _local(self) -> bool:
        return self.url.startswith(("file://", "local://"))

    def check_free(self) -> None:
        """Refuse a place without a manifest in which something else is."""
        with self._answered():
            try:
                names = [posixpath.basename(str(n)) for n in self.fs.ls(self.root, detail=False)]
            except FileNotFoundError:
                return
        if strange := sorted({name for name in names if name} - {MANIFEST, LOCK, OBJECTS, MEMBERS}):
            raise StorageError(
                f"{self.url}: expected nothing, or a store of EpiLENS, found other things in it "
                f"({strange[0]!r}). Nothing is written there: give another address."
            )

    def get(self, name: str, entry: Entry, file: BinaryIO) -> bool:
        """Write the content of a file; False: it is gone, or not as the manifest has it."""
        digest = hashlib.sha256()
        for start in range(0, entry.size, _CHUNK):
            end = min(start + _CHUNK, entry.size)
            piece = self._piece(self._object(name, entry), start, end)
            if not piece:
                return False
            digest.update(piece)
            file.write(piece)
        return digest.hexdigest() == entry.sha256

    def put(self, name: str, entry: Entry, path: Path) -> None:
        """Write an object. It is part of the store when a manifest lists it."""
        with self._answered():
            self.fs.put_file(str(path), self._object(name, entry))

    def _object(self, name: str, entry: Entry) -> str:
        return f"{self.root}/{OBJECTS}/{entry.sha256}/{PurePosixPath(name).name}"

    @property
    def version(self) -> str | None:
        """What tells the manifest from any other; '' without one, None where stores have no such.

        Ask for it before `files`: a manifest that is newer than its version is never overwritten.
        """
        if not self.url.startswith(("s3://", "s3a://")):
            return None
        with self._answered():
            try:
                return str(self.fs.info(f"{self.root}/{MANIFEST}")["ETag"])
            except FileNotFoundError:
                return ""

    def publish(self, files: Files, over: str | None = None) -> str | None:
        """Make these files, whose objects are there, the store; without any, there is none.

        over : the version that is replaced; any other one is left as it is, and that is told. None
        replaces whatever is there. Returns the version of the new manifest.
        """
        if not files:
            self._remove([f"{self.root}/{MANIFEST}"])
            return over and ""
        listed = {name: files[name].model_dump() for name in sorted(files)}
        text = json.dumps({"format": _FORMAT, "files": listed}, indent=0, ensure_ascii=False)
        if over is not None:
            return self._replace(text.encode(), over)
        self._write(MANIFEST, text.encode())
        return None

    def _replace(self, manifest: bytes, over: str) -> str | None:
        """Write the manifest where the one that is there has this version."""
        path = f"{self.root}/{MANIFEST}"
        condition = {"IfMatch": over} if over else {"mode": "create"}
        with self._answered():
            try:
                answer = self.fs.pipe_file(path, manifest, chunksize=_MOST_MANIFEST, **condition)
                return str(answer["ETag"])
            except OSError as error:
                if error.errno == errno.ENOSYS:  # a store that knows no conditions
                    self._write(MANIFEST, manifest)
                    return None
                if not _OTHERWISE.search(f"{error!r} {error.__cause__!r}"):
                    raise
                if self._read(MANIFEST, _MOST_MANIFEST) != manifest:  # else it was sent twice
                    raise self._overtaken() from error
        return self.version

    def _overtaken(self) -> StorageError:
        return StorageError(
            f"{self.url}: expected its manifest as it was read, found that another process of "
            "EpiLENS has written there meanwhile, whose work stays. Run the same command again: "
            "what was finished here is kept."
        )

    def forget(self, old: Files, new: Files) -> None:
        """Remove objects that an old manifest had and the new one has not.

        A store that does not let them be removed keeps them; nobody reads them.
        """
        kept = {self._object(name, entry) for name, entry in new.items()}
        self._remove({self._object(name, entry) for name, entry in old.items()} - kept)

    def sweep(self, files: Files) -> list[str]:
        """Remove objects that the manifest does not have, left by a kill; names that lack theirs.

        Only for who holds the lock. A store that cannot be listed is taken to be whole.
        """
        try:
            found = self.fs.find(f"{self.root}/{OBJECTS}", detail=True)
            sizes = {str(path).lstrip("/"): int(about["size"]) for path, about in found.items()}
        except Exception:
            return []
        objects = {name: self._object(name, entry).lstrip("/") for name, entry in files.items()}
        self._remove(set(sizes) - set(objects.values()))
        return [name for name, path in objects.items() if sizes.get(path) != files[name].size]

    def _remove(self, objects: Iterable[str]) -> None:
        for path in sorted(objects):
            path = f"/{path.lstrip('/')}" if self._local else path
            with suppress(Exception):
                self.fs.rm_file(path)
                if self._local:
                    Path(path).parent.rmdir()

    def hold(self, owner: str) -> None:
        """Be the one who writes, for `LEASE_S` from now; somebody else is not disturbed.

        A lock that `owner` left behind is taken over, and so is one that nobody renewed.
        """
        if not self._create(owner):
            holder, until = self._holder
            if holder not in ("", owner) and until > time.time():
                raise self._in_use(until)
            self.renew(owner)
        if self._holder[0] != owner:  # two were equally fast: the last one has it
            raise self._in_use(self._holder[1])

    def renew(self, owner: str) -> None:
        """Hold it for `LEASE_S` from now."""
        self._write(LOCK, _lock(owner))

    def _create(self, owner: str) -> bool:
        path = f"{self.root}/{LOCK}"
        with self._answered():
            try:
                if self._local:
                    return write_new(path, _lock(owner).decode())
                self.fs.pipe_file(path, _lock(owner), mode="create")
            except Exception:  # stores refuse what is there already in many ways
                if not self._holder[0]:
                    raise
                return False
        return True

    def check_held(self, owner: str) -> None:
        """Refuse to go on when somebody else has taken the lock meanwhile."""
        holder, until = self._holder
        if holder not in ("", owner):
            raise self._in_use(until)

    def release(self, owner: str) -> None:
        """Let others write."""
        with suppress(Exception):  # who cannot be told waits until the lease is over
            if self._holder[0] == owner:
                self.fs.rm_file(f"{self.root}/{LOCK}")

    @property
    def _holder(self) -> tuple[str, float]:
        """Who has the lock, and until when; nobody where there is none that can be read."""
        try:
            lock = json.loads(self._read(LOCK) or b"{}")
            return str(lock["owner"]), float(lock["until"])
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, EpilensError):
                raise
            return "", 0.0

    def _in_use(self, until: float) -> StorageError:
        wait = max(1, round(until - time.time()))
        return StorageError(
            f"{self.url}: expected to be the only one who writes there, found another process of "
            f"EpiLENS. Wait until it has ended; if it was killed, its lock ends in {wait} s."
        )

    @contextmanager
    def _answered(self) -> Generator[None]:
        """What a store says becomes one sentence; its own words may have a key in them."""
        try:
            yield
        except EpilensError:
            raise
        except Exception as error:
            raise StorageError(self._sentence(error)) from error

    def _sentence(self, error: Exception) -> str:
        kind = type(error).__name__
        if "Credential" in kind or "Profile" in kind or "Token" in kind:
            return (
                f"{self.url}: expected credentials in the environment, found none that can be used "
                f"({kind}). Set them as for other programs, e.g. AWS_PROFILE, or AWS_ACCESS_KEY_ID "
                "and AWS_SECRET_ACCESS_KEY."
            )
        if isinstance(error, PermissionError):
            return (
                f"{self.url}: expected a store that lets us in, found that it does not. Check the "
                "credentials in the environment, and what they allow."
            )
        if isinstance(error, FileNotFoundError):
            return (
                f"{self.url}: expected a bucket or folder that is there, found none. Check the "
                "address, or make it."
            )
        if isinstance(error, NotImplementedError):
            return (
                f"{self.url}: expected a store that can be written, found one that can only be "
                "read. Give another address."
            )
        if self._local and (sentence := explain_os_error(error, self.url)):
            return sentence
        return (
            f"{self.url}: expected a store that answers, found none ({kind}). Check the address "
            f"and the network, {_AGAIN}."
        )


def _lock(owner: str) -> bytes:
    return json.dumps({"owner": owner, "until": time.time() + LEASE_S}).encode()


def read_manifest(content: bytes, who: str) -> Files:
    """What a manifest lists, if its names stay in a folder and none is a folder of another."""
    try:
        manifest = _Manifest.model_validate_json(content)
    except ValidationError:
        raise StorageError(
            f"{who}: expected a manifest of EpiLENS ({MANIFEST}), found one that cannot be read. "
            "Write the store again with the command that made it, at another address."
        ) from None
    if manifest.format != _FORMAT:
        raise StorageError(
            f"{who}: expected a manifest of format {_FORMAT}, found {manifest.format}. Use the "
            "version of EpiLENS that wrote it."
        )
    folders = {str(parent) for name in manifest.files for parent in PurePosixPath(name).parents}
    for name in manifest.files:
        if not plain_name(name) or name in folders:
            raise StorageError(
                f"{who}: expected names of files inside the store, found {name[:80]!r} in its "
                "manifest. Nothing of it is read: do not trust this store."
            )
    return manifest.files


def plain_name(name: str) -> bool:
    r"""Whether a name stays in the folder that it is put into, and is none of our hidden ones.

    Examples
    --------
    >>> [plain_name(name) for name in ("traces/sub-01.zarr.zip", "../x", "/x", "a\\b")]
    [True, False, False, False]
    """
    parts = name.split("/")
    if not name.isprintable() or "\\" in name or {"", ".", ".."} & set(parts):
        return False
    return all(len(p.encode()) <= _MOST_PLAIN_NAME and not p.startswith(".epilens-") for p in parts)
