"""Storage of marks: `review.json` of each patient, and the tables made from it.

`onsets.tsv` of all patients (read by --onsets) and `channels.tsv` of each (read by --exclude) are
replaced together with `review.json`, and written again at the start in case a server was killed in
between. The marks of all patients stay in memory: a change reads and writes one patient's files
only. A damaged `review.json` is reported for its patient and blocks no other.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from epilens.core.errors import DataError, StorageError
from epilens.data.user_files import natural, read_json, read_text
from epilens.io.atomic import json_text, replace_file, write_atomically
from epilens.io.delimited import to_tsv
from epilens.report.patient.bids_text import cell
from epilens.review.errors import ConflictError
from epilens.review.marks import PatientMarks
from epilens.review.session import Session

_ONSETS = ("patient", "run", "onset_s", "uncertainty_s", "type", "first_contacts", "made_from")
_CHANNELS = ("name", "status", "status_description")

FileStamp = tuple[int, int, int]


@dataclass(frozen=True)
class CachedMarks:
    """Marks of a patient as last read, or why they cannot be read."""

    stamp: FileStamp | None
    """Identifies the version of the file; None: no file."""
    marks: PatientMarks
    problem: str = ""


class MarkStore:
    """Marks of all patients of a session."""

    def __init__(self, session: Session):
        self._session, self._lock = session, threading.RLock()
        self._cached: dict[str, CachedMarks] = {}
        # The folder may contain marks of patients who are not part of this session.
        on_disk = {path.parent.name for path in session.out.glob("sub-*/review.json")}
        codes = sorted(on_disk | {case.code for case in session.cases}, key=natural)
        # A patient whose file is damaged keeps the rows of the table.
        previous = _read_rows(self._onset_table)
        self._onset_rows = {code: previous.get(code, "") for code in codes}
        for code in codes:
            cached = self._refresh(code)
            if not cached.problem:
                _write_all(_changed(self._channel_table(code), _channel_text(cached.marks)))
        _write_all(_changed(self._onset_table, _onset_text(self._onset_rows)))

    def read(self, code: str) -> PatientMarks:
        """Return the marks of a patient; a damaged file is an error that names it."""
        marks, problem = self.read_or_problem(code)
        if problem:
            raise DataError(problem)
        return marks

    def read_or_problem(self, code: str) -> tuple[PatientMarks, str]:
        """Return the marks of a patient and why they cannot be read; empty where they can."""
        code = self._session.case(code).code
        with self._lock:
            cached = self._refresh(code)
        return cached.marks, cached.problem

    def write(self, code: str, tree: Mapping[str, Any], revision: int) -> PatientMarks:
        """Replace the marks of a patient and their tables: all of these files, or none."""
        code = self._session.case(code).code
        with self._lock:
            _check_revision(self.read(code).revision, revision)
            changed = {**tree, "revision": revision + 1}
            marks = PatientMarks.from_json(changed, "marks", "Mark it again.")
            rows = self._onset_rows | {code: _onset_rows(code, marks)}
            path = self._review_file(code)
            text = json_text(marks.to_json())
            tables = _changed(self._channel_table(code), _channel_text(marks))
            tables |= _changed(self._onset_table, _onset_text(rows))
            try:
                stamps = _replace_together({path: text} | tables)
            except (OSError, StorageError) as error:
                raise DataError(f"{error} Nothing was saved.") from None
            self._cached[code], self._onset_rows = CachedMarks(stamps[path], marks), rows
            return marks

    @property
    def _onset_table(self) -> Path:
        return self._session.out / "onsets.tsv"

    def _channel_table(self, code: str) -> Path:
        return self._session.out / code / "channels.tsv"

    def _review_file(self, code: str) -> Path:
        return self._session.out / code / "review.json"

    def _refresh(self, code: str) -> CachedMarks:
        """Read the file again only if another process wrote it."""
        path = self._review_file(code)
        stamp = _stamp(path)
        cached = self._cached.get(code)
        if cached is None or cached.stamp != stamp:
            cached = self._cached[code] = _load(code, path, stamp)
            if not cached.problem:
                self._onset_rows[code] = _onset_rows(code, cached.marks)
        return cached


def _check_revision(current: int, revision: int) -> None:
    if revision != current:
        raise ConflictError(
            f"review: expected a change of revision {current}, found one of {revision!r}: another "
            "tab saved first. Reload the page and repeat the change."
        )


def _load(code: str, path: Path, stamp: FileStamp | None) -> CachedMarks:
    if stamp is None:
        return CachedMarks(None, PatientMarks())
    try:
        marks = PatientMarks.from_json(read_json(path), path.name, "Restore the file.")
        if marks.revision < 1:
            raise DataError(f"{path.name}: expected a revision, found none. Restore the file.")
    except DataError as error:
        problem = f"{code}/{error} Or move the file elsewhere to begin again."
        return CachedMarks(stamp, PatientMarks(), problem)
    return CachedMarks(stamp, marks)


def _stamp(path: Path) -> FileStamp | None:
    """Return what changes whenever a file is replaced or edited; None: no file."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def _channel_text(marks: PatientMarks) -> str:
    return _table(_CHANNELS, [(name, "bad", reason) for name, reason in marks.bad.items()])


def _onset_text(rows_by_patient: Mapping[str, str]) -> str:
    return _table(_ONSETS, ()) + "".join(rows_by_patient.values())


def _onset_rows(code: str, marks: PatientMarks) -> str:
    """Return the lines of one patient in `onsets.tsv`."""
    rows = [
        (
            *(code, recording, f"{mark.onset_s:.3f}", _fixed(mark.uncertainty_s)),
            *(mark.type, ", ".join(mark.first), mark.made_from),
        )
        for recording, file in marks.files.items()
        for mark in file.onsets
    ]
    return _table(_ONSETS, rows).partition("\n")[2]


def _fixed(seconds: float | None) -> str | None:
    return None if seconds is None else f"{seconds:.3f}"


def _table(header: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> str:
    return to_tsv(header, [[cell(value) for value in row] for row in rows])


def _read_rows(path: Path) -> dict[str, str]:
    """Return the lines of each patient in an existing `onsets.tsv`."""
    try:
        header, *lines = read_text(path).splitlines(keepends=True)
    except (DataError, ValueError):
        return {}
    rows: dict[str, str] = {}
    for line in lines if header == _table(_ONSETS, ()) else ():
        code = line.partition("\t")[0]
        rows[code] = rows.get(code, "") + line
    return rows


def _changed(path: Path, text: str) -> dict[Path, str]:
    """Return the table if it must be written: an empty one only replaces an existing file."""
    if not path.exists():
        return {path: text} if text.count("\n") > 1 else {}
    return {} if path.is_file() and path.read_bytes() == text.encode("utf-8") else {path: text}


def _write_all(files: Mapping[Path, str]) -> None:
    for path, text in files.items():
        write_atomically(path, text)


def _replace_together(files: Mapping[Path, str]) -> dict[Path, FileStamp | None]:
    """Write all files before the first one gets its name: a full disk changes none of them.

    The first file gets its name last.
    """
    stamps = {}
    with ExitStack() as stack:
        for path, text in files.items():
            hidden = stack.enter_context(replace_file(path))
            hidden.write_bytes(text.encode("utf-8"))
            stamps[path] = _stamp(hidden)
    return stamps
