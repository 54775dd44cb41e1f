"""Channels that a column marks as unusable: `bad`, `noisy`, `included`, `csf`, `screw`, ….

The columns stand in channels.tsv or electrodes.tsv, next to the `status` that BIDS has for this.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from epilens.data.audit import Note
from epilens.data.flags import bare_word, levels_of, read_flags

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
"""Reason by column, without spaces and underscores; yes means unusable, except for `included`."""


def marked_bad(
    table: pd.DataFrame, fields: Mapping[str, Any], file: str
) -> tuple[dict[str, Note], list[Note]]:
    """Reason by channel for those that a column marks, and notes on columns that are unreadable.

    Parameters
    ----------
    table : DataFrame
        channels.tsv or electrodes.tsv.
    fields : mapping
        The JSON sidecar that explains its columns.
    file : str
        Name of the table in the reasons.
    """
    marks: dict[str, Note] = {}
    unreadable = []
    for column in table.columns if "name" in table else ():
        word = bare_word(column).removeprefix("is")
        if word not in _MARKED:
            continue
        found = read_flags(table, column, levels_of(fields, column))
        if found.unreadable:
            text = f"column {column} of {file} means neither yes nor no ({found.unreadable}); no "
            unreadable.append(Note(text + "channel is excluded by it", "channel-bad"))
        unusable = not word.startswith("include")
        note = Note(f"{_MARKED[word]} (column {column} of {file})", "channel-bad")
        for name, flag in found.flags.items():
            if flag is unusable:
                marks.setdefault(name, note)
    return marks, unreadable
