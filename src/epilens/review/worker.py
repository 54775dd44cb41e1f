"""The process that makes one run: `python -m epilens.review.worker FOLDER`, the order on stdin.

It ends when whoever started it ends: stdin is a pipe that closes then, also after a kill.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import traceback
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

from epilens.core.errors import EpilensError
from epilens.core.progress import Progress
from epilens.io.outputs import write_atomically
from epilens.review.run_spec import RunSpec
from epilens.review.runs import PatientRuns, ReviewRun

_BEAT_S = 1.0


class _Heartbeat:
    """Says each second how far the run is, so that everybody sees that it lives."""

    def __init__(self, run: ReviewRun):
        self._run, self._over = run, threading.Event()
        self._note, self._done, self._total = "starting", 0, 0
        self.ticks = Progress(self._step, self._expect)

    def _step(self, note: str, steps: int) -> None:
        self._note, self._done = note or self._note, self._done + steps

    def _expect(self, total: int) -> None:
        self._total = total

    def _tell(self) -> None:
        while not self._over.wait(_BEAT_S):
            self._run.tell(self._note, self._done, self._total)

    def __enter__(self) -> _Heartbeat:
        self._run.tell(self._note, 0, 0)
        self._thread = threading.Thread(target=self._tell, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()


def work(run: ReviewRun, order: RunSpec) -> None:
    """Localize and keep the result, or why there is none."""
    try:
        with _Heartbeat(run) as telling:
            _localize(run, order, telling.ticks)
    except EpilensError as error:
        run.fail(order.without_files(str(error)))
    except Exception as error:
        # Its own text may hold words of a recording: what and where is enough.
        at = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__} in {Path(at.filename).name}, line {at.lineno}"
        run.fail(f"The run failed unexpectedly ({what}). Please report it.")


def _localize(run: ReviewRun, order: RunSpec, tick: Progress) -> None:
    tick.expect(1)  # writing; the rest is announced by what does it
    tick("loading", 0)
    from epilens.localization.result import assemble
    from epilens.report.page import write_report
    from epilens.review.comparison import ranking_of

    localized = assemble(order.request(), tick)
    tick("writing", 0)
    write_report(localized, run.page.parent)
    problems = [order.without_files(problem) for problem in localized.problems]
    tree = asdict(ranking_of(localized)) | {"problems": problems}
    # Last: a run with a ranking is done.
    text = json.dumps(tree, indent=1, ensure_ascii=False) + "\n"
    write_atomically(run.folder / "ranking.json", text)
    tick("written", 1)


def _end_with(parent: TextIO, run: ReviewRun) -> None:
    def wait() -> None:
        parent.read()
        with suppress(OSError):
            os.utime(run.folder / "progress.json", (0, 0))  # nobody needs to wait for it
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def main() -> None:
    """Do what the order on stdin says."""
    folder = Path(sys.argv[1])
    order = RunSpec.of(sys.stdin.readline())
    run = PatientRuns(folder.parent, order.asked.patient)[int(folder.name)]
    _end_with(sys.stdin, run)
    work(run, order)


if __name__ == "__main__":
    main()
