"""Requests to a local server, as a browser or somebody else would send them."""

from __future__ import annotations

import http.client
import json


def send_request(server, path, method="GET", body=None, token=None, **headers):
    """Return response and text; `path` follows the token. Headers that are None are omitted."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=300)
    token = server.token if token is None else token
    connection.putrequest(method, f"/{token}/{path}", skip_host=True)
    sent = {"Host": f"127.0.0.1:{server.port}"} | {
        k.replace("_", "-"): v for k, v in headers.items()
    }
    if body is not None and "Content-Length" not in sent:
        sent["Content-Length"] = str(len(body))
    for name, value in sent.items():
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders()
    if body:
        connection.send(body)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer, content.decode(errors="replace")


def get_json(server, path):
    """Return the JSON answer of a successful request."""
    answer, text = send_request(server, path)
    assert answer.status == 200, text
    return json.loads(text)


def post_json(server, path, tree, **headers):
    """Return status and JSON answer of a change."""
    usual = {"Origin": f"http://127.0.0.1:{server.port}", "Content_Type": "application/json"}
    answer, text = send_request(
        server, path, "POST", json.dumps(tree).encode(), **(usual | headers)
    )
    return answer.status, json.loads(text)
