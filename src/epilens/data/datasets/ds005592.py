"""Spatial volatility: slow-wave sleep from Detroit, OpenNeuro ds005592."""

from epilens.data.datasets import Dataset
from epilens.data.datasets.local import TABLES

ENTRIES = (
    Dataset(
        name="ds005592",
        title="Spatial volatility (slow-wave sleep, Detroit)",
        version="1.0.0",
        licence="CC0",
        accession="ds005592",
        center="Detroit",
        who="every patient; outcome S where the ILAE class is 1",
        onset="none: slow-wave sleep",
        ez="`resection` (resected or preserved) in channels.tsv, or `seizure onset zone` in "
        "status_description",
        note="patients 01 to 135 agree in age and sex with Detroit001 to Detroit135 of ds005398: "
        "count them once",
        labels=TABLES,
    ),
)
