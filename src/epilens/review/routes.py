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
from epilens.review.reading_export import as_table, as_tree, page_with_readings, write_readings
from epilens.review.readings import SupersededError, initials, judgement_of
from epilens.review.runs import Run
from epilens.review.security import FOREIGN
from epilens.review.server import AbsentError, StaleError, data, markup, page, posted
from epilens.review.service import (
    Bench,
    has_signed,
    told_comparison,
    told_queue,
    told_reading,
    told_readings,
    told_run,
    told_runs,
)

Change = Callable[[Bench, dict[str, Any]], Any]


def bench_routes(bench: Bench) -> list[BaseRoute]:
    """Pages, data, changes and files of the bench."""

    def get(tell: Callable[[Bench, Request], Response]) -> Callable[[Request], Response]:
        return lambda request: tell(bench, request)

    def post(change: Change) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            tree = await posted(request)
            return data(await run_in_threadpool(change, bench, tree))

        return answer

    return [
        Route("/patient", lambda request: page("patient")),
        Route("/api/choices", get(_choices)),
        Route("/api/runs", get(_runs)),
        Route("/api/compare", get(_compare)),
        Route("/api/readings", get(_readings)),
        Route("/api/queue", get(lambda bench, request: data(told_queue(bench)))),
        Route("/run/{code}/{number}.html", get(_page)),
        Route("/export/{code}/{number}/{name}", get(_export)),
        Route("/api/run", post(_start), methods=["POST"]),
        Route("/api/stop", post(_stop), methods=["POST"]),
        Route("/api/reading", post(_read), methods=["POST"]),
        Route("/api/batch", post(_batch), methods=["POST"]),
    ]


def _choices(bench: Bench, request: Request) -> Response:
    # Where a model lies is nobody's business: its id is enough.
    return data([{k: v for k, v in asdict(c).items() if k != "source"} for c in bench.choices])


def _runs(bench: Bench, request: Request) -> Response:
    return data(told_runs(bench, _asked(request, "case")))


def _compare(bench: Bench, request: Request) -> Response:
    code = _asked(request, "case")
    old, new = (bench.run(code, _asked(request, which)) for which in ("old", "new"))
    return data(told_comparison(old, new, bench.shown(code)))


def _readings(bench: Bench, request: Request) -> Response:
    run = bench.run(_asked(request, "case"), _asked(request, "run"))
    reader = request.query_params.get("reader", "")
    return data(told_readings(bench, run, initials(reader) if reader else ""))


def _page(bench: Bench, request: Request) -> Response:
    """The page of a run, in an origin of its own."""
    return markup(_text_of(_of_path(bench, request)), FOREIGN)


_EXPORTS = {
    "readings.json": "application/json",
    "readings.tsv": "text/tab-separated-values",
    "page.html": "text/html",
}


def _export(bench: Bench, request: Request) -> Response:
    """What was signed, as a file to be kept, for those who signed."""
    run, name = _of_path(bench, request), request.path_params["name"]
    readings, contacts = bench.readings(run.asked.patient), run.ranking.names
    if name not in _EXPORTS:
        raise AbsentError(f"export: expected {', '.join(_EXPORTS)}, found another name.")
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
    response = markup(text, FOREIGN)
    response.headers["content-type"] = _EXPORTS[name] + "; charset=utf-8"
    response.headers["content-disposition"] = f'attachment; filename="{saved}"'
    return response


def _start(bench: Bench, tree: dict[str, Any]) -> Any:
    return told_run(bench, bench.start(_word(tree, "case"), tree.get("choice")), {})


def _stop(bench: Bench, tree: dict[str, Any]) -> Any:
    bench.jobs.stop(bench.run(_word(tree, "case"), tree.get("run")))
    return {}


def _read(bench: Bench, tree: dict[str, Any]) -> Any:
    """Save, sign or amend the reading of one reader."""
    run, reader = bench.run(_word(tree, "case"), tree.get("run")), initials(tree.get("reader"))
    base, act, names = tree.get("base"), tree.get("act"), run.ranking.names
    readings = bench.readings(run.asked.patient)
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
        raise StaleError(str(error)) from None
    if act == "sign":
        write_readings(run.page.parent, readings, run.number, names)
    return told_reading(saved)


def _batch(bench: Bench, tree: dict[str, Any]) -> Any:
    if tree.get("act") == "start":
        bench.start_batch(tree.get("choice"))
    elif tree.get("act") == "stop":
        bench.batch.stop()
    else:
        raise DataError("batch: expected to start or to stop, found another word. Reload.")
    return told_queue(bench)


def _of_path(bench: Bench, request: Request) -> Run:
    return bench.run(request.path_params["code"], request.path_params["number"])


def _text_of(run: Run) -> str:
    if run.state.kind != "done" or not run.page.is_file():
        raise AbsentError(f"run {run.number}: expected a page, found none yet.")
    return run.page.read_text(encoding="utf-8")


def _asked(request: Request, name: str) -> str:
    return request.query_params.get(name, "")


def _word(tree: dict[str, Any], name: str) -> str:
    value = tree.get(name)
    if not isinstance(value, str):
        raise DataError(f"request: expected a word for {name}, found none. Reload.")
    return value
