"""Malformed models with a good signature, and odd checkpoints: one sentence, never a KeyError."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from checkpoints import checkpoint
from safetensors.torch import load_file, save

from epilens.cli import main
from epilens.core.errors import EpilensError, ModelError
from epilens.evidence.contact_table import PLACES, TERMS
from epilens.networks.card import card
from epilens.networks.lens import Lens
from epilens.networks.model import (
    Member,
    Model,
    open_model,
    read_model_json,
    save_model,
    sign,
)
from epilens.networks.released import import_released, read_checkpoint
from epilens.plan import PAPER_NINE, Plan

ABOUT = {
    "source": "epilens train",
    "plan": Plan().model_dump(mode="json"),
    "plan_digest": Plan().digest,
    "cohort": {"patients": 12, "centers": "A, B"},
    "out_of_fold": {"patients": 12, "auroc": 0.8, "ez_auprc": 0.4},
    "notes": ["a note"],
}
ASSURANCE = {
    "patients": 12,
    "calibration": {"slope": 1.5, "intercept": -0.25, "brier_raw": 0.2, "brier": 0.15},
    "sets": [{"coverage": 0.8, "cut": 0.625, "reached": 0.84, "share": 0.5}],
}


@pytest.fixture
def folder(tmp_path) -> Path:
    shape = (len(PLACES), len(TERMS), len(PAPER_NINE))
    lens = Lens(np.zeros(shape), np.ones(shape), 0.5)
    model = Model((Member(0, "0", {"lens": lens}),), 0.5, 0.2, ABOUT, ASSURANCE)
    return save_model(model, tmp_path / "model")


def places(tree: Any, path: tuple = ()) -> list[tuple]:
    """Every place in the tree at which something stands."""
    if isinstance(tree, dict):
        inner = [p for key, value in tree.items() for p in places(value, (*path, key))]
    elif isinstance(tree, list):
        inner = [p for i, value in enumerate(tree) for p in places(value, (*path, i))]
    else:
        inner = []
    return [path, *inner] if path else inner


def put(tree: Any, path: tuple, value: Any) -> None:
    *parents, last = path
    for key in parents:
        tree = tree[key]
    if value is KeyError:
        del tree[last]
    else:
        tree[last] = value


NONSENSE = [KeyError, None, "x", -1, [], {}, [{}], float("nan"), 10**400, {"x": None}]


def test_a_signed_model_with_anything_wrong_anywhere_is_opened_or_refused_in_one_sentence(folder):
    """Every field is taken away or replaced by nonsense; what `model show` does never fails."""
    whole = json.loads((folder / "model.json").read_text())
    wanted = [p for p in places(whole) if p[:2] != ("about", "plan") and p[0] != "signature"]
    refused = 0
    for path in wanted:
        for value in NONSENSE:
            tree = json.loads(json.dumps(whole))
            put(tree, path, value)
            (folder / "model.json").write_bytes(sign(tree))
            try:
                open_model(folder)
                card(read_model_json(folder))
            except ModelError as error:
                assert "\n" not in str(error)  # noqa: PT017
                refused += 1
    assert refused > 200


def test_a_misspelt_shipped_model_is_recognised():
    with pytest.raises(ModelError, match=r"Did you mean 'recorded'\?$"):
        open_model("recordd")


def test_the_command_line_says_one_sentence_with_exit_code_2(folder, capsys):
    tree = json.loads((folder / "model.json").read_text()) | {"assurance": {"sets": 3}}
    (folder / "model.json").write_bytes(sign(tree))
    with pytest.raises(SystemExit) as ended:
        main(["model", "show", str(folder)])
    assert ended.value.code == 2
    assert "wrong (" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"threshold": 2.0}, "found threshold wrong"),
        ({"threshold": "0.5"}, "found threshold wrong"),
        ({"members": []}, "found members wrong"),
        ({"kind": "other"}, r"found 'other'\. Install the package that provides it"),
        ({"kind": "cdel"}, "specs must contain the settings of prq"),
        ({"extra": 1}, "found extra wrong"),
        ({"about": {"notes": "x"}}, r"found about\.notes wrong"),
        ({"assurance": {"patients": 3}}, r"found assurance\..* wrong"),
        ({"sha256": {"x": 1}}, r"found sha256\.x wrong"),
    ],
)
def test_what_is_wrong_is_named(folder, change, match):
    tree = json.loads((folder / "model.json").read_text()) | change
    (folder / "model.json").write_bytes(sign(tree))
    with pytest.raises(ModelError, match=match):
        open_model(folder)


def test_json_without_end_is_one_sentence(folder):
    (folder / "model.json").write_bytes(b"[" * 200_000)
    with pytest.raises(ModelError, match="expected a model folder"):
        open_model(folder)


def rewritten(folder: Path, content: bytes) -> None:
    """Other weights, with the right hash and signature."""
    import hashlib

    tree = json.loads((folder / "model.json").read_text())
    name = tree["members"][0]["file"]
    (folder / name).write_bytes(content)
    tree["sha256"][name] = hashlib.sha256(content).hexdigest()
    (folder / "model.json").write_bytes(sign(tree))


@pytest.mark.parametrize("change", ["nan", "shape", "missing", "bytes", "half"])
def test_odd_weights_of_a_lens_are_one_sentence(folder, change):
    tensors = load_file(next(folder.glob("*.safetensors")))
    if change == "nan":
        tensors["weight"][0, 0, 0] = float("nan")
    elif change == "shape":
        tensors["intercept"] = torch.zeros(3)
    elif change == "missing":
        del tensors["mean"]
    elif change == "half":
        tensors = {name: tensor.to(torch.bfloat16) for name, tensor in tensors.items()}
    rewritten(folder, b"\xff" * 100 if change == "bytes" else save(tensors))
    with pytest.raises(ModelError, match="expected weights of lens, found"):
        open_model(folder)


def test_a_pipe_in_a_model_is_not_waited_for(folder):
    (folder / "model.json").unlink()
    os.mkfifo(folder / "model.json")
    with pytest.raises(ModelError, match="expected a model folder"):
        open_model(folder)


HUGE = torch.zeros(1).expand(10**13)
"""A tensor of one number that says it has very many."""

ODD = {
    "seed": [None, "x", float("nan"), [1], torch.zeros(3), HUGE],
    "outer_fold": [None, [], {}, torch.zeros(2), ""],
    "branch": [None, 3, "lens", [], {"prq": 1}],
    "quantile": ["x", 7.0, float("nan"), None, []],
    "quantile_control": ["x", [], {}, torch.ones(2)],
    "use_patient_relative": ["x", [], None],
    "temporal_aggregation": [None, 3, []],
    "standardizer_mean": [None, "x", {}, [1] * 35, ["x"] * 36, HUGE, [float("nan")] * 36],
    "standardizer_scale": [None, torch.zeros(0), np.ones(37)],
    "model": [None, [], "x", {"a": 1}, {1: torch.zeros(1)}, {}, {"encoder.x": HUGE}],
}


EVERY_ODD = [(field, i) for field, some in ODD.items() for i in range(len(some))]


def changed_checkpoint(path: Path, **fields: Any) -> None:
    checkpoint(path, "prq")
    torch.save(read_checkpoint(path) | fields, path)


@pytest.mark.parametrize(("field", "i"), EVERY_ODD)
def test_an_odd_checkpoint_is_one_sentence(tmp_path, field, i):
    changed_checkpoint(tmp_path / "a.pt", **{field: ODD[field][i]})
    checkpoint(tmp_path / "b.pt", "bcr")
    with pytest.raises(EpilensError, match=r"a\.pt: expected|expected both branches"):
        import_released([tmp_path / "a.pt", tmp_path / "b.pt"])


def test_numbers_in_tensors_and_arrays_are_numbers(tmp_path):
    changed_checkpoint(tmp_path / "a.pt", seed=torch.tensor(42), outer_fold=np.int64(0))
    checkpoint(tmp_path / "b.pt", "bcr")
    [member] = import_released([tmp_path / "a.pt", tmp_path / "b.pt"]).members
    assert (member.seed, member.fold) == (42, "0")


def test_a_pipe_as_a_checkpoint_is_refused(tmp_path):
    os.mkfifo(tmp_path / "a.pt")
    with pytest.raises(ModelError) as refused:
        import_released([tmp_path / "a.pt"])
    assert refused.value.code == "not-a-file"
