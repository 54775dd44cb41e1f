"""Fields of model.json: opening a malformed model raises one sentence.

The signature shows that a model is unchanged since it was written, not that it is well-formed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from epilens.core.errors import ModelError
from epilens.networks.kinds import KINDS
from epilens.networks.specs import SPECS

FORMAT = 2
Share = Annotated[float, Field(ge=0, le=1)]
Word = Annotated[str, Field(min_length=1, max_length=200)]
Count = Annotated[int, Field(ge=0)]


class Stored(BaseModel):
    """A stored object without unknown fields and with finite numbers."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=True)


class Open(BaseModel):
    """A stored object whose known fields are checked; others are allowed and not shown."""

    model_config = ConfigDict(extra="allow", allow_inf_nan=False, strict=True)


class StoredMember(Stored):
    """A file of weights in the model's folder."""

    file: Annotated[str, Field(pattern=r"^[\w-][\w.-]{0,99}$")]
    seed: int
    fold: Word


class StoredFigures(Open):
    """How good the model was out of fold, or on patients of another source."""

    patients: Count
    auroc: float
    ez_auprc: float


class Nothing(Stored):
    """An empty object."""


class StoredAbout(Open):
    """Where the model comes from."""

    source: str = "unknown"
    plan: dict[str, Any] | None = None
    plan_digest: str = "none"
    simulated: bool = False
    cohort: dict[str, int | float | str] = Field(default_factory=dict)
    out_of_fold: StoredFigures | Nothing = Nothing()
    external: StoredFigures | Nothing = Nothing()
    notes: list[str] = Field(default_factory=list)


class StoredCalibration(Open):
    """Brier scores of the calibration; all of it is read by `evaluation.certainty`."""

    brier_raw: float
    brier: float


class StoredSet(Open):
    """A set of contacts of stated coverage."""

    coverage: Share
    cut: float | None
    reached: Share
    share: Share


class StoredAssurance(Open):
    """What the model's card states about its certainty."""

    patients: Count
    calibration: StoredCalibration
    sets: list[StoredSet]


class StoredModel(Stored):
    """Content of model.json."""

    format: Literal[2]
    kind: Word
    threshold: Share
    weight: Share
    descriptors: Annotated[list[Word], Field(min_length=1, max_length=1000)]
    views: Annotated[list[Word], Field(min_length=1, max_length=100)]
    specs: dict[str, dict[str, Any]]
    members: Annotated[list[StoredMember], Field(min_length=1, max_length=10_000)]
    about: StoredAbout
    assurance: StoredAssurance | Nothing = Nothing()
    sha256: dict[str, str]
    signature: str

    @model_validator(mode="after")
    def _specs(self) -> StoredModel:
        methods = KINDS[self.kind].methods
        if stray := [name for name in self.specs if name not in methods]:
            raise ValueError(f"specs contain {stray[0][:40]!r}, which is not a part of the model")
        if lacking := [name for name in methods if name in SPECS and name not in self.specs]:
            raise ValueError(f"specs must contain the settings of {lacking[0]}")
        return self


def check_stored(tree: Mapping[str, Any], who: str) -> None:
    """Refuse what is not as `epilens train` writes it, with the first field that is wrong."""
    kind = tree.get("kind")
    if isinstance(kind, str) and kind not in KINDS:
        raise ModelError(
            f"{who}: expected a kind of model that is installed ({', '.join(KINDS)}), found "
            f"{kind[:40]!r}. Install the package that provides it."
        )
    _check(StoredModel, tree, who)
    for name, spec in tree["specs"].items():
        if name in SPECS and asdict(_check(SPECS[name], spec, who, f"specs.{name}.")) != spec:
            raise _wrong(who, f"specs.{name}", "some settings are missing")


def _check(schema: type[Any], tree: Any, who: str, prefix: str = "") -> Any:
    try:
        return TypeAdapter(schema).validate_python(tree)
    except ValidationError as error:
        field, why = first_problem(error)
        raise _wrong(who, prefix + field or "model.json", why) from None


def first_problem(error: ValidationError) -> tuple[str, str]:
    """Field and message of the first problem, without the value that was found."""
    first = error.errors(include_input=False, include_url=False)[0]
    return ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")


def _wrong(who: str, field: str, why: str) -> ModelError:
    return ModelError(
        f"{who}: expected a model as `epilens train` writes it, found {field} wrong ({why}). Train "
        "again, or copy the model again from its source."
    )
