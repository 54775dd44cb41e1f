"""The Model: a folder of safetensors and JSON. Opening one never runs code from it.

model.json            kind, members, specs, threshold, assurance, plan, cohort, hashes
MODEL_CARD.md         the same for people
member-NN.safetensors weights: of both branches and their standardizers, or of a lens

`assurance` is what out-of-fold scores taught about how sure the scores are: plain JSON, written and
read by `epilens.evaluation.certainty`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch
import xarray as xr
from safetensors.torch import load, save
from torch import Tensor

from epilens.core.decisions import fuse_scores
from epilens.core.errors import ModelError
from epilens.core.html_repr import RESEARCH, SIMULATED, card
from epilens.evidence.contact_table import PLACES, TERMS, contact_table
from epilens.evidence.views import VIEWS, Standardizer
from epilens.io.mirror import fetched
from epilens.io.outputs import check_folder, is_output, replace_folder
from epilens.io.safe_read import read_bytes
from epilens.networks.bcr import BCRNet
from epilens.networks.card import card as model_card
from epilens.networks.encoder import PatientNetwork
from epilens.networks.lens import Lens
from epilens.networks.model_schema import FORMAT, check_stored
from epilens.networks.prq import PRQNet
from epilens.networks.training import as_tensors, predict
from epilens.plan import PAPER_NINE

KIND = "a model"
Kind = Literal["cdel", "lens"]
CARD = "MODEL_CARD.md"
_UNSIGNED = "0" * 64
_MOST_WEIGHTS = 1024**3
NETWORKS: dict[str, type[PatientNetwork]] = {"prq": PRQNet, "bcr": BCRNet}
"""The branches of a member."""


@dataclass(frozen=True)
class Branch:
    """A network with the standardizer of its fit patients.

    It predicts in double precision, so that machines agree; its weights are single precision.
    """

    network: PatientNetwork
    standardizer: Standardizer

    def __post_init__(self) -> None:
        self.network.double().eval()

    def p_nez(self, cube: xr.Dataset) -> np.ndarray:
        """NEZ probability of the cube's valid channels."""
        return predict(self.network, as_tensors(cube, self.standardizer))


@dataclass(frozen=True)
class Member:
    """One member of the ensemble: both branches of one seed and fold."""

    seed: int
    fold: str
    prq: Branch
    bcr: Branch


@dataclass(frozen=True)
class LensMember:
    """One member of an ensemble of lenses."""

    seed: int
    fold: str
    lens: Lens


@dataclass(frozen=True)
class Model:
    """An ensemble that scores new patients, and everything that must be known about it."""

    members: tuple[Member, ...] | tuple[LensMember, ...]
    threshold: float
    weight: float
    """Of BCR-Net in the fusion; nothing to a lens."""
    about: Mapping[str, Any]
    """Plan, training cohort, source, notes: plain JSON."""
    assurance: Mapping[str, Any] = field(default_factory=dict)
    """Calibration, set of contacts, distances to the cohort; empty where nothing is known."""
    descriptors: tuple[str, ...] = PAPER_NINE
    views: tuple[str, ...] = VIEWS
    """What it was trained on, in the order of its standardizers."""

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, place: int) -> Member | LensMember:
        return self.members[place]

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
    def kind(self) -> Kind:
        """What its members are."""
        return "lens" if self.lenses else "cdel"

    @property
    def lenses(self) -> list[Lens]:
        """The members of an ensemble of lenses."""
        return [member.lens for member in self.members if isinstance(member, LensMember)]

    @property
    def pairs(self) -> list[Member]:
        """The members of an ensemble of networks."""
        return [member for member in self.members if isinstance(member, Member)]

    def check(self, cube: xr.Dataset, force_descriptors: bool = False) -> None:
        """Refuse a patient whose evidence is not what the networks were trained on.

        `force_descriptors` lets others pass, if they are as many: whoever forces must say so.
        """
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
        """Mean over members: channel, p_nez, and the spread of p_nez over members.

        Of networks also p_prq and p_bcr.
        """
        self.check(cube)
        seen = cube["valid"].any(["seizure", "window"]).values
        columns: dict[str, Any] = {"channel": cube["channel"].values[seen].tolist()}
        if self.kind == "lens":
            table = contact_table(cube)
            p_nez = np.array([lens.p_nez_of(table) for lens in self.lenses])
        else:
            prq = np.array([member.prq.p_nez(cube) for member in self.pairs])
            bcr = np.array([member.bcr.p_nez(cube) for member in self.pairs])
            columns |= {"p_prq": prq.mean(axis=0), "p_bcr": bcr.mean(axis=0)}
            p_nez = fuse_scores(prq, bcr, self.weight)
        columns |= {"p_nez": p_nez.mean(axis=0), "spread": p_nez.std(axis=0)}
        order = ("channel", "p_nez", "p_prq", "p_bcr", "spread")
        return pd.DataFrame({name: columns[name] for name in order if name in columns})


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
        "specs": {
            name: getattr(first, name).network.tree()
            for first in model.pairs[:1]
            for name in NETWORKS
        },
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
    """The bytes of model.json: its own SHA-256 is taken with zeros in its place."""
    blank = json.dumps(dict(tree) | {"signature": _UNSIGNED}, indent=1).encode() + b"\n"
    return blank.replace(_UNSIGNED.encode(), hashlib.sha256(blank).hexdigest().encode())


def open_model(path: str | Path) -> Model:
    """Open a model's folder or store; a changed byte or another format is refused."""
    path = fetched(path)
    tree = read_model_json(path)
    members: list[Any] = []
    for about in tree["members"]:
        name = str(about["file"])
        content = _read(path, name, tree["sha256"].get(name, ""))
        members.append(_unpack(content, tree, about, path / name))
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
            f"{path}: expected a model folder with model.json, found none that can be read. Make "
            "one with `epilens train`."
        ) from None
    if tree.get("format") != FORMAT:
        raise ModelError(
            f"{path}: expected model format {FORMAT}, found {tree.get('format')!r}. Train anew, or "
            "import the checkpoints anew."
        )
    signature = str(tree.get("signature", "")).encode()
    blank = content.replace(signature, _UNSIGNED.encode()) if len(signature) == 64 else content
    if hashlib.sha256(blank).hexdigest().encode() != signature:
        raise _changed(path, "model.json")
    check_stored(tree, str(path))
    return tree


def _read(folder: Path, name: str, expected: str) -> bytes:
    if Path(name).name != name:
        raise ModelError(f"{folder}: expected files inside the model's folder, found {name!r}.")
    try:
        content = read_bytes(folder / name, f"{folder}: {name}", ModelError, _MOST_WEIGHTS)
    except ModelError as error:
        if (folder / name).exists():
            raise
        why = f"{folder}: expected {name}, found none. Copy the whole folder."
        raise ModelError(why) from error
    if hashlib.sha256(content).hexdigest() != expected:
        raise _changed(folder, name)
    return content


def _changed(folder: Path, name: str) -> ModelError:
    return ModelError(
        f"{folder}: {name} is not what it was when the model was written (SHA-256 differs). "
        "Copy the model again from its source."
    )


def _pack(member: Member | LensMember) -> bytes:
    if isinstance(member, LensMember):
        return save(member.lens.tensors())
    tensors: dict[str, Tensor] = {}
    for name in NETWORKS:
        branch: Branch = getattr(member, name)
        tensors |= {
            f"{name}.{k}": v.float().contiguous() for k, v in branch.network.state_dict().items()
        }
        tensors[f"{name}:mean"] = torch.from_numpy(branch.standardizer.mean.copy())
        tensors[f"{name}:scale"] = torch.from_numpy(branch.standardizer.scale.copy())
    return save(tensors)


def _unpack(
    content: bytes, tree: Mapping[str, Any], about: Mapping[str, Any], who: Path
) -> Member | LensMember:
    if tree.get("kind") == "lens":
        return LensMember(int(about["seed"]), str(about["fold"]), _lens(content, tree, who))
    try:
        tensors = load(content)
        branches = {name: _branch(name, tensors, tree["specs"][name]) for name in NETWORKS}
    except Exception as error:  # safetensors and torch raise many kinds
        lines = str(error).splitlines() or [type(error).__name__]
        raise ModelError(
            f"{who}: expected the weights of both branches, found: {lines[0][:200]}."
        ) from None
    shape = (len(tree["views"]), len(tree["descriptors"]))
    for branch in branches.values():
        if branch.standardizer.mean.shape != shape:
            raise ModelError(
                f"{who}: expected descriptors and views for {branch.standardizer.mean.shape} means "
                f"(view, descriptor), found {tree['descriptors']} and {tree['views']}. Train anew."
            )
    return Member(int(about["seed"]), str(about["fold"]), branches["prq"], branches["bcr"])


def _lens(content: bytes, tree: Mapping[str, Any], who: Path) -> Lens:
    shape = (len(PLACES), len(TERMS), len(tree["descriptors"]))
    try:
        lens = Lens.of(load(content))
        right = lens.weight.shape == lens.mean.shape == shape
        right = right and all(
            bool(np.isfinite(part).all()) for part in (lens.weight, lens.mean, lens.intercept)
        )
    except Exception:  # safetensors and torch raise many kinds
        right = False
    if not right:
        raise ModelError(
            f"{who}: expected weights of a lens for {' x '.join(map(str, shape))} columns (place, "
            "term, descriptor), found others. Train anew."
        )
    return lens


def _branch(name: str, tensors: Mapping[str, Tensor], spec: Mapping[str, Any]) -> Branch:
    network = NETWORKS[name].of(spec)
    prefix = f"{name}."
    network.load_state_dict(
        {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
    )
    mean, scale = (tensors[f"{name}:{what}"].numpy() for what in ("mean", "scale"))
    parts = (torch.from_numpy(mean), torch.from_numpy(scale), *network.state_dict().values())
    if not all(bool(part.isfinite().all()) for part in parts):
        raise ValueError("weights that are no finite numbers")
    return Branch(network, Standardizer(mean, scale))


def group_members(branches: Sequence[tuple[str, int, str, Branch]]) -> tuple[Member, ...]:
    """Members from (name, seed, fold, branch); both branches of each seed and fold are needed."""
    members: dict[tuple[int, str], dict[str, Branch]] = {}
    for name, seed, fold, branch in branches:
        member = members.setdefault((seed, fold), {})
        if name in member:
            raise ModelError(
                f"model: expected {name} of seed {seed} fold {fold} once, found it twice."
            )
        member[name] = branch
    for (seed, fold), member in members.items():
        for name in NETWORKS:
            if name not in member:
                raise ModelError(
                    f"model: expected both branches of seed {seed} fold {fold}, found no {name}. "
                    "CDEL needs a PRQ and a BCR checkpoint of every seed and fold."
                )
    return tuple(Member(s, f, two["prq"], two["bcr"]) for (s, f), two in sorted(members.items()))
