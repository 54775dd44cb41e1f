"""The simulated multi-center cohort that `epilens simulate` writes; not clinical data."""

from epilens.data.datasets import Dataset
from epilens.data.datasets.local import TABLES
from epilens.data.labels import ClinicalSheet

SHEET = "sourcedata/clinical_data_summary.xlsx"
GENERATOR, VERSION = "EpiLENS simulation", "2"
"""Generator of a dataset; its version changes when a seed gives other patients."""

ENTRIES = (
    Dataset(
        name="simulated",
        title="Simulated multi-center cohort (no clinical data)",
        version=VERSION,
        licence="CC0",
        generated_by=GENERATOR,
        simulated=True,
        who="every simulated patient",
        onset="free text in events.tsv, spelt differently by each center",
        ez="words in status_description, a column, or a clinical sheet, by center",
        note="simulated signals and patients: nothing computed from them is clinical evidence",
        labels=(*TABLES, ClinicalSheet(SHEET)),
    ),
)
