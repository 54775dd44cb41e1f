"""`epilens view`: pages and index on loopback, and nothing else."""

from __future__ import annotations

import http.client
import subprocess
import sys
import threading

import pytest
from localized_patients import hostile, usual

from epilens.errors import DataError
from epilens.report.page import write_report
from epilens.report.serve import index, make_server, reports


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("served") / "out"
    write_report(usual(), out)
    write_report(hostile(), out)
    (out / "secret.txt").write_text("secret")
    (out / "sub-x$.html").write_text("odd name")
    (out / "sub-Link.html").symlink_to(out / "secret.txt")
    return out


@pytest.fixture(scope="module")
def port(folder):
    server = make_server(folder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


def ask(port, path, method="GET", host=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", host or f"127.0.0.1:{port}")
    connection.endheaders()
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer, content.decode(errors="replace")


def test_the_index_lists_the_patients_that_have_a_page(port, folder):
    answer, text = ask(port, "/")
    assert answer.status == 200
    assert 'href="/sub-Usual.html"' in text
    assert "Research use only" in text
    assert reports(folder) == ["sub-Hostile", "sub-Usual"]
    assert "<img" not in text
    assert "&lt;img src=x onerror=alert(1)&gt;1" in text
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


def test_a_page_is_served_as_it_is(port, folder):
    answer, text = ask(port, "/sub-Usual.html")
    assert answer.status == 200
    assert text == (folder / "sub-Usual.html").read_text(encoding="utf-8")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"
    head, nothing = ask(port, "/sub-Usual.html", method="HEAD")
    assert (head.status, nothing) == (200, "")


@pytest.mark.parametrize(
    "path",
    [
        "/secret.txt",
        "/../secret.txt",
        "/sub-Usual/",
        "/sub-Usual/ieeg/sub-Usual_desc-epilens_contacts.tsv",
        "/sub-Usual",
        "/sub-Link.html",
        "/sub-x$.html",
        "/%2e%2e/secret.txt",
        "/dataset_description.json",
        "//etc/passwd",
        "/sub-Usual.html/../secret.txt",
    ],
)
def test_nothing_else_can_be_reached(port, path):
    answer, text = ask(port, path)
    assert answer.status == 404
    assert "secret" not in text


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "localhost:1"])
def test_other_hosts_are_refused(port, host):
    answer, text = ask(port, "/", host=host)
    assert answer.status == 421
    assert "sub-" not in text


def test_localhost_is_this_host(port):
    assert ask(port, "/", host=f"localhost:{port}")[0].status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_can_be_sent(port, method):
    assert ask(port, "/", method=method)[0].status == 501


def test_a_folder_without_pages_is_refused(tmp_path):
    with pytest.raises(DataError, match="expected a folder with pages that `epilens localize`"):
        make_server(tmp_path)


def test_a_taken_port_is_told(folder, port):
    with pytest.raises(DataError, match=f"expected a free port, found {port} taken"):
        make_server(folder, port)


def test_a_damaged_table_is_told(tmp_path):
    write_report(hostile(), tmp_path)
    next(tmp_path.rglob("*contacts.json")).write_text("{")
    assert "the table beside this page cannot be read" in index(tmp_path)[0]


def test_serving_starts_quickly():
    code = "import epilens.report.serve, sys; print({'torch', 'mne'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
