"""Open iEEG Dataset: interictal sleep from Detroit and UCLA, OpenNeuro ds005398."""

from epilens.data.datasets import Dataset
from epilens.data.datasets.local import TABLES

ENTRIES = (
    Dataset(
        name="ds005398",
        title="Open iEEG Dataset (Detroit, UCLA)",
        version="1.0.1",
        licence="CC0",
        accession="ds005398",
        centers=(("sub-Detroit", "Detroit"), ("sub-UCLA", "UCLA")),
        who="every patient; outcome S where Engel_Class1 is yes",
        onset="none: interictal sleep",
        ez="`soz` or `resection` in channels.tsv; channels with `bad` = 1 are excluded",
        note="Detroit001 to Detroit135 agree in age and sex with patients 01 to 135 of ds005592: "
        "count them once",
        labels=TABLES,
    ),
)
