"""Localize a new patient: ranked contacts, why, how sure, when; from a Model or without training.

`epilens.localize(patient, model)` is this package, called.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from epilens.data.intake import Given
from epilens.localize.assemble import assemble
from epilens.localize.gather import gather
from epilens.localize.result import Localization
from epilens.localize.sources import Source, open_source
from epilens.plan import Plan
from epilens.progress import StepFunction, Ticks

if TYPE_CHECKING:
    from epilens.networks.model import Model

__all__ = ["Localization", "localize"]

_STEPS = ("reading", "describing", "scoring", "explaining", "comparing")


def localize(
    patient: Any,
    model: Model | Source | str | Path,
    *,
    onsets: Iterable[float] = (),
    electrodes: str | Path | None = None,
    space: str = "",
    code: str = "",
    exclude: Iterable[str] = (),
    plan: Plan | None = None,
    resected: str | Collection[str] | None = None,
    compare: Iterable[Model | Source | str | Path] = (),
    tick: Ticks | StepFunction | None = None,
) -> Localization:
    """Rank the contacts of one patient, with evidence.

    Parameters
    ----------
    patient : path, or a sequence of paths, `mne.io.Raw`, (Raw, onset) or Recording; or a cube
        Seizures of one patient. A path is a recording, a run or a patient of a BIDS tree.
    model : Model, path of one, or name of a training-free method
        What gives the scores.
    onsets : floats
        Seconds from the start of each recording; default: from annotations or events.tsv.
    electrodes, space : path, str
        Table with name, x, y, z, and its coordinate system.
    code : str
        What the patient is called, where the recordings do not say: letters and digits.
    exclude : names
        Channels to leave out.
    plan : Plan
        For training-free methods. A model brings its own; another one is refused.
    resected : str or names
        A planned or performed resection, as a list of contacts; `labels`: the dataset's EZ labels.
    compare : models or methods
        Others to rank the same contacts.

    Returns
    -------
    Localization
        `.contacts` is the ranked table; `epilens.report.page.write_report` makes a page of it.
    """
    tick = Ticks.of(tick)
    tick.expect(len(_STEPS))
    source = open_source(model, plan)
    others = [open_source(other, source.plan) for other in compare]
    given = Given(
        tuple(float(s) for s in onsets),
        None if electrodes is None else Path(electrodes),
        space,
        code,
        tuple(exclude),
    )
    stores = {source.reads, *(other.reads for other in others)}
    evidence = gather(patient, source, given, stores, tick)
    tick("scoring", 1)
    return assemble(evidence, source, others, resected, tick)


class _Callable(ModuleType):
    """`epilens.localize` is this package once it is imported; it still can be called."""

    def __call__(self, *args: Any, **options: Any) -> Localization:
        return localize(*args, **options)


sys.modules[__name__].__class__ = _Callable
