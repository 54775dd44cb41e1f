"""Any center's own iEEG-BIDS tree."""

from epilens.data.datasets import Dataset
from epilens.data.labels import LabelColumns, StatusWords

WORDS = StatusWords(
    frozenset({"soz", "ez", "resect", "resected", "resection", "rz", "ablated", "ablation"})
)
COLUMNS = LabelColumns(
    (
        *("is_ez", "ez", "soz", "is_soz", "seizure_zone", "seizure_onset_zone"),
        *("resected", "is_resected", "resect", "resection", "resection_zone", "resected_zone"),
        *("rz", "ablated", "ablation"),
    )
)

ENTRIES = (
    Dataset(
        name="local",
        title="Any center's iEEG-BIDS dataset",
        version="",
        licence="",
        who="every patient with an ictal run",
        onset="free text in events.tsv, or the file's own annotations",
        ez="a column (is_ez, ez, soz, seizure_zone, resected, rz, …) of channels.tsv or "
        "electrodes.tsv, words in status_description, or a CSV given by --labels",
        labels=(COLUMNS, WORDS),
    ),
)
