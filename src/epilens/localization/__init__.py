"""Localize a new patient: ranked contacts, why, how certain, when; by a Model or without training.

From a `Request`, `prepare` reads and describes the patient, and `sources` score it. `certainty`,
`timing`, `narrative`, `summary`, `plausibility` and `compare` describe the result; `result` puts it
together. A caution is about this patient's recordings, a caveat about the ranking in general.
The public function `epilens.localize`, whose result has a page, is in `report.patient.localize`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from epilens.data.load_patient import PatientInput

if TYPE_CHECKING:
    from epilens.localization.sources import Source
    from epilens.networks.model import Model
    from epilens.plan import Plan

__all__ = ["DEFAULT", "DEFAULT_COMPARED", "FALLBACK", "Request"]

DEFAULT = "recorded"
"""The shipped model, which ranks contacts if no model or method is given."""
FALLBACK = "line-length-spread/shaft"
"""Method if a recording is too short for it: the best on recorded features without training."""
DEFAULT_COMPARED = ("line-length-spread", "epileptogenicity-index")
"""Methods that are compared with it, to show how far they agree."""


@dataclass(frozen=True)
class Request(PatientInput):
    """What to localize, and how; the fields are the parameters of `epilens.localize`."""

    model: Model | Source | str | Path | None = None
    plan: Plan | None = None
    resected: str | Collection[str] | None = None
    compare: Sequence[Model | Source | str | Path] = ()
    force_descriptors: bool = False
    onset_source: str = ""
