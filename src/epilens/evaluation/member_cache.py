"""Members of a model in training, stored until the model is written: training can be resumed.

A member is a file next to the model, named by a digest of everything it was fitted from. It
contains tensors and JSON after their SHA-256: a damaged member is fitted again.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from epilens.core.types import Floats
from epilens.io.atomic import write_bytes_atomically
from epilens.io.locks import lock_path
from epilens.io.outputs import claim_output, remove_leftovers
from epilens.io.remote import writable
from epilens.io.urls import join, url_of
from epilens.networks.kinds import part_of
from epilens.networks.predictor import Layout, Predictor

KIND, SUFFIX = "parts of a model", ".part"
MEMBERS = ".epilens-members"
"""Name, below the URL of a model, of the store with its members while it is trained."""
_DIGITS = 64


@dataclass(frozen=True)
class FittedMember:
    """A fitted member, and p_nez of the patients that were held out."""

    part: Predictor
    p_nez: Mapping[str, Floats]
    descriptors: tuple[str, ...] = ()
    """Descriptors of the patients that it was fitted on."""


@contextmanager
def member_folder(model: str | Path) -> Generator[Path]:
    """Yield a hidden folder for the members of a model that is written to this path or URL.

    It is removed when the model is written; after an error or a kill the next attempt uses it.
    """
    with _locked_folder(model) as folder:
        claim_output(folder, KIND, (f"*{SUFFIX}",))
        remove_leftovers(folder)
        is_finished = False
        try:
            yield folder
            is_finished = True
        finally:
            if is_finished or not any(folder.glob(f"*{SUFFIX}")):
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked_folder(model: str | Path) -> Generator[Path]:
    if url_of(model):
        with writable(join(model, MEMBERS)) as folder:
            yield folder
    else:
        model = Path(model)
        with lock_path(model):
            yield model.with_name(f".{model.name}.epilens-members")


def save_member(folder: Path, key: str, member: FittedMember) -> None:
    """Write a member atomically."""
    tensors = {f"p_nez:{name}": np.asarray(p, order="C") for name, p in member.p_nez.items()}
    tensors |= {f"part:{name}": tensor for name, tensor in member.part.tensors().items()}
    spec = json.dumps({"spec": member.part.spec(), "descriptors": member.descriptors})
    content = save(tensors, {"spec": spec})
    digest = hashlib.sha256(content).hexdigest().encode()
    write_bytes_atomically(folder / f"{key}{SUFFIX}", digest + content)


def load_member(folder: Path, key: str, method: str) -> FittedMember | None:
    """Read a member that was fitted before; None if there is none, or a damaged one."""
    try:
        written = (folder / f"{key}{SUFFIX}").read_bytes()
        digest, content = written[:_DIGITS], written[_DIGITS:]
        if hashlib.sha256(content).hexdigest().encode() != digest:
            return None
        tensors = load(content)
        size = int.from_bytes(content[:8], "little")
        spec = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["spec"])
    except (OSError, ValueError, KeyError, SafetensorError):
        return None
    p_nez = {n.removeprefix("p_nez:"): t for n, t in tensors.items() if n[:6] == "p_nez:"}
    own = {n.removeprefix("part:"): t for n, t in tensors.items() if n[:5] == "part:"}
    layout = Layout(method, spec["spec"], tuple(spec["descriptors"]))
    try:
        return FittedMember(part_of(method).opener.open(own, layout), p_nez, layout.descriptors)
    except (ValueError, KeyError, RuntimeError):  # of another version
        return None
