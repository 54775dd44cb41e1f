"""Kinds of models: which fitted objects a member contains, and which class opens them.

Another package adds a kind by an entry point of the group `epilens.model_kinds`, which names a
module (that of its method will do) with

    MODELS = (ModelKind("mine", "My model", (ModelPart("mine", "mine", "my_package:Mine"),)),)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from epilens.core.decisions import fuse_scores
from epilens.core.extras import explain_import_error
from epilens.core.provenance import resolve
from epilens.core.registry import Registry
from epilens.core.types import Floats

if TYPE_CHECKING:
    from epilens.networks.predictor import Predictor


@dataclass(frozen=True)
class ModelPart:
    """A fitted object of a member."""

    method: str
    """The method that is fitted."""
    title: str
    predictor: str
    """Class that opens it, a `Predictor`, as `module:class`."""

    @property
    def opener(self) -> type[Predictor]:
        """The class that opens it."""
        try:
            return resolve(self.predictor)
        except ModuleNotFoundError as error:
            raise explain_import_error(f"a model with {self.title}", error) from error


@dataclass(frozen=True)
class ModelKind:
    """What the members of a model are; `train` accepts the names of all kinds."""

    name: str
    """Name of the method, and `kind` in model.json."""
    title: str
    parts: tuple[ModelPart, ...]
    """Parts of a member: one, or two whose scores are fused."""
    member: str = "one fitted object"
    """What a member is, for the model card."""
    over: str = "seeds × folds"
    """What the members of a trained model differ in."""
    note: str = (
        "threshold, calibration and sets come from members whose fit did not include the patient, "
        "but whose validation patients may have"
    )
    """Which scores the threshold, the calibration and the sets come from."""
    input: str = "cube"
    """`cube`, or the store in addition to it that the predictors read."""

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods that are fitted for a member."""
        return tuple(part.method for part in self.parts)

    def combine(self, p_nez: Sequence[Floats], weight: float) -> Floats:
        """Scores of a member from those of its parts; `weight` is that of the second part."""
        return p_nez[0] if len(p_nez) == 1 else fuse_scores(p_nez[0], p_nez[1], weight)

    def weights(self, weight: float) -> tuple[float, ...]:
        """Weight of each part in the scores of a member."""
        return (1.0,) if len(self.parts) == 1 else (1 - weight, weight)


KINDS: Registry[ModelKind] = Registry(
    "epilens.networks.kinds", "kind of model", "epilens.model_kinds", "MODELS"
)


def kind_of(methods: Sequence[str]) -> ModelKind:
    """The kind whose members contain the fits of these methods."""
    return next(kind for kind in KINDS.values() if set(kind.methods) == set(methods))


def part_of(method: str) -> ModelPart:
    """How the fits of a method are stored."""
    parts = (part for kind in KINDS.values() for part in kind.parts)
    return next(part for part in parts if part.method == method)


MODELS = (
    ModelKind(
        name="lens",
        title="EpiLENS model (lens)",
        parts=(ModelPart("lens", "lens", "epilens.networks.lens:Lens"),),
        member="a lens: one weight per term of a contact",
        over="folds",
        note="threshold, calibration and sets are cross-validated",
    ),
    ModelKind(
        name="lens/features",
        title="EpiLENS model (lens on contact features)",
        parts=(ModelPart("lens/features", "lens", "epilens.networks.lens:FeatureLens"),),
        member="a lens: one weight per feature of a contact, its neighbours and its electrode",
        over="folds",
        note="threshold, calibration and sets are cross-validated",
        input="features",
    ),
    ModelKind(
        name="cdel",
        title="EpiLENS model (PRQ-Net + BCR-Net)",
        parts=(
            ModelPart("prq", "PRQ-Net", "epilens.networks.branch:Branch"),
            ModelPart("bcr", "BCR-Net", "epilens.networks.branch:Branch"),
        ),
        member="PRQ-Net and BCR-Net",
        note="threshold, calibration and sets are cross-validated, but the epoch of a member was "
        "chosen on its held-out patients",
    ),
)
