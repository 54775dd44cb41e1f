"""Readings: a reader's verdicts on the contacts of a run, a resection plan, and notes."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from epilens.core.errors import ReadingError
from epilens.io.documents import Document

VERDICTS = ("agree", "disagree", "unsure")
"""Verdicts on the rank of a contact."""
MAX_NOTES = 20_000
_INITIALS = re.compile(r"[^\W_]{1,6}")


class Judgement(Document):
    """A reader's verdicts, plan and notes on one run."""

    run: int
    verdicts: dict[str, str] = Field(default_factory=dict)
    """Contact → one of `VERDICTS`; contacts that were not judged are absent."""
    plan: tuple[str, ...] = ()
    """Contacts of the resection that the reader would plan."""
    notes: str = ""
    """Stored in the readings' own files only."""
    zone: tuple[str, ...] = ()
    """Contacts of the onset zone that the reader marked before seeing the ranking."""
    blind: bool = False
    """Whether zone and plan were marked before the ranking was shown."""
    blind_plan: tuple[str, ...] = ()
    """The plan at that time."""

    @model_serializer(mode="wrap")
    def _without_empty_blind_part(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Store the fields of a blind reading only for one: other files stay as they were."""
        tree = serialize(self)
        if not self.blind:
            for field in ("zone", "blind", "blind_plan"):
                tree.pop(field, None)
        return tree

    @property
    def is_of_shown_ranking(self) -> bool:
        """Whether the reader has seen the ranking: after blind marks, or to judge contacts."""
        return self.blind or bool(self.verdicts)

    @property
    def is_empty(self) -> bool:
        """Whether there is no verdict, plan or note."""
        return not (self.verdicts or self.plan or self.zone or self.notes.strip())


class Reading(Document):
    """One revision of a reader's judgement."""

    patient: str
    reader: str
    judgement: Judgement
    revision: int
    version: int
    """Number of the signed version: 1 until the first amendment."""
    saved_at: str
    signed_on: str = ""
    """Date of the signature by this computer's calendar; empty: a draft."""
    ranking: str = ""
    """Digest of the ranking that was read."""
    seal: str = ""
    """Digest of all other fields of a signed revision."""

    @property
    def is_intact(self) -> bool:
        """Whether a signed revision is unchanged since it was signed."""
        return not self.signed_on or self.seal == self.compute_seal()

    def compute_seal(self) -> str:
        """Return the digest of all fields except the seal."""
        tree = self.to_json() | {"seal": ""}
        return hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()


def parse_initials(text: Any) -> str:
    """Return a reader's initials: one to six letters or digits, in capitals.

    Examples
    --------
    >>> parse_initials(" jd ")
    'JD'
    """
    clean = unicodedata.normalize("NFC", str(text).strip().upper())
    if not isinstance(text, str) or not _INITIALS.fullmatch(clean):
        raise ReadingError(
            "reader: expected initials of one to six letters or digits, found "
            f"{str(text)[:20]!a}. Give initials, not a name."
        )
    return clean


def verdicts_of_run(readings: Mapping[str, Reading], run: int) -> dict[str, dict[str, str]]:
    """Return the verdicts of those who read this run; verdicts on other runs do not compare."""
    return {
        reader: reading.judgement.verdicts
        for reader, reading in readings.items()
        if reading.judgement.run == run
    }


def plans_of_run(
    readings: Mapping[str, Reading], run: int, contacts: Sequence[str]
) -> dict[str, dict[str, str]]:
    """Return for each contact whether it is in the plan of those who planned on this run."""
    return {
        reader: {name: "in" if name in reading.judgement.plan else "out" for name in contacts}
        for reader, reading in readings.items()
        if reading.judgement.run == run and reading.judgement.plan
    }
