"""A batch: many patients ranked one after another in the background; beginning again resumes.

A patient whose last result comes from the same files, marks, method and code is kept. One that
fails is a row with its reason, and the batch goes on.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from epilens.core.errors import DataError, EpilensError
from epilens.io.atomic import load_json
from epilens.io.outputs import write_atomically
from epilens.review.jobs import RunProcesses
from epilens.review.rankers import Ranker
from epilens.review.run_spec import RunSpec
from epilens.review.runs import PatientRuns, ReviewRun, RunState

_LOOK_S = 0.2


@dataclass(frozen=True)
class Row:
    """What became of a patient."""

    patient: str
    kind: str = "waiting"
    """`waiting`, `running`, `done`, `kept` or `failed`."""
    run: int = 0
    problem: str = ""


@dataclass(frozen=True)
class Work:
    """How a patient's run is made: by whom a batch is told about patients."""

    runs: Callable[[str], PatientRuns]
    order: Callable[[str, Ranker], RunSpec]


class Batch:
    """The batch of a review; one at a time."""

    def __init__(self, path: Path, work: Work, jobs: RunProcesses):
        self._path, self._work, self._jobs = path, work, jobs
        self._lock, self._halt = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None
        self._choice, self._rows = _read(path)

    @property
    def is_running(self) -> bool:
        """Whether patients are worked through now."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def choice(self) -> str:
        """Id of the method or model of the last batch; empty: there was none."""
        return self._choice

    @property
    def rows(self) -> tuple[Row, ...]:
        """Every patient of the last batch."""
        with self._lock:
            return tuple(self._rows.values())

    def start(self, patients: Sequence[str], choice: Ranker) -> None:
        """Begin, or resume: what is there with the same inputs is kept."""
        with self._lock:
            if self.is_running:
                raise DataError("batch: expected none on its way, found one. Stop it first.")
            self._choice, self._rows = choice.id, {code: Row(code) for code in patients}
            self._halt.clear()
            self._thread = threading.Thread(target=self._go, args=(choice,), daemon=True)
            self._save()
            self._thread.start()

    def stop(self) -> None:
        """No further patient; the run that is on its way goes on."""
        self._halt.set()

    def join(self, timeout_s: float | None = None) -> None:
        """Until it is over."""
        if self._thread is not None:
            self._thread.join(timeout_s)

    def _go(self, choice: Ranker) -> None:
        for code in tuple(self._rows):
            if self._halt.is_set():
                return
            try:
                self._set(self._one(code, choice))
            except EpilensError as error:
                self._set(Row(code, "failed", problem=str(error)))
            except Exception as error:  # one patient's defect is not the others'
                why = f"It failed unexpectedly ({type(error).__name__}). Please report it."
                self._set(Row(code, "failed", problem=why))

    def _one(self, code: str, choice: Ranker) -> Row:
        runs, order = self._work.runs(code), self._work.order(code, choice)
        there = runs.find_same(order.inputs.key)
        if there is not None and _end_of(there).kind == "done":
            return Row(code, "kept", there.number)
        while self._jobs.is_full and not self._halt.wait(_LOOK_S):
            pass
        if self._halt.is_set():
            return Row(code)
        run = self._jobs.start(runs, order)
        self._set(Row(code, "running", run.number))
        self._jobs.wait(run)
        state = run.state
        if state.kind == "done":
            return Row(code, "done", run.number)
        why = state.problem or "Its process ended without a word. Run it again."
        return Row(code, "failed", run.number, why)

    def _set(self, row: Row) -> None:
        with self._lock:
            self._rows[row.patient] = row
            self._save()

    def _save(self) -> None:
        rows = [asdict(row) for row in self._rows.values()]
        tree = {"choice": self._choice, "rows": rows}
        write_atomically(self._path, json.dumps(tree, indent=1, ensure_ascii=False) + "\n")


def _end_of(run: ReviewRun) -> RunState:
    """Wait for a run that somebody else may be making."""
    pause = threading.Event()
    while (state := run.state).kind == "running":
        pause.wait(_LOOK_S)
    return state


def _read(path: Path) -> tuple[str, dict[str, Row]]:
    """The last batch as it was left: what ran then is waiting now; nothing, if there was none."""
    try:
        tree: Mapping[str, Any] = load_json(path)
        rows = [Row(**one) for one in tree["rows"]]
        choice = str(tree["choice"])
    except (OSError, ValueError, KeyError, TypeError):
        return "", {}
    left = [Row(row.patient) if row.kind == "running" else row for row in rows]
    return choice, {row.patient: row for row in left}
