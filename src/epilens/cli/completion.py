"""Shell completion of names: registered rows, plans and shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path


def completed(kind: str) -> Callable[[str], list[str]]:
    """For `autocompletion`: names of a kind that start with the typed text.

    kind : a kind of `epilens list`, or `kinds`, `plans`, `shapes`.
    """

    def names(incomplete: str) -> list[str]:
        candidates = OTHERS[kind](incomplete) if kind in OTHERS else _rows(kind)
        return [name for name in candidates if name.startswith(incomplete)]

    return names


def _rows(kind: str) -> list[str]:
    from epilens.report.listings import LISTINGS

    return [str(row[0]) for row in LISTINGS[kind]()[1]]


def _kinds(_: str) -> Iterable[str]:
    from epilens.report.listings import LISTINGS

    return LISTINGS


def _plans(incomplete: str) -> list[str]:
    """Shipped plans and TOML files: a shell that receives names does not list files."""
    from epilens.plan import shipped_plans

    folder = Path(incomplete).parent if not incomplete.endswith("/") else Path(incomplete)
    return [*shipped_plans(), *sorted(str(path) for path in folder.glob("*.toml"))]


def _shapes(_: str) -> Iterable[str]:
    from epilens.simulation.shapes import SHAPES

    return SHAPES


OTHERS: dict[str, Callable[[str], Iterable[str]]] = {
    "kinds": _kinds,
    "plans": _plans,
    "shapes": _shapes,
}
"""Kinds that are not a registry."""
