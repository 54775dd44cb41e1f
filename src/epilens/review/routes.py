"""Addresses of the bench: run, compare, read and sign, queue and batch."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from epilens.core.errors import DataError, ReadingError
from epilens.review.errors import ConflictError, NotFoundError
from epilens.review.reading_export import as_table, as_tree, page_with_readings, write_readings
from epilens.review.readings import SupersededError, initials, judgement_of
from epilens.review.runs import ReviewRun
from epilens.review.security import FOREIGN
from epilens.review.server import html_response, json_response, read_json_body, static_page
from epilens.review.service import (
    Service,
    comparison_to_json,
    has_signed,
    queue_to_json,
    reading_to_json,
    readings_to_json,
    run_to_json,
    runs_to_json,
)

Change = Callable[[Service, dict[str, Any]], Any]


def service_routes(service: Service) -> list[BaseRoute]:
    """Pages, data, changes and files of the bench."""

    def get(tell: Callable[[Service, Request], Response]) -> Callable[[Request], Response]:
        return lambda request: tell(service, request)

    def post(change: Change) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            tree = await read_json_body(request)
            return json_response(await run_in_threadpool(change, service, tree))

        return answer

    return [
        Route("/patient", lambda request: static_page("patient")),
        Route("/api/choices", get(_choices)),
        Route("/api/runs", get(_runs)),
        Route("/api/compare", get(_compare)),
        Route("/api/readings", get(_readings)),
        Route("/api/queue", get(lambda service, request: json_response(queue_to_json(service)))),
        Route("/run/{code}/{number}.html", get(_page)),
        Route("/export/{code}/{number}/{name}", get(_export)),
        Route("/api/run", post(_start), methods=["POST"]),
        Route("/api/stop", post(_stop), methods=["POST"]),
        Route("/api/reading", post(_read), methods=["POST"]),
        Route("/api/batch", post(_batch), methods=["POST"]),
    ]


def _choices(service: Service, request: Request) -> Response:
    # Where a model lies is nobody's business: its id is enough.
    return json_response(
        [{k: v for k, v in asdict(c).items() if k != "source"} for c in service.choices]
    )


def _runs(service: Service, request: Request) -> Response:
    return json_response(runs_to_json(service, _asked(request, "case")))


def _compare(service: Service, request: Request) -> Response:
    code = _asked(request, "case")
    old, new = (service.run(code, _asked(request, which)) for which in ("old", "new"))
    return json_response(comparison_to_json(old, new, service.shown(code)))


def _readings(service: Service, request: Request) -> Response:
    run = service.run(_asked(request, "case"), _asked(request, "run"))
    reader = request.query_params.get("reader", "")
    return json_response(readings_to_json(service, run, initials(reader) if reader else ""))


def _page(service: Service, request: Request) -> Response:
    """The page of a run, in an origin of its own."""
    return html_response(_text_of(_of_path(service, request)), FOREIGN)


_EXPORTS = {
    "readings.json": "application/json",
    "readings.tsv": "text/tab-separated-values",
    "page.html": "text/html",
}


def _export(service: Service, request: Request) -> Response:
    """What was signed, as a file to be kept, for those who signed."""
    run, name = _of_path(service, request), request.path_params["name"]
    readings, contacts = service.readings(run.asked.patient), run.ranking.names
    if name not in _EXPORTS:
        raise NotFoundError(f"export: expected {', '.join(_EXPORTS)}, found another name.")
    if not has_signed(readings, initials(_asked(request, "reader"))):
        raise ReadingError(
            "export: expected the initials of a reader who has signed, found others. Sign your "
            "reading first."
        )
    if name == "readings.json":
        tree = as_tree(readings, run.number, contacts)
        text = json.dumps(tree, indent=1, ensure_ascii=False) + "\n"
    elif name == "readings.tsv":
        text = as_table(readings, run.number, contacts)
    else:
        text = page_with_readings(_text_of(run), readings, run.number, contacts)
    saved = f"{run.asked.patient}_run-{run.number}_{name}"
    response = html_response(text, FOREIGN)
    response.headers["content-type"] = _EXPORTS[name] + "; charset=utf-8"
    response.headers["content-disposition"] = f'attachment; filename="{saved}"'
    return response


def _start(service: Service, tree: dict[str, Any]) -> Any:
    return run_to_json(service, service.start(_word(tree, "case"), tree.get("choice")), {})


def _stop(service: Service, tree: dict[str, Any]) -> Any:
    service.jobs.stop(service.run(_word(tree, "case"), tree.get("run")))
    return {}


def _read(service: Service, tree: dict[str, Any]) -> Any:
    """Save, sign or amend the reading of one reader."""
    run, reader = service.run(_word(tree, "case"), tree.get("run")), initials(tree.get("reader"))
    base, act, names = tree.get("base"), tree.get("act"), run.ranking.names
    readings = service.readings(run.asked.patient)
    if not isinstance(base, int) or isinstance(base, bool):
        raise ReadingError("reading: expected the revision that it is made on. Reload.")
    acts: dict[Any, Callable[[], Any]] = {
        "save": lambda: readings.save(reader, judgement_of(tree, run.number, names), base),
        "sign": lambda: readings.sign(
            reader, judgement_of(tree, run.number, names), base, run.digest
        ),
        "amend": lambda: readings.amend(reader, base),
    }
    if not isinstance(act, str) or act not in acts:
        raise ReadingError("reading: expected to save, sign or amend, found another word. Reload.")
    try:
        saved = acts[act]()
    except SupersededError as error:
        raise ConflictError(str(error)) from None
    if act == "sign":
        write_readings(run.page.parent, readings, run.number, names)
    return reading_to_json(saved)


def _batch(service: Service, tree: dict[str, Any]) -> Any:
    if tree.get("act") == "start":
        service.start_batch(tree.get("choice"))
    elif tree.get("act") == "stop":
        service.batch.stop()
    else:
        raise DataError("batch: expected to start or to stop, found another word. Reload.")
    return queue_to_json(service)


def _of_path(service: Service, request: Request) -> ReviewRun:
    return service.run(request.path_params["code"], request.path_params["number"])


def _text_of(run: ReviewRun) -> str:
    if run.state.kind != "done" or not run.page.is_file():
        raise NotFoundError(f"run {run.number}: expected a page, found none yet.")
    return run.page.read_text(encoding="utf-8")


def _asked(request: Request, name: str) -> str:
    return request.query_params.get(name, "")


def _word(tree: dict[str, Any], name: str) -> str:
    value = tree.get(name)
    if not isinstance(value, str):
        raise DataError(f"request: expected a word for {name}, found none. Reload.")
    return value
