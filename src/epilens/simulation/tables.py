"""Small files of a dataset: JSON documents and TSV tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

_BOM = "\ufeff"


def write_json(path: Path, tree: Mapping[str, Any]) -> None:
    """Write a JSON document; its folder is created."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(tree, indent=2) + "\n", encoding="utf-8")


def write_descriptions(path: Path, descriptions: Mapping[str, str]) -> None:
    """Write the sidecar that describes the columns of a table."""
    write_json(path, {name: {"Description": text} for name, text in descriptions.items()})


def write_tsv(
    path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]], bom: bool = False
) -> None:
    """Write a table; with a byte-order mark, as some programs do, if `bom`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ["\t".join(map(str, row)) for row in (columns, *rows)]
    path.write_text((_BOM if bom else "") + "\n".join(lines) + "\n", encoding="utf-8")
