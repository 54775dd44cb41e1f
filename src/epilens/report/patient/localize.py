"""The public function `epilens.localize`: a patient's ranked contacts, and their page."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from epilens.core.progress import Progress, StepFunction
from epilens.localization import Request
from epilens.localization.result import Localization, assemble
from epilens.localization.sources import Source
from epilens.networks.model import Model
from epilens.plan import Plan
from epilens.report.patient.page import page, write_report


@dataclass(frozen=True, repr=False)
class PatientReport(Localization):
    """Ranked contacts of one patient, with a page."""

    def page(self) -> str:
        """The patient's page as HTML text: one file without external links."""
        return page(self)

    def save(self, folder: str | Path) -> Path:
        """Write page and BIDS derivative below a folder, which can contain many patients."""
        return write_report(self, folder)


def localize(
    patient: Any,
    model: Model | Source | str | Path | None = None,
    *,
    onsets: Iterable[float | str] = (),
    electrodes: str | Path | None = None,
    space: str = "",
    code: str = "",
    exclude: Iterable[str] | Mapping[str, str] = (),
    keep: Iterable[str] = (),
    plan: Plan | None = None,
    resected: str | Collection[str] | None = None,
    compare: Iterable[Model | Source | str | Path] = (),
    force_descriptors: bool = False,
    onset_source: str = "",
    tick: Progress | StepFunction | None = None,
) -> PatientReport:
    """Rank the contacts of one patient, with evidence.

    Parameters
    ----------
    patient : path, or a sequence of paths, `mne.io.Raw`, (Raw, onset) or Recording; or a cube
        Seizures of one patient. A path is a recording, a run or a patient of a BIDS tree.
    model : Model, path of one, name of a shipped one, or name of a training-free method
        What computes the scores. Default: the shipped model `recorded`, compared with line-length
        spread and the Epileptogenicity Index. If a recording is too short for the model:
        line-length spread, smoothed along electrodes, which needs no training.
    onsets : floats or clock times (`14:03:07`, `2026-01-05 14:03:07`)
        Seconds from the start of each recording; default: from annotations or events.tsv.
    electrodes, space : path, str
        Positions of the contacts (BIDS table, 3D Slicer, iELVis, Brainstorm, CSV), and their
        coordinate system where the file does not state it.
    code : str
        Code of the patient where the recordings contain none: letters and digits.
    exclude : names
        Channels to exclude; a mapping from names to reasons is allowed.
    keep : names
        Channels to use although the checks of their signal exclude them.
    plan : Plan
        For training-free methods. A model has its own; a plan that describes other evidence is
        refused.
    resected : str or names
        A planned or performed resection, as a list of contacts; `labels`: the dataset's EZ labels.
    compare : models or methods
        Models or methods that rank the same contacts for comparison.
    force_descriptors : bool
        Apply a model to a plan or cube with other descriptors or filters than it was trained on, if
        the number of descriptors is the same. A caution states it.
    onset_source : str
        Who gave the onsets and when, e.g. `marked by AB, 2026-11-17`; shown next to them.
    tick : function of (note, steps)
        Called as the work proceeds.

    Returns
    -------
    PatientReport
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
    request = Request(
        patient=patient,
        model=model,
        onsets=tuple(onsets),
        electrodes=electrodes,
        space=space,
        code=code,
        exclude=exclude if isinstance(exclude, Mapping) else tuple(exclude),
        keep=tuple(keep),
        plan=plan,
        resected=resected,
        compare=tuple(compare),
        force_descriptors=force_descriptors,
        onset_source=onset_source,
    )
    localized = assemble(request, Progress.of(tick))
    return PatientReport(**{f.name: getattr(localized, f.name) for f in fields(localized)})
