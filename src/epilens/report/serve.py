"""`epilens view DIR`: the pages of many patients on this computer's loopback, with an index.

It answers GET for the index and for the pages that lie in the folder, and nothing else: nothing is
uploaded or listed, no other file can be reached, and a request must name the loopback as its host,
so that no web site can read the pages through the visitor's browser.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any

from epilens.data.sidecars import natural
from epilens.errors import DataError
from epilens.report.derivative import DISCLAIMER
from epilens.report.markup import as_text, policy

LOOPBACK = "127.0.0.1"
_PAGE = re.compile(r"sub-[A-Za-z0-9]{1,40}")


def reports(folder: Path) -> list[str]:
    """Patients that have a page, in natural order; links are not followed."""
    pages = [p.stem for p in folder.glob("sub-*.html") if p.is_file() and not p.is_symlink()]
    return sorted((name for name in pages if _PAGE.fullmatch(name)), key=natural)


class Server(ThreadingHTTPServer):
    """A server of the pages of one folder."""

    def __init__(self, folder: Path, port: int):
        self.folder = folder
        super().__init__((LOOPBACK, port), _Handler)


def make_server(folder: str | Path, port: int = 0) -> Server:
    """A server that is ready to run; port 0 takes a free one."""
    folder = Path(folder)
    if not folder.is_dir() or not reports(folder):
        raise DataError(
            f"{folder}: expected a folder with pages that `epilens localize` wrote (sub-….html), "
            "found none. Give its --out folder."
        )
    try:
        return Server(folder, port)
    except OSError as error:
        raise DataError(
            f"view: expected a free port, found {port} taken ({error.strerror}). Give another "
            "--port."
        ) from None


def view(folder: str | Path, port: int, tell: Callable[[str], None]) -> None:
    """Serve until the user stops it."""
    server = make_server(folder, port)
    tell(f"http://{LOOPBACK}:{server.server_port}/")
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """GET and HEAD of the index and of known pages."""

    server: Server  # ty: ignore
    server_version, sys_version = "EpiLENS", ""

    def do_GET(self) -> None:
        """Answer with the index, a page, or an error."""
        port, folder = self.server.server_port, self.server.folder
        if self.headers.get("Host") not in (f"{LOOPBACK}:{port}", f"localhost:{port}"):
            self._send(HTTPStatus.MISDIRECTED_REQUEST, b"Not this host.\n", "text/plain")
            return
        if self.path == "/":
            text, allowed = index(folder)
            self._send(HTTPStatus.OK, text.encode(), "text/html", allowed)
            return
        name = self.path.removeprefix("/").removesuffix(".html")
        # Only a name from the list becomes a path.
        if self.path == f"/{name}.html" and name in reports(folder):
            self._send(HTTPStatus.OK, (folder / f"{name}.html").read_bytes(), "text/html")
            return
        self._send(HTTPStatus.NOT_FOUND, b"Not here.\n", "text/plain")

    do_HEAD = do_GET

    def _send(self, status: HTTPStatus, content: bytes, kind: str, allowed: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        if allowed:
            self.send_header("Content-Security-Policy", allowed)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: patients' codes do not belong into a terminal's history."""


def index(folder: Path) -> tuple[str, str]:
    """The index as text, and its content security policy."""
    style = (files("epilens.report") / "viewer" / "index.css").read_text(encoding="utf-8")
    rows = "\n".join(_row(folder, name) for name in reports(folder))
    text = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>EpiLENS: localized patients</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>{style}</style></head>
<body><p class="disclaimer">{as_text(DISCLAIMER)}</p>
<main><h1>Localized patients</h1>
<table><thead><tr><th>Patient</th><th>Scores from</th><th>Seizures</th><th>Leading contacts</th>
<th>To know first</th></tr></thead>
<tbody>
{rows}
</tbody></table></main></body></html>
"""
    return text, policy("", style)


def _row(folder: Path, name: str) -> str:
    """A patient in the index, from the sidecar and table beside its page."""
    stem = folder / name / "ieeg" / f"{name}_desc-epilens_contacts"
    try:
        about = json.loads(stem.with_suffix(".json").read_text(encoding="utf-8"))
        lines = stem.with_suffix(".tsv").read_text(encoding="utf-8").splitlines()[1:6]
        leading = ", ".join(line.split("\t")[0] for line in lines)
        cautions = about["Cautions"]
        first = "abstained: " if about["Abstained"] else ""
        cells = [about["Source"]["title"], len(about["Seizures"]), leading]
        cells.append(first + (cautions[0] if cautions else "–"))
    except (OSError, ValueError, KeyError, TypeError):
        cells = ["–", "–", "–", "the table beside this page cannot be read"]
    link = f'<a href="/{as_text(name)}.html">{as_text(name)}</a>'
    return f"<tr><td>{link}</td>" + "".join(f"<td>{as_text(str(c))}</td>" for c in cells) + "</tr>"
