"""Sections of the plan that all methods share: cohort, signals, windows, splits."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from epilens.plan.section import (
    MOST_WINDOWS,
    Flag,
    Hertz,
    Length,
    Microvolts,
    PatientChannel,
    Seconds,
    Section,
    Seed,
    check_order,
)

PAPER_NINE = (
    *("log_delta_power", "log_theta_power", "log_beta_power", "log_low_gamma_power"),
    *("log_high_gamma_power", "rms", "variance", "line_length", "spectral_entropy"),
)
"""The paper's descriptors, in its order."""


class CohortPlan(Section):
    """Who is in the cohort, and which tables stand in for what the dataset's own files say."""

    outcomes: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """Outcomes that are included (`S`: seizure-free); empty: as the dataset's entry states."""
    duplicates: Literal["once", "keep"] = "once"
    """Whether two runs of a patient with the same signal count once."""
    ez: Literal["", "soz", "resected", "either", "both", "onset-contacts"] = ""
    """Which zone is the EZ where a dataset has the onset zone and the resection; empty: as the
    dataset's entry states. `onset-contacts`: the contacts in which the recorded seizures began, as
    their events name them. A table of `labels` says itself what is EZ."""
    labels: str = ""
    """CSV with patient, channel, is_ez; replaces the labels of the dataset."""
    onsets: str = ""
    """TSV with patient, run, onset_s; replaces the onsets of the runs that it names."""


class MontagePlan(Section):
    """How contacts become channels."""

    scheme: Literal["as-recorded", "bipolar", "shaft-average", "common-average"] = "as-recorded"
    """The paper is silent; its channel counts equal contacts, so nothing is re-referenced."""


class QualityPlan(Section):
    """When a channel's signal is flagged, and which flags exclude it."""

    newer: ClassVar[tuple[str, ...]] = ("keep", "note_broken")
    drop: tuple[Flag, ...] = ()
    """Flags that exclude a channel from its run; other flags are only noted in the audit. Contacts
    whose signal is broken are excluded in any case, unless `note_broken` is set."""
    flat_uv: Microvolts = 1e-3
    """Range in µV below which a channel is flat."""
    clipped_share: Annotated[float, Field(gt=0, le=1)] = 0.01
    """Fraction of samples stuck at its extremes above which a channel is clipped."""
    scale_ratio: Annotated[float, Field(gt=1)] = 100.0
    """Ratio to the run's median channel, or its inverse, above which a channel is out of scale."""
    keep: tuple[PatientChannel, ...] = ()
    """Channels that are used although the checks of their signal exclude them, as
    `PATIENT:CHANNEL`."""
    note_broken: bool = False
    """Whether contacts with a broken signal (noise, gaps, saturation) are noted and used. The
    paper's plans do this, because the paper's channels are those with status good."""


class FilterPlan(Section):
    """Zero-phase Butterworth band limits, and mains."""

    band: Literal["butterworth", "none"] = "butterworth"
    """Filter applied before the cube's windows are described. `none`: the signal as recorded, which
    is what the authors' released code describes and its checkpoints were trained on. Signals for
    pages and for methods that read them are limited in any case; mains are `notch` alone."""
    low_hz: Hertz = 1.0
    """Lower band edge in Hz (paper, line 1391)."""
    high_hz: Hertz = 150.0
    """Upper band edge in Hz (paper, line 1391); none where it is 0.9 of Nyquist or more."""
    order: Annotated[int, Field(ge=1, le=16)] = 4
    """Order of the Butterworth filter; the paper is silent."""
    notch: Literal["none", "auto", "fundamental"] = "none"
    """Notch. `auto`: at the mains of the recording and its harmonics; `fundamental`: at mains
    alone. Where nothing states the mains, they are detected in the spectrum, or nothing is done,
    with a note in the audit. The paper names no notch on this path."""
    margin_s: Seconds = 5.0
    """Seconds of signal read on both sides of the interval, so that filter edges lie outside it."""

    @model_validator(mode="after")
    def _edges(self) -> Self:
        check_order(self.low_hz, self.high_hz, "low_hz and high_hz")
        return self


class WindowPlan(Section):
    """The interval around onset, its windows, and which of them are the reference."""

    newer: ClassVar[tuple[str, ...]] = ("reference_gap_s",)
    start_s: float = -30.0
    """Start of the interval in seconds from onset, below 0; the paper is silent."""
    stop_s: float = 30.0
    """End of the interval in seconds from onset; the paper is silent. By default, 59 windows."""
    length_s: Length = 2.0
    """Length of a window in seconds (paper, line 1392)."""
    stride_s: Length = 1.0
    """Step from one window to the next in seconds (paper, line 1392)."""
    reference: Literal["ends-before", "starts-before"] = "ends-before"
    """Reference windows end at or before onset, so that nothing ictal is in them, or merely start
    before it."""
    reference_gap_s: Seconds = 0.0
    """Seconds before onset that are not reference, for onsets that may be annotated late."""
    min_reference: Annotated[int, Field(ge=1)] = 5
    """Least number of reference windows of a seizure."""
    min_ictal: Annotated[int, Field(ge=0)] = 5
    """Least number of windows of a seizure from onset on; with fewer, nothing ictal can be seen."""

    @model_validator(mode="after")
    def _interval_holds_a_reference(self) -> Self:
        if self.start_s >= 0:
            raise ValueError(f"start_s must lie before onset (below 0), got {self.start_s}")
        if self.reference_gap_s and self.start_s + self.length_s > -self.reference_gap_s:
            raise ValueError(
                "reference_gap_s must leave room for a window between start_s and itself, got "
                f"{self.reference_gap_s:g}"
            )
        if (self.stop_s - self.start_s) / self.stride_s > MOST_WINDOWS:
            raise ValueError(
                f"start_s, stop_s and stride_s must give at most {MOST_WINDOWS} windows"
            )
        if self.stop_s <= self.start_s + self.length_s:
            raise ValueError("stop_s must leave room for at least one window after start_s")
        room = int((self.stop_s - self.length_s) / self.stride_s + 1e-9) + 1
        room = room if self.stop_s >= self.length_s else 0
        if room < self.min_ictal:
            raise ValueError(
                f"stop_s must leave room for {self.min_ictal} windows from onset on (min_ictal), "
                f"{self.stop_s:g} s has room for {room}; raise stop_s or lower min_ictal"
            )
        return self


class TracePlan(Section):
    """The 4 s segments of the raw-iEEG baselines."""

    segments: Annotated[int, Field(ge=1, le=10_000)] = 5
    """Number of segments of each seizure (paper, line 1876): those nearest to onset that lie wholly
    inside the recording."""
    length_s: Length = 4.0
    """Length of a segment in seconds (paper, line 1876)."""
    rate_hz: Hertz = 200.0
    """Sampling rate in Hz to which segments are resampled (paper, line 1880)."""
    low_hz: Hertz = 0.5
    """Lower band edge in Hz (paper, line 1879)."""
    high_hz: Hertz = 80.0
    """Upper band edge in Hz (paper, line 1879)."""
    filtered: Literal["segment", "recording"] = "segment"
    """What is filtered. `segment`: each is cut and then filtered by itself, as the paper says.
    `recording`: the whole interval is filtered before it is cut, because a 0.5 Hz edge rings for
    longer than a segment."""
    mains: Literal["fixed", "recorded"] = "fixed"
    """Notch. `fixed`: at `mains_hz` for all centers, as the paper says. `recorded`: at the mains of
    the recording and its harmonics, because 60 Hz of other centers would stay in otherwise."""
    mains_hz: Hertz = 50.0
    """Frequency of the notch in Hz (paper, line 1879); also where the mains of a recording are not
    known."""
    clip: Annotated[float, Field(gt=0)] = 8.0
    """Largest robust z-score that stays as it is (paper, line 1882)."""

    @model_validator(mode="after")
    def _edges(self) -> Self:
        check_order(self.low_hz, self.high_hz, "low_hz and high_hz")
        return self

    @property
    def samples(self) -> int:
        """Samples of a segment."""
        return round(self.length_s * self.rate_hz)


class SplitPlan(Section):
    """Which patients fit, validate and test."""

    kind: Literal["folds", "leave-one-center-out", "file"] = "folds"
    """Kind of split. `leave-one-center-out` holds out every center in turn, `file` reads `file`."""
    folds: Annotated[int, Field(ge=2)] = 5
    """Number of outer folds, stratified by center (paper, line 657)."""
    validation: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """Fraction of each outer-training set that selects epochs and thresholds (paper, line 659)."""
    seed: Seed = 0
    """Seed of the split, which is the same for all seeds of the methods."""
    file: str = ""
    """CSV with patient, fold, partition, for the kind `file`."""
