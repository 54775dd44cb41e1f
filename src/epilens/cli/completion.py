"""What a shell completes beside verbs, options and files: the names of what there is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path


def completed(kind: str) -> Callable[[str], list[str]]:
    """For `autocompletion`: names of a kind that begin with what is typed.

    kind : a kind of `epilens list`, or `kinds`, `plans`, `shapes`.
    """

    def names(incomplete: str) -> list[str]:
        known = OTHERS[kind](incomplete) if kind in OTHERS else _rows(kind)
        return [name for name in known if name.startswith(incomplete)]

    return names


def _rows(kind: str) -> list[str]:
    from epilens.report.listings import LISTINGS

    return [str(row[0]) for row in LISTINGS[kind]()[1]]


def _kinds(_: str) -> Iterable[str]:
    from epilens.report.listings import LISTINGS

    return LISTINGS


def _plans(incomplete: str) -> list[str]:
    """Shipped ones, and the files that are there: a shell that is told names shows no files."""
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
"""Kinds that are no registry."""
