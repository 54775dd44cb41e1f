"""The events of a BIDS run, from events.tsv or the annotations of its file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

from epilens.core.errors import DataError, OnsetError
from epilens.data.bids_runs import run_name, signal_file
from epilens.data.datasets import Dataset
from epilens.data.onsets.annotated import find_seizures
from epilens.data.onsets.onset import Event, Onset
from epilens.data.onsets.texts import means_onset
from epilens.data.readers.mne_reader import open_mne
from epilens.data.sidecars import BidsFile, BidsTree
from epilens.data.user_files import as_number
from epilens.data.yes_no import bare_word

STIMULATION = re.compile(r"stim|spes|ccep|chocs|(?<![a-z])esm(?![a-z])")
"""Pattern of tasks and events of electrical stimulation, in lower case."""


def events_in(tree: BidsTree, file: BidsFile) -> list[Event] | None:
    """Events of a run from events.tsv, else the annotations of its file; None without both."""
    table, signal = tree.table(file, "events"), signal_file(file)
    if table is not None:
        return events_of(table)
    return None if signal is None else open_mne(signal).annotations()


def states_seizure(tree: BidsTree, dataset: Dataset, file: BidsFile) -> bool:
    """Whether the task of a run or its events name a seizure; False if it is unreadable."""
    try:
        return dataset.is_ictal(file.entity("task")) or bool(seizures_stated(tree, file))
    except DataError:
        return False


def seizures_stated(tree: BidsTree, file: BidsFile) -> list[Onset]:
    """Seizures that the events of a run name; a file named interictal is not opened."""
    if "interictal" in run_name(file).lower() and tree.table(file, "events") is None:
        return []
    return find_seizures(events_in(tree, file) or [])


# Columns in which people describe an event; the first that is not empty counts.
_EVENT_TEXT = (
    *("trial_type", "event_type", "eventtype", "event", "description", "annotation", "value"),
)
_ONSET_CONTACTS = (
    *("electrodes_involved_onset", "onset_contacts", "onset_electrodes", "onset_channels"),
    *("contacts_onset", "electrodes_onset", "channels_onset"),
)
_EVENT_KIND = ("sub_type", "subtype", "seizure_type", "type")
_KINDS = {
    **dict.fromkeys(("clin", "clinical", "electroclinical"), "clinical"),
    **dict.fromkeys(("subclin", "subclinical", "electrographic"), "subclinical"),
}


def events_of(table: pd.DataFrame) -> list[Event]:
    """Events of an events.tsv that have a time and a text, preferably one that means a seizure."""
    if "onset" not in table:
        raise OnsetError(
            "events.tsv: expected a column onset, found none. Add it.", code="sidecar-malformed"
        )
    events = []
    for row in table.to_dict("records"):
        onset_s = as_number(row["onset"])
        values = (row.get(column, "") for column in _EVENT_TEXT)
        texts = [text for text in values if text and as_number(text) is None]
        if onset_s is None or not texts:
            continue
        text = next(filter(means_onset, texts), texts[0]) if len(texts) > 1 else texts[0]
        contacts = next((row[column] for column in _ONSET_CONTACTS if row.get(column)), "")
        kinds = (_KINDS.get(bare_word(row.get(column, "")), "") for column in _EVENT_KIND)
        kind = next(filter(None, kinds), "")
        events.append(Event(onset_s, text, _duration_s(row, onset_s), kind, contacts))
    return events


def _duration_s(row: Mapping[Any, str], onset_s: float) -> float:
    """The duration of an event, else the time until its `offset`, else 0."""
    duration_s, end_s = as_number(row.get("duration")), as_number(row.get("offset"))
    if not duration_s and end_s is not None:
        return max(0.0, end_s - onset_s)
    return duration_s or 0.0
