"""What gives the scores: a Model, or a training-free method, behind one face."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray

from epilens.arrays import Floats
from epilens.errors import MethodError, ModelError, did_you_mean
from epilens.evaluation.certainty import Certainty
from epilens.evidence.cube import blind
from epilens.fusion import fuse_scores
from epilens.localization.explain import Explanation, explain
from epilens.methods import METHODS, Method, Training
from epilens.networks.ensemble import Views, in_parallel, single_precision
from epilens.networks.model import Branch, Model, assured, open_model
from epilens.plan import Plan

EVIDENCE = ("montage", "quality", "filter", "windows", "descriptors")
"""Fields of a plan that change the evidence."""


@dataclass(frozen=True)
class Scores:
    """Scores of the channels of a patient; parts and members are None where there are none."""

    p_nez: Floats
    """(C,)"""
    per_seizure: Floats
    """(S, C): each seizure as if it were the only one; 0.5 where it does not show the channel."""
    p_prq: Floats | None = None
    p_bcr: Floats | None = None
    members: Floats | None = None
    """(member, C)"""

    @property
    def spread(self) -> Floats | None:
        """Standard deviation over the members (C,); None where there are not two of them."""
        if self.members is None or len(self.members) < 2:
            return None
        return self.members.std(axis=0)


class ModelSource:
    """An ensemble of both branches."""

    is_model = True
    store = "cube"
    """What is read: the cube, or a store beside it."""

    def __init__(self, model: Model, name: str = "model"):
        self.model, self.name, self.title = model, name, "EpiLENS model (PRQ-Net + BCR-Net)"
        self.threshold: float | None = model.threshold
        self.simulated = bool(model.about.get("simulated"))
        self.certainty: Certainty | None = None
        if model.assurance:
            self.certainty = Certainty.from_json(model.assurance, who=name)
        stored = model.about.get("plan")
        self.plan = Plan.of(dict(stored), who=f"{name}: its plan") if stored else Plan()

    def score(self, patient: xr.Dataset) -> Scores:
        """Mean over members; the windows are embedded once for all seizures and each of them."""
        self.model.check(patient)
        views, members = Views.of(patient), self.model.members
        branches = [branch for member in members for branch in (member.prq, member.bcr)]
        p_nez = np.array(in_parallel(lambda branch: _one_branch(branch, views), branches))
        prq, bcr = p_nez[::2], p_nez[1::2]  # (member, 1 + S, C)
        fused = fuse_scores(prq, bcr, self.model.weight)
        mean = fused.mean(axis=0)
        shown = patient["valid"].any("window").values
        return Scores(
            p_nez=mean[0],
            per_seizure=np.where(shown, mean[1:], 0.5),
            p_prq=prq[:, 0].mean(axis=0),
            p_bcr=bcr[:, 0].mean(axis=0),
            members=fused[:, 0],
        )

    def explain(self, cube: xr.Dataset, order: NDArray[np.int64]) -> Explanation:
        """What moves the scores of the leading contacts of `order`."""
        return explain(self.model, cube, order)

    def card(self) -> list[tuple[str, str]]:
        """As the model's own card, in pairs."""
        about, model = self.model.about, self.model
        cohort = about.get("cohort", {})
        return [
            ("members", f"{len(model.members)} (seeds × folds), each PRQ-Net and BCR-Net"),
            ("fusion", f"{1 - model.weight:.2f} PRQ-Net + {model.weight:.2f} BCR-Net"),
            ("called EZ", f"where the EZ score is above {1 - model.threshold:g}"),
            ("source", str(about.get("source", "unknown"))),
            ("plan", str(about.get("plan_digest", "none; the paper's is taken"))),
            *((f"training {key}", str(value)) for key, value in cohort.items()),
            *(("how sure", line) for line in assured(model.assurance)),
            *(("note", str(note)) for note in about.get("notes", [])),
        ]

    def notes(self) -> list[str]:
        """What is missing in imported models, or simulated in others."""
        about, notes = self.model.about, []
        if self.simulated:
            notes.append("The model was trained on simulated patients: nothing here is evidence.")
        if self.certainty is None:
            notes.append(
                "The model has no calibration, no set of stated coverage and no training cohort to "
                "compare with: none of these is shown."
            )
        if not about.get("plan"):
            notes.append("The model has no plan: evidence is computed with the paper's.")
        if len(self.model.members) == 1:
            notes.append("The model has one member: there is no spread over an ensemble.")
        return notes


def _one_branch(branch: Branch, views: Views) -> Floats:
    """p_nez of the patient, then of each seizure alone: (1 + S, C)."""
    network, φ = branch.network, views.standardized(branch.standardizer, torch.float32)
    with torch.no_grad():
        z, m = single_precision(network).embed(φ, views.valid)
        z = z.double()
        alone = [network.p_nez_of(z[s : s + 1], m[s : s + 1]) for s in range(len(z))]
        return torch.stack([network.p_nez_of(z, m), *alone]).numpy()


class MethodSource:
    """A method that needs no training, so it has no threshold and knows nothing about certainty."""

    is_model = False
    simulated = False
    threshold: float | None = None
    certainty: Certainty | None = None

    def __init__(self, method: Method, plan: Plan | None = None):
        self.method, self.plan = method, plan or Plan()
        self.name, self.title, self.store = method.name, method.title, method.input
        self._fitted = method.fit(Training(plan=self.plan))

    def score(self, patient: xr.Dataset) -> Scores:
        """The method on all seizures, and on each alone."""
        shown = patient["valid"].any("window").values
        alone = np.full(shown.shape, 0.5)
        for s in range(len(shown)):
            part = patient.isel(seizure=[s])
            alone[s, shown[s]] = self._p_nez(part.isel(channel=np.flatnonzero(shown[s])))
        return Scores(self._p_nez(patient), alone)

    def _p_nez(self, patient: xr.Dataset) -> Floats:
        return self._fitted.predict([blind(patient)])["p_nez"].to_numpy(np.float64)

    def explain(self, cube: xr.Dataset, order: NDArray[np.int64]) -> None:
        """There is nothing to take apart."""

    def card(self) -> list[tuple[str, str]]:
        """Name and reference."""
        return [
            ("method", self.title),
            ("reference", self.method.reference),
            ("training", "none"),
            ("plan", self.plan.digest),
        ]

    def notes(self) -> list[str]:
        """A method without training knows nothing about how sure it is."""
        return [
            "Training-free method: scores rank the contacts of this patient. There is no "
            "threshold, no calibrated probability, no ensemble spread and no explanation by "
            "contributions."
        ]


Source = ModelSource | MethodSource


def open_source(given: Model | Source | str | Path, plan: Plan | None = None) -> Source:
    """A source from a model, its folder, or the name of a training-free method."""
    if isinstance(given, Model):
        return _with_plan(ModelSource(given), plan)
    if isinstance(given, ModelSource | MethodSource):
        return given
    path = Path(str(given))
    if path.is_dir() and ((path / "model.json").exists() or str(given) not in METHODS):
        return _with_plan(ModelSource(open_model(path), path.name), plan)
    return MethodSource(_training_free(str(given)), plan)


def _training_free(name: str) -> Method:
    free = [row.name for row in METHODS.values() if row.training_free]
    if name in METHODS and name not in free:
        raise MethodError(
            f"{name}: expected a model folder or a training-free method, found one that must be "
            f"trained. Train a model with `epilens train`, or use {', '.join(free[:3])}."
        )
    if name not in free:
        raise MethodError(
            f"{name}: expected a model folder or a training-free method, found neither. "
            f"{did_you_mean(name, free)}"
        )
    return METHODS[name]


def _with_plan(source: ModelSource, plan: Plan | None) -> ModelSource:
    """The source, if a plan that the user gives describes evidence as the model's does."""
    if plan is not None and (differences := differing(source.plan, plan)):
        raise ModelError(
            f"{source.name}: expected the plan that it was trained with, found another: "
            f"{'; '.join(differences)}. Leave the plan out, or train a model with this one."
        )
    return source


def differing(model: Plan, other: Plan) -> list[str]:
    """Differences of two plans in what changes the evidence, as text."""
    return [
        f"{field} is {theirs!r}, the model's {ours!r}"
        for field, ours, theirs in model.differences(other)
        if field.partition(".")[0] in EVIDENCE
    ]


def check_cube(cube: xr.Dataset, source: Source) -> None:
    """A cube that was described elsewhere must look as the source's plan would have made it."""
    plan, differences = source.plan, []
    descriptors = cube["descriptor"].values.tolist()
    if descriptors != list(plan.descriptors):
        differences.append(f"descriptors are {', '.join(descriptors)}")
    wanted = {"montage": plan.montage.scheme, "reference": plan.windows.reference}
    for field, ours in wanted.items():
        if cube.attrs.get(field, ours) != ours:
            differences.append(f"{field} is {cube.attrs[field]!r}, expected {ours!r}")
    start, stop = cube["start_s"].values, cube["stop_s"].values
    # Fractional rates move windows by less than a sample of the slowest recording.
    grid = {
        "windows.start_s": (plan.windows.start_s, start[:, 0]),
        "windows.length_s": (plan.windows.length_s, (stop - start)[:, 0]),
        "windows.stride_s": (plan.windows.stride_s, np.diff(start, axis=1)[:, 0]),
    }
    for field, (ours, theirs) in grid.items():
        if np.abs(theirs - ours).max() > 0.02:
            differences.append(f"{field} is {theirs[0]:g}, expected {ours:g}")
    if differences:
        raise ModelError(
            f"{cube.attrs.get('patient', 'cube')}: expected evidence as {source.name} was trained "
            f"on, found: {'; '.join(differences)}. Describe the patient with the model's plan."
        )
