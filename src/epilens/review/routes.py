"""Routes of the patient pages: run, compare, read and sign, queue and batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from epilens.core.errors import ReadingError
from epilens.io.atomic import json_text
from epilens.review import reading_export
from epilens.review.errors import NotFoundError
from epilens.review.readings import parse_initials
from epilens.review.requests import (
    RELOAD,
    BatchRequest,
    ReadingRequest,
    StartRequest,
    StopRequest,
)
from epilens.review.responses import (
    comparison_to_json,
    queue_to_json,
    reading_to_json,
    readings_to_json,
    run_to_json,
    runs_to_json,
)
from epilens.review.runs import ReviewRun
from epilens.review.security import FOREIGN
from epilens.review.server import html_response, json_response, read_json_body, static_page
from epilens.review.service import Service


def service_routes(service: Service) -> list[BaseRoute]:
    """Return the routes of the patient pages."""

    def get(answer: Callable[[Service, Request], Response]) -> Callable[[Request], Response]:
        return lambda request: answer(service, request)

    def post(change: Callable[[Service, Any], Any]) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            tree = await read_json_body(request)
            return json_response(await run_in_threadpool(change, service, tree))

        return answer

    return [
        Route("/patient", lambda request: static_page("patient")),
        Route("/api/choices", get(_rankers)),
        Route("/api/runs", get(_runs)),
        Route("/api/compare", get(_compare)),
        Route("/api/readings", get(_readings)),
        Route("/api/queue", get(lambda service, request: json_response(queue_to_json(service)))),
        Route("/run/{code}/{number}.html", get(_page)),
        Route("/export/{code}/{number}/{name}", get(_export)),
        Route("/api/run", post(_start), methods=["POST"]),
        Route("/api/stop", post(_stop), methods=["POST"]),
        Route("/api/reading", post(_change_reading), methods=["POST"]),
        Route("/api/batch", post(_change_batch), methods=["POST"]),
    ]


def _rankers(service: Service, request: Request) -> Response:
    """Return methods and models without the folders of the models."""
    trees = [asdict(ranker) for ranker in service.rankers]
    return json_response([{k: v for k, v in tree.items() if k != "source"} for tree in trees])


def _runs(service: Service, request: Request) -> Response:
    return json_response(runs_to_json(service, _parameter(request, "case")))


def _compare(service: Service, request: Request) -> Response:
    code = _parameter(request, "case")
    numbers = (_parameter(request, which) for which in ("old", "new"))
    old, new = (service.shown_run(code, number, _reader(request)) for number in numbers)
    return json_response(comparison_to_json(old, new, service.file_titles(code)))


def _readings(service: Service, request: Request) -> Response:
    run = service.run(_parameter(request, "case"), _parameter(request, "run"))
    return json_response(readings_to_json(service, run, _reader(request)))


def _page(service: Service, request: Request) -> Response:
    """Return the page of a run under a policy that isolates it from the application."""
    return html_response(_read_page(_run_in_path(service, request)), FOREIGN)


_EXPORTS = {
    "readings.json": "application/json",
    "readings.tsv": "text/tab-separated-values",
    "page.html": "text/html",
}


def _export(service: Service, request: Request) -> Response:
    """Return signed readings as a download, to readers who have signed."""
    name = request.path_params["name"]
    if name not in _EXPORTS:
        raise NotFoundError(f"export: expected {', '.join(_EXPORTS)}, found another name.")
    run = _run_in_path(service, request)
    store, contacts = service.readings(run.inputs.patient), run.ranking.names
    if not store.has_signed(parse_initials(_parameter(request, "reader"))):
        raise ReadingError(
            "export: expected the initials of a reader who has signed, found others. Sign your "
            "reading first."
        )
    if name == "readings.json":
        text = json_text(reading_export.to_json(store, run.number, contacts))
    elif name == "readings.tsv":
        text = reading_export.to_table(store, run.number, contacts)
    else:
        text = reading_export.add_to_page(_read_page(run), store, run.number, contacts)
    filename = f"{run.inputs.patient}_run-{run.number}_{name}"
    response = html_response(text, FOREIGN)
    response.headers["content-type"] = _EXPORTS[name] + "; charset=utf-8"
    response.headers["content-disposition"] = f'attachment; filename="{filename}"'
    return response


def _start(service: Service, tree: dict[str, Any]) -> Any:
    request = StartRequest.from_json(tree, "run", RELOAD)
    return run_to_json(service, service.start(request.case, request.choice), {})


def _stop(service: Service, tree: dict[str, Any]) -> Any:
    request = StopRequest.from_json(tree, "run", RELOAD)
    service.processes.stop(service.run(request.case, request.run))
    return {}


def _change_reading(service: Service, tree: dict[str, Any]) -> Any:
    request = ReadingRequest.from_json(tree, "reading", RELOAD, ReadingError)
    return reading_to_json(service.change_reading(request))


def _change_batch(service: Service, tree: dict[str, Any]) -> Any:
    request = BatchRequest.from_json(tree, "batch", RELOAD)
    if request.act == "start":
        service.start_batch(request.choice)
    else:
        service.batch.stop()
    return queue_to_json(service)


def _run_in_path(service: Service, request: Request) -> ReviewRun:
    """Return the run of an address whose results may be sent to the reader."""
    code, number = (request.path_params[which] for which in ("code", "number"))
    return service.shown_run(code, number, _reader(request))


def _read_page(run: ReviewRun) -> str:
    if run.state.kind != "done" or not run.page.is_file():
        raise NotFoundError(
            f"run {run.number}: expected a page, found none yet. Wait until the run is finished."
        )
    return run.page.read_text(encoding="utf-8")


def _reader(request: Request) -> str:
    """Return the initials of who asks; empty: not given."""
    reader = _parameter(request, "reader")
    return parse_initials(reader) if reader else ""


def _parameter(request: Request, name: str) -> str:
    return request.query_params.get(name, "")
