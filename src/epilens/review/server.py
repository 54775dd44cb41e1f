"""The server on the loopback interface: routes of all parts behind the security checks.

A part is a function that returns routes. Handlers that are plain functions run on threads, so that
a slow one does not block the others.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any, ClassVar

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from epilens.core.console import say
from epilens.core.errors import DataError, EpilensError
from epilens.report.patient.index_page import STYLE
from epilens.review.errors import ConflictError, HiddenError, NotFoundError
from epilens.review.security import LOOPBACK, OWN, RequestLimits, SecurityMiddleware

_STATIC = files("epilens.review") / "static"
_MOST_WAITING = 40
"""Connections whose request has not arrived; the oldest is closed for a new one."""
_REQUEST_S = 10.0
"""Time in which the head of the first request must arrive."""
_KINDS = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".html": "text/html",
    ".svg": "image/svg+xml",
}


def static_page(name: str) -> Response:
    """Return a page of static/ under the policy of our own pages."""
    return html_response((_STATIC / f"{name}.html").read_text(encoding="utf-8"), OWN)


def html_response(text: str, policy: str) -> Response:
    """Return HTML under a content security policy (see `security`)."""
    return Response(text, media_type="text/html", headers={"content-security-policy": policy})


def json_response(tree: Any, status: int = 200) -> Response:
    """Return JSON values as a response."""
    text = json.dumps(tree, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(text, status, media_type="application/json")


async def read_json_body(request: Request) -> dict[str, Any]:
    """Return the JSON object in the body of a request."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise EpilensError("request: expected application/json, found another type. Send JSON.")
    try:
        tree = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise EpilensError("request: expected JSON, found something else. Send JSON.") from None
    if not isinstance(tree, dict):
        raise EpilensError("request: expected a JSON object, found another value. Send an object.")
    return tree


def _static(request: Request) -> Response:
    """Return a script or style of the package; only a name in the list becomes a path."""
    name = request.path_params["name"]
    by_name = {file.name: file for file in (STYLE, *_STATIC.iterdir()) if file.is_file()}
    kind = _KINDS.get("." + name.rpartition(".")[2], "")
    if name not in by_name or not kind:
        raise HTTPException(404)
    return Response(by_name[name].read_bytes(), media_type=kind)


def _bad_input(request: Request, error: Exception) -> Response:
    statuses = {ConflictError: 409, NotFoundError: 404, HiddenError: 403}
    return json_response({"error": str(error)}, statuses.get(type(error), 400))


def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return json_response(
        {
            "error": "This page or file does not exist."
            if error.status_code == 404
            else error.detail
        },
        error.status_code,
    )


def _unexpected_error(request: Request, error: Exception) -> Response:
    # The text of an unexpected error can contain paths and names.
    return json_response({"error": f"Failed unexpectedly ({type(error).__name__})."}, 500)


def application(routes: Sequence[BaseRoute]) -> Starlette:
    """Return an application of routes and static files whose errors are sentences."""
    handlers: dict[Any, Any] = {
        EpilensError: _bad_input,
        HTTPException: _http_error,
        Exception: _unexpected_error,
    }
    static = Route("/static/{name}", _static)
    return Starlette(routes=[*routes, static], exception_handlers=handlers)


class LocalServer:
    """A server on the loopback interface with a secret address.

    Parameters
    ----------
    routes : routes of the application
        Without the token; links in pages are relative.
    port : int
        0 takes a free one.
    """

    def __init__(
        self, routes: Sequence[BaseRoute], port: int = 0, limits: RequestLimits | None = None
    ):
        self._socket = _listen(port)
        self.port = int(self._socket.getsockname()[1])
        self.token = secrets.token_urlsafe(24)
        app = SecurityMiddleware(application(routes), self.port, self.token, limits)
        self._server = uvicorn.Server(_config(app))
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Address of the index."""
        return f"http://{LOOPBACK}:{self.port}/{self.token}/"

    def serve(self, echo: Callable[[str], None]) -> None:
        """Serve until the user stops it; `echo` prints the address after a sentence on stderr."""
        say("Open this address in a browser on this computer (Ctrl-C stops the server):")
        echo(self.url)
        try:
            self._server.run(sockets=[self._socket])
        except KeyboardInterrupt:
            pass
        finally:
            self._socket.close()

    def __enter__(self) -> LocalServer:
        """Serve on a thread."""
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True
        )
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            time.sleep(0.01)
        return self

    def __exit__(self, *error: object) -> None:
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(10)
        self._socket.close()


def _listen(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":  # elsewhere another program could take over the port
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
        listening.listen()  # requests may arrive before the server runs
    except OSError as error:
        listening.close()
        raise DataError(
            f"server: expected a free port, found {port} in use ({error.strerror}). Give another "
            "--port."
        ) from None
    return listening


class _Connection(H11Protocol):
    """A connection that is closed if its request does not arrive in time.

    uvicorn waits without limit for the first request. Connections that send none would use up
    `limit_concurrency`, and the reviewer would be refused.
    """

    _waiting: ClassVar[dict[_Connection, asyncio.TimerHandle]] = {}

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Accept, and close the connection that has waited longest if there are too many."""
        super().connection_made(transport)
        if len(self._waiting) >= _MOST_WAITING:
            oldest = next(iter(self._waiting))
            oldest._end_wait()
            oldest.transport.abort()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._end_wait()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Handle what has arrived; a complete request ends the wait."""
        super().handle_events()
        if self.cycle is not None:
            self._end_wait()

    def _wait(self) -> None:
        self._waiting[self] = self.loop.call_later(_REQUEST_S, self.transport.abort)

    def _end_wait(self) -> None:
        if timer := self._waiting.pop(self, None):
            timer.cancel()


def _config(app: SecurityMiddleware) -> uvicorn.Config:
    """Return the settings; nothing is logged, because addresses contain patient codes."""
    return uvicorn.Config(
        app,
        http=_Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=100,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=3,
        h11_max_incomplete_event_size=16_384,
    )
