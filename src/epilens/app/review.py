"""`epilens review PATIENT… --out DIR`: see the traces, mark onsets and channels, in the browser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from epilens.app.cases import Case, TraceFile, cases_of
from epilens.app.desk import Desk, set_desk, take_alone
from epilens.app.server import LocalServer, data, page
from epilens.report.derivative import DISCLAIMER


def index_routes(desk: Desk) -> list[BaseRoute]:
    """The index: patients and their recordings."""

    def cases(request: Request) -> Response:
        return data({"disclaimer": DISCLAIMER, "cases": [_told(case) for case in desk.cases]})

    return [Route("/", lambda request: page("index")), Route("/api/cases", cases)]


def _told(case: Case) -> dict[str, Any]:
    return {"code": case.code, "files": [_told_file(file) for file in case.files]}


def _told_file(file: TraceFile) -> dict[str, Any]:
    there = file.path is not None
    return {"name": file.name, "shown": file.shown, "there": there, "ictal": file.ictal}


PARTS: tuple[Callable[[Desk], list[BaseRoute]], ...] = (index_routes,)
"""What the application is made of: each part gives its routes for a desk."""


def make_review(desk: Desk, port: int = 0) -> LocalServer:
    """A server of the whole application that is ready to run."""
    return LocalServer([route for part in PARTS for route in part(desk)], port)


def review(
    given: Sequence[Path], out: Path, code: str, port: int, tell: Callable[[str], None]
) -> None:
    """Serve until the user stops it; one process at a time has the folder."""
    desk = set_desk(cases_of(given, code), out)
    with take_alone(desk):
        make_review(desk, port).serve(tell)
