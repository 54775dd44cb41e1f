"""The Plan: everything that changes a number, as one frozen tree that is read from TOML.

Where and how a job runs (folders, processes, devices) is not here: it never changes a number.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from epilens.core.errors import PlanError, did_you_mean
from epilens.plan.general import (
    PAPER_NINE,
    CohortPlan,
    FilterPlan,
    MontagePlan,
    QualityPlan,
    SplitPlan,
    TracePlan,
    WindowPlan,
)
from epilens.plan.methods import (
    LEAST_EPOCHS,
    LEAST_SEGMENTS,
    SHAFT,
    BaselinePlan,
    FragilityPlan,
    IndexPlan,
    ShaftPlan,
    SpreadPlan,
    TrainingPlan,
)
from epilens.plan.runtime import Runtime
from epilens.plan.section import SECTIONS, Flag, PlainWord, PlanSection, Section, Seed, shorten

__all__ = [
    "PAPER_NINE",
    "SECTIONS",
    "SHAFT",
    "BaselinePlan",
    "CohortPlan",
    "FilterPlan",
    "Flag",
    "FragilityPlan",
    "IndexPlan",
    "MontagePlan",
    "Plan",
    "PlanSection",
    "QualityPlan",
    "Runtime",
    "Section",
    "ShaftPlan",
    "SplitPlan",
    "SpreadPlan",
    "TracePlan",
    "TrainingPlan",
    "WindowPlan",
    "shipped_plans",
]

LARGEST_FILE = 1_000_000
"""Bytes of a plan; ours have a few thousand."""
UNKNOWN_SECTION = "plan-section"
"""Code of the error for a section that no installed package has."""


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

    # Extra fields are sections of other packages; `_other_sections` refuses all else.
    model_config = ConfigDict(extra="allow")

    name: PlainWord = "paper"
    """Name of the run's folder; letters, digits, `.`, `_` and `-`."""
    cohort: CohortPlan = CohortPlan()
    montage: MontagePlan = MontagePlan()
    quality: QualityPlan = QualityPlan()
    filter: FilterPlan = FilterPlan()
    windows: WindowPlan = WindowPlan()
    descriptors: Annotated[tuple[str, ...], Field(min_length=1)] = PAPER_NINE
    """Descriptors (`epilens list descriptors`), in the order of the cube's last axis; the paper's
    nine (paper, line 1620)."""
    traces: TracePlan = TracePlan()
    splits: SplitPlan = SplitPlan()
    training: TrainingPlan = TrainingPlan()
    baselines: BaselinePlan = BaselinePlan()
    epileptogenicity_index: IndexPlan = IndexPlan()
    fragility: FragilityPlan = FragilityPlan()
    line_length_spread: SpreadPlan = SpreadPlan()
    shaft: ShaftPlan = ShaftPlan()
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1, max_length=1000)] = (42, 52, 62)
    """Seeds; each method is fitted once with each of them (paper, line 657)."""
    methods: Annotated[tuple[str, ...], Field(min_length=1)] = ("prq", "bcr", "cdel")
    """Methods (`epilens list methods`); `/shaft` behind a name smooths it along shafts."""
    smoke: bool = False
    """Whether the run only shows that every step works; its tables say so."""

    @model_validator(mode="before")
    @classmethod
    def _other_sections(cls, given: Any) -> Any:
        """Check sections of other packages; one with default values leaves the digest as it is."""
        if not isinstance(given, dict):
            return given
        tree = {name: value for name, value in given.items() if name in cls.model_fields}
        for name in [name for name in given if name not in cls.model_fields]:
            if name not in SECTIONS:
                hint = did_you_mean(str(name), [*cls.model_fields, *SECTIONS])
                raise PlanError(f"unknown key {name!r}. {hint}", code=UNKNOWN_SECTION)
            schema = SECTIONS[name].schema
            try:
                section = schema.model_validate(given[name])
            except ValidationError as error:
                raise PlanError(_first_problem(schema, error, f"{name}.")) from None
            if section != schema():
                tree[name] = section
        return tree

    @field_validator("descriptors", "seeds", "methods")
    @classmethod
    def _each_once(cls, given: tuple[Any, ...], info: ValidationInfo) -> tuple[Any, ...]:
        twice = [item for item in given if given.count(item) > 1]
        if twice:
            field = str(info.field_name).removesuffix("s")
            raise ValueError(f"every {field} must be listed once, got {twice[0]!r} twice")
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
                    "set smoke = true for a quick test with less"
                )
        return self

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a TOML file, or one of the shipped plans by its name (`paper`, `demo`, …).

        Unknown keys are refused with the nearest known one.
        """
        path, shipped = Path(path), shipped_plans()
        if not path.is_file() and str(path) in shipped:  # a folder may have the same name
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
                f"plan {path}: expected TOML, found: {error}. Correct this line."
            ) from None
        except PlanError:
            raise
        except (ValueError, RecursionError):  # a number of thousands of digits, or deep nesting
            raise PlanError(
                f"plan {path}: expected a plan of plain size, found numbers or nesting that are "
                "too large. Start again with `epilens plan init`."
            ) from None
        return cls.of(tree, who=f"plan {path}")

    @classmethod
    def of(cls, tree: dict[str, Any], who: str = "plan") -> Self:
        """Build a plan from nested dictionaries, with one clear sentence for what does not fit."""
        try:
            return cls.model_validate(tree)
        except ValidationError as error:
            cause = error.errors()[0].get("ctx", {}).get("error")
            code = cause.code if isinstance(cause, PlanError) else ""
            raise PlanError(f"{who}: {_first_problem(cls, error)}", code=code) from None

    def section(self, name: str) -> Any:
        """A section of the plan, or of another package: as given, or with its default values."""
        if name in type(self).model_fields:
            return getattr(self, name)
        given = (self.model_extra or {}).get(name)
        return SECTIONS[name].schema() if given is None else given

    def values(self, name: str) -> Any:
        """The values of a section or field, as plain JSON."""
        value = self.section(name)
        if isinstance(value, Section):
            return value.model_dump(mode="json")
        return self.model_dump(mode="json", include={name})[name]

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
        names = tuple(dict.fromkeys((*dict(self), *dict(other))))
        theirs = other.fields(names)
        return [
            (field, value, theirs[field])
            for field, value in self.fields(names).items()
            if value != theirs[field]
        ]

    def fields(self, names: Iterable[str]) -> dict[str, Any]:
        """Fields of some sections as plain values by name: `windows.start_s`, `descriptors`, …."""
        return _leaves((name, self.section(name)) for name in names)

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that change when any field changes."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def shipped_plans() -> dict[str, Path]:
    """Plans that come with the package, by name."""
    folder = Path(__file__).parents[1] / "plans"
    return {path.stem: path for path in sorted(folder.glob("*.toml"), key=lambda p: p.stem)}


def _in_words(problem: ErrorDetails) -> str:
    """What pydantic expected; its words for a list that is too short are about Python's types."""
    if problem["type"] == "too_short":
        least = problem.get("ctx", {})["min_length"]
        return f"expected a list of {least} or more"
    return problem["msg"]


def _leaves(tree: Iterable[tuple[str, Any]], prefix: str = "") -> dict[str, Any]:
    leaves: dict[str, Any] = {}
    for key, value in tree:
        name = f"{prefix}{key}"
        if isinstance(value, Section):
            leaves |= _leaves(value, f"{name}.")
        else:
            leaves[name] = list(value) if isinstance(value, tuple) else value
    return leaves


def _text_of(path: Path) -> str:
    """The text of a plan file; a device or a heap of data is none."""
    if path.exists() and (not path.is_file() or path.stat().st_size > LARGEST_FILE):
        raise PlanError(
            f"plan {path}: expected a TOML file of at most {LARGEST_FILE // 1000} kB, found "
            "something else. Check the path."
        )
    return path.read_text(encoding="utf-8")


def _first_problem(model: type[BaseModel], error: ValidationError, prefix: str = "") -> str:
    """One sentence for the first problem that pydantic found; `prefix` is where the model is."""
    problem = error.errors()[0]
    cause = problem.get("ctx", {}).get("error")
    if isinstance(cause, PlanError):  # of a section of another package
        return str(cause)
    *parents, key = problem["loc"] or ("plan",)
    where = prefix + ".".join(str(part) for part in problem["loc"]) or "the plan"
    if problem["type"] != "extra_forbidden":
        own = problem["type"] == "value_error"  # of a validator here: it states what it found
        text = str(cause) if own else f"{_in_words(problem)}; found {shorten(problem['input'])}"
        return f"{where}: {text}. Correct this value."
    for parent in parents:
        section = model.model_fields[str(parent)].annotation
        assert isinstance(section, type)
        assert issubclass(section, BaseModel)
        model = section
    return f"unknown key {where!r}. {did_you_mean(str(key), model.model_fields)}"
