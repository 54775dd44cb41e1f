"""Checks before every request: who may ask, how much, and how long.

The server listens on the loopback, yet every web site that the user visits can send requests there,
and so can other users of the machine. A request must therefore name the loopback as its host
(else a foreign name could be bent to it), come from one of our own pages or from nowhere, and begin
with a random token that only the printed address contains. Every answer, errors too, forbids the
browser to load anything from elsewhere, to keep it, or to guess its type.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = "127.0.0.1"
_METHODS = ("GET", "HEAD", "POST")
_CLOSED = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
CLOSED = _CLOSED + "sandbox"
"""Policy of data and errors: nothing is executed."""
OWN = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; frame-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""Policy of our own pages: files of this server alone; no script or style in the markup.

No sandbox: one that lets scripts run in their own origin, as ours must, restricts nothing.
"""
FOREIGN = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; "
    "sandbox allow-scripts allow-downloads allow-modals"
)
"""Policy of pages in a folder: their own origin, so that they cannot read other pages."""


@dataclass(frozen=True)
class RequestLimits:
    """Limits of size and time."""

    body_bytes: int = 1_000_000
    body_s: float = 10.0
    """Seconds to wait for each chunk of a body."""
    answer_s: float = 60.0


class SecurityMiddleware:
    """ASGI middleware that checks requests and removes the token from the path."""

    def __init__(self, app: ASGIApp, port: int, token: str, limits: RequestLimits | None = None):
        self.app, self.token, self.limits = app, token, limits or RequestLimits()
        self.hosts = tuple(f"{name}:{port}" for name in (LOOPBACK, "localhost"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse with one sentence."""
        if scope["type"] != "http":
            return
        response = _Response(send)
        try:
            status, why = self._refusal(scope)
            if status:
                await response.refuse(status, why)
                return
            body = _LimitedBody(receive, self.limits)
            inside = dict(scope, path=self._path(scope), root_path="")
            inside["raw_path"] = inside["path"].encode()
            async with asyncio.timeout(self.limits.answer_s):
                await self.app(inside, body.receive, response.send)
        except TimeoutError:
            await response.refuse(503, "The request took too long. Try again.")
        except Exception as error:  # its text can contain paths and names
            await response.refuse(500, f"Failed unexpectedly ({type(error).__name__}).")

    def _refusal(self, scope: Scope) -> tuple[int, str]:
        headers = _headers(scope)
        if headers.get("host") not in self.hosts:
            return 421, "Not this host."
        if scope["method"] not in _METHODS:
            return 405, "Not this method."
        if not self._is_allowed_origin(scope["method"], headers):
            return 403, "Not from there."
        token, slash, _ = scope["path"].removeprefix("/").partition("/")
        if not slash or not secrets.compare_digest(token.encode(), self.token.encode()):
            return 404, "Not here. Use the whole address that the terminal shows."
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or int(length) > self.limits.body_bytes:
            return 413, _too_large(self.limits)
        return 0, ""

    def _is_allowed_origin(self, method: str, headers: Mapping[str, str]) -> bool:
        """Whether the request comes from one of our pages, or from a typed or followed address.

        A sandboxed page of a folder has the origin `null`, which is refused.
        """
        origins = [f"http://{host}" for host in self.hosts]
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        if origin is not None and origin not in origins:
            return False
        if method == "POST":
            return origin is not None and site in ("none", "same-origin")
        followed = headers.get("sec-fetch-mode", "navigate") == "navigate"
        return site in ("none", "same-origin") or followed

    def _path(self, scope: Scope) -> str:
        return scope["path"].removeprefix(f"/{self.token}")


def _headers(scope: Scope) -> dict[str, str]:
    """Return headers by name; a repeated header is joined, so that it equals no allowed value."""
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


def _too_large(limits: RequestLimits) -> str:
    return f"At most {limits.body_bytes} bytes can be sent."


class _LimitedBody:
    """A request body within the limits, whatever its headers state."""

    def __init__(self, receive: Receive, limits: RequestLimits):
        self._receive, self._limits, self._bytes, self._complete = receive, limits, 0, False

    async def receive(self) -> Message:
        if self._complete:  # after the body, only the end of the connection is awaited
            return await self._receive()
        try:
            async with asyncio.timeout(self._limits.body_s):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408, "The request body did not arrive in time.") from None
        self._bytes += len(message.get("body", b""))
        self._complete = not message.get("more_body", False)
        if self._bytes > self._limits.body_bytes:
            raise HTTPException(413, _too_large(self._limits))
        return message


_ALWAYS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


class _Response:
    """A response with the headers that every response has."""

    def __init__(self, send: Send):
        self._send, self._started = send, False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._started = True
            given = {name.decode().lower(): value.decode() for name, value in message["headers"]}
            headers = {"content-security-policy": CLOSED} | given | _ALWAYS
            message["headers"] = [(k.encode(), v.encode()) for k, v in headers.items()]
        await self._send(message)

    async def refuse(self, status: int, why: str) -> None:
        """Send one sentence, unless the response has started."""
        if self._started:
            return
        content = json.dumps({"error": why}).encode()
        head: dict[str, Any] = {"type": "http.response.start", "status": status}
        kind = [(b"content-type", b"application/json"), (b"connection", b"close")]
        size = [(b"content-length", str(len(content)).encode())]
        await self.send(head | {"headers": kind + size})
        await self.send({"type": "http.response.body", "body": content})
