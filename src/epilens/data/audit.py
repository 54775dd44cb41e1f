"""The audit: one row for everything that was left out or found strange, with its reason.

A reason is made of our own words and of numbers, and has a code by which programs know it. No text
of a file is in it: not a status that somebody typed, not the message of a reader, not a path. What
may be shown of a file's own text is decided here, by lists of known words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

import pandas as pd

What = Literal["dataset", "patient", "run", "seizure", "channel", "label"]

CODES = (
    ("channel-type", r"^type is "),
    ("channel-status", r"^status is "),
    ("channel-name", r"^channels\.tsv (?:lists this name|gives no name)"),
    ("channel-excluded", r"^was excluded by the user"),
    ("channel-bad", r"^is marked bad"),
    (
        "channel-not-implanted",
        r"^is no iEEG channel|^has no contact number|by its name|^is the only",
    ),
    ("channel-not-in-file", r"^is in channels\.tsv but not in the file"),
    ("channel-not-listed", r"^is in the file but not in channels\.tsv"),
    ("channel-quality", r"^signal is "),
    ("channel-montage", r"neighbour|on its shaft|average|no shaft"),
    ("signal-missing", r"^samples are missing|whole segment|^expected the signal file"),
    ("signal-repeated", r"^repeats the signal|^holds the same recording"),
    ("descriptor-not-finite", r"^a descriptor is not finite"),
    ("windows-too-few", r"valid (?:reference )?windows|reference windows|windows after onset"),
    ("band-not-covered", r"^sampled at "),
    ("unit-not-stated", r"^(?:the file states no unit|no unit is stated)"),
    ("mains-not-stated", r"^no mains frequency"),
    ("header-differs", r"^sidecars say "),
    ("reader-warning", r"^the reader warned"),
    ("link-out", r"link|leads? out of the dataset"),
    ("not-a-file", r"found (?:a pipe|a device|a socket|a folder|something else)\."),
    ("file-unreadable", r"that MNE can read|could not be read|that can be read|file complete"),
    ("file-too-large", r"expected at most|a sheet of at most"),
    ("sidecar-malformed", r"\.(?:tsv|json): expected|UTF-8|expected a channels\.tsv"),
    ("events-missing", r"^expected an events\.tsv"),
    ("onset", r"onset"),
    ("positions", r"^electrodes\.tsv|^coordsystem\.json|positions"),
    ("label", r"label|clinical sheet|cohort\.ez|no value in|NEZ"),
    ("outcome", r"^outcome is|paper's table"),
    ("task", r"^task is "),
    ("format-twice", r"^is there as "),
    ("no-folder", r"has no folder"),
    ("no-seizure", r"^has no usable seizure"),
    ("channels-none", r"channels?\b.*found none|contacts\b.*found none|found none of them"),
)
"""Code of a reason, and the words by which it is known; the first that is found counts."""


@dataclass(frozen=True)
class AuditRow:
    """What was left out (or only noted), where, and why."""

    what: What
    why: str
    patient: str = ""
    run: str = ""
    channel: str = ""
    effect: Literal["excluded", "noted"] = "excluded"

    @property
    def where(self) -> str:
        """Patient, run and channel, as far as they apply."""
        return " ".join(part for part in (self.patient, self.run, self.channel) if part)

    @property
    def code(self) -> str:
        """The reason in one word, for programs."""
        return next((code for code, words in CODES if re.search(words, self.why)), "other")


COLUMNS = ("effect", "what", "code", "where", "why", "patient", "run", "channel")


def audit_frame(rows: Iterable[AuditRow]) -> pd.DataFrame:
    """Tidy table of audit rows, in the order in which they arose."""
    told = [asdict(row) | {"where": row.where, "code": row.code} for row in rows]
    return pd.DataFrame(told, columns=list(COLUMNS))


_BESIDE = frozenset(
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
"""Words of labels that recorders write beside the contacts; none of them names a person."""


def shown_label(label: str, place: int) -> str:
    """The label of a channel that is no contact, unless it could be a name: then its place.

    Examples
    --------
    >>> shown_label("EEG ECG1", 4), shown_label("DC 02", 5), shown_label("Anna Miller", 6)
    ('EEG ECG1', 'DC 02', 'input 6')
    """
    words = re.findall(r"[^\W\d_]+", label.casefold())
    unknown = [word for word in words if word not in _BESIDE]
    code = len(unknown) == 1 and len(unknown[0]) <= (4 if re.search(r"\d", label) else 2)
    return label if len(label) <= 24 and (not unknown or code) else f"input {place}"


def known_word(text: str, known: Iterable[str], otherwise: str) -> str:
    """A text of a file, if it is one of these words (capitals do not matter); else our own words.

    Examples
    --------
    >>> known_word("BAD", ("good", "bad"), "another"), known_word("ask Anna", ("bad",), "another")
    ('bad', 'another')
    """
    by_fold = {word.casefold(): word for word in known}
    return by_fold.get(text.strip().casefold(), otherwise)


def shown_run(run: str, place: int) -> str:
    """A run that a user's table names, if it is written as BIDS or as a number; else its place."""
    entity = r"[a-z]+-[A-Za-z0-9]+"
    return run if re.fullmatch(rf"\d+|{entity}(?:_{entity})*", run) else f"entry {place}"
