"""The Model folder, and the import of released checkpoints: the same numbers, no code run."""

from __future__ import annotations

import json
import pickle

import networks_by_hand
import numpy as np
import pandas as pd
import pytest
import torch
from checkpoints import checkpoint

from epilens.core.errors import ModelError
from epilens.evidence.released_descriptors import RELEASED_NINE
from epilens.evidence.views import Standardizer, views
from epilens.networks.bcr import BCRNet
from epilens.networks.branch import Branch
from epilens.networks.card import describe_certainty
from epilens.networks.model import (
    Member,
    Model,
    open_model,
    save_model,
    sign,
)
from epilens.networks.prq import PRQNet
from epilens.networks.released import RELEASED_PLAN, import_released, read_checkpoint
from epilens.networks.specs import BCRSpec, EncoderSpec, PRQSpec
from epilens.networks.training import as_tensors, build
from epilens.plan import Plan
from epilens.testing import make_cube

ASSURANCE = {
    "patients": 12,
    "calibration": {"slope": 1.5, "intercept": -0.25, "brier_raw": 0.2, "brier": 0.15},
    "sets": [
        {"coverage": 0.8, "cut": 0.625, "reached": 0.84, "share": 0.5},
        {"coverage": 0.9, "cut": None, "reached": 1.0, "share": 1.0},
    ],
}


@pytest.fixture(scope="module")
def cube():
    return make_cube(seizures=2, channels=5, fs=128.0)


@pytest.fixture(scope="module")
def released_cube(cube):
    """The same numbers under the names that imported models read."""
    return cube.assign_coords(descriptor=list(RELEASED_NINE))


@pytest.fixture
def model(cube):
    standardizer = Standardizer.fit([cube])
    members = []
    for seed in (0, 1):
        prq = Branch(build(PRQNet, seed), standardizer)
        bcr = Branch(build(BCRNet, seed), standardizer)
        members.append(Member(seed, "0", {"prq": prq, "bcr": bcr}))
    about = {"source": "test", "simulated": True, "cohort": {"patients": 3}}
    return Model(tuple(members), 0.4, 0.2, about, ASSURANCE)


def test_opening_what_was_saved_gives_the_same_scores(model, cube, tmp_path):
    save_model(model, tmp_path / "model")
    again = open_model(tmp_path / "model")
    pd.testing.assert_frame_equal(again.predict(cube), model.predict(cube))
    assert (again.threshold, again.weight, again.about) == (0.4, 0.2, model.about)
    assert again.assurance == ASSURANCE


def test_the_ensemble_is_the_mean_of_its_fused_members(model, cube):
    scores = model.predict(cube)
    assert scores["channel"].tolist() == cube["channel"].values.tolist()
    fused = [
        0.8 * m.parts["prq"].p_nez(cube) + 0.2 * m.parts["bcr"].p_nez(cube) for m in model.members
    ]
    np.testing.assert_allclose(scores["p_nez"], np.mean(fused, axis=0))
    np.testing.assert_allclose(scores["spread"], np.std(fused, axis=0))


def test_the_card_says_what_people_must_know(model, tmp_path):
    card = (save_model(model, tmp_path / "model") / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert "For research, not for diagnosis" in card
    assert "Trained on simulated patients" in card
    assert "members: 2" in card
    assert "Brier score 0.200 before, 0.150 after" in card
    assert "coverage 80 %: EZ score of at least 0.375; contained 84 % of EZ contacts in" in card
    assert "coverage 90 %: too few patients, all contacts" in card
    assert describe_certainty({}) == [
        "no calibration, no set of stated coverage, no distance to a training cohort"
    ]


def test_ablations_are_saved_with_their_spec(cube, tmp_path, model):
    spec = PRQSpec(EncoderSpec(relative=False), aggregate="mean")
    prq = Branch(build(lambda: PRQNet(spec), 3), Standardizer.fit([cube]))
    bcr = model.members[0].parts["bcr"]
    odd = Model((Member(0, "0", {"prq": prq, "bcr": bcr}),), 0.5, 0.2, {})
    save_model(odd, tmp_path / "odd")
    pd.testing.assert_frame_equal(open_model(tmp_path / "odd").predict(cube), odd.predict(cube))


@pytest.mark.parametrize("name", ["member-01.safetensors", "model.json", "MODEL_CARD.md"])
@pytest.mark.parametrize("at", [-2, 0.4, 0.7])
def test_a_changed_byte_is_refused(model, tmp_path, name, at):
    path = save_model(model, tmp_path / "model")
    file = path / name
    content = bytearray(file.read_bytes())
    content[at if at < 0 else int(at * len(content))] ^= 1
    file.write_bytes(bytes(content))
    with pytest.raises(ModelError, match=rf"{name} is not what it was|model\.json, found none"):
        open_model(path)


def test_a_threshold_cannot_be_changed_by_hand(model, tmp_path):
    path = save_model(model, tmp_path / "model")
    text = (path / "model.json").read_text(encoding="utf-8")
    assert '"threshold": 0.4' in text
    (path / "model.json").write_text(text.replace('"threshold": 0.4', '"threshold": 0.9'))
    with pytest.raises(ModelError, match=r"model\.json is not what it was"):
        open_model(path)


def test_a_model_without_signature_is_refused(model, tmp_path):
    path = save_model(model, tmp_path / "model")
    tree = json.loads((path / "model.json").read_text())
    del tree["signature"]
    (path / "model.json").write_text(json.dumps(tree))
    with pytest.raises(ModelError, match=r"model\.json is not what it was"):
        open_model(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 1}, "expected model format 2, found 1. Train again"),
        (
            {"descriptors": ["rms"]},
            r"weights of PRQ-Net and BCR-Net, found: .* \['rms'\]",
        ),
        ({"members": [{"file": "../../etc/passwd", "seed": 0, "fold": "0"}]}, "0.file wrong"),
        ({"members": [{"file": "gone.safetensors", "seed": 0, "fold": "0"}]}, "expected gone"),
    ],
)
def test_a_model_that_does_not_fit_is_refused(model, tmp_path, change, message):
    path = save_model(model, tmp_path / "model")
    tree = json.loads((path / "model.json").read_text()) | change
    (path / "model.json").write_bytes(sign(tree))
    with pytest.raises(ModelError, match=message):
        open_model(path)


FEWER = ("rms", "line_length", "spectral_entropy")


@pytest.fixture
def fewer(cube):
    """A model of three descriptors, and the patient as it reads it."""
    few = cube.sel(descriptor=list(FEWER))
    encoder = EncoderSpec(features=12)
    fitted = Standardizer(np.zeros((4, 3)), np.ones((4, 3)))
    prq = Branch(build(lambda: PRQNet(PRQSpec(encoder)), 0), fitted)
    bcr = Branch(build(lambda: BCRNet(BCRSpec(encoder)), 0), fitted)
    return Model((Member(0, "0", {"prq": prq, "bcr": bcr}),), 0.5, 0.2, {}, descriptors=FEWER), few


def test_a_model_of_other_descriptors_is_kept_with_them(fewer, tmp_path):
    model, few = fewer
    again = open_model(save_model(model, tmp_path / "model"))
    assert again.descriptors == FEWER
    assert again.views == model.views
    pd.testing.assert_frame_equal(again.predict(few), model.predict(few))


def test_a_patient_with_other_descriptors_is_refused_in_one_sentence(fewer, model, cube):
    other, few = fewer
    wanted = r"sub-01: expected the descriptors rms, line_length, spectral_entropy \(.*\) that the "
    with pytest.raises(ModelError, match=wanted + r"model was trained on, found log_delta_power"):
        other.predict(cube)
    with pytest.raises(ModelError, match=r"trained on, found rms, line_length, spectral_entropy"):
        model.predict(few)


def test_a_model_without_its_descriptors_is_refused(model, tmp_path):
    path = save_model(model, tmp_path / "model")
    tree = json.loads((path / "model.json").read_text())
    (path / "model.json").write_bytes(sign({k: v for k, v in tree.items() if k != "descriptors"}))
    with pytest.raises(ModelError, match=r"found descriptors wrong \(Field required\)"):
        open_model(path)


def test_a_folder_that_is_no_model_is_refused(tmp_path):
    with pytest.raises(ModelError, match=r"expected a model folder with model\.json"):
        open_model(tmp_path)


def test_an_imported_checkpoint_gives_the_probabilities_of_a_by_hand_forward_pass(
    released_cube, tmp_path
):
    cube = released_cube
    fitted = Standardizer.fit([cube])
    mean, scale = (v.ravel().astype(np.float32) for v in (fitted.mean, fitted.scale))
    arrays = {"standardizer_mean": mean, "standardizer_scale": scale}
    w = {name: checkpoint(tmp_path / f"{name}.pt", name, **arrays) for name in ("prq", "bcr")}
    model = import_released([tmp_path / "prq.pt", tmp_path / "bcr.pt"])
    valid = cube["valid"].values
    raw = views(cube).values.astype(float).reshape(*valid.shape, 36)
    φ = (raw - mean.astype(float)) / scale.astype(float) * valid[..., None]
    given = as_tensors(cube, model.members[0].parts["prq"].standardizer).φ.numpy()
    np.testing.assert_allclose(given, φ, rtol=1e-5, atol=1e-5)
    φ = given.astype(float)  # from here on both compute with the same numbers
    a = networks_by_hand.prq(φ, valid, w["prq"], projection=True)
    e = networks_by_hand.bcr(φ, valid, w["bcr"], projection=True)
    scores = model.predict(cube)
    np.testing.assert_allclose(scores["p_prq"], 1 / (1 + np.exp(-np.array(a))), atol=1e-5)
    np.testing.assert_allclose(scores["p_bcr"], 1 - 1 / (1 + np.exp(-np.array(e))), atol=1e-5)
    assert "no threshold" in model.about["notes"][0]


def test_an_imported_model_can_be_saved_and_opened(released_cube, tmp_path):
    paths = []
    for fold in (0, 1):
        for name in ("prq", "bcr"):
            paths.append(tmp_path / f"{name}{fold}.pt")
            checkpoint(paths[-1], name, fold=fold)
    model = import_released(paths)
    again = open_model(save_model(model, tmp_path / "model"))
    assert len(again.members) == 2
    pd.testing.assert_frame_equal(again.predict(released_cube), model.predict(released_cube))


def test_an_imported_model_knows_the_released_descriptors_and_its_card_tells_them(tmp_path, cube):
    for name in ("prq", "bcr"):
        checkpoint(tmp_path / f"{name}.pt", name)
    model = import_released([tmp_path / "prq.pt", tmp_path / "bcr.pt"])
    path = save_model(model, tmp_path / "model")
    again = open_model(path)
    assert again.descriptors == RELEASED_NINE
    plan = Plan.of(dict(again.about["plan"]))
    assert plan == RELEASED_PLAN
    assert (plan.descriptors, plan.filter.band) == (RELEASED_NINE, "none")
    card = (path / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert "trained on the descriptors: the released code's nine" in card
    assert "without band limits; all else is the paper's" in card
    with pytest.raises(ModelError, match=r"expected the descriptors released_.* found log_delta"):
        again.predict(cube)


def test_the_card_names_the_descriptors_of_a_trained_model(model, fewer, tmp_path):
    for one, told in ((model, "the paper's nine"), (fewer[0], ", ".join(FEWER))):
        path = save_model(one, tmp_path / "model", force=True)
        card = (path / "MODEL_CARD.md").read_text(encoding="utf-8")
        assert f"- trained on the descriptors: {told}\n" in card


def test_descriptors_are_forced_only_where_they_are_as_many(model, released_cube, fewer):
    model.check(released_cube, force_descriptors=True)
    with pytest.raises(ModelError, match="that the model was trained on, found rms, line_length"):
        model.check(fewer[1], force_descriptors=True)


class Evil:
    def __reduce__(self):
        return (print, ("this must never be printed",))


def test_code_in_a_checkpoint_is_never_run(tmp_path, capsys):
    torch.save({"model": Evil()}, tmp_path / "evil.pt")
    (tmp_path / "plain.pt").write_bytes(pickle.dumps(Evil()))
    for name in ("evil.pt", "plain.pt"):
        with pytest.raises(ModelError, match=r"tensors, arrays and plain values only.*not opened"):
            read_checkpoint(tmp_path / name)
    assert "never" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"branch": "abc"}, "expected branch prq or bcr, found 'abc'"),
        ({"quantile_control": True}, "found the quantile control"),
        ({"standardizer_mean": np.zeros(35)}, "expected 36 means and scales, found 35, 36"),
        ({"model": {}}, "expected the released prq network"),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused(tmp_path, changes, message):
    checkpoint(tmp_path / "a.pt", "prq", **changes)
    with pytest.raises(ModelError, match=message):
        import_released([tmp_path / "a.pt"])


def test_both_branches_are_needed(tmp_path):
    checkpoint(tmp_path / "a.pt", "prq")
    with pytest.raises(ModelError, match=r"expected both branches of seed 42 fold 0, found no bcr"):
        import_released([tmp_path / "a.pt"])
    with pytest.raises(ModelError, match="once, found it twice"):
        import_released([tmp_path / "a.pt", tmp_path / "a.pt"])
    with pytest.raises(ModelError, match="expected checkpoints, found none"):
        import_released([])
    torch.save({"model": {}}, tmp_path / "b.pt")
    with pytest.raises(ModelError, match="found no standardizer_mean"):
        import_released([tmp_path / "b.pt"])
    with pytest.raises(ModelError) as refused:
        import_released([tmp_path / "gone.pt"])
    assert refused.value.code == "file-unreadable"
