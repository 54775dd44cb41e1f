"""Methods and models that can rank contacts: training-free methods, models in known folders."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from epilens.core.errors import DataError, ModelError
from epilens.localization import DEFAULT, FALLBACK
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


SHIPPED = Ranker(DEFAULT, "model of recorded patients (comes with EpiLENS)", "model", "", "", True)
"""The default of `localize`, which uses another method where a recording is too short."""


def list_rankers(folders: Iterable[str | Path] = ()) -> tuple[Ranker, ...]:
    """Return the shipped model, models in these folders, then the training-free methods."""
    from epilens.networks.model import models_in

    models = [model_ranker(folder) for folder in models_in(folders)]
    return (SHIPPED, *models, *_methods())


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

    rows = [METHODS[FALLBACK], *(row for row in METHODS.values() if row.training_free)]
    return [
        Ranker(
            row.name,
            row.title,
            "method",
            row.name,
            f"needs the package {row.missing()}" if row.missing() else "",
        )
        for row in rows
        if row.name.removesuffix(SHAFT) != "random"
    ]


def model_ranker(folder: Path) -> Ranker:
    """Return the choice of a model in a folder."""
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
