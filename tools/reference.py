"""Reference pages of the documentation, made from the verbs, the plan, the registries, the API.

A verb, field, entry or public name that is added appears without another edit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from inspect import cleandoc
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from epilens.core.provenance import plain
from epilens.report.listings import LISTINGS
from epilens.report.run.tables import in_markdown

if TYPE_CHECKING:
    from click import Command, Parameter
    from typer import Typer


def verbs(app: Typer) -> str:
    """Every verb of the command line with its arguments and options."""
    from typer.main import get_command

    parts = []
    for name, command in _commands("epilens", get_command(app)):
        usage = " ".join(_usage(parameter) for parameter in command.params)
        text = (command.help or "").split("\f")[0].strip()
        parts += [f"## `{name}`", text, f"```bash\n{name} {usage}\n```"]
        rows = [_parameter(parameter) for parameter in command.params if parameter.name != "help"]
        parts.append(_table(("", "meaning", "default"), rows) if rows else "")
        parts.append(f"Examples:\n\n```sh\n{command.epilog}\n```" if command.epilog else "")
    return "\n\n".join(part for part in parts if part) + "\n"


def _commands(name: str, command: Any) -> Iterator[tuple[str, Command]]:
    """Verbs with their full names, those of groups too."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name, command
        return
    for word in sorted(inner):
        yield from _commands(f"{name} {word}", inner[word])


def _usage(parameter: Parameter) -> str:
    name = parameter.opts[0] if parameter.param_type_name == "option" else _metavar(parameter)
    takes = parameter.param_type_name == "option" and not getattr(parameter, "is_flag", False)
    text = f"{name} {str(parameter.name).upper()}" if takes else name
    return text if parameter.required else f"[{text}]"


def _metavar(parameter: Parameter) -> str:
    return parameter.metavar or str(parameter.name).upper()


def _parameter(parameter: Parameter) -> tuple[str, str, str]:
    option = parameter.param_type_name == "option"
    name = ", ".join(parameter.opts) if option else _metavar(parameter)
    default = parameter.default
    plain = isinstance(default, str | int | float) and not isinstance(default, bool)
    shown = str(default) if plain or type(default).__name__ == "PosixPath" else ""
    return f"`{name}`", str(getattr(parameter, "help", "") or ""), f"`{shown}`" if shown else ""


def plan_fields() -> str:
    """Every field of the plan with its default and meaning, section by section."""
    from epilens.plan import Plan

    own = [(name, field) for name, field in Plan.model_fields.items() if not _section(field)]
    parts = ["## Top level", _fields("", own)]
    for name, field in Plan.model_fields.items():
        section = _section(field)
        if section is not None:
            text = cleandoc(section.__doc__ or "")
            parts += [f"## `[{name}]`", text, _fields(f"{name}.", section.model_fields.items())]
    return "\n\n".join(parts) + "\n"


def _section(field: Any) -> type[BaseModel] | None:
    kind = field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _fields(prefix: str, fields: Any) -> str:
    rows = []
    for name, field in fields:
        default = field.get_default(call_default_factory=True)
        text = " ".join((field.description or "").split())
        rows.append((f"`{prefix}{name}`", f"`{_value(default)}`", text))
    return _table(("field", "default", "meaning"), rows)


def _value(default: Any) -> str:
    if isinstance(default, tuple | list):
        inside = ", ".join(map(_value, default))
        return f"[{inside}]" if len(inside) < 120 else f"[{len(default)} names]"
    return f'"{default}"' if isinstance(default, str) else str(default).lower()


def registry_table(registry: str) -> str:
    """A registry as a table: `methods`, `descriptors`, `datasets` or `analyses`.

    Columns that differ between computers are in `epilens list` only.
    """
    columns, rows = LISTINGS[registry]()
    kept = [i for i, column in enumerate(columns) if column not in _LOCAL_COLUMNS]
    named = [(f"`{row[0]}`", *(str(row[i] or "") for i in kept[1:])) for row in rows]
    return _table([columns[i] for i in kept], named)


_LOCAL_COLUMNS = ("installed", "weights")


def settings_table() -> str:
    """One line per method of the package: everything that its fit uses in addition to the plan."""
    from epilens.methods import METHODS

    rows = []
    for name, method in METHODS.items():
        if METHODS.origin(name).package == "epilens":
            used = plain(method.settings) | {"prevalence_tolerance": method.prevalence_tolerance}
            pairs = ", ".join(f"{key} {value}" for key, value in _leaves(used))
            rows.append((f"`{name}`", pairs or "none"))
    return _table(("method", "settings"), rows)


def _leaves(tree: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Names and values of nested settings, without the names of their classes."""
    for key, value in tree.items():
        if key == "settings":
            continue
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{prefix}{key}.")
        elif value not in ("", {}, None):
            yield f"{prefix}{key}", value


def glossary() -> str:
    """Every term with its sentence, in alphabetical order."""
    from epilens.core.glossary import GLOSSARY

    terms = sorted(GLOSSARY.items(), key=lambda pair: pair[0].casefold())
    return _table(("term", "meaning"), [(f"**{term}**", text) for term, text in terms])


TASKS = {
    "Localize one patient": ("localize", "propose_onsets", "open_model"),
    "Read recordings, make cubes": ("read_bids", "describe", "open_cohort", "Cohort"),
    "Descriptors and views": ("descriptors", "views"),
    "Evaluate methods": ("run", "open_run", "score", "compare", "analyse", "fuse"),
    "Train a model": ("train", "PRQNet", "BCRNet"),
    "Settings": ("Plan", "Runtime"),
}
"""Public names by task, in the order in which a reader needs them."""


def api() -> str:
    """Every public name under its task: a table of contents, then the docstrings."""
    import epilens

    listed = {name for names in TASKS.values() for name in names}
    others = tuple(sorted(set(epilens.__all__) - listed))
    tasks = TASKS | ({"Other": others} if others else {})
    rows = [(task, ", ".join(_link(name) for name in names)) for task, names in tasks.items()]
    parts = [_table(("task", "names"), rows)]
    for task, names in tasks.items():
        parts.append(f"## {task}")
        for name in names:
            options = "    options:\n      heading_level: 3\n"
            parts.append(f"::: {epilens._HOME[name]}.{name}\n{options}")
    return "\n\n".join(parts) + "\n"


def _link(name: str) -> str:
    import epilens

    return f"[`{name}`](#{epilens._HOME[name]}.{name})"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *([in_markdown(cell) for cell in r] for r in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
