"""Which contacts lie in the onset zone, the resection and the EZ.

`zones` defines what a label source can state, `sources` reads the places where labels are written,
and `patient_zones` combines the sources of a dataset for one patient.
"""

from epilens.data.labels.sources import (
    ClinicalSheet,
    LabelColumns,
    LabelError,
    LabelTable,
    StatusWords,
)

__all__ = ["ClinicalSheet", "LabelColumns", "LabelError", "LabelTable", "StatusWords"]
