"""EpiLENS: which of a patient's implanted contacts are in the epileptogenic zone?

Patient-relative localization from multi-center intracranial EEG. For research, not for diagnosis.
The public names are loaded on first use, so that importing the package stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from epilens.analyses import analyse
    from epilens.data.bids import read_bids
    from epilens.data.onsets.finder import propose_onsets
    from epilens.evaluation.ledger import fuse
    from epilens.evaluation.protocol import run
    from epilens.evaluation.resampling import compare
    from epilens.evaluation.run import open_run
    from epilens.evaluation.scoring import score
    from epilens.evaluation.train import train
    from epilens.evidence.describe import describe
    from epilens.evidence.descriptors import descriptors
    from epilens.evidence.files import Cohort, open_cohort
    from epilens.evidence.views import views
    from epilens.networks.bcr import BCRNet
    from epilens.networks.model import open_model
    from epilens.networks.prq import PRQNet
    from epilens.plan import Plan, Runtime
    from epilens.report.patient.localize import localize

__version__ = "0.3.0"

_HOME = {
    "BCRNet": "epilens.networks.bcr",
    "Cohort": "epilens.evidence.files",
    "PRQNet": "epilens.networks.prq",
    "Plan": "epilens.plan",
    "Runtime": "epilens.plan",
    "analyse": "epilens.analyses",
    "compare": "epilens.evaluation.resampling",
    "describe": "epilens.evidence.describe",
    "descriptors": "epilens.evidence.descriptors",
    "fuse": "epilens.evaluation.ledger",
    "localize": "epilens.report.patient.localize",
    "open_cohort": "epilens.evidence.files",
    "open_model": "epilens.networks.model",
    "open_run": "epilens.evaluation.run",
    "propose_onsets": "epilens.data.onsets.finder",
    "read_bids": "epilens.data.bids",
    "run": "epilens.evaluation.protocol",
    "score": "epilens.evaluation.scoring",
    "train": "epilens.evaluation.train",
    "views": "epilens.evidence.views",
}

__all__ = [
    "BCRNet",
    "Cohort",
    "PRQNet",
    "Plan",
    "Runtime",
    "analyse",
    "compare",
    "describe",
    "descriptors",
    "fuse",
    "localize",
    "open_cohort",
    "open_model",
    "open_run",
    "propose_onsets",
    "read_bids",
    "run",
    "score",
    "train",
    "views",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'epilens' has no attribute {name!r}")
    try:
        return getattr(import_module(_HOME[name]), name)
    except ModuleNotFoundError as error:
        from epilens.core.extras import explain_import_error

        raise explain_import_error(f"epilens.{name}", error) from error


def __dir__() -> list[str]:
    return sorted(__all__)
