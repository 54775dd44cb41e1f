"""Addresses of stores: which of what is given is a URL, and how URLs lie to each other."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from epilens.core.errors import StorageError

_URL = re.compile(r"([a-z][a-z0-9+.-]+):/+(.*)", re.DOTALL)
_WITHOUT_BUCKET = ("file", "local", "memory")
_called: dict[str, str] = {}
"""Folders of this process and the URLs that they stand for."""


def url_of(given: str | Path) -> str:
    """The URL that is given; '' for a path of this machine. A `Path` folds `//` into `/`.

    Examples
    --------
    >>> url_of("s3://bucket/cubes/"), url_of(Path("s3://bucket/cubes")), url_of("runs/a")
    ('s3://bucket/cubes', 's3://bucket/cubes', '')
    """
    match = _URL.fullmatch(str(given))
    if match is None or Path(f"{match[1]}:").exists():
        return ""
    scheme, rest = match[1], match[2].rstrip("/")
    _check_address(scheme, rest)
    return f"{scheme}:///{rest}" if scheme in ("file", "local") else f"{scheme}://{rest}"


def _check_address(scheme: str, rest: str) -> None:
    """Refuse what is no plain address, without repeating it: there may be a password in it."""
    host = rest.partition("/")[0]
    if "@" in host and ":" in host.partition("@")[0]:
        raise StorageError(
            f"{scheme}://…: expected credentials in the environment, found some in the address. "
            "Leave them out of it."
        )
    odd = set(rest) & set("?#\\*[]") or "::" in rest or not rest.isprintable()
    if odd or not rest or {"", ".", ".."} & set(rest.split("/")):
        raise StorageError(
            f"{scheme}://…: expected an address such as {scheme}://bucket/folder, found one with "
            "nothing, empty parts, '..', or signs that no name has. Mend it."
        )


def check_local_path(given: str | Path) -> None:
    """Refuse a URL where a folder or file of this machine is written: `s3:/…` would be one too."""
    if url := url_of(given):
        raise StorageError(
            f"{url}: expected a place on this computer, found a URL. Cubes, runs, models, "
            "reproductions and pages of `localize` can be at a URL; for this, give a folder here."
        )


def below(given: str | Path, name: str) -> str | Path:
    """A folder in what is given, a path or a URL."""
    url = url_of(given)
    return f"{url}/{name}" if url else Path(given) / name


def call_by_url(folder: Path, url: str) -> None:
    """Remember that a folder here stands for a URL, by which people know it."""
    _called[str(folder)] = url


def in_urls(text: str) -> str:
    """A message in which folders of the cache are called by the URLs that they stand for."""
    for folder, url in sorted(_called.items(), key=lambda item: -len(item[0])):
        text = text.replace(folder, url)
    return text


def relative_url(start: str, url: str) -> str:
    """Where a URL is, seen from another of the same bucket; '' of another one.

    Examples
    --------
    >>> relative_url("s3://bucket/runs/a", "s3://bucket/cubes")
    '../../cubes'
    """
    (here, start_parts), (there, parts) = _bucket_and_parts(start), _bucket_and_parts(url)
    if here != there or not here:
        return ""
    return posixpath.relpath("/".join(["", *parts]), "/".join(["", *start_parts]))


def joined_url(start: str, relative: str) -> str:
    """The URL that `relative_url` was made from; '' where it would leave the bucket."""
    scheme, _, rest = start.partition("://")
    path = posixpath.normpath(f"{rest}/{relative}")
    url = f"{scheme}://{path}"
    same = _bucket_and_parts(url)[0] == _bucket_and_parts(start)[0]
    return url if relative and same and ".." not in path.split("/") else ""


def _bucket_and_parts(url: str) -> tuple[str, list[str]]:
    scheme, _, rest = url.partition("://")
    if scheme in _WITHOUT_BUCKET:
        return f"{scheme}://", [part for part in rest.split("/") if part]
    bucket, *parts = rest.split("/")
    return f"{scheme}://{bucket}", parts
