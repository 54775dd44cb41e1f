"""What participants.tsv says about a patient, and whether its outcome excludes it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from epilens.core.errors import DataError
from epilens.data.audit import Note
from epilens.data.user_files import as_number
from epilens.data.yes_no import as_flag, bare_word, levels_of

Participant = Mapping[str, str]

_ROMAN = {"1": "I", "2": "II", "3": "III", "4": "IV"}
_IN_WORDS = {"S": "S (seizure-free)"}
OUTCOMES = frozenset({"S", "F", "NR"})
"""Outcomes in public datasets: seizure-free (S), failure (F), no resection (NR)."""
_FREE = {"seizurefree", "free", "seizurefreedom", "success", "successful", "good", "favorable"}
_FREE |= {"favourable", "successfulsurgeryseizurefreedom"}
_NOT_FREE = {"notseizurefree", "nonseizurefree", "failure", "failed", "poor", "recurrence"}
_NOT_FREE |= {"unfavorable", "unfavourable", "recurrent", "recurrentseizures"}


def engel_class(text: str) -> str | None:
    """An Engel class as the paper writes it, or None if the text is not one.

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
    """Engel class of a participant, or None if it is unknown."""
    return engel_class(participant.get("engel") or participant.get("engel_score") or "")


def outcome_of(participant: Participant) -> str:
    """The column `outcome`, else S for Engel class I and F for others, else empty text.

    Examples
    --------
    >>> outcome_of({"outcome": "NR"}), outcome_of({"engel": "1B"}), outcome_of({"engel": "III"})
    ('NR', 'S', 'F')
    """
    if "outcome" in participant:
        return participant["outcome"]
    if "plain_outcome" in participant:
        return participant["plain_outcome"]
    engel = engel_of(participant)
    return "" if engel is None else "S" if engel.partition("-")[0] == "I" else "F"


def reason_of_outcome(participant: Participant, outcomes: Sequence[str]) -> Note | None:
    """Why a patient is left out if only these outcomes are included, or None if it is not.

    Examples
    --------
    >>> str(reason_of_outcome({"outcome": "F"}, ["S"])), reason_of_outcome({"outcome": "s"}, ["S"])
    ('outcome is F, not S (seizure-free)', None)
    """
    outcome = outcome_of(participant)
    plain = participant.get("plain_outcome", outcome)
    shown = plain if plain.upper() in OUTCOMES else "another one" if outcome else "not given"
    accepted = {wanted.casefold() for wanted in outcomes}
    if not outcomes or {outcome.casefold(), plain.casefold()} & accepted:
        return None
    wanted = " or ".join(_IN_WORDS.get(text.upper(), text) for text in outcomes)
    return Note(f"outcome is {{found}}, not {wanted}", "outcome", found=shown)


def explained(participant: Participant, fields: Mapping[str, Any]) -> dict[str, str]:
    """A row of participants.tsv with codes in plain words: sex, and `plain_outcome` S or F.

    fields : participants.json, whose `Levels` and descriptions explain the codes.

    Examples
    --------
    >>> levels = {"sex": {"Levels": {"1": "male"}}, "outcome": {"Description": "ILAE class"}}
    >>> explained({"sex": "1", "outcome": "1"}, levels)
    {'sex': 'male', 'outcome': '1', 'plain_outcome': 'S'}
    """
    row = dict(participant)
    if as_number(row.get("sex")) is not None:
        row["sex"] = levels_of(fields, "sex").get(bare_word(row["sex"]), row["sex"])
    stated = row.get("outcome", "")
    if stated and stated.upper() not in OUTCOMES and (plain := _plain_outcome(stated, fields)):
        row["plain_outcome"] = plain
    elif "outcome" not in row and engel_of(row) is None:
        row |= _coded_outcome(row)
    return row


def _plain_outcome(text: str, fields: Mapping[str, Any]) -> str:
    """S or F for an outcome in words or for an Engel or ILAE class; empty if it is unclear."""
    meaning = levels_of(fields, "outcome").get(bare_word(text), text)
    word = re.sub(r"[^a-z]", "", meaning.lower())
    if word in _FREE:
        return "S"
    if word in _NOT_FREE:
        return "F"
    entry = next((v for k, v in fields.items() if k.strip().lower() == "outcome"), "")
    explanation = str(entry).lower()
    if "ilae" in explanation:
        return _ilae_outcome(text)
    return outcome_of({"engel": text}) if "engel" in explanation else ""


def _coded_outcome(row: Participant) -> dict[str, str]:
    """The outcome in a column for Engel class I, seizure freedom or the ILAE class."""
    for column, text in row.items():
        word = bare_word(column)
        if word in ("engelclass1", "engel1", "engelclassi", "engeli", "seizurefree"):
            try:
                flag = as_flag(text)
            except DataError:
                continue
            if flag is not None:
                engel = {"engel": "I"} if flag and word != "seizurefree" else {}
                return {"plain_outcome": "S" if flag else "F"} | engel
        if word in ("ilae", "ilaescore", "ilaeclass", "ilaeoutcome") and _ilae_outcome(text):
            return {"plain_outcome": _ilae_outcome(text)}
    return {}


def _ilae_outcome(text: str) -> str:
    """S for ILAE class 1 (completely seizure-free), F for 2 to 6."""
    number = as_number(text)
    return "" if number not in range(1, 7) else "S" if number == 1 else "F"
