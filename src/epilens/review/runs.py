"""Runs: analyses of a patient under review, numbered and stored with their inputs.

A run is a folder whose number only one process can create. Its files are complete or absent:
`run.json` (the inputs), `progress.json` (rewritten every second while the process is alive), then
`ranking.json` and the page, or `failed.json`. None of them contains a path or the name of a file,
because these can contain the name of a person.

In this package, and in the files and addresses of the review, "run" always means such an analysis.
An evaluation run is `epilens.evaluation.run.Run`; a run of a BIDS dataset is a recording here.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import Field

import epilens
from epilens.core.errors import DataError
from epilens.data.channels.contacts import short_names
from epilens.data.onsets.onset import Onset
from epilens.io.atomic import json_text, load_json, write_atomically, write_new
from epilens.io.documents import Document
from epilens.localization.run_spec import RunInputs
from epilens.review.comparison import Ranking

STALE_S = 60.0
"""A run without a sign of life for this long was interrupted."""
_UNUSED = "not used"


class RunRecord(Document):
    """Content of `run.json`."""

    folder: None = None
    """Always empty: paths are not stored."""
    number: int
    begun_at: str
    software: str
    inputs: RunInputs = Field(alias="asked")


class RunState(Document):
    """State of a run: content of `progress.json` while it runs, and of `failed.json`."""

    kind: Literal["running", "done", "failed", "interrupted"] = "running"
    note: str = ""
    done: int = 0
    total: int = 0
    problem: str = ""
    """Why the run failed, in one sentence."""


@dataclass(frozen=True)
class ReviewRun:
    """One run of a patient."""

    folder: Path
    record: RunRecord

    @property
    def number(self) -> int:
        """Number of the run, from 1."""
        return self.record.number

    @property
    def inputs(self) -> RunInputs:
        """Inputs of the run."""
        return self.record.inputs

    @property
    def page(self) -> Path:
        """Page of a finished run."""
        return self.folder / "page" / f"{self.inputs.patient}.html"

    @property
    def state(self) -> RunState:
        """State of the run, from its files alone."""
        if (self.folder / "ranking.json").exists():
            return RunState(kind="done")
        failure = RunState.read_or_none(self.folder / "failed.json")
        if failure is not None:
            return failure.model_copy(update={"kind": "failed"})
        path = self.folder / "progress.json"
        progress = RunState.read_or_none(path) or RunState()
        is_alive = _age_s(path if path.exists() else self.folder) < STALE_S
        return progress.model_copy(update={"kind": "running" if is_alive else "interrupted"})

    @property
    def ranking(self) -> Ranking:
        """Ranked contacts of a finished run."""
        try:
            tree = load_json(self.folder / "ranking.json")
        except (OSError, ValueError):
            raise DataError(
                f"run {self.number}: expected a ranking, found none. Run it again."
            ) from None
        return Ranking.from_json(tree, f"ranking of run {self.number}", "Run it again.")

    def fail(self, problem: str) -> None:
        """Store why there is no result; an earlier reason stays."""
        if not (self.folder / "ranking.json").exists():
            state = RunState(kind="failed", problem=problem)
            write_new(self.folder / "failed.json", json_text(state.to_json()))

    def report_progress(self, progress: RunState) -> None:
        """Store the progress, as a sign of life."""
        write_atomically(self.folder / "progress.json", json_text(progress.to_json()))


class PatientRuns:
    """The runs of one patient."""

    def __init__(self, folder: str | Path, patient: str):
        self.folder, self.patient = Path(folder), patient

    def __iter__(self) -> Iterator[ReviewRun]:
        """Iterate over the runs by number."""
        for number in self._numbers():
            run = self._load(number)
            if run is not None:
                yield run

    def __getitem__(self, number: int) -> ReviewRun:
        run = self._load(number)
        if run is None:
            raise DataError(f"{self.patient}: expected one of its runs, found number {number}.")
        return run

    def find_same(self, key: str) -> ReviewRun | None:
        """Return the last run with this key that is finished or running."""
        states = [(run, run.state.kind) for run in self if run.inputs.key == key]
        done = [run for run, kind in states if kind == "done"]
        running = [run for run, kind in states if kind == "running"]
        return (done or running or [None])[-1]

    def begin(self, inputs: RunInputs) -> ReviewRun:
        """Create a run with a number that no other process gets."""
        self.folder.mkdir(parents=True, exist_ok=True)
        number = max(self._numbers(), default=0) + 1
        while not _create(self.folder / f"{number:04d}"):
            number += 1
        record = RunRecord(
            number=number,
            begun_at=datetime.now(UTC).isoformat(timespec="seconds"),
            software=epilens.__version__,
            asked=inputs,
        )
        folder = self.folder / f"{number:04d}"
        write_new(folder / "run.json", json_text(record.to_json()))
        return ReviewRun(folder, record)

    def _numbers(self) -> list[int]:
        paths = self.folder.iterdir() if self.folder.is_dir() else ()
        names = (path.name for path in paths)
        return sorted(int(name) for name in names if len(name) == 4 and name.isdecimal())

    def _load(self, number: object) -> ReviewRun | None:
        """Return a run; None for an unknown number, or one whose process was killed at once."""
        if number not in self._numbers():
            return None
        folder = self.folder / f"{number:04d}"
        try:
            tree = load_json(folder / "run.json")
        except (OSError, ValueError):
            return None
        hint = "Move its folder elsewhere."
        return ReviewRun(folder, RunRecord.from_json(tree, f"{folder / 'run.json'}", hint))


def _create(folder: Path) -> bool:
    try:
        folder.mkdir()
    except FileExistsError:
        return False
    except OSError as error:
        raise DataError(
            f"{folder}: expected a writable folder for a run, found: {error.strerror}. Make room "
            "and run again."
        ) from None
    return True


def _age_s(path: Path) -> float:
    try:
        # A time in the future, from a clock that was wrong, is no sign of life.
        return abs(time.time() - path.stat().st_mtime)
    except OSError:
        return float("inf")


def describe_differences(old: RunInputs, new: RunInputs, titles: Mapping[str, str]) -> list[str]:
    """Describe what differs between the inputs of two runs; `titles` are names for the screen."""
    changes = []
    if (old.choice, old.title) != (new.choice, new.title):
        changes.append(f"ranked by {new.title}, before by {old.title}")
    before = {recording.file: _times(recording.onsets) for recording in old.recordings}
    after = {recording.file: _times(recording.onsets) for recording in new.recordings}
    changes += [
        f"{titles.get(file, file)}: onset {after.get(file, _UNUSED)}, "
        f"before {before.get(file, _UNUSED)}"
        for file in dict.fromkeys((*before, *after))
        if before.get(file) != after.get(file)
    ]
    if old.facts != new.facts:
        changes.append("other electrode positions or another resection were given")
    names = tuple(dict.fromkeys((*old.exclude, *new.exclude)))
    short = dict(zip(names, short_names(names), strict=True))
    changes += [f"{short[name]} is excluded" for name in names if name not in old.exclude]
    changes += [f"{short[name]} is no longer excluded" for name in names if name not in new.exclude]
    return changes


def _times(onsets: Sequence[Onset]) -> str:
    return ", ".join(map(_time, onsets)) or "not marked"


def _time(onset: Onset) -> str:
    uncertainty = "" if onset.uncertainty_s is None else f" ± {onset.uncertainty_s:g} s"
    return f"{onset.onset_s:.3f} s{uncertainty}"
