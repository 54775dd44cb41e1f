"""What a person marks: onsets with how sure, of which type, which contacts began; bad contacts.

`review.json` of a patient is the truth. `onsets.tsv` of all patients (as --onsets reads it) and
`channels.tsv` of each (as --exclude reads it) are made of it after every change, and once at the
start, for a server that was killed in between.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

from epilens.core.errors import DataError
from epilens.data.channel_suggestions import What
from epilens.data.onset import APART_S
from epilens.data.sidecars import natural
from epilens.io.delimited import to_tsv
from epilens.io.outputs import write_atomically
from epilens.report.derivative import DISCLAIMER, cell
from epilens.review.session import Document, DocumentRevision, Session

MADE_FROM = ("hand", "suggestion", "annotation")
_LONGEST_FILE_S = 1e7
_MOST_ONSETS, _MOST_CONTACTS, _LONGEST_NAME = 500, 2000, 200
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,150}")
_WORD = re.compile(r"[^\W_][\w-]{0,39}")
_REASONS = ("by eye", *get_args(What))
_COLUMNS = ("patient", "run", "onset_s", "uncertainty_s", "type", "first_contacts", "made_from")


@dataclass(frozen=True)
class OnsetMark:
    """One seizure of a recording."""

    onset_s: float
    """From the start of the recording."""
    uncertainty_s: float | None = None
    """The onset lies within so much, before or after; None: nobody said."""
    type: str = ""
    """One word, or none."""
    first: tuple[str, ...] = ()
    """The contacts that began, in their order."""
    made_from: str = "hand"

    @classmethod
    def of(cls, tree: Any) -> OnsetMark:
        """What somebody sent, checked."""
        known = _object(tree, "onset", cls.__dataclass_fields__)
        kind, source = known.get("type", ""), known.get("made_from", "hand")
        unsure = known.get("uncertainty_s")
        if not isinstance(kind, str) or (kind and not _WORD.fullmatch(kind)):
            raise _unexpected("type", "one word of at most 40 letters")
        if source not in MADE_FROM:
            raise _unexpected("made_from", " or ".join(MADE_FROM))
        return cls(
            _number(known.get("onset_s"), "onset_s", _LONGEST_FILE_S),
            None if unsure is None else _number(unsure, "uncertainty_s", 3600.0),
            kind,
            _names(known.get("first", []), "first"),
            source,
        )


@dataclass(frozen=True)
class FileMarks:
    """The seizures of one recording, in the order of time."""

    onsets: tuple[OnsetMark, ...] = ()
    fingerprint: str = ""
    """Of the recording when it was marked."""

    @classmethod
    def of(cls, tree: Any) -> FileMarks:
        """What somebody sent, checked."""
        known = _object(tree, "file", cls.__dataclass_fields__)
        given, print_ = known.get("onsets", []), known.get("fingerprint", "")
        if not isinstance(given, list | tuple) or len(given) > _MOST_ONSETS:
            raise _unexpected("onsets", f"a list of at most {_MOST_ONSETS}")
        if not isinstance(print_, str) or not re.fullmatch(r"[0-9a-f]{0,64}", print_):
            raise _unexpected("fingerprint", "hexadecimal digits")
        onsets = sorted(map(OnsetMark.of, given), key=lambda mark: mark.onset_s)
        for a, b in pairwise(onsets):
            if b.onset_s - a.onset_s < APART_S:
                raise DataError(
                    f"onsets: expected seizures at least {APART_S:g} s apart, found onsets at "
                    f"{a.onset_s:.3f} and {b.onset_s:.3f} s. Move or remove one."
                )
        return cls(tuple(onsets), print_)


@dataclass(frozen=True)
class PatientMarks:
    """All that is marked of a patient."""

    files: Mapping[str, FileMarks]
    bad: Mapping[str, str]
    """Contact → why."""

    @classmethod
    def of(cls, tree: dict[str, Any]) -> PatientMarks:
        """What somebody sent, checked."""
        known = _object(tree, "marks", ("files", "bad", "about"))
        files, bad = known.get("files", {}), known.get("bad", {})
        if not isinstance(files, dict) or not all(map(_FILE.fullmatch, files)):
            raise _unexpected("files", "recordings by name")
        if not isinstance(bad, dict) or not set(map(str, bad.values())) <= set(_REASONS):
            raise _unexpected("bad", "contacts with a reason")
        _names(list(bad), "bad")
        return cls({name: FileMarks.of(one) for name, one in files.items()}, dict(bad))

    def tree(self) -> dict[str, Any]:
        """As it is kept."""
        return {
            "about": f"Onsets and bad contacts marked by a person. {DISCLAIMER}",
            "files": {name: asdict(marks) for name, marks in sorted(self.files.items())},
            "bad": dict(sorted(self.bad.items(), key=lambda item: natural(item[0]))),
        }


class MarkStore:
    """The marks of all patients at a desk."""

    def __init__(self, session: Session):
        self._session, self._lock = session, threading.Lock()
        self._books = {
            case.code: Document(
                session.folder(case.code) / "review.json", lambda tree: PatientMarks.of(tree).tree()
            )
            for case in session.cases
        }
        for code in self._books:
            self._write_channels(code)
        self._write_onsets()

    def read(self, code: str) -> DocumentRevision:
        """The marks of a patient with their revision."""
        return self._books[self._session.case(code).code].read()

    def marks(self, code: str) -> PatientMarks:
        """The marks of a patient."""
        return PatientMarks.of(self.read(code).tree)

    def write(self, code: str, tree: dict[str, Any], revision: int) -> DocumentRevision:
        """Replace the marks of a patient, and the tables that are made of them."""
        with self._lock:
            noted = self._books[self._session.case(code).code].write(tree, revision)
            try:
                self._write_channels(code)
                self._write_onsets()
            except OSError as error:
                raise DataError(
                    f"{code}: expected room for its tables, found: {error.strerror}. review.json "
                    "has this change, the tables do not: make room, and reload."
                ) from None
            return noted

    def _write_channels(self, code: str) -> None:
        rows = [(name, "bad", why) for name, why in self.marks(code).bad.items()]
        path = self._session.folder(code) / "channels.tsv"
        if rows or path.exists():
            _write_table(path, ("name", "status", "status_description"), rows)

    def _write_onsets(self) -> None:
        """Of every patient of the folder, also of those that are not at the desk today."""
        rows = []
        for path in sorted(
            self._session.out.glob("sub-*/review.json"), key=lambda p: natural(str(p))
        ):
            book = Document(path, lambda tree: PatientMarks.of(tree).tree())
            for run, marks in PatientMarks.of(book.read().tree).files.items():
                rows += [_onset_row(path.parent.name, run, mark) for mark in marks.onsets]
        path = self._session.out / "onsets.tsv"
        if rows or path.exists():
            _write_table(path, _COLUMNS, rows)


def _onset_row(patient: str, run: str, mark: OnsetMark) -> tuple[Any, ...]:
    first = ", ".join(mark.first)
    unsure = None if mark.uncertainty_s is None else f"{mark.uncertainty_s:.3f}"
    return (
        *(patient, run, f"{mark.onset_s:.3f}", unsure),
        *(mark.type, first, mark.made_from),
    )


def _write_table(path: Path, header: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> None:
    write_atomically(path, to_tsv(header, [[cell(value) for value in row] for row in rows]))


def _unexpected(field: str, expected: str) -> DataError:
    return DataError(f"marks: expected {expected} for {field}, found another value. Mark it again.")


def _object(tree: Any, what: str, known: Iterable[str]) -> dict[str, Any]:
    if not isinstance(tree, dict) or not set(tree) <= set(known):
        raise _unexpected(what, "an object with known fields")
    return tree


def _number(value: Any, field: str, most: float) -> float:
    """Seconds to the millisecond."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or not 0 <= value <= most:
        raise _unexpected(field, f"seconds from 0 to {most:g}")
    return round(float(value), 3)


def _names(value: Any, field: str) -> tuple[str, ...]:
    """Names of contacts, each once."""
    fine = isinstance(value, list | tuple) and len(value) <= _MOST_CONTACTS
    if not fine or not all(isinstance(n, str) and 0 < len(n) <= _LONGEST_NAME for n in value):
        raise _unexpected(field, f"at most {_MOST_CONTACTS} names of contacts")
    return tuple(dict.fromkeys(value))
