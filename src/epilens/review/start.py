"""`epilens review PATIENT… --out DIR`: see the traces, mark, run, read and sign in the browser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from epilens.core.errors import EpilensError
from epilens.data.discovery import Case, TraceFile
from epilens.io.locks import lock_folder
from epilens.report.derivative import DISCLAIMER
from epilens.review.marks import FileMarks, MarkStore, PatientMarks
from epilens.review.routes import service_routes
from epilens.review.server import LocalServer, data, page
from epilens.review.service import Service
from epilens.review.session import Session, open_session
from epilens.review.traces import trace_routes


def index_routes(session: Session, book: MarkStore) -> list[BaseRoute]:
    """The index: patients, their recordings, and what is marked."""

    def cases(request: Request) -> Response:
        told = [_told(case, book.marks(case.code)) for case in session.cases]
        return data({"disclaimer": DISCLAIMER, "cases": told})

    return [Route("/", lambda request: page("index")), Route("/api/cases", cases)]


def _told(case: Case, marks: PatientMarks) -> dict[str, Any]:
    files = [_told_file(file, marks.files.get(file.name, FileMarks())) for file in case.files]
    return {"code": case.code, "files": files, "bad": len(marks.bad)}


def _told_file(file: TraceFile, marks: FileMarks) -> dict[str, Any]:
    there, onsets = file.path is not None, [mark.onset_s for mark in marks.onsets]
    told = {"name": file.name, "shown": file.shown, "there": there, "ictal": file.ictal}
    return told | {"onsets_s": onsets}


def make_review(session: Session, port: int = 0) -> LocalServer:
    """A server of the whole application that is ready to run: the routes of its parts."""
    book = MarkStore(session)
    service = Service(session, book)
    routes = [*index_routes(session, book), *trace_routes(session, book), *service_routes(service)]
    return LocalServer(routes, port)


def review(
    cases: Sequence[Case], out: Path, models: Sequence[Path], port: int, tell: Callable[[str], None]
) -> None:
    """Serve until the user stops it; one process at a time has the folder."""
    if find_spec("tsdownsample") is None:
        raise EpilensError(
            "review: expected the package tsdownsample, found none. Install epilens[review]."
        )
    session = open_session(cases, out, models)
    with lock_folder(session.out):
        make_review(session, port).serve(tell)
