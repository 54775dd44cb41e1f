"""The multi-site cohort: Epilepsy-iEEG-Multicenter-Dataset, OpenNeuro ds003029."""

from epilens.core.errors import Reason
from epilens.data.audit import Note, known_word
from epilens.data.datasets import Dataset, Participant
from epilens.data.labels import ClinicalSheet
from epilens.data.participants import OUTCOMES

_SHEET = "sourcedata/clinical_data_summary.xlsx"
# The paper's patient table; not every seizure-free patient of the dataset is in it.
_IN_THE_PAPER = frozenset(
    f"sub-{name}"
    for name in (
        *("jh105", "pt2", "pt3", "pt8", "pt11", "pt15", "pt16", "pt17", "umf001"),
        *("ummc003", "ummc004", "ummc005", "ummc006", "ummc008", "ummc009"),
    )
)


def _in_the_paper(patient: str, participant: Participant) -> str | Reason:
    if patient in _IN_THE_PAPER:
        return ""
    outcome = known_word(participant.get("outcome", ""), OUTCOMES, "not given")
    text = "is not among the 15 patients of the paper's table (outcome {found})"
    return Note(text, "outcome", found=outcome)


ENTRIES = (
    Dataset(
        name="multisite",
        title="Epilepsy-iEEG-Multicenter-Dataset",
        version="1.0.7",
        licence="CC0",
        accession="ds003029",
        center="Multi-site",
        who="the 15 patients of the paper's table",
        onset="free text in events.tsv",
        ez=f"clinician's SOZ in {_SHEET}",
        note=Note(
            "the paper's 45 seizures count onset markers; 43 of the 45 runs have a usable onset, "
            "and the EZ is what the clinical sheet says",
            "onset",
        ),
        labels=(ClinicalSheet(_SHEET),),
        zone="soz",
        shared=(_SHEET,),
        reason_to_exclude=_in_the_paper,
    ),
)
