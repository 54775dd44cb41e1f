"""A review session: the patients under review and the folder of their results."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from epilens.core.errors import DataError
from epilens.data.discovery import Case, TraceFile
from epilens.io.outputs import claim_output
from epilens.io.safe_read import check_regular, read_bytes
from epilens.review.errors import NotFoundError

KIND = "a review"


@dataclass(frozen=True)
class PatientFacts:
    """What the user says about a patient in addition to its recordings."""

    electrodes: str = ""
    """Table of the contacts' positions; empty: those of the dataset."""
    space: str = ""
    resected: str = ""
    """Contacts of a resection; `labels`: those of the dataset."""

    @classmethod
    def of(cls, electrodes: Path | None, space: str, resected: str | None) -> PatientFacts:
        """Return the facts, if the table of electrodes exists."""
        if electrodes is not None:
            check_regular(electrodes, f"--electrodes {electrodes}")
        path = "" if electrodes is None else str(electrodes.absolute())
        return cls(path, space, resected or "")

    @property
    def digest(self) -> str:
        """Digest of everything that changes a result; empty if nothing was said."""
        if self == PatientFacts():
            return ""
        table = read_bytes(Path(self.electrodes)) if self.electrodes else b""
        parts = (table, self.space.encode(), self.resected.encode())
        return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


@dataclass(frozen=True)
class Session:
    """Patients and the folder of their results."""

    cases: tuple[Case, ...]
    out: Path
    models: tuple[Path, ...] = ()
    """Folders searched for models, in addition to `out`."""
    facts: PatientFacts = PatientFacts()
    """About the only patient of the session."""

    @cached_property
    def _by_code(self) -> dict[str, Case]:
        return {case.code: case for case in self.cases}

    def case(self, code: str) -> Case:
        """Return the patient of this code."""
        if code not in self._by_code:
            raise NotFoundError("review: expected a patient under review, found another code.")
        return self._by_code[code]

    def file(self, code: str, name: str) -> TraceFile:
        """Return a recording by its name in tables and addresses."""
        for file in self.case(code).files:
            if file.name == name:
                return file
        raise NotFoundError(f"{code}: expected one of its recordings, found another name.")

    def folder(self, code: str) -> Path:
        """Return the folder of a patient's marks, runs and readings."""
        return self.out / self.case(code).code


def open_session(
    cases: Sequence[Case],
    out: str | Path,
    models: Sequence[Path] = (),
    facts: PatientFacts | None = None,
) -> Session:
    """Start a session in an empty folder, or in one of an earlier session."""
    facts = facts or PatientFacts()
    if len(cases) > 1 and (facts.electrodes or facts.resected not in ("", "labels")):
        raise DataError(
            f"review: expected one patient for --electrodes and --resected, found {len(cases)}. "
            "Review this patient alone, or put the tables into the dataset."
        )
    return Session(tuple(cases), claim_output(out, KIND).resolve(), tuple(models), facts)
