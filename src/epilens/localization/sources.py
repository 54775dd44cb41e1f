"""What computes the scores: a Model, or a training-free method, behind one interface."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from epilens.core.errors import MethodError, ModelError, did_you_mean
from epilens.core.types import Floats
from epilens.evaluation.certainty import Certainty
from epilens.evidence.contact_features import check_features, has_features
from epilens.evidence.cube import blind
from epilens.evidence.plan_match import EVIDENCE, cube_fields, plan_differences
from epilens.evidence.seizures import described_by
from epilens.localization.data_cautions import feature_cautions
from epilens.methods import METHODS, Method, Training
from epilens.networks.card import (
    describe_certainty,
    describe_input,
    describe_members,
    describe_performance,
)
from epilens.networks.kinds import KINDS
from epilens.networks.model import Model, model_folder, open_model, shipped_models
from epilens.networks.predictor import Explanation, each_seizure
from epilens.plan import Plan

FORCED = ("filter", "descriptors")
"""Sections in which a user can force other evidence than the model was trained on."""
_NOT_FORCED = tuple(section for section in EVIDENCE if section not in FORCED)


@dataclass(frozen=True)
class Scores:
    """Scores of the channels of a patient."""

    p_nez: Floats
    """(C,)"""
    per_seizure: Floats
    """(S, C): each seizure as if it were the only one; 0.5 where it does not show the channel."""
    parts: Mapping[str, Floats] = field(default_factory=dict)
    """(C,), by method, where a model fuses two: `prq` and `bcr`."""
    members: Floats | None = None
    """(member, C)"""

    @property
    def member_sd(self) -> Floats | None:
        """Standard deviation over the members (C,); None where there are not two of them."""
        if self.members is None or len(self.members) < 2:
            return None
        return self.members.std(axis=0)


class ModelSource:
    """A model of any kind."""

    is_model = True

    def __init__(self, model: Model, name: str = "model", force_descriptors: bool = False):
        kind = KINDS[model.kind]
        self.model, self.name = model, name
        self.title = str(model.about.get("title", kind.title))
        self.store = kind.input
        """What is read: the cube, or a store in addition to it."""
        self.force_descriptors = force_descriptors
        self.threshold: float | None = model.threshold
        self.simulated = bool(model.about.get("simulated"))
        self.certainty: Certainty | None = None
        if model.assurance:
            self.certainty = Certainty.from_json(model.assurance, who=name)
        stored = model.about.get("plan") or {"descriptors": model.descriptors}
        self.trained_with = Plan.of(dict(stored), who=f"{name}: its plan")
        self.plan = self.trained_with
        """The plan by which evidence is described."""

    def score(self, patient: xr.Dataset) -> Scores:
        """Mean over members, of all seizures and of each alone."""
        self.model.check(patient, self.force_descriptors)
        if self.store == "features":
            check_features(patient)
        scores = self.model.score(patient)
        mean = scores.members.mean(axis=0)
        return Scores(mean, scores.per_seizure, scores.parts, scores.members)

    def explain(self, cube: xr.Dataset, order: NDArray[np.int64]) -> Explanation | None:
        """What moves the scores of the leading contacts of `order`."""
        return self.model.explain(cube, order)

    def card(self) -> list[tuple[str, str]]:
        """As the model's own card, in pairs."""
        about, model = self.model.about, self.model
        cohort, plan = (
            about.get("cohort", {}),
            about.get("plan_digest", "none; the paper's is used"),
        )
        return [
            *describe_members(
                {"kind": model.kind, "members": model.members, "weight": model.weight}
            ),
            ("flagged as EZ", f"where the EZ score is above {1 - model.threshold:g}"),
            ("source", str(about.get("source", "unknown"))),
            ("trained on", describe_input(model.kind, model.descriptors)),
            *([("plan", str(plan))] if self.store == "cube" else []),
            *((f"training {key}", str(value)) for key, value in cohort.items()),
            *(("performance", line) for line in describe_performance(about)),
            *(("certainty", line) for line in describe_certainty(model.assurance)),
            *(("note", str(note)) for note in about.get("notes", [])),
        ]

    def cautions(self, cube: xr.Dataset) -> list[str]:
        """Reasons to distrust scores of this cube: evidence that the model was not trained on."""
        if self.store == "features":
            return feature_cautions(cube) if has_features(cube) else []
        plan = self.trained_with
        others = [
            *differing(plan, cube_fields(cube, plan), FORCED),
            *differing(plan, self.plan.fields(("filter",))),
        ]
        if not others:
            return []
        return [
            f"{self.name} was applied to evidence that it was not trained on: "
            f"{'; '.join(dict.fromkeys(others))}. Its scores may mean nothing."
        ]

    def notes(self) -> list[str]:
        """What an imported model lacks, and whether a model is simulated."""
        about, notes = self.model.about, []
        if self.simulated:
            notes.append("Trained on simulated patients: no result is clinical evidence.")
        if self.certainty is None:
            notes.append(
                "The model has no calibration, no set of stated coverage and no training patients "
                "to compare with: none of these is shown."
            )
        if not about.get("plan") and self.store == "cube":
            notes.append("The model has no plan: evidence is computed with the paper's.")
        if len(self.model.members) == 1:
            notes.append("The model has one member, so no SD over members is shown.")
        return notes


class MethodSource:
    """A method that needs no training, so it has no threshold and no certainty."""

    is_model = False
    force_descriptors = False
    simulated = False
    threshold: float | None = None
    certainty: Certainty | None = None

    def __init__(self, method: Method, plan: Plan | None = None):
        self.method, self.plan = method, plan or Plan()
        self.name, self.title, self.store = method.name, method.title, method.input
        self._fitted = method.fit(Training(plan=self.plan))

    def score(self, patient: xr.Dataset) -> Scores:
        """The method on all seizures, and on each alone."""
        return Scores(self.p_nez(patient), each_seizure(self.p_nez, patient))

    def p_nez(self, patient: xr.Dataset) -> Floats:
        """NEZ probability from all seizures (C,)."""
        return self._fitted.predict([blind(patient)])["p_nez"].to_numpy(np.float64)

    def explain(self, cube: xr.Dataset, order: NDArray[np.int64]) -> None:
        """There are no contributions."""

    def card(self) -> list[tuple[str, str]]:
        """Name and reference."""
        return [
            ("method", self.title),
            ("reference", self.method.reference),
            ("training", "none"),
            ("plan", self.plan.digest),
        ]

    def cautions(self, cube: xr.Dataset) -> list[str]:
        """None: it was not trained."""
        return []

    def notes(self) -> list[str]:
        """What a method without training cannot provide."""
        return [
            "Training-free method: scores rank the contacts of this patient. There is no "
            "threshold, no calibrated probability, no SD over an ensemble and no explanation by "
            "contributions."
        ]


Source = ModelSource | MethodSource


def open_source(
    given: Model | Source | str | Path, plan: Plan | None = None, force_descriptors: bool = False
) -> Source:
    """A source from a model, its folder, or the name of a training-free method."""
    if isinstance(given, Model):
        return _with_plan(ModelSource(given, force_descriptors=force_descriptors), plan)
    if isinstance(given, ModelSource | MethodSource):
        return given
    path = model_folder(given)
    if path.is_dir() and ((path / "model.json").exists() or str(given) not in METHODS):
        return _with_plan(ModelSource(open_model(path), path.name, force_descriptors), plan)
    return MethodSource(_training_free(str(given)), plan)


def _training_free(name: str) -> Method:
    free = [row.name for row in METHODS.values() if row.training_free]
    if name in METHODS and METHODS[name].training_free:
        return METHODS[name]
    if name in METHODS:
        raise MethodError(
            f"{name}: expected a model folder or a training-free method, found one that must be "
            f"trained. Train a model with `epilens train`, or use {', '.join(free[:3])}."
        )
    raise MethodError(
        f"{name}: expected a model (folder or name) or a training-free method, found neither. "
        f"{did_you_mean(name, [*shipped_models(), *free])}"
    )


def _with_plan(source: ModelSource, plan: Plan | None) -> ModelSource:
    """The source, if a plan that the user gives describes evidence as the model's does.

    Where other descriptors are forced, evidence is described by the plan that is given. Contact
    features do not depend on the plan.
    """
    if plan is not None and source.store == "features":
        source.plan = plan
        return source
    if plan is None:
        return source
    described = described_by(plan, ("descriptors",))
    if not (differences := differing(source.plan, described)):
        return source
    forceable = _is_forceable(source, described)
    if source.force_descriptors and forceable:
        source.plan = plan
        return source
    raise ModelError(
        f"{source.name}: expected the plan that it was trained with, found another: "
        f"{'; '.join(differences)}. Leave the plan out, or train a model with this one."
        f"{_how_to_force(source, forceable)}"
    )


def check_cube(cube: xr.Dataset, source: Source) -> None:
    """A cube that was described elsewhere must look as the source's plan would have made it."""
    if source.store == "features":
        return
    described = cube_fields(cube, source.plan)
    if not (differences := differing(source.plan, described)):
        return
    forceable = _is_forceable(source, described)
    if source.force_descriptors and forceable:
        return
    raise ModelError(
        f"{cube.attrs.get('patient', 'cube')}: expected evidence as {source.name} was trained on, "
        f"found: {'; '.join(differences)}. Describe the patient with the model's plan."
        f"{_how_to_force(source, forceable)}"
    )


def _is_forceable(source: Source, described: Mapping[str, Any]) -> bool:
    """Whether only filters differ, and descriptors of the same number."""
    alike = len(described["descriptors"]) == len(source.plan.descriptors)
    return alike and not differing(source.plan, described, _NOT_FORCED)


def _how_to_force(source: Source, forceable: bool) -> str:
    if not source.is_model:
        return ""
    if not source.force_descriptors:
        return " To apply the model nevertheless: --force-descriptors." if forceable else ""
    return " Only filters and other descriptors of the same number can be forced."


def differing(
    model: Plan, described: Mapping[str, Any], sections: Collection[str] = EVIDENCE
) -> list[str]:
    """How evidence was described otherwise than for a model, by default in all that changes it."""
    differences = plan_differences(model, described, sections)
    return [difference.text("the model's") for difference in differences]
