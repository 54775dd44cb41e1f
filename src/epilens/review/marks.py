"""Marks of a patient: onsets with uncertainty, type and first contacts; bad contacts."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, Strict

from epilens.data.channels.suggestions import What
from epilens.data.channels.user_choices import Choice
from epilens.data.onsets.onset import APART_S, Onset
from epilens.data.user_files import natural
from epilens.io.documents import Count, Document, Text, expecting, refusal
from epilens.report.patient.bids_text import DISCLAIMER

ABOUT = f"Onsets and bad contacts marked by a person. {DISCLAIMER}"
_LONGEST_FILE_S, _LONGEST_UNCERTAINTY_S = 1e7, 3600.0
_MAX_ONSETS, _MAX_CONTACTS, _MAX_NAME = 500, 2000, 200


def _seconds(longest: float) -> tuple[Any, ...]:
    """Return the annotations of seconds, stored to the millisecond."""
    return (
        Strict(),
        Field(ge=0, le=longest),
        AfterValidator(lambda seconds: round(seconds, 3)),
        expecting(f"seconds from 0 to {longest:g}"),
    )


ContactName = Annotated[Text, Field(min_length=1, max_length=_MAX_NAME)]
RecordingName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,150}\Z")]
ContactNames = Annotated[
    tuple[ContactName, ...],
    Field(max_length=_MAX_CONTACTS),
    AfterValidator(lambda names: tuple(dict.fromkeys(names))),
    expecting(f"at most {_MAX_CONTACTS} names of contacts"),
]
BadContacts = Annotated[
    dict[ContactName, Choice | What],
    Field(max_length=_MAX_CONTACTS),
    AfterValidator(lambda bad: dict(sorted(bad.items(), key=lambda item: natural(item[0])))),
    expecting("contacts with a reason"),
]


class OnsetMark(Document):
    """Onset of one seizure of a recording."""

    onset_s: Annotated[float, *_seconds(_LONGEST_FILE_S)]
    """Onset in seconds from the start of the recording."""
    uncertainty_s: Annotated[float, *_seconds(_LONGEST_UNCERTAINTY_S)] | None = None
    """The onset is at most this far from `onset_s`; None: not stated."""
    type: Annotated[
        str,
        Field(pattern=r"^([^\W_][\w-]{0,39})?\Z"),
        expecting("one word of at most 40 letters"),
    ] = ""
    first: ContactNames = ()
    """Contacts in which the seizure began, in order."""
    made_from: Annotated[
        Literal["hand", "suggestion", "annotation"],
        expecting("hand or suggestion or annotation"),
    ] = "hand"


def _in_order(onsets: tuple[OnsetMark, ...]) -> tuple[OnsetMark, ...]:
    ordered = tuple(sorted(onsets, key=lambda mark: mark.onset_s))
    for earlier, later in pairwise(ordered):
        if later.onset_s - earlier.onset_s < APART_S:
            raise refusal(
                f"expected seizures at least {APART_S:g} s apart, found onsets at "
                f"{earlier.onset_s:.3f} and {later.onset_s:.3f} s. Move or remove one."
            )
    return ordered


class FileMarks(Document):
    """Onsets of one recording, in order of time."""

    onsets: Annotated[
        tuple[OnsetMark, ...],
        Field(max_length=_MAX_ONSETS),
        AfterValidator(_in_order),
        expecting(f"a list of at most {_MAX_ONSETS}"),
    ] = ()
    fingerprint: Annotated[
        str, Field(pattern=r"^[0-9a-f]{0,64}\Z"), expecting("hexadecimal digits")
    ] = ""
    """Fingerprint of the recording when it was marked."""


class PatientMarks(Document):
    """All marks of a patient: the content of `review.json`."""

    revision: Annotated[Count, expecting("a count of changes")] = 0
    """Number of changes so far; 0: never saved."""
    about: Annotated[str, BeforeValidator(lambda _: ABOUT)] = ABOUT
    files: Annotated[
        dict[RecordingName, FileMarks],
        AfterValidator(lambda files: dict(sorted(files.items()))),
        expecting("recordings by name"),
    ] = Field(default_factory=dict)
    bad: BadContacts = Field(default_factory=dict)
    """Contact → reason."""

    @property
    def onsets(self) -> dict[str, tuple[Onset, ...]]:
        """Onsets by recording."""
        return {
            name: tuple(
                Onset.given(mark.onset_s, uncertainty_s=mark.uncertainty_s) for mark in file.onsets
            )
            for name, file in self.files.items()
        }
