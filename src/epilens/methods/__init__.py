"""Methods, one file per family: fit labelled patients, predict blind ones; one contract.

A method reads patients as datasets: the cube, and in addition what its `input` names (`features`,
`traces` or `signals`, see `epilens.evidence.files.open_patient`). Its `settings` are what the fit
uses and what the key of its results is computed from (`methods.inputs`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
import pandas as pd
import xarray as xr

from epilens.core.decisions import selected_threshold
from epilens.core.errors import MethodError
from epilens.core.extras import missing, require
from epilens.core.memo import LastResults
from epilens.core.provenance import digest_of, resolve
from epilens.core.registry import Origin, Registry
from epilens.plan import SHAFT, Plan

if TYPE_CHECKING:
    from epilens.networks.predictor import Predictor

VALIDATION = "validation patients"
SMOOTH = "epilens.methods.shaft:smooth_fitted"  # by name: it is in the key of smoothed methods only


@dataclass(frozen=True)
class Training:
    """What a method is fitted on; a training-free one reads only the plan."""

    fit: Sequence[xr.Dataset] = ()
    validation: Sequence[xr.Dataset] = ()
    seed: int = 0
    plan: Plan = field(default_factory=Plan)


NO_HISTORY = pd.DataFrame({"epoch": pd.Series(dtype=int)})


@dataclass
class Scorer:
    """A fitted method: the p_nez of a patient's seen channels, and what is kept with it.

    Another package may return any object with these attributes.
    """

    p_nez: Callable[[xr.Dataset], np.ndarray]
    history: pd.DataFrame = field(default_factory=NO_HISTORY.copy)
    """One row per epoch; empty for methods that have none."""
    threshold: float | None = None
    """None: chosen from `threshold_scores` by the rule of the method or, where there are none, by
    the protocol."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """What else should be kept with the result: manifests, provenance, audits; JSON."""
    tensors: Mapping[str, object] = field(default_factory=dict)
    """Tensors that make up the fitted method, by name, for the checkpoint; may be empty."""
    threshold_from: str = VALIDATION
    """Patients whose scores choose the threshold: `validation patients`, or the method's own."""
    threshold_scores: pd.DataFrame | None = None
    """The scores on which it is chosen (patient, channel, is_ez, p_nez), which the audit reads
    too; None: validation patients' scores."""
    predictor: Callable[[], Predictor] | None = None
    """Makes the fitted object that a model stores (`epilens.networks.predictor`); None: `train`
    refuses the method."""

    def predict(self, patients: Sequence[xr.Dataset]) -> pd.DataFrame:
        """NEZ probability of every seen channel of blind patients: patient, channel, p_nez."""
        return pd.concat([prediction_rows(p, self.p_nez(p)) for p in patients], ignore_index=True)

    def weights(self) -> Mapping[str, object]:
        """Tensors for the checkpoint."""
        return self.tensors


FitFunction = Callable[[Any, Training], Scorer]
"""(settings of the row, what it is fitted on) → fitted method."""


@dataclass(frozen=True)
class Method:
    """A method: its name, what it reads, how it is fitted."""

    name: str
    title: str
    input: str
    """`cube`, `features`, `traces` or `signals`."""
    reference: str
    fitter: FitFunction | None
    """A function of a module, which other methods may share; None: fused from `parts`."""
    settings: Any = field(default_factory=dict)
    """Everything that the fit uses: a frozen dataclass or mapping of plain values. What only this
    method needs from other modules is named in it as `module:attribute`."""
    parts: tuple[str, ...] = ()
    """Methods whose ledgers are fused into this one, or the one that is smoothed."""
    sections: tuple[str, ...] = ()
    """Sections of the plan that change its numbers."""
    requires: tuple[str, ...] = ()
    """Packages beyond the base install."""
    pretrained: str = ""
    """Folder of pretrained weights that it starts from."""
    training_free: bool = False
    seeded: bool = True
    """Whether another seed gives other scores."""
    prevalence_tolerance: float | None = None
    """How far the fraction of flagged contacts may be from the EZ fraction; None: any."""
    smoothing: Literal["", "shaft"] = ""
    """`shaft`: scores are smoothed along electrodes (`methods.shaft`)."""

    @cached_property
    def smoothed(self) -> Method:
        """The method smoothed along electrodes: made from its own scores, fitted only once."""
        return replace(
            self,
            name=self.name + SHAFT,
            title=f"{self.title}, smoothed along shafts",
            parts=(self.name,),
            sections=(*self.sections, "shaft"),
            prevalence_tolerance=None,  # its threshold is the protocol's
            smoothing="shaft",
        )

    def fit(self, training: Training) -> Scorer:
        """Fit, if there is enough to learn from."""
        if self.fitter is None:
            raise MethodError(
                f"{self.name}: expected a method that is fitted, found one that is fused from "
                f"{' and '.join(self.parts)}. Fit these."
            )
        require(self.name, *self.requires)
        if not self.training_free:
            _check_partition(self.name, "fit", training.fit, least=2)
            _check_partition(self.name, "validation", training.validation, least=1)
            _check_descriptors(self.name, [*training.fit, *training.validation])
        fitted = self.fitter(self.settings, training)
        if self.smoothing:
            return resolve(SMOOTH)(fitted, training.plan.shaft)
        own = getattr(fitted, "threshold_scores", None)  # other packages' may lack it
        if fitted.threshold is None and own is not None and fitted.threshold_from != VALIDATION:
            fitted.threshold = selected_threshold(own, self.prevalence_tolerance)
        return fitted

    def missing(self) -> str:
        """The first required package that is not installed."""
        return missing(*self.requires)


def _check_partition(who: str, partition: str, patients: Sequence[xr.Dataset], least: int) -> None:
    purpose = {"fit": "learn from", "validation": "choose a threshold on"}[partition]
    if len(patients) < least:
        raise MethodError(
            f"{who}: expected {least} or more patients to {purpose}, found "
            f"{len(patients)}. Add patients, or use a training-free method."
        )
    for patient in patients:
        if "is_ez" not in patient:
            raise MethodError(
                f"{who}: expected EZ labels for every {partition} patient, found none for "
                f"{patient.attrs['patient']}."
            )
    if partition == "fit":
        flags = np.concatenate([seen_labels(patient) for patient in patients])
        if flags.all() or not flags.any():
            raise MethodError(
                f"{who}: expected EZ and NEZ channels among the fit patients, found only "
                f"{'EZ' if flags.all() else 'NEZ'}. Check the labels."
            )


def _check_descriptors(who: str, patients: Sequence[xr.Dataset]) -> None:
    first, *others = (patient["descriptor"].values.tolist() for patient in patients)
    for patient, names in zip(patients[1:], others, strict=True):
        if names != first:
            raise MethodError(
                f"{who}: expected the descriptors {', '.join(first)} of every patient, found "
                f"{', '.join(names)} in {patient.attrs['patient']}. Describe all patients with one "
                "plan."
            )


def seen_channels(patient: xr.Dataset) -> np.ndarray:
    """Which channels (channel) are valid in some window of some seizure: those that get a score."""
    return patient["valid"].any(["seizure", "window"]).values


def seen_labels(patient: xr.Dataset) -> np.ndarray:
    """EZ labels of the seen channels."""
    return patient["is_ez"].values[seen_channels(patient)]


def prediction_rows(patient: xr.Dataset, p_nez: np.ndarray) -> pd.DataFrame:
    """Rows of `predict` for one patient, from the scores of its seen channels."""
    names = patient["channel"].values[seen_channels(patient)]
    return pd.DataFrame({"patient": patient.attrs["patient"], "channel": names, "p_nez": p_nez})


def evidence_counts(patients: Sequence[xr.Dataset]) -> dict[str, dict[str, int]]:
    """Seizures and windows of each patient in which some channel is valid.

    For the notes of methods on features: recorded for auditing, never a column of their input.
    """
    valid = {patient.attrs["patient"]: patient["valid"].any("channel") for patient in patients}
    return {
        name: {"seizures": int(shown.any("window").sum()), "windows": int(shown.sum())}
        for name, shown in valid.items()
    }


Score = TypeVar("Score")
_scores: LastResults[Any] = LastResults(1000)
"""Of a patient by a method each."""


def memoize(
    settings: object, score: Callable[[xr.Dataset], Score]
) -> Callable[[xr.Dataset], Score]:
    """Remember the scores of patients from a store: a training-free score is the same in all folds.

    settings : all that the scores depend on, plain values. Patients that were made in memory have
    no key and are computed each time.
    """
    digest = digest_of(settings)

    def remembered(patient: xr.Dataset) -> Score:
        if "key" not in patient.attrs:
            return score(patient)
        # Which channels and windows are valid belongs to it: a selection keeps the store's key.
        selection = (tuple(patient["channel"].values), patient["valid"].values.tobytes())
        return _scores.get((digest, patient.attrs["key"], *selection), lambda: score(patient))

    return remembered


class Methods(Registry[Method]):
    """Methods by name. `NAME/shaft` is the method smoothed along electrodes; it is not listed."""

    def __init__(self) -> None:
        super().__init__("epilens.methods", "method", "epilens.methods")

    def __getitem__(self, name: str) -> Method:
        base = self._base(name)
        return super().__getitem__(base).smoothed if base != name else super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and super().__contains__(self._base(name))

    def origin(self, name: str) -> Origin:
        """Module and package of a method."""
        return super().origin(self._base(name))

    def _base(self, name: str) -> str:
        """The name without the modifier, unless a method is registered under the whole name."""
        base = name.removesuffix(SHAFT)
        return name if super().__contains__(name) or not super().__contains__(base) else base


METHODS = Methods()


def all_parts(method: Method) -> list[str]:
    """Methods whose scores a method is made from, and theirs: those that are fitted come first."""
    inner = [name for part in method.parts for name in (*all_parts(METHODS[part]), part)]
    return list(dict.fromkeys(inner))


def stores_of(names: Sequence[str]) -> list[str]:
    """The stores, other than the cubes, that these methods read."""
    return sorted({METHODS[name].input for name in names} - {"cube"})
