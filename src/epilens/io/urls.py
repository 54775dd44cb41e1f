"""Addresses of stores: which arguments are URLs, and how URLs relate to each other."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from epilens.core.errors import StorageError
from epilens.core.redaction import hide_paths

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(.*)", re.DOTALL)
_SECRET = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+:/+)[^\s@]*@|([?&][\w.-]+=)[^\s&'\"]+")
"""What precedes an @ in an address, and the values of its query: passwords, keys, signatures."""
_NAMES_ONLY = ("abfs", "abfss", "ftp", "hdfs", "sftp", "smb", "ssh")
"""Schemes in which a name before an @, without a password, is part of the address."""
_WITHOUT_BUCKET = ("file", "local", "memory")
_aliases: dict[str, str] = {}
"""URLs by the cache folder that stands for them in this process."""


def url_of(given: str | Path) -> str:
    """Return the normalized URL; '' for a path of this computer. A `Path` folds `//` into `/`.

    Examples
    --------
    >>> url_of("s3://bucket/cubes/"), url_of(Path("s3://bucket/cubes")), url_of("runs/a")
    ('s3://bucket/cubes', 's3://bucket/cubes', '')
    """
    match = _URL.fullmatch(str(given))
    if match is None or Path(f"{match[1]}:").exists():
        return ""
    scheme, rest = match[1].lower(), match[2].rstrip("/")
    _check_address(scheme, rest)
    return f"{scheme}:///{rest}" if scheme in ("file", "local") else f"{scheme}://{rest}"


def _check_address(scheme: str, rest: str) -> None:
    """Refuse an invalid address without repeating it: it may contain a password."""
    before, at, _ = rest.rpartition("@")
    if at and (":" in before or scheme not in _NAMES_ONLY):
        raise StorageError(
            f"{scheme}://…: expected credentials in the environment, found some in the address. "
            "Leave them out of it."
        )
    is_odd = set(rest) & set("?#\\*[]") or "::" in rest or not rest.isprintable()
    if is_odd or not rest or {"", ".", ".."} & set(rest.split("/")):
        raise StorageError(
            f"{scheme}://…: expected an address such as {scheme}://bucket/folder, found one with "
            "nothing, empty parts, '..', or characters that are not allowed. Correct it."
        )


def without_secrets(text: str) -> str:
    """Remove credentials from addresses in a message.

    Examples
    --------
    >>> without_secrets("https://me:pass@host/a.edf?sig=abc: expected a recording")
    'https://…@host/a.edf?sig=… expected a recording'
    """
    return _SECRET.sub(lambda match: f"{match[1]}…@" if match[1] else f"{match[2]}…", text)


def check_local_path(given: str | Path) -> None:
    """Refuse a URL where a local file or folder is written: `s3:/…` would be a valid path too."""
    if url := url_of(given):
        raise StorageError(
            f"{url}: expected a place on this computer, found a URL. Cubes, runs, models, "
            "reproductions and pages of `localize` can be at a URL; for this, give a folder here."
        )


def join(given: str | Path, name: str) -> str | Path:
    """Append a name to a path or a URL."""
    url = url_of(given)
    return f"{url}/{name}" if url else Path(given) / name


def alias(folder: Path, url: str) -> None:
    """Use the URL instead of its cache folder in messages of this process."""
    _aliases[str(folder)] = url


def with_urls(text: str) -> str:
    """Replace cache folders in a message by their URLs."""
    return hide_paths(text, _aliases)


def relative_url(start: str, url: str) -> str:
    """The path from one URL to another of the same bucket; '' for another bucket.

    Examples
    --------
    >>> relative_url("s3://bucket/runs/a", "s3://bucket/cubes")
    '../../cubes'
    """
    (start_bucket, start_parts), (bucket, parts) = _bucket_and_parts(start), _bucket_and_parts(url)
    if bucket != start_bucket or not bucket:
        return ""
    return posixpath.relpath("/".join(["", *parts]), "/".join(["", *start_parts]))


def absolute_url(start: str, relative: str) -> str:
    """The inverse of `relative_url`; '' if the path leaves the bucket."""
    scheme, _, rest = start.partition("://")
    path = posixpath.normpath(f"{rest}/{relative}")
    url = f"{scheme}://{path}"
    is_same = _bucket_and_parts(url)[0] == _bucket_and_parts(start)[0]
    return url if relative and is_same and ".." not in path.split("/") else ""


def _bucket_and_parts(url: str) -> tuple[str, list[str]]:
    scheme, _, rest = url.partition("://")
    if scheme in _WITHOUT_BUCKET:
        return f"{scheme}://", [part for part in rest.split("/") if part]
    bucket, *parts = rest.split("/")
    return f"{scheme}://{bucket}", parts
