"""The Model: a folder of safetensors and JSON. Opening one never runs code from it.

model.json            kind, members, specs, threshold, assurance, plan, cohort, hashes
MODEL_CARD.md         the same for people
member-NN.safetensors weights of the fitted objects of a member (`networks.kinds`)

`assurance` is how certain the scores are, from out-of-fold scores: plain JSON, written and read by
`epilens.evaluation.certainty`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from safetensors.numpy import load, save

from epilens.core.errors import ModelError, did_you_mean
from epilens.core.html_repr import RESEARCH, SIMULATED, card
from epilens.core.types import Floats
from epilens.evidence.cube import blind
from epilens.evidence.views import VIEWS
from epilens.io.outputs import check_folder, is_output, replace_folder
from epilens.io.remote import download
from epilens.io.safe_read import read_bytes
from epilens.networks.card import card as model_card
from epilens.networks.kinds import KINDS, ModelKind, kind_of
from epilens.networks.model_schema import FORMAT, check_stored
from epilens.networks.predictor import NEUTRAL, Arrays, Explanation, Layout, Predictor
from epilens.plan import PAPER_NINE

KIND = "a model"
CARD = "MODEL_CARD.md"
_UNSIGNED = "0" * 64
_MOST_WEIGHTS = 1024**3


@dataclass(frozen=True)
class Member:
    """One member of the ensemble: the fitted objects of one seed and fold."""

    seed: int
    fold: str
    parts: Mapping[str, Predictor]
    """Fitted objects by method."""


@dataclass(frozen=True)
class EnsembleScores:
    """NEZ probabilities of a patient by every member."""

    members: Floats
    """Scores of every member (member, channel)."""
    parts: Mapping[str, Floats]
    """Mean (channel,) over the members for each method, where members fuse two of them."""
    per_seizure: Floats
    """Mean over the members, each seizure alone (seizure, channel)."""


@dataclass(frozen=True)
class Model:
    """An ensemble that scores new patients, and everything that must be known about it."""

    members: tuple[Member, ...]
    threshold: float
    weight: float
    """Weight of the second part in the fusion (BCR-Net); not used by kinds of one part."""
    about: Mapping[str, Any]
    """Plan, training cohort, source, notes: plain JSON."""
    assurance: Mapping[str, Any] = field(default_factory=dict)
    """Calibration, set of contacts, distances to the cohort; empty where nothing is known."""
    descriptors: tuple[str, ...] = PAPER_NINE
    views: tuple[str, ...] = VIEWS
    """What it was trained on, in the order of its standardizers."""

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, index: int) -> Member:
        return self.members[index]

    def __repr__(self) -> str:
        return f"Model({self.kind}, {len(self)} members, EZ where p_nez < {self.threshold:g})"

    def _repr_html_(self) -> str:
        reached = self.about.get("out_of_fold") or {}
        facts = {"members": len(self), "EZ where p_nez is below": f"{self.threshold:g}"}
        facts |= {k: f"{v:.3f}" for k, v in reached.items() if isinstance(v, float)}
        cohort = self.about.get("cohort", {})
        table = pd.DataFrame({"training cohort": map(str, cohort), "": map(str, cohort.values())})
        simulated = bool(self.about.get("simulated"))
        return card(f"Model: {self.kind}", facts, table, notes=[SIMULATED] * simulated + [RESEARCH])

    @property
    def kind(self) -> str:
        """What its members are: the name of a `ModelKind`."""
        return self._kind.name

    @property
    def _kind(self) -> ModelKind:
        return kind_of(tuple(self.members[0].parts))

    def check(self, cube: xr.Dataset, force_descriptors: bool = False) -> None:
        """Refuse a patient whose evidence is not what the networks were trained on.

        `force_descriptors` accepts others of the same number; the caller must report it.
        """
        if self._kind.input != "cube":
            if self._kind.input not in cube:
                raise ModelError(
                    f"{cube.attrs.get('patient', 'cube')}: expected a patient with its "
                    f"{self._kind.input}, found a cube alone. Give the recordings, or describe the "
                    "patient again."
                )
            return
        descriptors = tuple(cube["descriptor"].values.tolist())
        same = descriptors == self.descriptors
        readable = same or (force_descriptors and len(descriptors) == len(self.descriptors))
        if not readable or self.views != VIEWS:
            raise ModelError(
                f"{cube.attrs.get('patient', 'cube')}: expected the descriptors "
                f"{', '.join(self.descriptors)} (as {', '.join(self.views)}) that the model was "
                f"trained on, found {', '.join(descriptors)} (as {', '.join(VIEWS)}). Describe the "
                "patient with the model's plan."
            )

    def predict(self, cube: xr.Dataset) -> pd.DataFrame:
        """Mean over members: channel, p_nez, and the standard deviation of p_nez over members.

        Where members fuse two methods, also the mean of each (`p_prq`, `p_bcr`).
        """
        self.check(cube)
        patient, methods = blind(cube), self._kind.methods
        by_method = [
            np.array([member.parts[method].p_nez(patient) for member in self.members])
            for method in methods
        ]
        p_nez = self._kind.combine(by_method, self.weight)
        seen = cube["valid"].any(["seizure", "window"]).values
        columns: dict[str, Any] = {"channel": cube["channel"].values[seen].tolist()}
        columns["p_nez"] = p_nez.mean(axis=0)
        if len(methods) > 1:
            means = (scores.mean(axis=0) for scores in by_method)
            columns |= {f"p_{name}": mean for name, mean in zip(methods, means, strict=True)}
        return pd.DataFrame(columns | {"spread": p_nez.std(axis=0)})

    def score(self, patient: xr.Dataset) -> EnsembleScores:
        """Scores of a patient, whose channels are all valid in some seizure, by every member."""
        patient, kind = blind(patient), self._kind
        by_method = [
            part.opener.score_members([m.parts[part.method] for m in self.members], patient)
            for part in kind.parts
        ]
        fused = kind.combine(by_method, self.weight)
        shown = patient["valid"].any("window").values
        means = (scores[:, 0].mean(axis=0) for scores in by_method)
        return EnsembleScores(
            members=fused[:, 0],
            parts=dict(zip(kind.methods, means, strict=True)) if len(kind.parts) > 1 else {},
            per_seizure=np.where(shown, fused.mean(axis=0)[1:], NEUTRAL),
        )

    def explain(self, patient: xr.Dataset, order: NDArray[np.int64]) -> Explanation | None:
        """What moves the scores of the leading channels of `order`; None if not available."""
        openers = {part.opener for part in self._kind.parts}
        if len(openers) > 1:
            return None
        weights = self._kind.weights(self.weight)
        members: list[Any] = [
            (member.parts[method], weight / len(self.members))
            for member in self.members
            for method, weight in zip(self._kind.methods, weights, strict=True)
        ]
        return openers.pop().explain(members, blind(patient), order)


def check_place(path: str | Path, force: bool = False) -> None:
    """Refuse a folder that is not free for a model; `force` lets a model be replaced by another."""
    check_folder(path, KIND)
    if is_output(path, KIND) and not force:
        raise ModelError(
            f"{path}: expected a new folder, found a model. Give another folder, or --force to "
            "replace it."
        )


def save_model(model: Model, path: str | Path, force: bool = False) -> Path:
    """Write a model folder, whole or not at all; `force` replaces a model that is there."""
    check_place(path, force)
    files = {f"member-{i:02d}.safetensors": _pack(m) for i, m in enumerate(model.members)}
    tree: dict[str, Any] = {
        "format": FORMAT,
        "kind": model.kind,
        "threshold": model.threshold,
        "weight": model.weight,
        "descriptors": list(model.descriptors),
        "views": list(model.views),
        "specs": {name: spec for name, part in model[0].parts.items() if (spec := part.spec())},
        "members": [
            {"file": name, "seed": m.seed, "fold": m.fold}
            for name, m in zip(files, model.members, strict=True)
        ],
        "about": dict(model.about),
        "assurance": dict(model.assurance),
    }
    files[CARD] = model_card(tree).encode()
    tree["sha256"] = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    with replace_folder(path, KIND) as folder:
        for name, content in files.items():
            (folder / name).write_bytes(content)
        (folder / "model.json").write_bytes(sign(tree))
    return Path(path)


def sign(tree: Mapping[str, Any]) -> bytes:
    """The bytes of model.json: its own SHA-256 is computed with zeros in its place."""
    blank = json.dumps(dict(tree) | {"signature": _UNSIGNED}, indent=1).encode() + b"\n"
    return blank.replace(_UNSIGNED.encode(), hashlib.sha256(blank).hexdigest().encode())


def shipped_models() -> dict[str, Path]:
    """Folders of the models that come with EpiLENS, by name."""
    folder = Path(__file__).parents[1] / "models"
    return {path.parent.name: path.parent for path in sorted(folder.glob("*/model.json"))}


def models_in(folders: Iterable[str | Path]) -> list[Path]:
    """Model folders among these folders and directly inside them, each once."""
    models: dict[Path, None] = {}
    for folder in map(Path, folders):
        inside = sorted(folder.iterdir()) if folder.is_dir() else []
        for path in (folder, *inside):
            if (path / "model.json").is_file():
                models[path.resolve()] = None
    return list(models)


def model_folder(given: str | Path) -> Path:
    """The folder of a model: a folder or URL, else the name of a shipped model."""
    shipped = shipped_models().get(str(given))
    return shipped if shipped and not Path(given).exists() else download(given)


def open_model(path: str | Path) -> Model:
    """Open a model; a changed byte or another format is refused.

    Parameters
    ----------
    path : path or str
        A model's folder or URL, or the name of a model that comes with EpiLENS: `recorded`.

    Returns
    -------
    Model
        For `localize`.

    Examples
    --------
    >>> model = open_model("recorded")
    >>> model.kind, model.about["cohort"]["patients"], model.about["simulated"]
    ('lens/features', 15, False)
    """
    path = model_folder(path)
    tree = read_model_json(path)
    members = []
    for about in tree["members"]:
        name = str(about["file"])
        content = _read(path, name, tree["sha256"].get(name, ""))
        parts = _unpack(content, tree, path / name)
        members.append(Member(int(about["seed"]), str(about["fold"]), parts))
    _read(path, CARD, tree["sha256"].get(CARD, ""))
    return Model(
        members=tuple(members),
        threshold=tree["threshold"],
        weight=tree["weight"],
        about=tree["about"],
        assurance=tree.get("assurance", {}),
        descriptors=tuple(tree["descriptors"]),
        views=tuple(tree["views"]),
    )


def read_model_json(path: Path) -> dict[str, Any]:
    """What a model says about itself, checked as far as JSON can be."""
    try:
        content = read_bytes(path / "model.json", str(path), ModelError)
        tree = json.loads(content)
        if not isinstance(tree, dict):
            raise ValueError
    except (OSError, ValueError, RecursionError):
        raise ModelError(
            f"{path}: expected a model folder with model.json, found none that can be read. "
            f"{_meant_or_made(path)}"
        ) from None
    if tree.get("format") != FORMAT:
        raise ModelError(
            f"{path}: expected model format {FORMAT}, found {tree.get('format')!r}. Train again, "
            "or import the checkpoints again."
        )
    signature = str(tree.get("signature", "")).encode()
    blank = content.replace(signature, _UNSIGNED.encode()) if len(signature) == 64 else content
    if hashlib.sha256(blank).hexdigest().encode() != signature:
        raise _changed(path, "model.json")
    check_stored(tree, str(path))
    return tree


def _meant_or_made(path: Path) -> str:
    """What to do about a path without a model: correct the name of a shipped one, or train."""
    hint = "" if path.exists() else did_you_mean(path.name, shipped_models())
    return hint if hint.startswith("Did") else "Make one with `epilens train`."


def _read(folder: Path, name: str, expected: str) -> bytes:
    if Path(name).name != name:
        raise ModelError(f"{folder}: expected files inside the model's folder, found {name!r}.")
    if not (folder / name).exists():
        raise ModelError(f"{folder}: expected {name}, found none. Copy the whole folder.")
    content = read_bytes(folder / name, f"{folder}: {name}", ModelError, _MOST_WEIGHTS)
    if hashlib.sha256(content).hexdigest() != expected:
        raise _changed(folder, name)
    return content


def _changed(folder: Path, name: str) -> ModelError:
    return ModelError(
        f"{folder}: {name} is not what it was when the model was written (SHA-256 differs). "
        "Copy the model again from its source."
    )


def _pack(member: Member) -> bytes:
    """The tensors of a member; where it has two parts, named by the part's method."""
    if len(member.parts) == 1:
        return save(dict(next(iter(member.parts.values())).tensors()))
    return save(
        {
            f"{method}{name if name[0] == ':' else '.' + name}": tensor
            for method, part in member.parts.items()
            for name, tensor in part.tensors().items()
        }
    )


def _unpack(content: bytes, tree: Mapping[str, Any], who: Path) -> dict[str, Predictor]:
    """The fitted objects of a member, or one sentence about what is wrong with its file."""
    kind, parts = KINDS[tree["kind"]], {}
    try:
        tensors = load(content)
        for part in kind.parts:
            spec, columns = tree["specs"].get(part.method, {}), (tree["descriptors"], tree["views"])
            layout = Layout(part.method, spec, *map(tuple, columns))
            own = _named(part.method, tensors) if len(kind.parts) > 1 else tensors
            parts[part.method] = part.opener.open(own, layout)
    except Exception as error:  # safetensors and other packages raise many kinds
        lines = str(error).splitlines() or [type(error).__name__]
        titles = " and ".join(part.title for part in kind.parts)
        raise ModelError(
            f"{who}: expected weights of {titles}, found: {lines[0][:300]}. Train again, or copy "
            "the model again from its source."
        ) from None
    return parts


def _named(method: str, tensors: Arrays) -> Arrays:
    """The tensors of one part of a member, by their own names."""
    own = {k.removeprefix(method): v for k, v in tensors.items() if k.startswith(method)}
    return {k.removeprefix("."): v for k, v in own.items() if k[0] in ".:"}
