"""A Dask worker that notes when it begins and ends each piece, and takes too much memory on demand.

For `benchmarks.faults`, by `dask worker --preload`. $EPILENS_WATCHED gets a line for every event;
a file beside it that ends with `.fill` and has the number of the process makes it grow.
"""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

from distributed import Worker, WorkerPlugin

LOG = "EPILENS_WATCHED"
STEP, MOST = 100 * 1024**2, 4 * 1024**3


class Watch(WorkerPlugin):
    """Every begin and end of a piece is a line."""

    def transition(self, key: Any, start: str, finish: str, **kwargs: Any) -> None:
        if finish == "executing":
            note("begin", str(key))
        elif start == "executing" and finish == "memory":
            note("end", str(key))


def note(event: str, key: str) -> None:
    line = json.dumps([time.time(), os.getpid(), event, key]) + "\n"
    # One write of a short line at the end of a file is not mixed with those of other processes.
    with Path(os.environ[LOG]).open("a", encoding="utf-8") as file:
        file.write(line)


def fill_when_asked() -> None:
    asked, held = Path(os.environ[LOG]).with_suffix(".fill"), []
    while True:
        time.sleep(0.1)
        if asked.exists() and asked.read_text() == str(os.getpid()):
            while len(held) * STEP < MOST:
                held.append(b"x" * STEP)
                note("grown", "")
                time.sleep(0.02)
            return


async def dask_setup(worker: Worker) -> None:
    await worker.plugin_add(Watch(), name="watch")
    threading.Thread(target=fill_when_asked, daemon=True).start()
