"""Parts of a model that is being trained, kept until it is whole: a stopped training goes on.

A part is a file beside the model's place, named by a digest of all that it was fitted from. It is
tensors and JSON behind their own digest: what is damaged is fitted again.
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
from epilens.io.locks import lock_path
from epilens.io.outputs import claim_output, remove_leftovers, write_bytes_atomically
from epilens.io.remote import MEMBERS, writable
from epilens.io.urls import join, url_of
from epilens.networks.kinds import part_of
from epilens.networks.predictor import Layout, Predictor

KIND, SUFFIX = "parts of a model", ".part"
_DIGITS = 64


@dataclass(frozen=True)
class Done:
    """What was fitted, and p_nez of the patients that it never saw."""

    part: Predictor
    p_nez: Mapping[str, Floats]
    descriptors: tuple[str, ...] = ()
    """Of the patients that it was fitted on."""


@contextmanager
def parts_beside(model: str | Path) -> Generator[Path]:
    """A hidden folder for the parts of a model that is to be written to this place, or URL.

    It is gone when the model is written; after an error or a kill it is there for the next attempt.
    """
    with _alone_beside(model) as place:
        claim_output(place, KIND, (f"*{SUFFIX}",))
        remove_leftovers(place)
        whole = False
        try:
            yield place
            whole = True
        finally:
            if whole or not any(place.glob(f"*{SUFFIX}")):
                shutil.rmtree(place, ignore_errors=True)


@contextmanager
def _alone_beside(model: str | Path) -> Generator[Path]:
    if url_of(model):
        with writable(join(model, MEMBERS)) as place:
            yield place
    else:
        model = Path(model)
        with lock_path(model):
            yield model.with_name(f".{model.name}.epilens-members")


def keep(folder: Path, key: str, done: Done) -> None:
    """Write a part, whole or not at all."""
    tensors = {f"p_nez:{name}": np.asarray(p, order="C") for name, p in done.p_nez.items()}
    tensors |= {f"part:{name}": tensor for name, tensor in done.part.tensors().items()}
    spec = json.dumps({"spec": done.part.spec(), "descriptors": done.descriptors})
    content = save(tensors, {"spec": spec})
    digest = hashlib.sha256(content).hexdigest().encode()
    write_bytes_atomically(folder / f"{key}{SUFFIX}", digest + content)


def kept(folder: Path, key: str, method: str) -> Done | None:
    """A part that was fitted before; None where there is none that is whole."""
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
        return Done(part_of(method).opener.open(own, layout), p_nez, layout.descriptors)
    except (ValueError, KeyError, RuntimeError):  # of another version
        return None
