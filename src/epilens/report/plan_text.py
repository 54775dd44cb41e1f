"""A plan as commented TOML: every field below its documentation."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from textwrap import wrap

import tomli_w

from epilens.plan import Plan, Section

_WIDTH = 98
_HEAD = """\
# A plan of EpiLENS: everything that changes a number. Delete what you do not change: a field that
# is not here has the paper's value. `epilens plan check FILE` reads it, `epilens plan diff A B`
# compares two. "Paper, line N" is a line of the paper's source; tests compare the values with it.
"""


def commented(plan: Plan) -> str:
    """The plan with every field, each below a comment that says what it is and why."""
    parts = [_HEAD]
    fields = {name: getattr(plan, name) for name in type(plan).model_fields}
    for name, value in fields.items():
        if not isinstance(value, Section):  # TOML wants plain fields before the first section
            parts.append("\n".join(_field(plan, name)))
    for name, value in fields.items():
        if isinstance(value, Section):
            lines = [*_comment(inspect.getdoc(value) or ""), f"[{name}]"]
            for inner in type(value).model_fields:
                lines += _field(value, inner)
            parts.append("\n".join(lines))
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _field(section: Section, name: str) -> Iterator[str]:
    yield from _comment(type(section).model_fields[name].description or "")
    value = section.model_dump(mode="json", include={name}).get(name, getattr(section, name))
    line = f"{name} = {json.dumps(value, ensure_ascii=False)}"
    # A short list stays on its line, and is the same in JSON and TOML.
    short = isinstance(value, list) and len(line) <= _WIDTH
    yield line if short else tomli_w.dumps({name: value}).strip()


def _comment(text: str) -> list[str]:
    return [f"# {line}" for line in wrap(" ".join(text.split()), _WIDTH - 2)]
