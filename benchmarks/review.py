"""A day of 128 contacts at 2 kHz in the viewer: first screen and scrolling, over the network.

The file has holes but for its first minutes, so it takes little room; it is read like any other.
Times are those of a whole request on a server that also works out overview and suggestions;
processor time is that of one screen alone, which a busy machine does not change.
"""

from __future__ import annotations

import http.client
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import row
from epilens.data.discovery import cases_of
from epilens.review.display import DisplaySettings, montage_rows, render_screen
from epilens.review.session import open_session
from epilens.review.signals import open_file
from epilens.review.start import make_review

HOURS, FS, WRITTEN_S = 24, 2000, 300
NAMES = [f"{shaft}{i}" for shaft in "ABCDEFGHIJKLMNOP" for i in range(1, 9)]
PLAIN = DisplaySettings("recorded", 0.5)
ALL = DisplaySettings("bipolar", 0.5, 70.0, 50.0)


def write_day(path: Path) -> Path:
    """EDF with one record a second; what is not written is zero."""
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


class Asking:
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
        """All that stands between the click and the traces."""
        paths = [f"{self._file}/about", f"{self._case}/marks"]
        return sum(map(self.seconds, paths)) + self.screen(0, 10, PLAIN)

    def screen(self, start_s: float, seconds: float, look: DisplaySettings) -> float:
        asked = f"start={start_s}&seconds={seconds}&columns=1100&montage={look.montage}"
        filters = f"high={look.high_hz or ''}&low={look.low_hz or ''}&notch={look.notch_hz or ''}"
        return self.seconds(f"{self._file}/screen?{asked}&{filters}")


def processor_s(opened: Any, seconds: float, look: DisplaySettings) -> float:
    """Of one screen, on all threads."""
    rows, times = montage_rows(opened, look.montage), []
    for start_s in range(0, 50, 10):
        began = time.process_time()
        render_screen(opened, rows, look, (start_s, seconds), 1100)
        times.append(time.process_time() - began)
    return statistics.median(times)


def measure() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        path = write_day(Path(folder) / "day.edf")
        cases = cases_of([path], "Day")
        opened = open_file(cases[0].files[0])
        alone = {s: (processor_s(opened, s, PLAIN), processor_s(opened, s, ALL)) for s in (10, 60)}
        with make_review(open_session(cases, Path(folder) / "out")) as server:
            asking = Asking(server, cases[0].code, cases[0].files[0].name)
            first = asking.first()
            scroll = statistics.median(asking.screen(10 * i, 10, PLAIN) for i in range(1, 15))
            long = statistics.median(asking.screen(20 * i, 60, ALL) for i in range(1, 8))
    rows = [row("first screen of a day, 128 contacts, 2 kHz", first, "s", most=2.0)]
    rows.append(row("scroll, 10 s, high-pass", scroll, "s", most=0.1))
    rows.append(row("scroll, 60 s, bipolar, all filters", long, "s", most=0.1))
    for s, (plain, filtered) in alone.items():
        rows.append(row(f"processor time of {s} s, high-pass", plain, "s", most=0.1))
        rows.append(row(f"processor time of {s} s, bipolar, all filters", filtered, "s"))
    return rows
