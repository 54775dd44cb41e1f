"""Localize a new patient: ranked contacts, why, how sure, when; from a Model or without training.

The way of a `Request`: `gather` makes evidence of whatever is given; `sources` score it; `explain`,
`certainty`, `timing`, `words` and `compare` say what there is to say; `result` puts it together.
The package is called `localization`, so that `epilens.localize` can be its function.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epilens.core.progress import Progress, StepFunction

if TYPE_CHECKING:
    from epilens.localization.result import Localization
    from epilens.localization.sources import Source
    from epilens.networks.model import Model
    from epilens.plan import Plan

__all__ = ["DEFAULT", "DEFAULT_COMPARED", "Request", "localize"]

DEFAULT = "line-length-spread/shaft"
"""Ranks contacts where no model is given: the best that needs no training, on recorded features."""
DEFAULT_COMPARED = ("epileptogenicity-index",)
"""What stands beside it, so that their agreement can be seen."""


@dataclass(frozen=True)
class Request:
    """What is asked for, as `localize` explains it field by field."""

    patient: Any
    model: Model | Source | str | Path | None = None
    onsets: Sequence[float] = ()
    electrodes: str | Path | None = None
    space: str = ""
    code: str = ""
    exclude: Sequence[str] = ()
    plan: Plan | None = None
    resected: str | Collection[str] | None = None
    compare: Sequence[Model | Source | str | Path] = ()
    force_descriptors: bool = False
    onset_source: str = ""


def localize(
    patient: Any,
    model: Model | Source | str | Path | None = None,
    *,
    onsets: Iterable[float] = (),
    electrodes: str | Path | None = None,
    space: str = "",
    code: str = "",
    exclude: Iterable[str] = (),
    plan: Plan | None = None,
    resected: str | Collection[str] | None = None,
    compare: Iterable[Model | Source | str | Path] = (),
    force_descriptors: bool = False,
    onset_source: str = "",
    tick: Progress | StepFunction | None = None,
) -> Localization:
    """Rank the contacts of one patient, with evidence.

    Parameters
    ----------
    patient : path, or a sequence of paths, `mne.io.Raw`, (Raw, onset) or Recording; or a cube
        Seizures of one patient. A path is a recording, a run or a patient of a BIDS tree.
    model : Model, path of one, or name of a training-free method
        What gives the scores. Default: line-length spread, smoothed along shafts, which needs no
        training, with the Epileptogenicity Index beside it.
    onsets : floats
        Seconds from the start of each recording; default: from annotations or events.tsv.
    electrodes, space : path, str
        Table with name, x, y, z, and its coordinate system.
    code : str
        What the patient is called, where the recordings do not say: letters and digits.
    exclude : names
        Channels to leave out.
    plan : Plan
        For training-free methods. A model brings its own; one that describes other evidence is
        refused.
    resected : str or names
        A planned or performed resection, as a list of contacts; `labels`: the dataset's EZ labels.
    compare : models or methods
        Others to rank the same contacts.
    force_descriptors : bool
        Apply a model to a plan or cube with other descriptors or filters than it was trained on, if
        the descriptors are as many. A caution says so.
    onset_source : str
        Who gave the onsets and when, e.g. `marked by AB, 2026-11-17`; stands beside them.
    tick : function of (note, steps)
        Told what is being done.

    Returns
    -------
    Localization
        `.contacts` is the ranked table, `.save(folder)` writes page and BIDS derivative.

    Examples
    --------
    >>> from epilens.testing import make_recording
    >>> seizures = [make_recording(run=f"run-0{i}", seed=i) for i in (1, 2)]  # six contacts each
    >>> localized = localize(seizures, "line-length-spread")
    >>> len(localized), int(localized["A1"]["seizures"])
    (6, 2)
    >>> localized.contacts["rank"].astype(int).tolist()  # 1: most EZ-like
    [1, 2, 3, 4, 5, 6]
    """
    # Heavy packages, when they are needed: a request can be read before.
    from epilens.localization.result import assemble

    onsets, exclude, compare = tuple(onsets), tuple(exclude), tuple(compare)
    given = (onsets, electrodes, space, code, exclude, plan, resected, compare, force_descriptors)
    return assemble(Request(patient, model, *given, onset_source), Progress.of(tick))
