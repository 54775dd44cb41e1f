"""The audit: one row for everything that was left out or is unusual, with its reason.

A reason consists of our own words and of numbers, and has a code for programs. It never contains
text of a file, such as a status that somebody typed, a message of a reader, or a path. Lists of
known words decide which words of a file may be shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal, get_args

import pandas as pd

from epilens.core.errors import EpilensError, Reason

Effect = Literal["excluded", "noted"]
What = Literal["dataset", "patient", "run", "seizure", "channel", "label"]

Code = Literal[
    "channel-type",
    "channel-status",
    "channel-name",
    "channel-excluded",
    "channel-bad",
    "channel-not-implanted",
    "channel-not-in-file",
    "channel-not-listed",
    "channel-quality",
    "channel-montage",
    "signal-missing",
    "signal-repeated",
    "signal-interrupted",
    "descriptor-not-finite",
    "windows-too-few",
    "band-not-covered",
    "unit-not-stated",
    "mains-not-stated",
    "header-differs",
    "header-implausible",
    "signal-implausible",
    "names-matched",
    "reader-warning",
    "link-out",
    "not-a-file",
    "file-unreadable",
    "file-too-large",
    "sidecar-malformed",
    "events-missing",
    "onset",
    "positions",
    "label",
    "outcome",
    "task",
    "format-twice",
    "no-folder",
    "no-seizure",
    "channels-none",
    "other",
]
"""Codes of reasons, for programs."""
CODES = frozenset(get_args(Code))


@dataclass(frozen=True)
class Note(Reason):
    """A `Reason` with a code of the audit."""

    code: Code = "other"


@dataclass(frozen=True)
class AuditRow:
    """Something that was left out or is only noted, where it was found, and why."""

    what: What
    why: str
    """The reason as a sentence."""
    patient: str = ""
    run: str = ""
    channel: str = ""
    effect: Effect = "excluded"
    code: str = "other"
    subject: str = ""
    found: str = ""
    hint: str = ""

    @classmethod
    def of(
        cls,
        what: What,
        reason: Reason | EpilensError,
        who: tuple[str, ...] = (),
        effect: Effect = "excluded",
    ) -> AuditRow:
        """The row for a reason or an error; `who` is the patient, then run and channel if known."""
        reason = reason.reason if isinstance(reason, EpilensError) else reason
        return cls(
            what,
            str(reason),
            *(*who, "", "", "")[:3],
            effect,
            reason.code if reason.code in CODES else "other",
            reason.subject,
            reason.found,
            reason.hint,
        )

    @property
    def where(self) -> str:
        """Patient, run and channel in one text, without the empty ones."""
        return " ".join(part for part in (self.patient, self.run, self.channel) if part)

    def to_json(self) -> dict[str, str]:
        """The fields that are stored with a cube; optional ones are omitted when empty."""
        optional = ("subject", "found", "hint")
        return {k: v for k, v in asdict(self).items() if v or k not in optional}


def noted_row(
    what: What, text: str, code: Code, who: tuple[str, ...] = (), found: str = ""
) -> AuditRow:
    """A row about something unusual that leaves nothing out; `found` fills the text's `{found}`."""
    return AuditRow.of(what, Note(text, code, found=found), who, "noted")


def excluded_row(
    what: What, text: str, code: Code, who: tuple[str, ...] = (), found: str = ""
) -> AuditRow:
    """A row about something that is left out; `found` fills the text's `{found}`."""
    return AuditRow.of(what, Note(text, code, found=found), who)


def add_new(rows: list[AuditRow], more: Iterable[AuditRow]) -> None:
    """Add each row that the list does not contain yet."""
    for row in more:
        if row not in rows:
            rows.append(row)


COLUMNS = ("effect", "what", "code", "where", "why", "patient", "run", "channel")


def audit_frame(rows: Iterable[AuditRow]) -> pd.DataFrame:
    """A table with one line per audit row, in their order."""
    records = [asdict(row) | {"where": row.where} for row in rows]
    return pd.DataFrame(records, columns=list(COLUMNS))


_OTHER_CHANNELS = frozenset(
    (
        *("ecg", "ekg", "emg", "eog", "dc", "trig", "trigger", "stim", "sti", "status", "event"),
        *("events", "mark", "marker", "mkr", "resp", "spo2", "spo", "osat", "sao", "etco", "pulse"),
        *("pleth", "beat", "bp", "pr", "annot", "annotations", "annotation", "photic", "airflow"),
        *("thor", "thorax", "abdo", "abdomen", "snore", "chin", "leg", "eeg", "ieeg", "seeg"),
        *("ecog", "pol", "ref", "gnd", "ground", "misc", "edf", "bdf", "loc", "roc", "lio", "rio"),
        *("left", "right", "eye", "tib", "deltoid", "flow", "therm", "nasal", "press", "pressure"),
        *("temp", "digital", "analog", "sync", "audio", "video", "clock", "time", "aux", "input"),
        *("ch", "chan", "channel", "unused", "empty", "none", "heart", "rate", "hr", "ppg", "gsr"),
        *("accel", "acc", "gyro", "light", "button", "response", "system", "battery", "position"),
        *("fp", "af", "fc", "ft", "tp", "cp", "po", "fpz", "afz", "fz", "fcz", "cz", "cpz", "pz"),
        *("poz", "oz", "avg", "av", "patient", "off", "on", "osc", "csf", "vns", "rns"),
    )
)
"""Words that recorders use for channels other than contacts; none of them names a person."""


def shown_label(label: str, number: int) -> str:
    """The label of a channel that is not a contact; its number if the label could name a person.

    Examples
    --------
    >>> shown_label("EEG ECG1", 4), shown_label("DC 02", 5), shown_label("Anna Miller", 6)
    ('EEG ECG1', 'DC 02', 'input 6')
    """
    words = re.findall(r"[^\W\d_]+", label.casefold())
    unknown = [word for word in words if word not in _OTHER_CHANNELS]
    code = len(unknown) == 1 and len(unknown[0]) <= (4 if re.search(r"\d", label) else 2)
    return label if len(label) <= 24 and (not unknown or code) else f"input {number}"


def known_word(text: str, known: Iterable[str], otherwise: str) -> str:
    """The text of a file if it is one of the known words, in any case; else `otherwise`.

    Examples
    --------
    >>> known_word("BAD", ("good", "bad"), "another"), known_word("ask Anna", ("bad",), "another")
    ('bad', 'another')
    """
    by_fold = {word.casefold(): word for word in known}
    return by_fold.get(text.strip().casefold(), otherwise)


def shown_run(run: str, number: int) -> str:
    """The name of a run in a user's table if BIDS allows it; else the number of the entry."""
    entity = r"[a-z]+-[A-Za-z0-9]+"
    return run if re.fullmatch(rf"\d+|{entity}(?:_{entity})*", run) else f"entry {number}"


def shown_patients(names: Iterable[str]) -> str:
    """Patients of a user's table, those whose names are codes: any other could name a person.

    Examples
    --------
    >>> shown_patients(["sub-HUP060", "sub-W02"]), shown_patients(["sub-Anna Miller", "sub-W02"])
    ('sub-HUP060, sub-W02', 'sub-W02 and 1 more')
    """
    names = list(names)
    shown = [name for name in names if re.fullmatch(r"sub-[A-Za-z]{0,8}\d+[A-Za-z]?", name)][:5]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    return ", ".join(shown) + more if shown else ""
