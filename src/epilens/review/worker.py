"""Process of one run: `python -m epilens.review.worker FOLDER`, the specification on stdin.

It ends with the process that started it: stdin is a pipe that closes then, also after a kill.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from epilens.core.errors import EpilensError
from epilens.core.progress import Progress
from epilens.core.redaction import describe_defect
from epilens.io.atomic import json_text, write_atomically
from epilens.localization.run_spec import RunSpec
from epilens.review.runs import PatientRuns, ReviewRun, RunState

_HEARTBEAT_S = 1.0


class _Heartbeat:
    """Stores the progress of a run every second, as a sign of life."""

    def __init__(self, run: ReviewRun):
        self._run, self._ended = run, threading.Event()
        self._note, self._done, self._total = "starting", 0, 0
        self.progress = Progress(self._step, self._expect)

    def _step(self, note: str, steps: int) -> None:
        self._note, self._done = note or self._note, self._done + steps

    def _expect(self, total: int) -> None:
        self._total = total

    def _store(self) -> None:
        progress = RunState(note=self._note, done=self._done, total=self._total)
        self._run.report_progress(progress)

    def _beat(self) -> None:
        while not self._ended.wait(_HEARTBEAT_S):
            self._store()

    def __enter__(self) -> _Heartbeat:
        self._store()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()


def work(run: ReviewRun, spec: RunSpec) -> None:
    """Localize, and store the result or the reason of the failure."""
    try:
        with _Heartbeat(run) as heartbeat:
            _localize(run, spec, heartbeat.progress)
    except EpilensError as error:
        run.fail(spec.hide_files(str(error)))
    except Exception as error:
        run.fail(f"The run failed unexpectedly ({describe_defect(error)}). Please report it.")


def _localize(run: ReviewRun, spec: RunSpec, tick: Progress) -> None:
    tick.expect(1)  # for writing; the analysis announces its own steps
    tick("loading", 0)
    from epilens.localization.result import assemble
    from epilens.report.patient.page import write_report
    from epilens.review.comparison import ranking_of

    localized = assemble(spec.request(), tick)
    tick("writing", 0)
    write_report(localized, run.page.parent)
    problems = tuple(spec.hide_files(problem) for problem in localized.problems)
    ranking = ranking_of(localized).model_copy(update={"problems": problems})
    # Last, because a run with a ranking is finished.
    write_atomically(run.folder / "ranking.json", json_text(ranking.to_json()))
    tick("written", 1)


def _end_with(parent: TextIO, run: ReviewRun) -> None:
    def wait() -> None:
        parent.read()
        with suppress(OSError):
            os.utime(run.folder / "progress.json", (0, 0))  # shown as interrupted at once
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def main() -> None:
    """Compute the run that the specification on stdin describes."""
    folder = Path(sys.argv[1])
    spec = RunSpec.model_validate(json.loads(sys.stdin.readline()))
    run = PatientRuns(folder.parent, spec.inputs.patient)[int(folder.name)]
    _end_with(sys.stdin, run)
    work(run, spec)


if __name__ == "__main__":
    main()
