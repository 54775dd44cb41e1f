"""Requests of the browser that change something, as pydantic models."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, Strict

from epilens.core.errors import ReadingError
from epilens.io.documents import Count, Document, Text, expecting
from epilens.review.readings import MAX_NOTES, VERDICTS, Judgement, parse_initials

RELOAD = "Reload the page."
CaseCode = Annotated[Text, expecting("a word")]
RunNumber = Annotated[int, Strict(), Field(ge=1), expecting("the number of a run")]


Names = Annotated[
    tuple[Text, ...],
    AfterValidator(lambda names: tuple(sorted(set(names)))),
    expecting("a list of contacts"),
]


class StartRequest(Document):
    """Start a run."""

    case: CaseCode
    choice: Any = None
    """Id of a method or model; unknown ones are refused."""


class StopRequest(Document):
    """Stop a run."""

    case: CaseCode
    run: RunNumber


class BatchRequest(Document):
    """Start or stop the batch."""

    act: Annotated[Literal["start", "stop"], expecting("to start or to stop")]
    choice: Any = None


class ReadingRequest(Document):
    """Save, sign or amend the reading of one reader."""

    case: CaseCode
    run: RunNumber
    reader: Annotated[
        Text,
        AfterValidator(parse_initials),
        expecting("initials of one to six letters or digits"),
    ]
    base: Annotated[Count, expecting("the revision that the reading changes")]
    act: Annotated[Literal["save", "sign", "amend"], expecting("to save, sign or amend")]
    verdicts: Annotated[
        dict[Text, Literal["agree", "disagree", "unsure"]], expecting(", ".join(VERDICTS))
    ] = Field(default_factory=dict)
    plan: Names = ()
    zone: Names = ()
    """Onset zone of a blind reading."""
    blind: Annotated[bool, Strict(), expecting("true or false")] = False
    notes: Annotated[
        Text, Field(max_length=MAX_NOTES), expecting(f"a text of at most {MAX_NOTES} characters")
    ] = ""

    def judgement(self, contacts: Collection[str], before: Judgement | None = None) -> Judgement:
        """Return the judgement, if it is on contacts of the run.

        What was marked blind in the judgement `before` stays, also for another run: a ranking has
        been shown since.
        """
        unknown = next(
            (n for n in (*self.verdicts, *self.plan, *self.zone) if n not in contacts), None
        )
        if unknown is not None:
            raise ReadingError(
                f"reading: expected contacts of run {self.run}, found {unknown[:40]!r}. {RELOAD}"
            )
        blind = self._blind_part(contacts, before)
        judgement = Judgement(
            run=self.run, verdicts=self.verdicts, plan=self.plan, notes=self.notes
        )
        return judgement.model_copy(update=blind)

    def _blind_part(self, contacts: Collection[str], before: Judgement | None) -> dict[str, Any]:
        if before is not None and before.blind:
            zone, plan = (
                tuple(name for name in names if name in contacts)
                for names in (before.zone, before.blind_plan)
            )
            return {"zone": zone, "blind": True, "blind_plan": plan}
        if not self.blind:
            return {}
        if self.verdicts or (before is not None and before.verdicts):
            raise ReadingError(
                "reading: expected a blind reading before any verdict, found verdicts. The ranking "
                "was shown before: read without this setting."
            )
        if not self.zone and not self.plan:
            raise ReadingError(
                "reading: expected an onset zone or a plan before the ranking is shown, found "
                "neither. Mark contacts, or read without this setting."
            )
        return {"zone": self.zone, "blind": True, "blind_plan": self.plan}
