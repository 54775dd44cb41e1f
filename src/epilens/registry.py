"""Registries: read-only name → row, collected from the ENTRIES of a package's files.

A file is its own registration: `data/datasets/foo.py` with `ENTRIES = (Dataset(...),)` is found
because it is there. No second list has to be kept.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from typing import Any, Generic, TypeVar

from epilens.errors import EpilensError, did_you_mean

Row = TypeVar("Row")


class Registry(Mapping[str, Row], Generic[Row]):
    """The rows of all modules of `package`, by name; modules are imported on first use."""

    def __init__(self, package: str, kind: str):
        self._package, self._kind = package, kind

    @cached_property
    def _rows(self) -> dict[str, Row]:
        rows: dict[str, Any] = {}
        for module in pkgutil.iter_modules(import_module(self._package).__path__):
            if module.name.startswith("_"):  # what several rows share
                continue
            for row in import_module(f"{self._package}.{module.name}").ENTRIES:
                if row.name in rows:
                    raise EpilensError(
                        f"{self._package}.{module.name}: {self._kind} {row.name!r} is registered "
                        "already. Names must be unique: rename one of the two."
                    )
                rows[row.name] = row
        return rows

    def __getitem__(self, name: str) -> Row:
        try:
            return self._rows[name]
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
