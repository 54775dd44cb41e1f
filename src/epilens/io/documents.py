"""Base of JSON documents: pydantic models whose errors are one sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    Strict,
    ValidationError,
    WrapValidator,
)
from pydantic_core import PydanticCustomError

from epilens.core.errors import DataError, EpilensError
from epilens.io.atomic import load_json

_OWN_SENTENCE = "sentence"
_PASSED_ON = ("expected", "missing", "extra_forbidden", _OWN_SENTENCE)


class Document(BaseModel):
    """An immutable JSON object without unknown fields."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, regex_engine="python-re"
    )

    def to_json(self) -> dict[str, Any]:
        """Return the object as plain JSON values."""
        return self.model_dump(mode="json", by_alias=True)

    @classmethod
    def from_json(
        cls, tree: Any, who: str, hint: str, error: type[EpilensError] = DataError
    ) -> Self:
        """Return JSON values as a document, or raise one sentence on the first problem."""
        try:
            return cls.model_validate(tree)
        except ValidationError as problem:
            raise error(_sentence(problem, who, hint)) from None

    @classmethod
    def read_or_none(cls, path: Path) -> Self | None:
        """Return the document in a file; None where it is absent or damaged."""
        try:
            return cls.model_validate(load_json(path))
        except (OSError, ValueError):
            return None


def _refuse_surrogates(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise PydanticCustomError("expected", "Unicode text without lone surrogates") from None
    return text


Text = Annotated[str, AfterValidator(_refuse_surrogates)]
"""Text that any file can store."""
Count = Annotated[int, Strict(), Field(ge=0)]


def expecting(phrase: str) -> WrapValidator:
    """Describe a field's valid values in one phrase, which its error message then contains."""

    def check(value: Any, validate_field: Callable[[Any], Any]) -> Any:
        try:
            return validate_field(value)
        except ValidationError as error:
            if error.errors()[0]["type"] in _PASSED_ON:  # a nested field has its own phrase
                raise
            raise PydanticCustomError("expected", "{phrase}", {"phrase": phrase}) from None

    return WrapValidator(check)


def refusal(sentence: str) -> PydanticCustomError:
    """Return an error that states what was expected and found, and what to do."""
    return PydanticCustomError(_OWN_SENTENCE, "{sentence}", {"sentence": sentence})


def _sentence(problem: ValidationError, who: str, hint: str) -> str:
    first = problem.errors()[0]
    kind, value = first["type"], first["input"]
    field = next((part for part in reversed(first["loc"]) if isinstance(part, str)), "the document")
    if kind == _OWN_SENTENCE:
        return f"{who}: {first['msg']}"
    if kind == "missing":
        return f"{who}: expected a value for {field}, found none. {hint}"
    if kind == "extra_forbidden":
        return f"{who}: expected an object with known fields, found {_describe(field)}. {hint}"
    expected = first["msg"] if kind == "expected" else "a valid value"
    if kind in ("model_type", "string_unicode"):
        expected = "an object"
    return f"{who}: expected {expected} for {field}, found {_describe(value)}. {hint}"


def _describe(value: Any) -> str:
    """Describe a value that somebody sent: short, and in characters that any output can show."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if isinstance(value, str):
        return ascii(value) if len(value) <= 40 else f"a text of {len(value)} characters"
    return repr(value)[:40]
