"""The HUP cohort: Hospital of the University of Pennsylvania, OpenNeuro ds004100."""

from epilens.data.datasets import Dataset, Participant
from epilens.data.labels import StatusWords


def _seizure_free(patient: str, participant: Participant) -> str:
    outcome = participant.get("outcome", "")
    return "" if outcome == "S" else f"outcome is {outcome or 'not given'}, not S (seizure-free)"


ENTRIES = (
    Dataset(
        name="hup",
        title="HUP iEEG Epilepsy Dataset",
        version="1.1.3",
        licence="CC0",
        accession="ds004100",
        center="HUP",
        who="the 36 patients with outcome S",
        onset="event `sz onset` of events.tsv",
        ez="`soz` or `resect` in status_description of channels.tsv",
        note="the paper keeps 117 of the 135 seizures after a review that is not published; "
        "all 135 are kept here",
        labels=(StatusWords(frozenset({"soz", "resect"})),),
        reason_to_exclude=_seizure_free,
    ),
)
