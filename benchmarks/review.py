"""Speed of the review: screens of a day of 128 contacts at 2 kHz, and a click with many patients.

The recording is a sparse file with signal in its first minutes. Times are those of whole requests
to a server that also computes overview and suggestions. Processor time is that of one screen or
click and does not depend on the load of the machine.
"""

from __future__ import annotations

import http.client
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

from benchmarks.timing import row
from epilens.data.discovery import Case, cases_of
from epilens.review.display import DisplaySettings, montage_rows, render_screen
from epilens.review.mark_store import MarkStore
from epilens.review.session import open_session
from epilens.review.signals import open_file
from epilens.review.start import make_review

HOURS, FS, WRITTEN_S = 24, 2000, 300
NAMES = [f"{shaft}{i}" for shaft in "ABCDEFGHIJKLMNOP" for i in range(1, 9)]
PLAIN = DisplaySettings("recorded", 0.5)
ALL = DisplaySettings("bipolar", 0.5, 70.0, 50.0)


def write_day(path: Path) -> Path:
    """Write a sparse EDF file with one record per second."""
    head = _header(HOURS * 3600)
    rng = np.random.default_rng(0)
    with path.open("wb") as file:
        file.write(head)
        for _ in range(WRITTEN_S):
            file.write((500 * rng.standard_normal((len(NAMES), FS))).astype("<i2").tobytes())
        file.truncate(len(head) + HOURS * 3600 * len(NAMES) * FS * 2)
    return path


def _header(records: int) -> bytes:
    n = len(NAMES)
    fixed = [("0", 8), ("X X X X", 80), ("Startdate 01-JAN-1985 X X X", 80), ("01.01.85", 8)]
    fixed += [("00.00.00", 8), (256 * (n + 1), 8), ("", 44), (records, 8), (1, 8), (n, 4)]
    per = [(NAMES, 16), ([""] * n, 80), (["uV"] * n, 8), ([-3276.8] * n, 8), ([3276.7] * n, 8)]
    per += [([-32768] * n, 8), ([32767] * n, 8), ([""] * n, 80), ([FS] * n, 8), ([""] * n, 32)]
    cells = [*fixed, *((value, width) for values, width in per for value in values)]
    return "".join(str(value).ljust(width) for value, width in cells).encode("ascii")


class Client:
    """Requests to one server on one connection."""

    def __init__(self, server: Any, code: str, name: str):
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
        self._case = f"/{server.token}/api/case/{code}"
        self._file = f"{self._case}/file/{name}"

    def seconds(self, path: str) -> float:
        began = time.perf_counter()
        self._connection.request("GET", path)
        answer = self._connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status
        return time.perf_counter() - began

    def first(self) -> float:
        """Everything between the click and the traces."""
        paths = [f"{self._file}/about", f"{self._case}/marks"]
        return sum(map(self.seconds, paths)) + self.screen(0, 10, PLAIN)

    def screen(self, start_s: float, seconds: float, settings: DisplaySettings) -> float:
        query = {"start": start_s, "seconds": seconds, "columns": 1100}
        query |= {"montage": settings.montage, "high": settings.high_hz or ""}
        query |= {"low": settings.low_hz or "", "notch": settings.notch_hz or ""}
        return self.seconds(f"{self._file}/screen?{urlencode(query)}")


def processor_s(opened: Any, seconds: float, settings: DisplaySettings) -> float:
    """Return the median processor time of a screen, over all threads."""
    rows, times = montage_rows(opened, settings.montage), []
    for start_s in range(0, 50, 10):
        began = time.process_time()
        render_screen(opened, rows, settings, (start_s, seconds), 1100)
        times.append(time.process_time() - began)
    return statistics.median(times)


def click_s(folder: Path, patients: int) -> float:
    """Return the median processor time of one mark in a session of so many patients."""
    cases = [Case(f"sub-P{i}", ()) for i in range(patients)]
    session = open_session(cases, folder / str(patients))
    marks = {"files": {"a": {"onsets": [{"onset_s": 60.0}]}}, "bad": {"A1": "by eye"}}
    for case in cases:
        session.folder(case.code).mkdir()
        text = json.dumps({"revision": 1, **marks})
        (session.folder(case.code) / "review.json").write_text(text)
    store, times = MarkStore(session), []
    for i in range(20):
        began = time.process_time()
        store.write("sub-P0", {"files": {"a": {"onsets": [{"onset_s": 60.0 + i}]}}}, 1 + i)
        times.append(time.process_time() - began)
    return statistics.median(times)


def measure() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        path = write_day(Path(folder) / "day.edf")
        cases = cases_of([path], "Day")
        opened = open_file(cases[0].files[0])
        alone = {s: (processor_s(opened, s, PLAIN), processor_s(opened, s, ALL)) for s in (10, 60)}
        with make_review(open_session(cases, Path(folder) / "out")) as server:
            client = Client(server, cases[0].code, cases[0].files[0].name)
            first = client.first()
            scroll = statistics.median(client.screen(10 * i, 10, PLAIN) for i in range(1, 15))
            long = statistics.median(client.screen(20 * i, 60, ALL) for i in range(1, 8))
        one, many = (click_s(Path(folder), patients) for patients in (1, 200))
    rows = [row("first screen of a day, 128 contacts, 2 kHz", first, "s", most=2.0)]
    rows.append(row("scroll, 10 s, high-pass", scroll, "s", most=0.1))
    rows.append(row("scroll, 60 s, bipolar, all filters", long, "s", most=0.1))
    for s, (plain, filtered) in alone.items():
        rows.append(row(f"processor time of {s} s, high-pass", plain, "s", most=0.1))
        rows.append(row(f"processor time of {s} s, bipolar, all filters", filtered, "s"))
    rows.append(
        row("a mark with 200 patients against one, processor time", many / one, "×", most=2.0)
    )
    return rows
