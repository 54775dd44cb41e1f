"""A review session: the patients under review and the folder of their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

from epilens.core.errors import DataError
from epilens.data.discovery import Case, TraceFile
from epilens.io.outputs import check_distinct_names, claim_output, folder_names
from epilens.localization.run_spec import PatientFacts
from epilens.review.errors import NotFoundError

KIND = "a review"
Blind = Literal["second", "all", "none"]
"""Who marks before the results are sent: readers after the first one who signed, all, or none."""


@dataclass(frozen=True)
class Session:
    """Patients and the folder of their results."""

    cases: tuple[Case, ...]
    out: Path
    models: tuple[Path, ...] = ()
    """Folders searched for models, in addition to `out`."""
    facts: PatientFacts = field(default_factory=PatientFacts)
    """Facts about the only patient of the session."""
    blind: Blind = "second"

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


def check_blind(text: str) -> Blind:
    """Return which readers mark before they see a ranking; anything else is refused."""
    choices: tuple[Blind, ...] = get_args(Blind)
    for choice in choices:
        if text == choice:
            return choice
    raise DataError(f"--blind: expected second, all or none, found {text!r}. Give one of them.")


def open_session(
    cases: Sequence[Case],
    out: str | Path,
    models: Sequence[Path] = (),
    facts: PatientFacts | None = None,
    blind: Blind = "second",
) -> Session:
    """Start a session in an empty folder, or in one of an earlier session."""
    facts = facts or PatientFacts()
    if len(cases) > 1 and (facts.electrodes or facts.resected not in ("", "labels")):
        raise DataError(
            f"review: expected one patient for --electrodes and --resected, found {len(cases)}. "
            "Review this patient alone, or put the tables into the dataset."
        )
    check_distinct_names((case.code for case in cases), folder_names(out))
    return Session(tuple(cases), claim_output(out, KIND).resolve(), tuple(models), facts, blind)
