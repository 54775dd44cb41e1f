"""The HUP cohort: Hospital of the University of Pennsylvania, OpenNeuro ds004100."""

from epilens.data.datasets import Dataset
from epilens.data.labels import StatusWords

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
        zone="either",
        outcomes=("S",),
    ),
)
