"""`epilens view DIR`: serve the pages of localized patients and their index.

A page in the folder may come from anywhere. It is therefore shown in its own origin: its script can
read neither the index nor another page.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from epilens.core.errors import DataError
from epilens.report.patient.index_page import index_page, list_reports
from epilens.review.security import FOREIGN, OWN
from epilens.review.server import LocalServer, html_response


def page_routes(folder: Path) -> list[BaseRoute]:
    """Return the routes of the index and the pages of a folder."""
    return [
        Route("/", lambda request: html_response(index_page(folder), OWN)),
        Route("/{name}.html", lambda request: show_page(folder, request)),
    ]


def show_page(folder: Path, request: Request) -> Response:
    """Return the page of a patient; only a name in the list becomes a path."""
    name = request.path_params["name"]
    if name not in list_reports(folder):
        raise HTTPException(404)
    return html_response((folder / f"{name}.html").read_text(encoding="utf-8"), FOREIGN)


def make_view(folder: str | Path, port: int = 0) -> LocalServer:
    """Return a server of the pages, ready to run."""
    folder = Path(folder)
    if not folder.is_dir() or not list_reports(folder):
        raise DataError(
            f"{folder}: expected a folder with pages that `epilens localize` wrote (sub-….html), "
            "found none. Give its --out folder."
        )
    return LocalServer(page_routes(folder), port)


def view(folder: str | Path, port: int, echo: Callable[[str], None]) -> None:
    """Serve until the user stops it."""
    make_view(folder, port).serve(echo)
