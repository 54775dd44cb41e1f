"""Any center's own iEEG-BIDS tree."""

from epilens.data.datasets import Dataset
from epilens.data.labels import LabelColumns, StatusWords

WORDS = StatusWords(
    frozenset(
        {
            *("soz", "ez", "resect", "resected", "resection", "rz", "ablated", "ablation"),
            *("cavity", "removed"),
        }
    )
)
COLUMNS = LabelColumns(
    (
        *("ez", "epileptogenic_zone", "soz", "seizure_zone", "seizure_onset_zone", "onset_zone"),
        *("seizure_onset", "ictal_onset_zone", "resected", "resect", "resection"),
        *("resection_zone", "resected_zone", "resection_cavity", "rz", "cavity", "removed"),
        *("ablated", "ablation", "ablation_zone"),
    )
)
TABLES = (COLUMNS, WORDS)
"""Label sources for any dataset: columns of channels.tsv and electrodes.tsv, and words."""
EZ = (
    "a column (is_ez, soz, seizure_zone, resected, resection, rz, cavity, ablated, …) of "
    "channels.tsv or electrodes.tsv, words in status_description, the onset contacts that events "
    "name, or a CSV given by --labels"
)

ENTRIES = (
    Dataset(
        name="local",
        title="Any center's iEEG-BIDS dataset",
        version="",
        licence="",
        who="every patient with a seizure",
        onset="events.tsv of any run, or the file's own annotations",
        ez=EZ,
        labels=TABLES,
    ),
)
