"""Settings of every method as Markdown: the generated part of docs/decisions.md."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from epilens.core.provenance import plain
from epilens.methods import METHODS

BEGIN, END = "<!-- settings: begin -->", "<!-- settings: end -->"


def settings_table() -> str:
    """One line per method of the package: everything that its fit uses besides the plan."""
    lines = ["| method | settings |", "|---|---|"]
    for name, method in METHODS.items():
        if METHODS.origin(name).package == "epilens":
            used = plain(method.settings) | {"prevalence_tolerance": method.prevalence_tolerance}
            pairs = ", ".join(f"{key} {value}" for key, value in _leaves(used))
            lines.append(f"| `{name}` | {pairs.replace('|', '/') or 'none'} |")
    return "\n".join(lines) + "\n"


def _leaves(tree: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Names and values of nested settings, without the names of their classes."""
    for key, value in tree.items():
        if key == "settings" and not prefix:
            continue
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{prefix}{key}.")
        elif value not in ("", {}, None):
            yield f"{prefix}{key}", value


def with_settings(page: str) -> str:
    """The page with its generated part renewed."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{settings_table()}{END}{after}"


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(with_settings(page.read_text(encoding="utf-8")), encoding="utf-8")
