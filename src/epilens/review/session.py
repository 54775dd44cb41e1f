"""The desk: which patients are under review and where what is said about them is kept.

Whatever is marked is in a `Notebook`: a JSON file with a revision that counts its changes. A change
names the revision that it was made on; if another tab was faster, it is refused and nothing is
lost. The file is written anew after each click, whole or not at all.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from epilens.core.errors import DataError
from epilens.data.discovery import Case, TraceFile
from epilens.data.sidecars import read_json
from epilens.io.outputs import claim_output, write_atomically
from epilens.review.server import ConflictError, NotFoundError

KIND = "a review"


@dataclass(frozen=True)
class DocumentRevision:
    """What a notebook says, and how often it was changed."""

    revision: int
    tree: dict[str, Any]


class Document:
    """A JSON object on disk with a revision.

    Parameters
    ----------
    check : function
        Turns what somebody sent (or edited in the file) into what may be kept, or refuses it.
    """

    def __init__(self, path: Path, check: Callable[[dict[str, Any]], dict[str, Any]]):
        self.path, self._check, self._lock = path, check, threading.RLock()

    def read(self) -> DocumentRevision:
        """What is on disk; revision 0 and what `check` makes of nothing, where no file is."""
        with self._lock:
            if not self.path.exists():
                return DocumentRevision(0, self._check({}))
            tree = read_json(self.path)
            revision = tree.pop("revision", None)
            if not isinstance(revision, int) or isinstance(revision, bool) or revision < 1:
                raise DataError(
                    f"{self.path.name}: expected a revision, found {revision!r}. Restore the file, "
                    "or move it away to begin anew."
                )
            return DocumentRevision(revision, self._check(tree))

    def write(self, tree: dict[str, Any], revision: int) -> DocumentRevision:
        """Replace what is on disk, if it still is the revision that the change was made on."""
        with self._lock:
            now = self.read()
            if not isinstance(revision, int) or revision != now.revision:
                raise ConflictError(
                    f"review: expected a change of revision {now.revision}, found one of "
                    f"{revision!r}: another tab was faster. Reload, and change again."
                )
            noted = DocumentRevision(now.revision + 1, self._check(tree))
            text = json.dumps({"revision": noted.revision} | noted.tree, indent=1, allow_nan=False)
            try:
                write_atomically(self.path, text + "\n")
            except OSError as error:
                raise DataError(
                    f"{self.path.name}: expected room for it, found: {error.strerror}. Nothing was "
                    "saved: make room, and click again."
                ) from None
            return noted


@dataclass(frozen=True)
class Session:
    """Patients and the folder of their review."""

    cases: tuple[Case, ...]
    out: Path
    models: tuple[Path, ...] = ()
    """Folders in which models are looked for, beside `out`."""

    @cached_property
    def _by_code(self) -> dict[str, Case]:
        return {case.code: case for case in self.cases}

    def case(self, code: str) -> Case:
        """The patient of this code."""
        if code not in self._by_code:
            raise NotFoundError("review: expected a patient under review, found another code.")
        return self._by_code[code]

    def file(self, code: str, name: str) -> TraceFile:
        """The recording of this name."""
        for file in self.case(code).files:
            if file.name == name:
                return file
        raise NotFoundError(f"{code}: expected one of its recordings, found another name.")

    def folder(self, code: str) -> Path:
        """Where everything about a patient under review is kept."""
        return self.out / self.case(code).code


def open_session(cases: Sequence[Case], out: str | Path, models: Sequence[Path] = ()) -> Session:
    """A desk on a folder of ours."""
    return Session(tuple(cases), claim_output(out, KIND).resolve(), tuple(models))
