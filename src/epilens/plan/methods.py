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
    """Learning rate of AdamW, without a schedule (paper, line 683)."""
    weight_decay: Annotated[float, Field(ge=0)] = 1e-3
    """Weight decay of AdamW (paper, line 683)."""
    epochs: Annotated[int, Field(ge=1, le=1_000_000)] = 30
    """Largest number of epochs; the paper is silent for its networks, and gives its baselines as
    many."""
    patience: Annotated[int, Field(ge=1, le=1_000_000)] = 6
    """Epochs without a better validation score before training ends; the paper is silent."""
    least_epochs: Annotated[int, Field(ge=1, le=1_000_000)] = 6
    """Epoch before which training does not end; the paper is silent."""
    clip_norm: Annotated[float, Field(gt=0)] = 1.0
    """Largest norm of a gradient; the paper is silent."""
    batch: Annotated[int, Field(ge=1, le=1_000_000)] = 4
    """Patients per step (paper, line 684)."""


class BaselinePlan(Section):
    """What the baselines are given; their other settings are the paper's and fixed."""

    epochs: Annotated[int, Field(ge=1, le=1_000_000)] = LEAST_EPOCHS
    """Largest number of epochs of the neural baselines (paper, line 1828)."""
    pretrained: str = "pretrained"
    """Folder with pretrained weights: `resnet-18/` and `clap-htsat-fused/`, Hugging Face format."""


class IndexPlan(Section):
    """Epileptogenicity Index (Bartolomei et al. 2008), with the settings that were measured.

    Rows differ from it by what their settings change (`/published`: λ 1.2 on the absolute ratio).
    """

    start_s: float = -10.0
    """Start of the search for a change in seconds from onset; the first channels can change before
    onset."""
    stop_s: float = 30.0
    """End of the search in seconds from onset."""
    baseline_s: tuple[float, float] = (-30.0, -5.0)
    """Baseline in seconds from onset; the energy ratio counts relative to its median there."""
    window_s: Length = 1.0
    """Length of the windows of the energy ratio in seconds."""
    step_s: Length = 0.1
    """Step from one energy ratio to the next in seconds."""
    bias: Annotated[float, Field(ge=0)] = 0.5
    """ν of Page-Hinkley, in units of the energy ratio."""
    threshold: Annotated[float, Field(gt=0)] = 3.75
    """λ of Page-Hinkley, relative energy ratio × seconds."""
    sustained_s: Annotated[float, Field(ge=0)] = 5.0
    """Length in seconds of the running median that Page-Hinkley gets: what lasts for less than half
    of it, a false alarm before the seizure, is not a change. 0: the ratio as it is."""
    duration_s: Annotated[float, Field(gt=0)] = 5.0
    """H: seconds after detection (`/energy-ratio`: after onset) over which the energy ratio is
    summed."""
    tardiness_s: Annotated[float, Field(gt=0)] = 1.0
    """τ: seconds that are added to the delay behind the first channel."""

    @model_validator(mode="after")
    def _order(self) -> Self:
        check_order(self.start_s, self.stop_s, "start_s and stop_s")
        check_order(*self.baseline_s, "the two times of baseline_s")
        return self


class FragilityPlan(Section):
    """Neural fragility (Li et al. 2017, 2021)."""

    start_s: float = -10.0
    """Start of the interval in seconds from onset."""
    stop_s: float = 10.0
    """End of the interval in seconds from onset."""
    window_s: Length = 0.25
    """Length in seconds of the windows in which one linear model is fitted."""
    step_s: Length = 0.125
    """Step from one window to the next in seconds."""
    reference: Literal["as-recorded", "common-average"] = "as-recorded"
    """Reference of the signals from which the model is fitted."""
    ridge: Annotated[float, Field(gt=0)] = 1e-5
    """Smallest ridge, as a fraction of the mean power of the window's channels; raised tenfold
    until A is stable."""
    most_ridge: Annotated[float, Field(gt=0)] = 10.0
    """Largest ridge, as the same fraction; where A is not stable with it either, it is used, and
    the notes say so."""
    radius: Annotated[float, Field(gt=0)] = 1.5
    """Radius of the circle to which an eigenvalue is moved, as in the reference implementations."""
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
    """Start of the interval in seconds from onset."""
    stop_s: float = 30.0
    """End of the interval in seconds from onset."""
    window_s: Length = 12.0
    """Length of a window in seconds; windows do not overlap, and a seizure needs two whole ones."""

    @model_validator(mode="after")
    def _order(self) -> Self:
        check_order(self.start_s, self.stop_s, "start_s and stop_s")
        return self


class ShaftPlan(Section):
    """Weights of `…/shaft` rows: a contact's rank, its neighbours' mean, its shaft's mean."""

    own: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Weight of the contact itself; the three weights sum to 1."""
    neighbours: Annotated[float, Field(ge=0, le=1)] = 0.25
    """Weight of the contacts next to it."""
    shaft: Annotated[float, Field(ge=0, le=1)] = 0.25
    """Weight of all contacts of its shaft."""

    @model_validator(mode="after")
    def _weights(self) -> Self:
        total = self.own + self.neighbours + self.shaft
        if abs(total - 1) > 1e-9:
            raise ValueError(f"own, neighbours and shaft must sum to 1, got {total:g}")
        return self


SHAFT = "/shaft"
"""Suffix of the name of a smoothed method; before it is the name of the method."""
