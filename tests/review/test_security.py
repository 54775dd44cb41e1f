"""Who may ask, how much, and how long; and what every answer says."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import time

import pytest
from http_client import post_json, send_request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from epilens.core.errors import DataError
from epilens.review.security import RequestLimits
from epilens.review.server import LocalServer, json_response, read_json_body


async def echo(request):
    return json_response(await read_json_body(request))


def fails(request):
    raise RuntimeError("/home/somebody/secret")


def refuses(request):
    raise DataError("who: expected this, found that. Do so.")


def slow(request):
    time.sleep(3)
    return PlainTextResponse("late")


ROUTES = [
    Route("/", lambda request: PlainTextResponse("index")),
    Route("/echo", echo, methods=["POST"]),
    Route("/fails", fails),
    Route("/refuses", refuses),
    Route("/slow", slow),
]


@pytest.fixture(scope="module")
def server():
    with LocalServer(
        ROUTES, limits=RequestLimits(body_bytes=1000, body_s=1, answer_s=1.5)
    ) as server:
        yield server


def test_the_printed_address_works(server):
    answer, text = send_request(server, "")
    assert (answer.status, text) == (200, "index")
    assert server.url == f"http://127.0.0.1:{server.port}/{server.token}/"


@pytest.mark.parametrize("token", ["", "x", "wrong" * 8, "%00", "static", "%C3%A9", "%ff"])
def test_another_token_finds_nothing(server, token):
    answer, text = send_request(server, "", token=token)
    assert answer.status == 404
    assert "index" not in text


def test_no_token_finds_nothing(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=300)
    connection.request("GET", "/")
    assert connection.getresponse().status == 404


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1", "localhost:1", None, ""]
)
def test_other_hosts_are_refused(server, host):
    answer, text = send_request(server, "", Host=host)
    assert answer.status in (400, 421)
    assert "index" not in text


def test_localhost_is_this_host(server):
    assert send_request(server, "", Host=f"localhost:{server.port}")[0].status == 200


@pytest.mark.parametrize(
    "origin", ["null", "http://evil.example", "http://127.0.0.1:1", "https://localhost"]
)
@pytest.mark.parametrize("path", ["", "echo"])
def test_other_origins_are_refused(server, origin, path):
    method = "POST" if path else "GET"
    assert (
        send_request(server, path, method, b"{}" if path else None, Origin=origin)[0].status == 403
    )


def test_a_change_must_say_where_it_comes_from(server):
    kind = "application/json"
    answer, _ = send_request(server, "echo", "POST", b"{}", Content_Type=kind)
    assert answer.status == 403
    assert post_json(server, "echo", {"a": 1}) == (200, {"a": 1})
    assert post_json(server, "echo", {"a": 1}, Sec_Fetch_Site="cross-site")[0] == 403


def test_what_a_foreign_page_embeds_is_refused(server):
    embedded = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"}
    assert send_request(server, "", **embedded)[0].status == 403
    followed = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    assert send_request(server, "", **followed)[0].status == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"])
def test_other_methods_are_refused(server, method):
    assert send_request(server, "", method)[0].status == 405


@pytest.mark.parametrize(
    ("path", "status"), [("", 200), ("nowhere", 404), ("fails", 500), ("refuses", 400)]
)
def test_every_answer_has_the_headers(server, path, status):
    answer, _ = send_request(server, path)
    assert answer.status == status
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert "server" not in answer.headers
    assert "access-control-allow-origin" not in answer.headers


def test_errors_are_sentences_without_secrets(server):
    assert json.loads(send_request(server, "refuses")[1])["error"].startswith("who: expected this")
    assert send_request(server, "fails")[1] == '{"error":"Failed unexpectedly (RuntimeError)."}'


def test_too_much_is_refused(server):
    status, told = post_json(server, "echo", {"a": "x" * 2000})
    assert status == 413
    assert told["error"] == "At most 1000 bytes can be sent."


def test_too_much_without_a_length_is_refused(server):
    chunk = b"400\r\n" + b"x" * 0x400 + b"\r\n"
    head = (
        f"POST /{server.token}/echo HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        f"Origin: http://127.0.0.1:{server.port}\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port), timeout=300) as connection:
        connection.sendall(head.encode() + chunk)
        assert b" 413 " in connection.recv(4096)


def test_a_body_that_does_not_come_is_not_waited_for(server):
    head = (
        f"POST /{server.token}/echo HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        f"Origin: http://127.0.0.1:{server.port}\r\nContent-Type: application/json\r\n"
        "Content-Length: 10\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port), timeout=300) as connection:
        connection.sendall(head.encode() + b"{")
        assert b" 408 " in connection.recv(4096)


def test_what_takes_too_long_is_given_up(server):
    answer, text = send_request(server, "slow")
    assert (answer.status, json.loads(text)) == (
        503,
        {"error": "The request took too long. Try again."},
    )


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b"[" * 900, b"\xff"])
def test_what_is_no_object_is_refused(server, body):
    own = f"http://127.0.0.1:{server.port}"
    kind = "application/json"
    answer, text = send_request(server, "echo", "POST", body, Origin=own, Content_Type=kind)
    assert answer.status == 400
    assert json.loads(text)["error"].startswith("request: expected")


def test_a_form_cannot_send_a_change(server):
    status, told = post_json(server, "echo", {}, Content_Type="text/plain")
    assert status == 400
    assert "expected application/json" in told["error"]


def test_only_the_loopback_listens(server):
    assert server._socket.getsockname()[0] == "127.0.0.1"


def test_connections_that_send_nothing_do_not_lock_out_the_reviewer(server):
    """Neither silent connections nor ones with half a request, however many."""
    silent = []
    try:
        for i in range(150):
            connection = socket.create_connection(("127.0.0.1", server.port), timeout=300)
            connection.sendall(b"GET /x HTTP/1.1\r\nHost: " if i % 2 else b"")
            silent.append(connection)
        time.sleep(0.2)
        answer, text = send_request(server, "")
        assert (answer.status, text) == (200, "index")
    finally:
        for connection in silent:
            connection.close()


def test_half_a_request_is_closed_in_time(server, monkeypatch):
    monkeypatch.setattr("epilens.review.server._REQUEST_S", 0.3)
    with socket.create_connection(("127.0.0.1", server.port), timeout=300) as connection:
        connection.sendall(b"GET /")
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(100) == b""
