"""EpiLENS: which of a patient's implanted contacts are in the epileptogenic zone?

Patient-relative localization from multi-center intracranial EEG. For research, not for diagnosis.
The public names are loaded on first use, so that importing the package stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from epilens.data.bids import read_bids
    from epilens.evidence.cube import Cohort, open_cohort
    from epilens.evidence.describe import describe
    from epilens.evidence.descriptors import descriptors
    from epilens.evidence.views import views
    from epilens.plan import Plan

__version__ = "0.1.0"

_HOME = {
    "Cohort": "epilens.evidence.cube",
    "Plan": "epilens.plan",
    "describe": "epilens.evidence.describe",
    "descriptors": "epilens.evidence.descriptors",
    "open_cohort": "epilens.evidence.cube",
    "read_bids": "epilens.data.bids",
    "views": "epilens.evidence.views",
}

__all__ = ["Cohort", "Plan", "describe", "descriptors", "open_cohort", "read_bids", "views"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'epilens' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
