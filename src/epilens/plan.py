"""The Plan: everything that changes a number, as one frozen tree that is read from TOML.

Where and how a job runs (folders, processes, devices) is not here: it never changes a number.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from epilens.core.errors import PlanError, did_you_mean
from epilens.core.progress import Progress, StepFunction

Flag = Literal["flat", "clipped", "non-finite", "out-of-scale"]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _plain_word(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", text):
        raise ValueError(
            "must be a plain word (letters, digits, '.', '_', '-'), because a run's folder is "
            f"called so, got {_short(text)}"
        )
    return text


PlainWord = Annotated[str, AfterValidator(_plain_word)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
"""What every generator of random numbers takes."""
Length = Annotated[float, Field(ge=0.01, le=86_400)]
"""Seconds of a window or of a step between windows: some samples, at most a day."""
Hertz = Annotated[float, Field(gt=0, le=1e5)]
MOST_WINDOWS = 1_000_000
"""Of one seizure."""
LARGEST_FILE = 1_000_000
"""Bytes of a plan; ours have a few thousand."""


def _crossed(low: float, high: float, names: str) -> None:
    if low >= high:
        raise ValueError(f"{names}: the first must be below the second, got {low:g} and {high:g}")


class Section(BaseModel):
    """A part of the plan: frozen, and closed to keys that it does not know."""

    # `epilens plan init` writes the text below a field as its comment: there is no second one.
    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """The section with other values for some fields, checked like any."""
        return self.model_validate(self.model_dump() | dict(changes))


class CohortPlan(Section):
    """Who is in the cohort, and which tables stand in for what the dataset's own files say."""

    outcomes: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """Outcomes that are included (`S`: seizure-free); empty: as the dataset's row says."""
    duplicates: Literal["once", "keep"] = "once"
    """Whether two runs of a patient with the same signal count once."""
    ez: Literal["", "soz", "resected", "either", "both"] = ""
    """Which zone is the EZ where a dataset has the onset zone and the resection; empty: as the
    dataset's row says. A table of `labels` says itself what is EZ."""
    labels: str = ""
    """CSV with patient, channel, is_ez; replaces the labels of the dataset."""
    onsets: str = ""
    """TSV with patient, run, onset_s; replaces the onsets of the runs that it names."""


class MontagePlan(Section):
    """How contacts become channels."""

    scheme: Literal["as-recorded", "bipolar", "shaft-average", "common-average"] = "as-recorded"
    """The paper is silent; its channel counts equal contacts, so nothing is re-referenced."""


class QualityPlan(Section):
    """When a channel's signal is suspicious, and which suspicions remove it."""

    drop: tuple[Flag, ...] = ()
    """Flags that remove a channel from its run; the others are only noted in the audit."""
    flat_uv: Seconds = 1e-3
    """A channel whose range stays below this many µV is flat."""
    clipped_share: Annotated[float, Field(gt=0, le=1)] = 0.01
    """A channel with more than this share of samples stuck at its extremes is clipped."""
    scale_ratio: Annotated[float, Field(gt=1)] = 100.0
    """A channel this many times larger or smaller than the run's median is out of scale."""


class FilterPlan(Section):
    """Zero-phase Butterworth band limits, and mains."""

    band: Literal["butterworth", "none"] = "butterworth"
    """What is done before the cube's windows are described. `none`: the signal as it was recorded,
    which is what the authors' released code describes and its checkpoints were trained on. Signals
    for pages and for methods that read them are limited in any case; mains are `notch` alone."""
    low_hz: Hertz = 1.0
    """Lower band edge (paper, line 1391)."""
    high_hz: Hertz = 150.0
    """Upper band edge (paper, line 1391); where it is 0.9 of Nyquist or more, there is none."""
    order: Annotated[int, Field(ge=1, le=16)] = 4
    """Of the Butterworth filter; the paper is silent."""
    notch: Literal["none", "auto", "fundamental"] = "none"
    """`auto`: at the mains of the recording and its harmonics; `fundamental`: at mains alone. Where
    nothing states the mains, the spectrum tells them, or nothing is done, and the audit says so.
    The paper names no notch on this path."""
    margin_s: Seconds = 5.0
    """Signal read on both sides of the interval, so that filter edges lie outside of it."""

    @model_validator(mode="after")
    def _edges(self) -> Self:
        _crossed(self.low_hz, self.high_hz, "low_hz and high_hz")
        return self


class WindowPlan(Section):
    """The interval around onset, its windows, and which of them are the reference."""

    start_s: float = -30.0
    """Seconds from onset, below 0; the paper is silent."""
    stop_s: float = 30.0
    """Seconds from onset; the paper is silent. With both, 59 windows."""
    length_s: Length = 2.0
    """Of a window (paper, line 1392)."""
    stride_s: Length = 1.0
    """From one window to the next (paper, line 1392)."""
    reference: Literal["ends-before", "starts-before"] = "ends-before"
    """Reference windows end at or before onset, so that nothing ictal is in them, or merely start
    before it."""
    min_reference: Annotated[int, Field(ge=1)] = 5
    """Reference windows that a seizure needs."""
    min_ictal: Annotated[int, Field(ge=0)] = 5
    """Windows from onset on that a seizure needs: with fewer there is nothing ictal to see."""

    @model_validator(mode="after")
    def _interval_holds_a_reference(self) -> Self:
        if self.start_s >= 0:
            raise ValueError(f"start_s must lie before onset (below 0), got {self.start_s}")
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
    """Of each seizure (paper, line 1876): those nearest to onset that lie wholly inside the
    recording."""
    length_s: Length = 4.0
    """Of a segment (paper, line 1876)."""
    rate_hz: Hertz = 200.0
    """To which segments are resampled (paper, line 1880)."""
    low_hz: Hertz = 0.5
    """Lower band edge (paper, line 1879)."""
    high_hz: Hertz = 80.0
    """Upper band edge (paper, line 1879)."""
    filtered: Literal["segment", "recording"] = "segment"
    """`segment`: each is cut and then filtered by itself, as the paper says. `recording`: the whole
    interval is filtered before it is cut, because a 0.5 Hz edge rings for longer than a segment."""
    mains: Literal["fixed", "recorded"] = "fixed"
    """`fixed`: one notch at `mains_hz` for all centers, as the paper says. `recorded`: at the mains
    of the recording and its harmonics, because 60 Hz of other centers would stay in otherwise."""
    mains_hz: Hertz = 50.0
    """The notch (paper, line 1879); also where the mains of a recording are not known."""
    clip: Annotated[float, Field(gt=0)] = 8.0
    """Largest robust z-score that stays as it is (paper, line 1882)."""

    @model_validator(mode="after")
    def _edges(self) -> Self:
        _crossed(self.low_hz, self.high_hz, "low_hz and high_hz")
        return self

    @property
    def samples(self) -> int:
        """Samples of a segment."""
        return round(self.length_s * self.rate_hz)


class SplitPlan(Section):
    """Which patients fit, validate and test."""

    kind: Literal["folds", "leave-one-center-out", "file"] = "folds"
    """`leave-one-center-out` holds out every center in turn, `file` reads `file`."""
    folds: Annotated[int, Field(ge=2)] = 5
    """Outer folds, stratified by center (paper, line 657)."""
    validation: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """Share of each outer-training set that selects epochs and thresholds (paper, line 659)."""
    seed: Seed = 0
    """One split for all seeds of the methods."""
    file: str = ""
    """CSV with patient, fold, partition, for the kind `file`."""


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


PAPER_NINE = (
    *("log_delta_power", "log_theta_power", "log_beta_power", "log_low_gamma_power"),
    *("log_high_gamma_power", "rms", "variance", "line_length", "spectral_entropy"),
)
"""The paper's descriptors, in its order."""

LEAST_EPOCHS, LEAST_SEGMENTS = 30, 5
"""What the paper gives its baselines; less is a smoke test."""


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
    """The search for a change, from onset; leading channels can change before the mark."""
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
    false alarm before the seizure, is no change. 0: the ratio as it is."""
    duration_s: Annotated[float, Field(gt=0)] = 5.0
    """H: the energy ratio is summed over this long after detection (`/energy-ratio`: onset)."""
    tardiness_s: Annotated[float, Field(gt=0)] = 1.0
    """τ: added to the delay behind the first channel."""

    @model_validator(mode="after")
    def _order(self) -> Self:
        _crossed(self.start_s, self.stop_s, "start_s and stop_s")
        _crossed(*self.baseline_s, "the two times of baseline_s")
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
        _crossed(self.start_s, self.stop_s, "start_s and stop_s")
        _crossed(self.ridge, self.most_ridge * (1 + 1e-9), "ridge and most_ridge")
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
        _crossed(self.start_s, self.stop_s, "start_s and stop_s")
        return self


class ShaftPlan(Section):
    """Weights of `…/shaft` rows: a contact's rank, its neighbours' mean, its shaft's mean."""

    own: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Of the contact itself; the three sum to 1."""
    neighbours: Annotated[float, Field(ge=0, le=1)] = 0.25
    """Of the contacts beside it."""
    shaft: Annotated[float, Field(ge=0, le=1)] = 0.25
    """Of all contacts of its shaft."""

    @model_validator(mode="after")
    def _weights(self) -> Self:
        total = self.own + self.neighbours + self.shaft
        if abs(total - 1) > 1e-9:
            raise ValueError(f"own, neighbours and shaft must sum to 1, got {total:g}")
        return self


SHAFT = "/shaft"
"""What the name of a smoothed row ends with; before it stands the row that is smoothed."""


class Plan(Section):
    """The whole plan; `Plan()` is the paper's, with the gaps filled as `docs/decisions.md` says.

    Examples
    --------
    >>> plan = Plan(seeds=(1, 2)).override(montage={"scheme": "bipolar"})
    >>> plan.windows.length_s, plan.montage.scheme  # seconds
    (2.0, 'bipolar')
    >>> plan.differences(Plan())
    [('montage.scheme', 'bipolar', 'as-recorded'), ('seeds', [1, 2], [42, 52, 62])]
    """

    name: PlainWord = "paper"
    """Of the run's folder: letters, digits, `.`, `_` and `-`."""
    cohort: CohortPlan = CohortPlan()
    montage: MontagePlan = MontagePlan()
    quality: QualityPlan = QualityPlan()
    filter: FilterPlan = FilterPlan()
    windows: WindowPlan = WindowPlan()
    descriptors: Annotated[tuple[str, ...], Field(min_length=1)] = PAPER_NINE
    """Rows of `epilens list descriptors`, in the order of the cube's last axis; the paper's nine
    (paper, line 1620)."""
    traces: TracePlan = TracePlan()
    splits: SplitPlan = SplitPlan()
    training: TrainingPlan = TrainingPlan()
    baselines: BaselinePlan = BaselinePlan()
    epileptogenicity_index: IndexPlan = IndexPlan()
    fragility: FragilityPlan = FragilityPlan()
    line_length_spread: SpreadPlan = SpreadPlan()
    shaft: ShaftPlan = ShaftPlan()
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1, max_length=1000)] = (42, 52, 62)
    """Each method is fitted once with each of them (paper, line 657)."""
    methods: Annotated[tuple[str, ...], Field(min_length=1)] = ("prq", "bcr", "cdel")
    """Rows of `epilens list methods`; `/shaft` behind a name smooths it along shafts."""
    smoke: bool = False
    """A run that only shows that every step works; its tables say so."""

    @field_validator("descriptors", "seeds")
    @classmethod
    def _each_once(cls, given: tuple[Any, ...], info: ValidationInfo) -> tuple[Any, ...]:
        twice = [one for one in given if given.count(one) > 1]
        if twice:
            what = str(info.field_name).removesuffix("s")
            raise ValueError(f"every {what} must stand there once, got {twice[0]!r} twice")
        return given

    @field_validator("methods")
    @classmethod
    def _raw_beside_smoothed(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        """Where a row is smoothed along shafts, the row itself is there too, before it."""
        both = ((name.removesuffix(SHAFT), name) for name in names)
        return tuple(dict.fromkeys(name for pair in both for name in pair))

    @model_validator(mode="after")
    def _budget(self) -> Self:
        given = {
            "baselines.epochs": (self.baselines.epochs, LEAST_EPOCHS),
            "traces.segments": (self.traces.segments, LEAST_SEGMENTS),
        }
        for name, (value, least) in given.items():
            if value < least and not self.smoke:
                raise ValueError(
                    f"{name} must be {least} or more for a fair comparison, got {value}; "
                    "set smoke = true to try with less"
                )
        return self

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a TOML file, or one of the shipped plans by its name (`paper`, `demo`, …).

        Unknown keys are refused with the nearest known one.
        """
        path, shipped = Path(path), shipped_plans()
        if not path.exists() and str(path) in shipped:
            path = shipped[str(path)]
        try:
            tree = tomllib.loads(_text_of(path))
        except OSError as error:
            raise PlanError(
                f"plan {path}: expected a TOML file, found none that can be read "
                f"({error.strerror}). Check the path, or name a shipped plan: {', '.join(shipped)}."
            ) from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise PlanError(
                f"plan {path}: expected TOML, found: {error}. Mend this line."
            ) from None
        except PlanError:
            raise
        except (ValueError, RecursionError):  # a number of thousands of digits, or deep nesting
            raise PlanError(
                f"plan {path}: expected a plan of plain size, found numbers or nesting that nobody "
                "writes. Begin anew with `epilens plan init`."
            ) from None
        return cls.of(tree, who=f"plan {path}")

    @classmethod
    def of(cls, tree: dict[str, Any], who: str = "plan") -> Self:
        """Build a plan from nested dictionaries, with one clear sentence for what does not fit."""
        try:
            return cls.model_validate(tree)
        except ValidationError as error:
            raise PlanError(f"{who}: {_first_problem(cls, error)}") from None

    def override(self, **sections: Any) -> Self:
        """Copy with some fields changed: `plan.override(montage={"scheme": "bipolar"})`."""
        tree = self.model_dump()
        for name, value in sections.items():
            tree[name] = tree.get(name, {}) | value if isinstance(value, dict) else value
        return type(self).of(tree)

    def to_toml(self) -> str:
        """The plan as TOML text, every field written out."""
        import tomli_w

        return tomli_w.dumps(self.model_dump(mode="json"))

    def differences(self, other: Plan) -> list[tuple[str, Any, Any]]:
        """Fields in which two plans differ: name, own value, other value."""
        mine, theirs = _leaves(self.model_dump(mode="json")), _leaves(other.model_dump(mode="json"))
        return [(key, mine[key], theirs[key]) for key in mine if mine[key] != theirs[key]]

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that change when any field changes."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Runtime:
    """Where and how a job runs; never changes a number.

    Parameters
    ----------
    out : path or str
        Folder, or the URL of a store.
    jobs : int
        Processes.
    only : names
        Methods to run; none: the plan's.
    tick : function of (note, steps)
        Told of every cell that is done.

    Examples
    --------
    >>> Runtime(out=Path("runs"), jobs=2, only=("cdel",)).jobs  # processes
    2
    """

    out: Path | str = Path("runs")
    jobs: int = 1
    only: tuple[str, ...] = ()
    tick: Progress | StepFunction = field(default_factory=Progress)


def shipped_plans() -> dict[str, Path]:
    """Plans that come with the package, by name."""
    folder = Path(__file__).with_name("plans")
    return {path.stem: path for path in sorted(folder.glob("*.toml"), key=lambda p: p.stem)}


def _leaves(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    leaves: dict[str, Any] = {}
    for key, value in tree.items():
        inner = (
            _leaves(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
        )
        leaves |= inner
    return leaves


def _text_of(path: Path) -> str:
    """The text of a plan file; a device or a heap of data is none."""
    if path.exists() and (not path.is_file() or path.stat().st_size > LARGEST_FILE):
        raise PlanError(
            f"plan {path}: expected a TOML file of at most {LARGEST_FILE // 1000} kB, found "
            "something else. Check the path."
        )
    return path.read_text(encoding="utf-8")


def _short(value: Any) -> str:
    """A value as it may stand in a sentence."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return "something too large to show"
    return text if len(text) <= 60 else f"{text[:40]}… ({len(text)} characters)"


def _first_problem(model: type[BaseModel], error: ValidationError) -> str:
    """One sentence for the first problem that pydantic found."""
    problem = error.errors()[0]
    *parents, key = problem["loc"] or ("plan",)
    where = ".".join(str(part) for part in problem["loc"]) or "the plan"
    if problem["type"] != "extra_forbidden":
        found = "" if problem["type"] == "value_error" else f"; found {_short(problem['input'])}"
        return f"{where}: {problem['msg']}{found}. Correct this value."
    for parent in parents:
        section = model.model_fields[str(parent)].annotation
        assert isinstance(section, type)
        assert issubclass(section, BaseModel)
        model = section
    return f"unknown key {where!r}. {did_you_mean(str(key), model.model_fields)}"
