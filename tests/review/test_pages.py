"""`epilens view`: pages and index on loopback, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
from copy import copy
from dataclasses import replace

import pytest
from http_client import send_request
from localized_patients import hostile, usual

from epilens import localize
from epilens.core.errors import DataError
from epilens.report.patient.index_page import index_page, list_reports
from epilens.report.patient.page import write_report
from epilens.review.pages import make_view
from epilens.testing import make_recording


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
def server(folder):
    with make_view(folder) as server:
        yield server


def test_the_index_lists_the_patients_that_have_a_page(server, folder):
    answer, text = send_request(server, "")
    assert answer.status == 200
    assert 'href="sub-Usual.html"' in text
    assert "Research use only" in text
    assert list_reports(folder) == ["sub-Hostile", "sub-Usual"]
    assert "<img" not in text
    assert "&lt;img src=x onerror=alert(1)&gt;1" in text
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


def test_the_index_marks_simulated_patients_and_not_the_others(tmp_path):
    sentence = "Simulated patients: nothing here is clinical evidence."
    cube = hostile().cube.assign_attrs(simulated=True)
    write_report(replace(hostile(), cube=cube, patient="sub-Made"), tmp_path)
    assert index_page(tmp_path).count(sentence) == 1, "all of them"
    write_report(hostile(), tmp_path)
    text = index_page(tmp_path)
    assert sentence not in text
    rows = {name: row for row in text.split("<tr>") for name in ("Made", "Hostile") if name in row}
    assert "simulated patient; " in rows["Made"]
    assert "simulated" not in rows["Hostile"]


def test_the_index_names_a_model_that_was_trained_on_simulated_patients(tmp_path):
    source = copy(hostile().source)
    source.simulated = True
    write_report(replace(hostile(), source=source), tmp_path)
    assert "model trained on simulated patients; " in index_page(tmp_path)
    assert "simulated patient; " not in index_page(tmp_path)


def test_the_index_calls_contacts_as_their_page_does(tmp_path):
    names = [f"EEG LA {i:02d}-Ref" for i in range(1, 8)]
    part = make_recording("sub-Long", fs=128.0, channels=names, ez=2)
    write_report(localize([part], "line-length-change"), tmp_path)
    text = index_page(tmp_path)
    assert "LA01" in text
    assert "-Ref" not in text


def test_a_page_is_served_as_it_is(server, folder):
    answer, text = send_request(server, "sub-Usual.html")
    assert answer.status == 200
    assert text == (folder / "sub-Usual.html").read_text(encoding="utf-8")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"
    head, nothing = send_request(server, "sub-Usual.html", method="HEAD")
    assert (head.status, nothing) == (200, "")


def test_a_page_has_an_origin_of_its_own(server):
    policy = send_request(server, "sub-Usual.html")[0].headers["Content-Security-Policy"]
    assert "sandbox allow-scripts" in policy
    assert "allow-same-origin" not in policy
    assert "default-src 'none'" in policy


@pytest.mark.parametrize(
    "path",
    [
        "secret.txt",
        "../secret.txt",
        "sub-Usual/",
        "sub-Usual/ieeg/sub-Usual_desc-epilens_contacts.tsv",
        "sub-Usual",
        "sub-Link.html",
        "sub-x$.html",
        "%2e%2e/secret.txt",
        "dataset_description.json",
        "/etc/passwd",
        "sub-Usual.html/../secret.txt",
        "static/../pages.py",
        "static/%2e%2e%2fpages.py",
        "static/",
    ],
)
def test_nothing_else_can_be_reached(server, path):
    answer, text = send_request(server, path)
    assert answer.status == 404
    assert "secret" not in text
    assert "import" not in text


def test_a_folder_without_pages_is_refused(tmp_path):
    with pytest.raises(DataError, match="expected a folder with pages that `epilens localize`"):
        make_view(tmp_path)


def test_a_port_in_use_is_reported(folder, server):
    with pytest.raises(DataError, match=f"expected a free port, found {server.port} in use"):
        make_view(folder, server.port)


@pytest.mark.parametrize(
    "damaged",
    ["{", "[]", '"x"', '{"Cautions": [1], "Abstained": true}', "[" * 100_000, b"\xff\xfe"],
)
def test_a_damaged_sidecar_costs_its_own_row_and_no_other(folder, tmp_path, damaged):
    out = tmp_path / "out"
    shutil.copytree(folder, out, symlinks=True)
    sidecar = next((out / "sub-Hostile").rglob("*contacts.json"))
    sidecar.write_bytes(damaged if isinstance(damaged, bytes) else damaged.encode())
    text = index_page(out)
    assert text.count("the table next to this page cannot be read") == 1
    assert "sub-Usual.html" in text


def test_a_sidecar_outside_the_folder_is_not_read(folder, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(folder, out, symlinks=True)
    sidecar = next((out / "sub-Usual").rglob("*contacts.json"))
    outside = tmp_path / "outside.json"
    sidecar.rename(outside)
    sidecar.symlink_to(outside)
    assert index_page(out).count("the table next to this page cannot be read") == 1


def test_serving_starts_quickly():
    code = "import epilens.review.pages, sys; print({'torch', 'mne'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
