"""What participants.tsv says about a patient: Engel class, outcome, and who is left out for it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from epilens.data.audit import Note

Participant = Mapping[str, str]

_ROMAN = {"1": "I", "2": "II", "3": "III", "4": "IV"}
_IN_WORDS = {"S": "S (seizure-free)"}


def engel_class(text: str) -> str | None:
    """The class as the paper writes it, or None.

    Examples
    --------
    >>> engel_class("1D"), engel_class("1.0"), engel_class("IIa"), engel_class("-1.0")
    ('I-D', 'I', 'II-A', None)
    """
    match = re.fullmatch(r"(?:([1-4])(?:\.0)?|(IV|I{1,3}))[\s-]*([A-D])?", text.strip().upper())
    if match is None:
        return None
    main = _ROMAN.get(match[1] or "", match[2])
    return f"{main}-{match[3]}" if match[3] else main


def engel_of(participant: Participant) -> str | None:
    """Engel class of a participant, or None."""
    return engel_class(participant.get("engel") or participant.get("engel_score") or "")


def outcome_of(participant: Participant) -> str:
    """The column `outcome`; without one, S for Engel class I and F for the others; or empty text.

    Examples
    --------
    >>> outcome_of({"outcome": "NR"}), outcome_of({"engel": "1B"}), outcome_of({"engel": "III"})
    ('NR', 'S', 'F')
    """
    if "outcome" in participant:
        return participant["outcome"]
    engel = engel_of(participant)
    return "" if engel is None else "S" if engel.partition("-")[0] == "I" else "F"


def reason_of_outcome(participant: Participant, outcomes: Sequence[str]) -> Note | None:
    """Why a patient is left out when only these outcomes are included; None: it is not.

    Examples
    --------
    >>> str(reason_of_outcome({"outcome": "F"}, ["S"])), reason_of_outcome({"outcome": "s"}, ["S"])
    ('outcome is F, not S (seizure-free)', None)
    """
    outcome = outcome_of(participant)
    shown = outcome if outcome.upper() in OUTCOMES else "another one" if outcome else "not given"
    if not outcomes or outcome.casefold() in {wanted.casefold() for wanted in outcomes}:
        return None
    wanted = " or ".join(_IN_WORDS.get(text.upper(), text) for text in outcomes)
    return Note(f"outcome is {{found}}, not {wanted}", "outcome", found=shown)


OUTCOMES = frozenset({"S", "F", "NR"})
"""What public datasets write: seizure-free, failure, no resection."""
