"""Routes of the trace viewer: what a recording is, its screens, overview, events, and marks."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from epilens.core.errors import DataError, EpilensError
from epilens.report.derivative import DISCLAIMER
from epilens.review.display import MONTAGES, DisplaySettings, MontageRows, Screen, rows_of, screen
from epilens.review.mark_store import MarkStore
from epilens.review.recording_cache import CachedRecording, RecordingCache
from epilens.review.server import json_response, read_json_body, static_page
from epilens.review.session import Session

_SHORTEST_S, _LONGEST_S = 0.05, 120.0
_MOST_COLUMNS = 8000
_MOST_EVENTS = 2000


def trace_routes(session: Session, mark_store: MarkStore) -> list[BaseRoute]:
    """The viewer of a desk; `book` has the marks."""
    traces = Traces(RecordingCache(session), mark_store)
    here = "/api/case/{code}/file/{name}"
    return [
        Route("/trace", lambda request: static_page("trace")),
        Route(f"{here}/about", traces.about),
        Route(f"{here}/screen", traces.screen),
        Route(f"{here}/overview", traces.overview),
        Route(f"{here}/events", traces.events),
        Route(f"{here}/suggestions", traces.suggestions),
        Route("/api/case/{code}/marks", _get_marks(mark_store), methods=["GET"]),
        Route("/api/case/{code}/marks", _post_marks(mark_store), methods=["POST"]),
    ]


class Traces:
    """What the viewer asks for."""

    def __init__(self, cache: RecordingCache, mark_store: MarkStore):
        self._cache, self._mark_store = cache, mark_store

    def _opened(self, request: Request) -> CachedRecording:
        return self._cache.take(request.path_params["code"], request.path_params["name"])

    def about(self, request: Request) -> Response:
        """Rows of each montage, length, rate."""
        opened = self._opened(request).opened
        rows = {montage: told for montage in MONTAGES if (told := _rows(opened, montage))}
        return json_response(
            {
                "disclaimer": DISCLAIMER,
                "code": request.path_params["code"],
                "name": opened.file.name,
                "shown": opened.file.shown,
                "fs": opened.fs,
                "length_s": opened.length_s,
                "fingerprint": opened.fingerprint,
                "bad": sorted(opened.bad),
                "not_shown": opened.not_shown,
                "contacts": list(opened.contacts),
                "rows": rows,
            }
        )

    def screen(self, request: Request) -> Response:
        """A stretch, decimated: a head in JSON, then the values row by row."""
        opened, query = self._opened(request).opened, request.query_params
        montage = query.get("montage", "recorded")
        look = DisplaySettings(
            montage,
            _hertz(query.get("high", ""), opened.fs),
            _hertz(query.get("low", ""), opened.fs),
            _hertz(query.get("notch", ""), opened.fs),
        )
        columns = round(_number(query.get("columns", "1000"), 16, _MOST_COLUMNS))
        start_s = _number(query.get("start", "0"), 0, opened.length_s)
        seconds = _number(query.get("seconds", "10"), _SHORTEST_S, _LONGEST_S)
        bad = opened.bad
        if montage == "average":
            bad = bad | set(self._mark_store.read(request.path_params["code"]).bad)
        rows = rows_of(opened, montage, bad)
        with self._cache.foreground.first():
            made = screen(opened, rows, look, (start_s, seconds), columns)
        return _bytes(*_screen(made, rows))

    def overview(self, request: Request) -> Response:
        """Line length so far, (contact, bucket), in µV/s."""
        overview = self._opened(request).overview
        values = overview.values()
        head = {"share": overview.share, "problem": overview.problem, "buckets": overview.buckets}
        return _bytes(head | {"rows": len(values)}, values)

    def events(self, request: Request) -> Response:
        """Annotations: shown on the screen, kept nowhere."""
        found = self._opened(request).opened.events()
        events = sorted(found, key=lambda event: event.onset_s)[:_MOST_EVENTS]
        told = [
            {"onset_s": e.onset_s, "duration_s": e.duration_s, "text": e.text[:200]} for e in events
        ]
        return json_response({"events": told, "left_off": len(found) - len(events)})

    def suggestions(self, request: Request) -> Response:
        """Onsets and bad contacts that the signal suggests, so far."""
        told = self._opened(request).suggestions
        onsets = [
            {"onset_s": one.onset_s, "sure": one.sure, "contacts": list(one.contacts)}
            for one in told.onsets
        ]
        channels = [
            {"channel": one.channel, "what": one.what, "words": one.words} for one in told.channels
        ]
        tree = {"onsets": onsets, "channels": channels, "done": told.done}
        return json_response(tree | {"share": told.share, "problem": told.problem})


def _get_marks(mark_store: MarkStore) -> Callable[[Request], Response]:
    return lambda request: json_response(mark_store.read(request.path_params["code"]).to_json())


def _post_marks(mark_store: MarkStore) -> Any:
    async def change(request: Request) -> Response:
        tree = await read_json_body(request)
        revision = tree.pop("revision", None)
        if not isinstance(revision, int) or isinstance(revision, bool):
            raise EpilensError("marks: expected the revision of the change, found none. Reload.")
        code = request.path_params["code"]
        marks = await run_in_threadpool(mark_store.write, code, tree, revision)
        return json_response(marks.to_json())

    return change


def _rows(opened: Any, montage: str) -> dict[str, Any] | None:
    """Names of the rows of a montage; None where the contacts allow none."""
    try:
        rows = rows_of(opened, montage)
    except DataError:
        return None
    return {
        "names": list(rows.names),
        "shown": list(rows.shown),
        "shafts": list(rows.shafts),
        "contacts": [list(contacts) for contacts in rows.contacts],
    }


def _screen(made: Screen, rows: MontageRows) -> tuple[dict[str, Any], NDArray[np.float32]]:
    head = {"start_s": made.start_s, "seconds": made.seconds, "per_column": made.per_column}
    return head | {"rows": len(rows.names), "columns": made.values.shape[1]}, made.values


def _bytes(head: dict[str, Any], values: NDArray[np.float32]) -> Response:
    """Length of the head, the head, then little-endian floats, each at a multiple of four bytes."""
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 4)
    body = np.ascontiguousarray(values, "<f4").tobytes()
    return Response(
        len(text).to_bytes(4, "little") + text + body, media_type="application/octet-stream"
    )


def _number(text: str, least: float, most: float) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not least <= number <= most:
        raise DataError(f"request: expected a number from {least:g} to {most:g}, found another.")
    return number


def _hertz(text: str, fs: float) -> float | None:
    """A frequency; empty: none."""
    return _number(text, 0.01, fs) if text else None
