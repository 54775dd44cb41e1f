"""EpiLENS: which of a patient's implanted contacts are in the epileptogenic zone?

Patient-relative localization from multi-center intracranial EEG. For research, not for diagnosis.
The public names are loaded on first use, so that importing the package stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from epilens.data.bids import read_bids
    from epilens.plan import Plan

__version__ = "0.1.0"

_HOME = {"Plan": "epilens.plan", "read_bids": "epilens.data.bids"}

__all__ = ["Plan", "read_bids"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'epilens' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
