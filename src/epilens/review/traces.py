"""Routes of the trace viewer: recording, screens, overview, annotations, suggestions, marks."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from epilens.core.errors import DataError, EpilensError
from epilens.data.channels.user_choices import CHOICES
from epilens.report.patient.bids_text import DISCLAIMER
from epilens.review.display import MONTAGES, DisplaySettings, Screen, montage_rows, render_screen
from epilens.review.mark_store import MarkStore
from epilens.review.recording_cache import CachedRecording, RecordingCache
from epilens.review.server import json_response, read_json_body, static_page
from epilens.review.session import Session
from epilens.review.signals import OpenFile

_MIN_S, _MAX_S = 0.05, 120.0
_MAX_COLUMNS = 8000
_MAX_EVENTS = 2000


def trace_routes(session: Session, mark_store: MarkStore) -> list[BaseRoute]:
    """Return the routes of the trace viewer."""
    traces = Traces(RecordingCache(session), mark_store)
    prefix = "/api/case/{code}/file/{name}"
    return [
        Route("/trace", lambda request: static_page("trace")),
        Route(f"{prefix}/about", traces.about),
        Route(f"{prefix}/screen", traces.screen),
        Route(f"{prefix}/overview", traces.overview),
        Route(f"{prefix}/events", traces.events),
        Route(f"{prefix}/suggestions", traces.suggestions),
        Route("/api/case/{code}/marks", traces.marks, methods=["GET"]),
        Route("/api/case/{code}/marks", traces.change_marks, methods=["POST"]),
    ]


class Traces:
    """Handlers of the trace viewer."""

    def __init__(self, cache: RecordingCache, mark_store: MarkStore):
        self._cache, self._mark_store = cache, mark_store

    def _opened(self, request: Request) -> CachedRecording:
        return self._cache.get(request.path_params["code"], request.path_params["name"])

    def about(self, request: Request) -> Response:
        """Return rows of each montage, length and rate."""
        opened = self._opened(request).opened
        montages = {montage: _rows_to_json(opened, montage) for montage in MONTAGES}
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
                "reasons": CHOICES,
                "not_shown": opened.not_shown,
                "contacts": list(opened.contacts),
                "rows": {montage: rows for montage, rows in montages.items() if rows},
            }
        )

    def screen(self, request: Request) -> Response:
        """Return an excerpt: a header in JSON, then the values row by row."""
        opened, query = self._opened(request).opened, request.query_params
        montage = query.get("montage", "recorded")
        settings = DisplaySettings(
            montage,
            _hertz(query.get("high", ""), opened.fs),
            _hertz(query.get("low", ""), opened.fs),
            _hertz(query.get("notch", ""), opened.fs),
        )
        columns = round(_number(query.get("columns", "1000"), 16, _MAX_COLUMNS))
        start_s = _number(query.get("start", "0"), 0, opened.length_s)
        seconds = _number(query.get("seconds", "10"), _MIN_S, _MAX_S)
        bad = opened.bad
        if montage == "average":
            bad = bad | set(self._mark_store.read(request.path_params["code"]).bad)
        rows = montage_rows(opened, montage, bad)
        with self._cache.foreground.priority():
            screen = render_screen(opened, rows, settings, (start_s, seconds), columns)
        return _binary_response(_screen_header(screen), screen.values)

    def overview(self, request: Request) -> Response:
        """Return the line length so far, (contact, bucket), in µV/s."""
        overview = self._opened(request).overview
        values = overview.values()
        header = {"share": overview.share, "problem": overview.problem, "buckets": overview.buckets}
        return _binary_response(header | {"rows": len(values)}, values)

    def events(self, request: Request) -> Response:
        """Return annotations; they are shown and not stored."""
        annotations = self._opened(request).opened.events()
        events = sorted(annotations, key=lambda event: event.onset_s)[:_MAX_EVENTS]
        trees = [
            {"onset_s": e.onset_s, "duration_s": e.duration_s, "text": e.text[:200]} for e in events
        ]
        return json_response({"events": trees, "left_off": len(annotations) - len(events)})

    def suggestions(self, request: Request) -> Response:
        """Return the onsets and bad contacts suggested so far."""
        suggestions = self._opened(request).suggestions
        channels = [
            {"channel": hint.channel, "what": hint.what, "words": hint.words}
            for hint in suggestions.channels
        ]
        return json_response(asdict(suggestions) | {"channels": channels})

    def marks(self, request: Request) -> Response:
        """Return the marks of a patient."""
        return json_response(self._mark_store.read(request.path_params["code"]).to_json())

    async def change_marks(self, request: Request) -> Response:
        """Replace the marks of a patient."""
        tree = await read_json_body(request)
        revision = tree.pop("revision", None)
        if not isinstance(revision, int) or isinstance(revision, bool):
            raise EpilensError("marks: expected the revision of the change, found none. Reload.")
        code = request.path_params["code"]
        marks = await run_in_threadpool(self._mark_store.write, code, tree, revision)
        return json_response(marks.to_json())


def _rows_to_json(opened: OpenFile, montage: str) -> dict[str, Any] | None:
    """Return the rows of a montage; None where the contacts do not allow it."""
    try:
        rows = montage_rows(opened, montage)
    except DataError:
        return None
    return {
        "names": list(rows.names),
        "shown": list(rows.shown),
        "shafts": list(rows.shafts),
        "contacts": [list(contacts) for contacts in rows.contacts],
    }


def _screen_header(screen: Screen) -> dict[str, Any]:
    rows, columns = screen.values.shape
    return {
        "start_s": screen.start_s,
        "seconds": screen.seconds,
        "per_column": screen.per_column,
        "rows": rows,
        "columns": columns,
    }


def _binary_response(header: dict[str, Any], values: NDArray[np.float32]) -> Response:
    """Return header length, header and little-endian floats, each aligned to four bytes."""
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 4)
    body = np.ascontiguousarray(values, "<f4").tobytes()
    return Response(
        len(text).to_bytes(4, "little") + text + body, media_type="application/octet-stream"
    )


def _number(text: str, lowest: float, highest: float) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not lowest <= number <= highest:
        raise DataError(f"request: expected {lowest:g} to {highest:g}, found another value.")
    return number


def _hertz(text: str, fs: float) -> float | None:
    """Return a frequency; empty: None."""
    return _number(text, 0.01, fs) if text else None
