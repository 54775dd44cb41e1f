"""The good contacts of a run by its channels.tsv, and a reason for every other channel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from epilens.core.errors import DataError
from epilens.data.audit import AuditRow, Note, known_word, shown_label
from epilens.data.channels.non_contacts import BIDS_CONTACTS
from epilens.data.yes_no import bare_word, read_flags

_TYPES = (
    *("EEG", "DBS", "MISC", "OTHER", "REF", "TRIG", "ECG", "EMG", "EOG", "VEOG", "HEOG", "ADC"),
    *("DAC", "AUDIO", "PD", "EYEGAZE", "PUPIL", "SYSCLOCK", "RESP", "TEMP", "GSR", "PPG"),
)
"""Other channel types of BIDS, which reasons may show; any other text could be private."""


def good_channels(
    table: pd.DataFrame, patient: str, run: str, marked: Mapping[str, Note] | None = None
) -> tuple[tuple[str, ...], list[AuditRow]]:
    """Names of good ECOG and SEEG channels, in file order, and a row for every other channel.

    marked : reasons for channels that a column marks as bad; None: by the columns of the table.
    """
    good, rows = [], []
    marked = marked_bad(table, {}, "channels.tsv")[0] if marked is None else marked
    repeated = set(table["name"][table["name"].duplicated()])
    for number, row in enumerate(table.to_dict("records"), start=1):
        kind, status, name = row["type"].upper(), row.get("status", "").lower(), row["name"]
        if kind not in BIDS_CONTACTS:
            shown = known_word(kind, _TYPES, "another one") if kind else "not given"
            note = Note("type is {found}, not ECOG or SEEG", "channel-type", found=shown)
            name = shown_label(name, number)
        elif status not in ("good", ""):
            shown = known_word(status, ("bad",), "neither good nor bad")
            note = Note("status is {found}", "channel-status", found=shown)
        elif row["name"] in marked:
            note = marked[row["name"]]
        elif row["name"] in repeated:
            note = Note("channels.tsv lists this name more than once", "channel-name")
        elif not row["name"]:
            note = Note("channels.tsv gives no name", "channel-name")
        else:
            good.append(row["name"])
            continue
        rows.append(AuditRow.of("channel", note, (patient, run, name)))
    if not good:
        raise DataError(
            "expected good ECOG or SEEG channels in channels.tsv, found none.",
            code="channels-none",
        )
    return tuple(good), rows


_MARKED = {
    **dict.fromkeys(("bad", "badchannel", "badchannels"), "is marked bad"),
    **dict.fromkeys(("artifact", "artefact", "artifacts", "artefacts"), "is marked as artifact"),
    **dict.fromkeys(("noisy", "noise"), "is marked noisy"),
    **dict.fromkeys(("included", "include"), "is not included"),
    "csf": "lies in cerebrospinal fluid",
    "screw": "lies in the anchor screw",
    "silicon": "lies on the silicon of another electrode",
    **dict.fromkeys(("outsidebrain", "outofbrain"), "lies outside the brain"),
}
"""Reasons by column name; yes in the column means unusable, except for `included`."""


def marked_bad(
    table: pd.DataFrame, fields: Mapping[str, Any], file: str
) -> tuple[dict[str, Note], list[Note]]:
    """Reasons for channels that a column marks as bad, and notes on unreadable columns.

    fields : JSON sidecar that explains the columns.
    file : name of the table in the reasons.
    """
    marks: dict[str, Note] = {}
    unreadable = []
    for column in table.columns if "name" in table else ():
        word = bare_word(column).removeprefix("is")
        if word not in _MARKED:
            continue
        flags, values = read_flags(table, column, fields)
        if values:
            text = f"column {column} of {file} means neither yes nor no ({values}); no "
            unreadable.append(Note(text + "channel is excluded by it", "channel-bad"))
        unusable = not word.startswith("include")
        note = Note(f"{_MARKED[word]} (column {column} of {file})", "channel-bad")
        for name, flag in flags.items():
            if flag is unusable:
                marks.setdefault(name, note)
    return marks, unreadable
