"""Sections of the plan that single methods of this package own.

A method of another package declares its section next to itself (`PlanSection`).
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from epilens.plan.section import Length, Section, check_order

LEAST_EPOCHS, LEAST_SEGMENTS = 30, 5
"""What the paper gives its baselines; fewer are a quick test."""


class TrainingPlan(Section):
    """How the networks are trained."""

    learning_rate: Annotated[float, Field(gt=0)] = 1e-4
    """Of AdamW, without a schedule (paper, line 683)."""
    weight_decay: Annotated[float, Field(ge=0)] = 1e-3
    """Of AdamW (paper, line 683)."""
    epochs: Annotated[int, Field(ge=1, le=1_000_000)] = 30
    """At most; the paper is silent for its own networks, and gives its baselines as many."""
    patience: Annotated[int, Field(ge=1, le=1_000_000)] = 6
    """Epochs without a better validation score before training ends; the paper is silent."""
    least_epochs: Annotated[int, Field(ge=1, le=1_000_000)] = 6
    """Training does not end before this one; the paper is silent."""
    clip_norm: Annotated[float, Field(gt=0)] = 1.0
    """Largest norm of a gradient; the paper is silent."""
    batch: Annotated[int, Field(ge=1, le=1_000_000)] = 4
    """Patients per step (paper, line 684)."""


class BaselinePlan(Section):
    """What the baselines are given; their other settings are the paper's and fixed."""

    epochs: Annotated[int, Field(ge=1, le=1_000_000)] = LEAST_EPOCHS
    """At most, for the neural ones (paper, line 1828)."""
    pretrained: str = "pretrained"
    """Folder with pretrained weights: `resnet-18/` and `clap-htsat-fused/`, Hugging Face format."""


class IndexPlan(Section):
    """Epileptogenicity Index (Bartolomei et al. 2008), with the settings that were measured.

    Rows differ from it by what their settings change (`/published`: λ 1.2 on the absolute ratio).
    """

    start_s: float = -10.0
    """Start of the search for a change, from onset; the first channels can change before it."""
    stop_s: float = 30.0
    """Where the search ends, from onset."""
    baseline_s: tuple[float, float] = (-30.0, -5.0)
    """The energy ratio counts relative to its own median here."""
    window_s: Length = 1.0
    """Of the energy ratio."""
    step_s: Length = 0.1
    """From one ratio to the next."""
    bias: Annotated[float, Field(ge=0)] = 0.5
    """ν of Page-Hinkley, in units of the energy ratio."""
    threshold: Annotated[float, Field(gt=0)] = 3.75
    """λ of Page-Hinkley, relative energy ratio × seconds."""
    sustained_s: Annotated[float, Field(ge=0)] = 5.0
    """Page-Hinkley sees the running median over this long: what lasts for less than half of it, a
    false alarm before the seizure, is not a change. 0: the ratio as it is."""
    duration_s: Annotated[float, Field(gt=0)] = 5.0
    """H: the energy ratio is summed over this long after detection (`/energy-ratio`: onset)."""
    tardiness_s: Annotated[float, Field(gt=0)] = 1.0
    """τ: added to the delay behind the first channel."""

    @model_validator(mode="after")
    def _order(self) -> Self:
        check_order(self.start_s, self.stop_s, "start_s and stop_s")
        check_order(*self.baseline_s, "the two times of baseline_s")
        return self


class FragilityPlan(Section):
    """Neural fragility (Li et al. 2017, 2021)."""

    start_s: float = -10.0
    """Seconds from onset."""
    stop_s: float = 10.0
    """Seconds from onset."""
    window_s: Length = 0.25
    """In which one linear model is fitted."""
    step_s: Length = 0.125
    """From one window to the next."""
    reference: Literal["as-recorded", "common-average"] = "as-recorded"
    """What the signals are referred to before the model is fitted."""
    ridge: Annotated[float, Field(gt=0)] = 1e-5
    """Of the mean power of the window's channels: the least; raised tenfold until A is stable."""
    most_ridge: Annotated[float, Field(gt=0)] = 10.0
    """Where A is not stable with this much either, it is used, and the notes say so."""
    radius: Annotated[float, Field(gt=0)] = 1.5
    """To which an eigenvalue is moved, as the reference implementations do."""
    angles: Annotated[int, Field(ge=2, le=100_000)] = 17
    """Points on the upper half of the circle to which an eigenvalue is moved."""

    @model_validator(mode="after")
    def _order(self) -> Self:
        check_order(self.start_s, self.stop_s, "start_s and stop_s")
        check_order(self.ridge, self.most_ridge * (1 + 1e-9), "ridge and most_ridge")
        return self


class SpreadPlan(Section):
    """Line-length spread: how much the line length of a channel varies through a seizure."""

    start_s: float = -30.0
    """Seconds from onset."""
    stop_s: float = 30.0
    """Seconds from onset."""
    window_s: Length = 12.0
    """Windows follow each other without overlap; a seizure needs two whole ones."""

    @model_validator(mode="after")
    def _order(self) -> Self:
        check_order(self.start_s, self.stop_s, "start_s and stop_s")
        return self


class ShaftPlan(Section):
    """Weights of `…/shaft` rows: a contact's rank, its neighbours' mean, its shaft's mean."""

    own: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Of the contact itself; the three sum to 1."""
    neighbours: Annotated[float, Field(ge=0, le=1)] = 0.25
    """Of the contacts next to it."""
    shaft: Annotated[float, Field(ge=0, le=1)] = 0.25
    """Of all contacts of its shaft."""

    @model_validator(mode="after")
    def _weights(self) -> Self:
        total = self.own + self.neighbours + self.shaft
        if abs(total - 1) > 1e-9:
            raise ValueError(f"own, neighbours and shaft must sum to 1, got {total:g}")
        return self


SHAFT = "/shaft"
"""Suffix of the name of a smoothed method; before it is the name of the method."""
