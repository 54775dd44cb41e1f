"""RESPect long-term recordings: University Medical Center Utrecht, OpenNeuro ds003848."""

from epilens.data.datasets import Dataset
from epilens.data.datasets.local import TABLES

ENTRIES = (
    Dataset(
        name="ds003848",
        title="RESPect long-term iEEG (Utrecht)",
        version="1.0.3",
        licence="CC0",
        accession="ds003848",
        center="Utrecht",
        who="every patient with a seizure",
        onset="event `seizure` in events.tsv of runs of any task, with its duration and the "
        "contacts in which it began",
        ez="`soz` or `resected` in electrodes.tsv; the onset contacts of each seizure with "
        "cohort.ez = onset-contacts",
        note="recordings take about an hour; excerpts around the seizures are read",
        labels=TABLES,
    ),
)
