"""Datasets, one row per file: who is included, where the onset and the EZ are written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from epilens.core.errors import Reason
from epilens.core.registry import Registry
from epilens.data.audit import Note
from epilens.data.labels.zones import Choice, LabelSource
from epilens.data.participants import Participant, reason_of_outcome


def everyone(patient: str, participant: Participant) -> str | Reason:
    """Include every patient."""
    return ""


@dataclass(frozen=True)
class Dataset:
    """What EpiLENS needs to know about a dataset, and nothing that BIDS already says."""

    name: str
    title: str
    version: str
    licence: str
    who: str
    """In words: which patients are included."""
    onset: str
    """In words: where the onset is written."""
    ez: str
    """In words: where the EZ is written."""
    labels: tuple[LabelSource, ...]
    """Asked in this order; the first that knows a patient decides."""
    zone: Choice = "either"
    """Which zone is the EZ, unless the plan chooses another (`cohort.ez`)."""
    reason_to_exclude: Callable[[str, Participant], str | Reason] = everyone
    """Patient and row of participants.tsv → why not, or empty text; not for outcomes."""
    outcomes: tuple[str, ...] = ()
    """Outcomes that are included, unless the plan names others; empty: whatever it was."""
    simulated: bool = False
    """Nobody was recorded: everything that is made from it says so."""
    center: str = ""
    """Name of the center; empty: the `center` or `site` of the participant, else the dataset's."""
    centers: tuple[tuple[str, str], ...] = ()
    """Start of a patient's name and its center, where a dataset has several."""
    accession: str = ""
    """OpenNeuro accession, by which a tree of this dataset is recognised."""
    shared: tuple[str, ...] = ()
    """Files that a download of some patients needs in addition to the tables at the top."""
    generated_by: str = ""
    """Name in `GeneratedBy`, by which a tree of this dataset is recognised."""
    note: str | Reason = ""
    """What everyone who sees numbers from this dataset should know."""
    ictal_task: str = r"(?<!inter)(?<!pre)(?<!post)(?<!non)ictal|seizure|sz"
    """Pattern of the `task` of seizure runs."""

    def why_not(
        self, patient: str, participant: Participant, outcomes: Sequence[str] = ()
    ) -> Reason | None:
        """Why a patient is not in the cohort, or None; `outcomes` replace the row's own."""
        why = self.reason_to_exclude(patient, participant)
        if not why:
            return reason_of_outcome(participant, outcomes or self.outcomes)
        return Note(why) if isinstance(why, str) else why

    def center_of(self, patient: str) -> str:
        """The patient's center by this row, or empty text."""
        starts = (center for start, center in self.centers if patient.startswith(start))
        return next(starts, self.center)

    def is_ictal(self, task: str) -> bool:
        """Whether runs of this task are seizures."""
        return re.search(self.ictal_task, task.lower()) is not None

    def recognises(self, description: Mapping[str, Any]) -> bool:
        """Whether a tree with this dataset_description.json is this dataset."""
        if self.accession and self.accession in str(description.get("DatasetDOI", "")):
            return True
        makers = description.get("GeneratedBy") or []
        return bool(self.generated_by) and any(
            isinstance(maker, dict) and maker.get("Name") == self.generated_by for maker in makers
        )


DATASETS: Registry[Dataset] = Registry("epilens.data.datasets", "dataset", "epilens.datasets")


def recognise(description: Mapping[str, Any]) -> Dataset:
    """The row that recognises a tree, or `local`."""
    rows = (row for row in DATASETS.values() if row.recognises(description))
    return next(rows, DATASETS["local"])
