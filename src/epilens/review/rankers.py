"""What can rank contacts here: methods without training, and models in folders that we know."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from epilens.core.errors import DataError, ModelError
from epilens.localization import DEFAULT
from epilens.plan import SHAFT


@dataclass(frozen=True)
class Ranker:
    """A method or model to be chosen."""

    id: str
    """What the browser sends back: a method's name, or `model-` and a digest of the place."""
    title: str
    kind: str
    """`method` or `model`."""
    source: str
    """What `localize` is given: the name of a method, or the folder of a model."""
    problem: str = ""
    """Why it cannot be chosen."""
    default: bool = False


def list_rankers(folders: Iterable[str | Path] = ()) -> tuple[Ranker, ...]:
    """Models that lie in these folders, then methods without training; the usual one is marked."""
    models = [_model(folder) for folder in _model_folders(folders)]
    return (*models, *_methods())


def find_ranker(known: Sequence[Ranker], identity: object) -> Ranker:
    """The choice of this id: whatever else was sent never becomes a path."""
    for one in known:
        if one.id == identity and not one.problem:
            return one
    raise DataError(
        f"run: expected one of the methods and models that are listed, found "
        f"{str(identity)[:60]!r}. Reload the page."
    )


def _methods() -> list[Ranker]:
    from epilens.methods import METHODS

    rows = [METHODS[DEFAULT], *(row for row in METHODS.values() if row.training_free)]
    return [
        Ranker(
            row.name,
            row.title,
            "method",
            row.name,
            f"needs the package {row.missing()}" if row.missing() else "",
            row.name == DEFAULT,
        )
        for row in rows
        if row.name.removesuffix(SHAFT) != "random"
    ]


def _model_folders(folders: Iterable[str | Path]) -> list[Path]:
    """Models among folders and what lies directly in them, each once."""
    found: dict[Path, None] = {}
    for folder in map(Path, folders):
        inside = sorted(folder.iterdir()) if folder.is_dir() else []
        for place in (folder, *inside):
            if (place / "model.json").is_file():
                found[place.resolve()] = None
    return list(found)


def _model(folder: Path) -> Ranker:
    from epilens.networks.model import read_model_json

    identity = f"model-{hashlib.sha256(str(folder).encode(errors='replace')).hexdigest()[:12]}"
    try:
        about = read_model_json(folder).get("about", {})
        simulated = isinstance(about, dict) and about.get("simulated")
        note = " (trained on simulated patients)" if simulated else ""
        return Ranker(identity, f"model {folder.name}{note}", "model", str(folder))
    except ModelError:
        why = "its model.json cannot be used"
        return Ranker(identity, f"model {folder.name}", "model", str(folder), why)
