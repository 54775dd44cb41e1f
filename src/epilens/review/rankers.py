"""Methods and models that can rank contacts: training-free methods, models in known folders."""

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
    """A method or model that can rank contacts."""

    id: str
    """Sent by the browser: a method's name, or `model-` and a digest of the folder."""
    title: str
    kind: str
    """`method` or `model`."""
    source: str
    """Argument of `localize`: the name of a method, or the folder of a model."""
    problem: str = ""
    """Why it cannot be used."""
    default: bool = False


def list_rankers(folders: Iterable[str | Path] = ()) -> tuple[Ranker, ...]:
    """Return the models in these folders, then the training-free methods; one is the default."""
    models = [_model(folder) for folder in _model_folders(folders)]
    return (*models, *_methods())


def find_ranker(rankers: Sequence[Ranker], identity: object) -> Ranker:
    """Return the method or model of this id; nothing else that was sent becomes a path."""
    for ranker in rankers:
        if ranker.id == identity and not ranker.problem:
            return ranker
    raise DataError(
        f"run: expected one of the methods and models in the list, found "
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
    """Return the model folders among these folders and directly inside them, each once."""
    models: dict[Path, None] = {}
    for folder in map(Path, folders):
        inside = sorted(folder.iterdir()) if folder.is_dir() else []
        for path in (folder, *inside):
            if (path / "model.json").is_file():
                models[path.resolve()] = None
    return list(models)


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
