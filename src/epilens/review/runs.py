"""Runs: localizations of a patient under review, numbered and kept with all that they were made of.

A number is a folder that one process alone can make. What a run says about itself is in files that
are whole or absent: `run.json` (what was asked), `progress.json` (rewritten each second while it
lives), then `ranking.json` and the page, or `failed.json`. Paths and names of files stay out of it:
they can name a person.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import epilens
from epilens.core.errors import DataError
from epilens.data.contacts import short_names
from epilens.io.atomic import load_json
from epilens.io.outputs import write_atomically, write_new
from epilens.review.comparison import Ranking

STALE_S = 60.0
"""A run that has not said anything for so long has ended without a word."""


@dataclass(frozen=True)
class RecordingOnsets:
    """A recording as it was marked when the run began."""

    file: str
    """As the review calls it; never the file's own name."""
    onsets_s: tuple[float, ...] = ()
    """From the file's start; none: what the file or its dataset says."""


@dataclass(frozen=True)
class RunInputs:
    """What a run was asked for."""

    patient: str
    recordings: tuple[RecordingOnsets, ...]
    exclude: tuple[str, ...] = ()
    choice: str = ""
    title: str = ""
    key: str = ""
    """Digest of all that the result comes from: the same key, the same result."""


@dataclass(frozen=True)
class RunState:
    """How far a run is."""

    kind: str
    """`running`, `done`, `failed` or `interrupted`."""
    note: str = ""
    done: int = 0
    total: int = 0
    problem: str = ""
    """Why it failed, in one sentence."""


@dataclass(frozen=True)
class ReviewRun:
    """One run of a patient."""

    folder: Path
    number: int
    begun_at: str
    software: str
    asked: RunInputs

    @property
    def page(self) -> Path:
        """The page of a run that is done."""
        return self.folder / "page" / f"{self.asked.patient}.html"

    @property
    def state(self) -> RunState:
        """How far it is, from its files alone."""
        if (self.folder / "ranking.json").exists():
            return RunState("done")
        failed = _read(self.folder / "failed.json")
        if failed is not None:
            return RunState("failed", problem=str(failed.get("problem", "")))
        path = self.folder / "progress.json"
        told = _read(path) or {}
        done, total = _whole(told.get("done")), _whole(told.get("total"))
        lives = _age_s(path if path.exists() else self.folder) < STALE_S
        note = str(told.get("note", ""))
        return RunState("running" if lives else "interrupted", note, done, total)

    @property
    def ranking(self) -> Ranking:
        """The ranked contacts of a run that is done."""
        tree = _read(self.folder / "ranking.json")
        if tree is None:
            raise DataError(f"run {self.number}: expected a ranking, found none. Run it again.")
        return Ranking.of(tree, f"run {self.number}")

    @property
    def digest(self) -> str:
        """Digest of the ranking: what a reader signs."""
        return self.ranking.digest

    def fail(self, problem: str) -> None:
        """Keep why there is no result; a reason that is there already stays."""
        if not (self.folder / "ranking.json").exists():
            write_new(self.folder / "failed.json", json.dumps({"problem": problem}) + "\n")

    def tell(self, note: str, done: int, total: int) -> None:
        """Say that it lives, and how far it is."""
        told = {"note": note, "done": done, "total": total}
        write_atomically(self.folder / "progress.json", json.dumps(told) + "\n")


class PatientRuns:
    """The runs of one patient."""

    def __init__(self, folder: str | Path, patient: str):
        self.folder, self.patient = Path(folder), patient

    def __iter__(self) -> Iterator[ReviewRun]:
        """Runs by number."""
        for number in self._numbers():
            run = self._load(number)
            if run is not None:
                yield run

    def __getitem__(self, number: int) -> ReviewRun:
        run = self._load(number)
        if run is None:
            raise DataError(f"{self.patient}: expected one of its runs, found number {number}.")
        return run

    def newest_done(self) -> ReviewRun | None:
        """The last run that has a result."""
        done = [run for run in self if run.state.kind == "done"]
        return done[-1] if done else None

    def same(self, key: str) -> ReviewRun | None:
        """The last run with this key that is done or on its way."""
        alike = [run for run in self if run.asked.key == key]
        kinds = {run.number: run.state.kind for run in alike}
        done = [run for run in alike if kinds[run.number] == "done"]
        alive = [run for run in alike if kinds[run.number] == "running"]
        return (done or alive or [None])[-1]

    def begin(self, asked: RunInputs) -> ReviewRun:
        """A new run; no other process gets its number."""
        self.folder.mkdir(parents=True, exist_ok=True)
        number = max(self._numbers(), default=0) + 1
        while not _made(self.folder / f"{number:04d}"):
            number += 1
        begun_at = datetime.now(UTC).isoformat(timespec="seconds")
        run = ReviewRun(self.folder / f"{number:04d}", number, begun_at, epilens.__version__, asked)
        tree = asdict(run) | {"folder": None}
        write_new(run.folder / "run.json", json.dumps(tree, indent=1, ensure_ascii=False) + "\n")
        return run

    def _numbers(self) -> list[int]:
        places = self.folder.iterdir() if self.folder.is_dir() else ()
        names = (place.name for place in places)
        return sorted(int(name) for name in names if len(name) == 4 and name.isdecimal())

    def _load(self, number: object) -> ReviewRun | None:
        """None where there is no such number, or whoever took it was killed at once."""
        if number not in self._numbers():
            return None
        folder = self.folder / f"{number:04d}"
        tree = _read(folder / "run.json")
        try:
            return None if tree is None else _run_of(tree, folder)
        except (KeyError, TypeError):
            raise DataError(
                f"{folder / 'run.json'}: expected a run, found what cannot be read. Move the "
                "folder elsewhere."
            ) from None


def _run_of(tree: dict[str, Any], folder: Path) -> ReviewRun:
    asked = dict(tree["asked"])
    marked = tuple(
        RecordingOnsets(one["file"], tuple(one["onsets_s"])) for one in asked.pop("recordings")
    )
    exclude = tuple(asked.pop("exclude"))
    asked = RunInputs(recordings=marked, exclude=exclude, **asked)
    return ReviewRun(folder, tree["number"], tree["begun_at"], tree["software"], asked)


def _made(folder: Path) -> bool:
    try:
        folder.mkdir()
    except FileExistsError:
        return False
    except OSError as error:
        raise DataError(
            f"{folder}: expected a place for a run, found: {error.strerror}. Make room, and run "
            "again."
        ) from None
    return True


def _read(path: Path) -> dict[str, Any] | None:
    """The object in a file; None where there is no such file or no such object."""
    try:
        tree = load_json(path)
    except (OSError, ValueError):
        return None
    return tree if isinstance(tree, dict) else None


def _whole(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _age_s(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return float("inf")


def differences(old: RunInputs, new: RunInputs, shown: Mapping[str, str]) -> list[str]:
    """What was asked otherwise, in words; names of files and contacts are the only texts."""
    told = []
    if (old.choice, old.title) != (new.choice, new.title):
        told.append(f"ranked by {new.title}, before by {old.title}")
    before = {one.file: one.onsets_s for one in old.recordings}
    after = {one.file: one.onsets_s for one in new.recordings}
    for file in dict.fromkeys((*before, *after)):
        if before.get(file) != after.get(file):
            told.append(
                f"{shown.get(file, file)}: onset {_times(after.get(file))}, "
                f"before {_times(before.get(file))}"
            )
    names = tuple(dict.fromkeys((*old.exclude, *new.exclude)))
    short = dict(zip(names, short_names(names), strict=True))
    told += [f"{short[name]} is left out" for name in names if name not in old.exclude]
    told += [f"{short[name]} is no longer left out" for name in names if name not in new.exclude]
    return told


def _times(onsets_s: Sequence[float] | None) -> str:
    if onsets_s is None:
        return "not used"
    return ", ".join(f"{onset_s:.3f} s" for onset_s in onsets_s) or "as the file says"
