"""Datasets, one per file: who is included, and where the onset and the EZ are written."""

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
    """Which patients are included, as text for people."""
    onset: str
    """Where the onset is written, as text for people."""
    ez: str
    """Where the EZ is written, as text for people."""
    labels: tuple[LabelSource, ...]
    """Label sources in their order; the first that states a zone of a patient decides."""
    zone: Choice = "either"
    """Which zone is the EZ, unless the plan chooses another (`cohort.ez`)."""
    reason_to_exclude: Callable[[str, Participant], str | Reason] = everyone
    """Function of a patient and its row of participants.tsv; empty text: included."""
    outcomes: tuple[str, ...] = ()
    """Outcomes that are included, unless the plan names others; empty: all outcomes."""
    simulated: bool = False
    """Whether the patients are simulated, which all results state."""
    center: str = ""
    """Name of the center; empty: `center` or `site` of the participant, else the dataset's name."""
    centers: tuple[tuple[str, str], ...] = ()
    """Prefix of patients' names and their center, for a dataset with several centers."""
    accession: str = ""
    """OpenNeuro accession, by which a tree of this dataset is recognised."""
    shared: tuple[str, ...] = ()
    """Files that a download of some patients needs in addition to the top-level tables."""
    generated_by: str = ""
    """Name in `GeneratedBy`, by which a tree of this dataset is recognised."""
    note: str | Reason = ""
    """A note for everyone who sees numbers from this dataset."""
    ictal_task: str = r"(?<!inter)(?<!pre)(?<!post)(?<!non)ictal|seizure|sz"
    """Pattern of the `task` of seizure runs."""

    def why_not(
        self, patient: str, participant: Participant, outcomes: Sequence[str] = ()
    ) -> Reason | None:
        """Why a patient is excluded, or None; `outcomes` replaces that of the dataset."""
        why = self.reason_to_exclude(patient, participant)
        if not why:
            return reason_of_outcome(participant, outcomes or self.outcomes)
        return Note(why) if isinstance(why, str) else why

    def center_of(self, patient: str) -> str:
        """The center of a patient if the dataset states it, or empty text."""
        starts = (center for start, center in self.centers if patient.startswith(start))
        return next(starts, self.center)

    def is_ictal(self, task: str) -> bool:
        """Whether runs of this task are seizures."""
        return re.search(self.ictal_task, task.lower()) is not None

    def recognises(self, description: Mapping[str, Any]) -> bool:
        """Whether this dataset has the given dataset_description.json."""
        if self.accession and self.accession in str(description.get("DatasetDOI", "")):
            return True
        makers = description.get("GeneratedBy") or []
        return bool(self.generated_by) and any(
            isinstance(maker, dict) and maker.get("Name") == self.generated_by for maker in makers
        )


DATASETS: Registry[Dataset] = Registry("epilens.data.datasets", "dataset", "epilens.datasets")


def recognise(description: Mapping[str, Any]) -> Dataset:
    """The dataset with this dataset_description.json, or `local`."""
    rows = (row for row in DATASETS.values() if row.recognises(description))
    return next(rows, DATASETS["local"])
