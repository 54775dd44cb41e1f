"""Registries: read-only name → row, from the files of a package and from other installed packages.

A file is its own registration: `data/datasets/foo.py` with `ENTRIES = (Dataset(...),)` is found
without another edit. Another package adds rows by an entry point that names such a module:

    [project.entry-points."epilens.methods"]
    mine = "my_package.my_method"

No second list has to be kept. A plugin that cannot be used is one warning that names it.
"""

from __future__ import annotations

import pkgutil
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any, Generic, TypeVar

from epilens.core.errors import EpilensError, did_you_mean

Row = TypeVar("Row")


# Names become folders, columns and words of a command line.
_NAME = re.compile(r"[A-Za-z0-9_]+(?:[./-][A-Za-z0-9_]+)*")


def _reason_to_refuse(name: str, rows: Mapping[str, tuple[Any, Origin]]) -> str:
    """Why a row cannot have this name; empty: it can."""
    if not _NAME.fullmatch(name):
        return "is not a valid name: use letters, digits, `_`, and single `-`, `.` or `/` inside."
    if name in rows:
        return f"is registered already, by {rows[name][1].module}: rename one of the two."
    return ""


class PluginWarning(UserWarning):
    """A row of another package cannot be used."""


@dataclass(frozen=True)
class Origin:
    """Where a row comes from."""

    module: str
    package: str
    """The distribution that has it: `epilens`, or a plugin's name."""


class Registry(Mapping[str, Row], Generic[Row]):
    """Rows by name, from modules or all modules of a package, and from plugins.

    source : modules or packages that are imported on first use, in this order.
    kind : what a row is, for messages.
    group : entry-point group of plugins.
    attribute : name, in a module, of its rows.
    row : type of a row; only needed where the package itself has none.
    """

    def __init__(
        self,
        source: str | tuple[str, ...],
        kind: str,
        group: str = "",
        attribute: str = "ENTRIES",
        row: type | None = None,
    ):
        self._sources = (source,) if isinstance(source, str) else source
        self._kind, self._group, self._attribute, self._row = kind, group, attribute, row

    @cached_property
    def _rows(self) -> dict[str, tuple[Row, Origin]]:
        rows: dict[str, tuple[Any, Origin]] = {}
        for module in self._own_modules():
            for row in getattr(module, self._attribute, ()):
                if reason := _reason_to_refuse(row.name, rows):
                    raise EpilensError(f"{module.__name__}: {self._kind} {row.name!r} {reason}")
                rows[row.name] = row, Origin(module.__name__, "epilens")
        own = {self._row} if self._row else {type(row) for row, _ in rows.values()}
        for point in sorted(entry_points(group=self._group), key=lambda point: point.name):
            self._add_plugin(point, tuple(own), rows)
        return rows

    def _own_modules(self) -> Iterator[ModuleType]:
        for name in self._sources:
            package = import_module(name)
            if not hasattr(package, "__path__"):
                yield package
                continue
            for module in pkgutil.iter_modules(package.__path__):
                if not module.name.startswith("_"):  # shared by several rows
                    yield import_module(f"{name}.{module.name}")

    def _add_plugin(self, point: EntryPoint, kinds: tuple[type, ...], rows: dict) -> None:
        """Rows of another package; an error in it must not stop ours."""
        package = point.dist.name if point.dist else point.value
        try:
            module = point.load()
            entries = tuple(getattr(module, self._attribute))
            for row in entries:
                if not isinstance(row, kinds):
                    raise TypeError(f"expected a {self._kind}, found {type(row).__name__}")
                if reason := _reason_to_refuse(row.name, rows):
                    raise ValueError(f"{row.name!r} {reason}")
            rows |= {row.name: (row, Origin(point.module, package)) for row in entries}
        except (Exception, SystemExit) as error:
            warnings.warn(
                f"{package}: its {self._kind} plugin {point.name!r} ({point.value}) cannot be used "
                f"and is left out: {type(error).__name__}: {error}",
                PluginWarning,
                stacklevel=2,
            )

    def origin(self, name: str) -> Origin:
        """Module and package of a row."""
        self[name]
        return self._rows[name][1]

    def __getitem__(self, name: str) -> Row:
        try:
            return self._rows[name][0]
        except KeyError:
            raise EpilensError(
                f"{self._kind}: expected a registered name, found {name!r}. "
                f"{did_you_mean(name, self._rows)}"
            ) from None

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)
