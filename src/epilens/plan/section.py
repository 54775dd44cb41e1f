"""What sections of the plan are made of, and how another package adds one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from epilens.core.registry import Registry

Flag = Literal["flat", "clipped", "non-finite", "out-of-scale"]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Microvolts = Seconds


def shorten(value: Any) -> str:
    """A value as it can be part of a message."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return "something too large to show"
    return text if len(text) <= 60 else f"{text[:40]}… ({len(text)} characters)"


def _plain_word(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", text):
        raise ValueError(
            "must be a plain word (letters, digits, '.', '_', '-'), because it names the "
            f"folder of the run, got {shorten(text)}"
        )
    return text


PlainWord = Annotated[str, AfterValidator(_plain_word)]


def _patient_channel(text: str) -> str:
    patient, _, channel = text.partition(":")
    if not patient.strip() or not channel.strip():
        raise ValueError(f"expected PATIENT:CHANNEL, such as 01:RA5, found {shorten(text)}")
    return text


PatientChannel = Annotated[str, AfterValidator(_patient_channel)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
"""What every generator of random numbers takes."""
Length = Annotated[float, Field(ge=0.01, le=86_400)]
"""Seconds of a window or of a step between windows: some samples, at most a day."""
Hertz = Annotated[float, Field(gt=0, le=1e5)]
MOST_WINDOWS = 1_000_000
"""Of one seizure."""


def check_order(low: float, high: float, names: str) -> None:
    """Raise ValueError unless the first value is below the second."""
    if low >= high:
        raise ValueError(f"{names}: the first must be below the second, got {low:g} and {high:g}")


class Section(BaseModel):
    """A part of the plan: frozen, and closed to keys that it does not know."""

    # `epilens plan init` writes the text below a field as its comment: there is no second one.
    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )

    newer: ClassVar[tuple[str, ...]] = ()
    """Fields that are newer than stored plans and their digests: written only if they are used."""

    @model_serializer(mode="wrap")
    def _used_fields(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {k: value for k, value in serialize(self).items() if value or k not in self.newer}

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """The section with other values for some fields, checked like any."""
        return self.model_validate(self.model_dump() | dict(changes))


@dataclass(frozen=True)
class PlanSection:
    """A section that a method of another package owns: a table of the plan's TOML file."""

    name: str
    schema: type[Section]
    """Its fields, each with a default value."""


SECTIONS: Registry[PlanSection] = Registry(
    (), "section of the plan", "epilens.plan_sections", "SECTIONS", PlanSection
)
"""Sections of other packages, from the entry points of a group of this name."""
