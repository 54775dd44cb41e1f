"""`epilens review PATIENT… --out DIR`: view traces, mark, run, read and sign in the browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from epilens.core.glossary import REVIEW_TERMS, explain
from epilens.data.discovery import Case
from epilens.io.locks import lock_folder
from epilens.report.patient.bids_text import DISCLAIMER
from epilens.review.mark_store import MarkStore
from epilens.review.routes import service_routes
from epilens.review.server import LocalServer, json_response, static_page
from epilens.review.service import Service
from epilens.review.session import Session
from epilens.review.traces import trace_routes


def index_routes(session: Session, mark_store: MarkStore) -> list[BaseRoute]:
    """Return the routes of the index: patients, their recordings and marks."""

    def cases(request: Request) -> Response:
        patients = [_case_to_json(case, mark_store) for case in session.cases]
        return json_response({"disclaimer": DISCLAIMER, "cases": patients})

    return [
        Route("/", lambda request: static_page("index")),
        Route("/api/cases", cases),
        Route("/api/glossary", lambda request: json_response(explain(REVIEW_TERMS))),
    ]


def _case_to_json(case: Case, mark_store: MarkStore) -> dict[str, Any]:
    """Return a patient for the index; one whose marks are damaged is listed with the reason."""
    marks, problem = mark_store.read_or_problem(case.code)
    files = [
        {
            "name": file.name,
            "shown": file.shown,
            "there": file.path is not None,
            "ictal": file.ictal,
            "onsets_s": [onset.onset_s for onset in marks.onsets.get(file.name, ())],
        }
        for file in case.files
    ]
    return {"code": case.code, "files": files, "bad": len(marks.bad), "problem": problem}


def make_review(session: Session, port: int = 0) -> LocalServer:
    """Return a server of the whole application, ready to run."""
    mark_store = MarkStore(session)
    service = Service(session, mark_store)
    index, traces = index_routes(session, mark_store), trace_routes(session, mark_store)
    return LocalServer([*index, *traces, *service_routes(service)], port)


def serve(session: Session, port: int, echo: Callable[[str], None]) -> None:
    """Serve until the user stops it; only one process may use the folder at a time."""
    with lock_folder(session.out):
        make_review(session, port).serve(echo)
