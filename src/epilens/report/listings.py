"""Tables of `epilens list`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from epilens.core.registry import Registry
    from epilens.methods import Method

Listing = tuple[list[str], list[tuple[Any, ...]]]


def datasets() -> Listing:
    """Datasets that EpiLENS knows how to read."""
    from epilens.data.datasets import DATASETS

    rows = [
        (d.name, d.title, d.version, d.licence, d.who, d.ez, _from(DATASETS, d))
        for d in DATASETS.values()
    ]
    return ["name", "title", "version", "licence", "who", "ez", "from"], rows


def descriptors() -> Listing:
    """The descriptors of a window; a plan says which of them its cubes have."""
    from epilens.evidence.descriptors import DESCRIPTORS

    rows = [
        (d.name, d.words, d.unit, d.of, d.formula, _from(DESCRIPTORS, d))
        for d in DESCRIPTORS.values()
    ]
    return ["name", "words", "unit", "of", "formula", "from"], rows


def methods() -> Listing:
    """Methods that the protocol can run."""
    from epilens.methods import METHODS

    rows = [
        (
            *(m.name, m.title, m.input, _needs(m), "no" if m.missing() else "yes", _weights(m)),
            *(m.reference, _from(METHODS, m)),
        )
        for m in METHODS.values()
    ]
    columns = ["name", "title", "reads", "needs", "installed", "weights", "reference", "from"]
    return columns, rows


def _from(registry: Registry[Any], row: Any) -> str:
    """The package that a row comes from."""
    return registry.origin(row.name).package


def _weights(method: Method) -> str | None:
    """Whether the pretrained files are where the paper's plan looks for them; None: needs none."""
    from epilens.networks.raw.pretrained import FILES
    from epilens.plan import Plan

    if not method.pretrained:
        return None
    folder = Path(Plan().baselines.pretrained) / method.pretrained
    return "yes" if all((folder / name).is_file() for name in FILES) else f"no: {folder}"


def _needs(method: Method) -> str:
    """What a user needs: labels, other methods, packages, weights."""
    needs = list(method.parts) or ([] if method.training_free else ["EZ labels"])
    needs += [_DISTRIBUTIONS.get(name, name) for name in method.requires]
    needs += [f"weights {method.pretrained}"] if method.pretrained else []
    return ", ".join(needs) or "nothing"


_DISTRIBUTIONS = {"sklearn": "scikit-learn"}
"""Import name → name for pip, where they differ."""


def analyses() -> Listing:
    """Tables and figures of the paper that a run can be turned into."""
    from epilens.analyses import ANALYSES

    rows = [
        (a.name, a.shows, a.title, ", ".join([*a.needs, *a.reads]) or "any run", _from(ANALYSES, a))
        for a in ANALYSES.values()
    ]
    return ["name", "shows", "title", "needs", "from"], rows


def plans() -> Listing:
    """Plans that come with EpiLENS; the first line of a file describes it."""
    from epilens.plan import Plan, shipped_plans

    rows = []
    for name, path in shipped_plans().items():
        plan, about = Plan.load(path), path.read_text(encoding="utf-8").splitlines()[0]
        seeds = len(plan.seeds)
        rows.append((name, about.removeprefix("# "), len(plan.methods), seeds, plan.splits.kind))
    return ["name", "about", "methods", "seeds", "split"], rows


MODEL_COLUMNS = ("model", "kind", "trained on", "external AUROC", "cross-validated AUROC", "folder")


def list_models(folders: Sequence[str | Path], as_json: bool = False) -> None:
    """Print the shipped models, then those in folders."""
    from epilens.core.console import print_table
    from epilens.networks.model import models_in, shipped_models

    shipped = shipped_models()
    rows = [_model(name, path, "comes with EpiLENS") for name, path in shipped.items()]
    own = [path for path in models_in(folders) if path not in shipped.values()]
    rows += [_model(path.name, path, str(path)) for path in own]
    if as_json:
        print(json.dumps([dict(zip(MODEL_COLUMNS, row, strict=True)) for row in rows], indent=1))
    else:
        print_table("Models", MODEL_COLUMNS, rows, left=3, drop=("kind", "folder"))


def _model(name: str, path: Path, where: str) -> tuple[Any, ...]:
    """One row; a model that cannot be read keeps its row and says so."""
    from epilens.core.errors import ModelError
    from epilens.networks.model import read_model_json

    try:
        tree = read_model_json(path)
    except ModelError:
        return (name, None, "model.json cannot be used", None, None, where)
    about = tree["about"]
    source = "simulated" if about.get("simulated") else "recorded"
    cohort = about.get("cohort", {}).get("patients")
    trained = "unknown" if cohort is None else f"{cohort} {source} patients"
    figures = (about.get(key, {}).get("auroc") for key in ("external", "out_of_fold"))
    auroc = (None if value is None else f"{value:.3f}" for value in figures)
    return (name, tree["kind"], trained, *auroc, where)


LISTINGS = {
    "analyses": analyses,
    "datasets": datasets,
    "descriptors": descriptors,
    "methods": methods,
    "plans": plans,
}

TITLES = {
    "methods": "Methods. Default of `epilens train`: lens. Default of `epilens localize`: the "
    "model recorded.",
}
"""Titles of tables that say more than their kind."""

DROP = {
    "analyses": ("from", "title"),
    "datasets": ("from", "who", "ez", "licence"),
    "descriptors": ("from", "formula", "of"),
    "methods": ("from", "reference", "reads", "weights", "installed"),
    "plans": ("split", "seeds"),
}
"""Columns that a narrow terminal omits first."""

NEXT = {
    "analyses": "epilens analyse NAME RUN; all of them: epilens reproduce RUN --out DIR",
    "datasets": "epilens cohort ROOT --dataset NAME",
    "descriptors": "choose descriptors in a plan: epilens plan init my.toml",
    "methods": "epilens run PLAN --cubes CUBES --only NAME",
    "plans": "epilens run NAME --cubes CUBES; your own plan: epilens plan init my.toml",
}
"""What can be done with a name."""
