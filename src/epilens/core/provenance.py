"""Which code a number comes from: a digest of the modules behind a function.

A result is kept as long as its inputs, settings and code are the same. Code is the module that
computes it and every module of the same package that it imports, at the top or inside a function.
Comments, docstrings and layout do not count. Neither do the base modules, which move results around
but compute none, nor the statements that import them: renaming a base module changes no key.

Settings name what they need of other modules as `module:attribute`. What is named so is loaded when
it is used, and counts for those settings alone, not for all rows of a file.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec, resolve_name
from pathlib import Path
from typing import Any

_BASE = ("core", "io", "compute", "cli", "testing", "plan")
_COMPUTES = frozenset({"epilens.core.decisions"})


def is_base(module: str) -> bool:
    """Whether no number of a result is computed there; what the plan says is hashed by value.

    Examples
    --------
    >>> is_base("epilens.io.locks"), is_base("epilens.evidence.views")
    (True, False)
    """
    package, _, rest = module.partition(".")
    return (
        package == "epilens"
        and rest.partition(".")[0] in _BASE
        and not any(module == name or module.startswith(f"{name}.") for name in _COMPUTES)
    )


def digest_of(tree: Any) -> str:
    """Sixteen hexadecimal digits of anything that `plain` can turn into JSON."""
    return hashlib.sha256(json.dumps(plain(tree), sort_keys=True).encode()).hexdigest()[:16]


def plain(value: Any) -> Any:
    """Settings as JSON: dataclasses, mappings, sequences and plain values, all the way down.

    Anything else (a function, an array) is refused: its text would not say what it does.

    Examples
    --------
    >>> plain({"bands": (1.0, 4.0), "name": "delta"})
    {'bands': [1.0, 4.0], 'name': 'delta'}
    """
    if is_dataclass(value) and not isinstance(value, type):
        named = {field.name: plain(getattr(value, field.name)) for field in fields(value)}
        return {"settings": type(value).__name__} | named
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        inner = [plain(item) for item in value]
        return sorted(inner, key=str) if isinstance(value, set | frozenset) else inner
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise TypeError(f"settings: expected plain values, found {type(value).__name__}: {value!r}")


_NAME = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_]\w*)")


def resolve(name: str) -> Any:
    """What settings name as `module:attribute`.

    Examples
    --------
    >>> resolve("math:sqrt")(4.0)
    2.0
    """
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


def modules_named(settings: Any) -> set[str]:
    """Modules of all `module:attribute` in some settings.

    Examples
    --------
    >>> sorted(modules_named({"make": "json:dumps", "deeper": ["ast:parse", "no name"], "n": 1}))
    ['ast', 'json']
    """
    tree = plain(settings)
    if isinstance(tree, str):
        match = _NAME.fullmatch(tree)
        return {match[1]} if match else set()
    inner = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    return {module for value in inner for module in modules_named(value)}


@cache
def code_digest(*modules: str, rows: frozenset[str] = frozenset()) -> str:
    """Digest of these modules and of all that they import from their own package or from ours.

    rows : modules whose `ENTRIES` do not count, because each row is hashed by what it says.
    """
    sources = {name: _code(name, name in rows) for name in sorted(modules_behind(*modules))}
    return hashlib.sha256(json.dumps(sources, sort_keys=True).encode()).hexdigest()[:16]


@cache
def modules_behind(*modules: str) -> frozenset[str]:
    """Names of the modules that `code_digest` looks at."""
    packages = {"epilens", *(name.partition(".")[0] for name in modules)}
    visited: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name in visited or is_base(name) or name == "epilens" or _source(name) is None:
            continue
        visited.add(name)
        waiting += [other for other in _imported(name) if other.partition(".")[0] in packages]
    return frozenset(visited)


@cache
def _source(name: str) -> Path | None:
    """The file of a module, located without running anything; None if it is not a module."""
    parent, _, last = name.rpartition(".")
    if not parent:
        try:
            spec = find_spec(name)
        except (ImportError, ValueError):  # e.g. `__main__`
            return None
        origin = spec.origin if spec else None
        return Path(origin) if origin and origin.endswith(".py") else None
    package = _source(parent)
    if package is None or package.name != "__init__.py":
        return None
    places = (package.parent / last / "__init__.py", package.parent / f"{last}.py")
    return next((path for path in places if path.is_file()), None)


@cache
def _tree(name: str) -> ast.Module:
    path = _source(name)
    assert path is not None
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _code(name: str, without_rows: bool = False) -> str:
    """The module's code without comments, docstrings and layout."""
    tree = _tree(name)
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                # A string by itself documents the line above it, and does nothing.
                kept = [s for s in block if not _is_text(s) and not _imports_base_only(s, name)]
                setattr(node, field, kept)
    body = [node for node in tree.body if not (without_rows and _is_rows(node))]
    return ast.dump(ast.Module(body, tree.type_ignores))


def _is_rows(node: ast.AST) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return any(isinstance(target, ast.Name) and target.id == "ENTRIES" for target in targets)


def _imports_base_only(node: ast.AST, module: str) -> bool:
    """Whether a statement imports base modules, or names of theirs, and nothing else."""
    if isinstance(node, ast.Import):
        return all(is_base(alias.name) for alias in node.names)
    if not isinstance(node, ast.ImportFrom):
        return False
    source = resolve_name("." * node.level + (node.module or ""), _package(module))
    return is_base(source) or all(is_base(f"{source}.{alias.name}") for alias in node.names)


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _imported(name: str) -> Iterator[str]:
    """Modules that a module names in its imports, other than those for type checkers."""
    for node in _running(_tree(name)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = resolve_name("." * node.level + (node.module or ""), _package(name))
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def _package(name: str) -> str:
    """What relative imports of a module start from."""
    path = _source(name)
    return name if path and path.name == "__init__.py" else name.rpartition(".")[0]


def _running(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes of the code that runs: blocks under TYPE_CHECKING do not."""
    for child in ast.iter_child_nodes(tree):
        is_skipped = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test)
        for node in child.orelse if is_skipped else [child]:
            yield node
            yield from _running(node)
