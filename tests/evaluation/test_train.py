"""A deployable model: out-of-fold honesty, and what it carries about how sure it is."""

from __future__ import annotations

import json
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from epilens.cli import main
from epilens.core.decisions import select_threshold
from epilens.core.errors import ModelError
from epilens.evaluation.member_cache import member_folder
from epilens.evaluation.splits import stratified_folds
from epilens.evaluation.train import _keys, train
from epilens.evidence.files import Cohort, save
from epilens.evidence.views import Standardizer
from epilens.methods import METHODS, Training, seen_labels
from epilens.networks.model import open_model, read_model_json, save_model, sign
from epilens.plan import Plan
from epilens.testing import make_cohort

PLAN = Plan(name="test", seeds=(1, 2)).override(
    splits={"folds": 2}, training={"epochs": 2, "least_epochs": 1}
)


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    return make_cohort(tmp_path_factory.mktemp("cohort"), patients=12)


@pytest.fixture(scope="module")
def model(cohort):
    return train(PLAN, cohort, method="cdel")


@pytest.fixture(scope="module")
def lens(cohort):
    return train(PLAN, cohort)


def out_of_fold(model, cohort):
    """Scores of each patient by the members that never fitted it, whatever `train` says."""
    centers = {name: cube.attrs["center"] for name, cube in cohort.items()}
    split = stratified_folds(centers, 2, PLAN.splits.validation, PLAN.splits.seed)
    tested = split[split["partition"] == "test"].set_index("patient")["fold"].to_dict()
    scores = {name: [] for name in cohort}
    for member in model.members:
        fit = [cube for name, cube in cohort.items() if tested[name] != member.fold]
        # The standardizer proves who was fitted on.
        prq, bcr = (member.parts[name] for name in ("prq", "bcr"))
        np.testing.assert_allclose(prq.standardizer.mean, Standardizer.fit(fit).mean)
        for name in (name for name in cohort if tested[name] == member.fold):
            cube = cohort[name]
            scores[name].append(0.8 * prq.p_nez(cube) + 0.2 * bcr.p_nez(cube))
    return {name: np.mean(found, axis=0) for name, found in scores.items()}


def test_there_is_a_member_for_every_seed_and_fold(model):
    assert [(m.seed, m.fold) for m in model.members] == [(1, "0"), (1, "1"), (2, "0"), (2, "1")]


def test_the_threshold_and_the_sets_come_from_members_that_never_fitted_the_patient(model, cohort):
    scores = out_of_fold(model, cohort)
    labels, p_nez = [], []
    for name, cube in cohort.items():
        seen = cube["valid"].any(["seizure", "window"]).values
        labels.append(cube["is_ez"].values[seen])
        p_nez.append(scores[name])
    assert model.threshold == select_threshold(p_nez, labels)[0]
    kept = model.assurance["sets"][0]
    covered = [(p[ez] <= kept["cut"]).mean() for p, ez in zip(p_nez, labels, strict=True)]
    assert kept["coverage"] == 0.8
    assert kept["reached"] == pytest.approx(np.mean(covered))
    assert np.mean(covered) >= 0.8


def test_assurance_has_every_part(model):
    known = model.assurance
    assert known["patients"] == 12
    assert known["calibration"]["kind"] == "platt"
    for part in ("evidence", "scores"):
        assert len(known[part]["names"]) == len(known[part]["middle"]) == len(known[part]["scale"])
        assert len(known[part]["distances"]) == 12
        assert np.isfinite(known[part]["distances"]).all()
    assert not known["seizures"]
    assert len(set(known["contacts"])) == len(known["contacts"]) > model.about["cohort"]["seizures"]


def test_assurance_survives_the_disk(model, tmp_path):
    again = open_model(save_model(model, tmp_path / "model"))
    assert again.assurance == model.assurance


def test_a_patient_can_be_held_out(cohort):
    fewer = Cohort({name: cohort.path(name) for name in list(cohort)[:-1]})
    quick = PLAN.override(seeds=(1,), training={"epochs": 1})
    assert train(quick, fewer, method="cdel").about["cohort"]["patients"] == 11


def test_too_few_patients_are_refused(cohort):
    fewer = Cohort({name: cohort.path(name) for name in list(cohort)[:3]})
    with pytest.raises(ModelError, match="expected 4 or more labelled patients, found 3"):
        train(PLAN, fewer)


def test_a_model_is_a_lens_for_every_fold_unless_the_networks_are_asked_for(lens, model):
    assert (lens.kind, model.kind) == ("lens", "cdel")
    # Chance has no part in a lens, so one seed is enough.
    assert [(m.seed, m.fold) for m in lens.members] == [(1, "0"), (1, "1")]


def test_what_a_lens_knows_comes_from_members_that_never_saw_the_patient(lens, cohort):
    centers = {name: cube.attrs["center"] for name, cube in cohort.items()}
    split = stratified_folds(centers, 2, PLAN.splits.validation, PLAN.splits.seed)
    tested = split[split["partition"] == "test"].set_index("patient")["fold"].to_dict()
    by_fold = {member.fold: member.parts["lens"] for member in lens.members}
    p_nez, labels = [], []
    for name, cube in cohort.items():
        others = [cube for other, cube in cohort.items() if tested[other] != tested[name]]
        again = METHODS["lens"].fit(Training(others, [cube], 1, PLAN)).predictor()
        np.testing.assert_allclose(again.weight, by_fold[tested[name]].weight, atol=1e-9)
        p_nez.append(by_fold[tested[name]].p_nez(cube))
        labels.append(seen_labels(cube))
    assert lens.threshold == select_threshold(p_nez, labels)[0]
    figures = lens.about["out_of_fold"]
    mean = np.mean([roc_auc_score(ez, 1 - p) for p, ez in zip(p_nez, labels, strict=True)])
    assert figures["auroc"] == pytest.approx(mean)
    assert figures["patients"] == 12


def test_a_lens_model_survives_the_disk_and_says_what_it_is(lens, cohort, tmp_path):
    path = save_model(lens, tmp_path / "model")
    again, cube = open_model(path), next(iter(cohort.values()))
    pd.testing.assert_frame_equal(again.predict(cube), lens.predict(cube))
    assert list(lens.predict(cube)) == ["channel", "p_nez", "spread"]
    card = (path / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert "2 (folds), each a lens" in card
    assert "cross-validated, mean over 12 patients: AUROC" in card
    assert "PRQ-Net" not in card


def test_weights_of_another_shape_are_no_lens(lens, tmp_path):
    path = save_model(lens, tmp_path / "model")
    tree = read_model_json(path)
    tree["descriptors"] = tree["descriptors"][:-1]
    (path / "model.json").write_bytes(sign(tree))
    with pytest.raises(ModelError, match="weights of lens, found: not 3 x 14 x 8 finite weights"):
        open_model(path)


def test_processes_change_nothing(lens, cohort, tmp_path):
    one, two = (save_model(m, tmp_path / n) for m, n in ((lens, "one"), (parallel(cohort), "two")))
    left, right = (json.loads((path / "model.json").read_text()) for path in (one, two))
    assert left["sha256"] == right["sha256"]


def parallel(cohort):
    return train(PLAN, cohort, jobs=2)


def test_methods_that_cannot_be_deployed_are_named(cohort):
    with pytest.raises(ModelError, match=r"expected one of lens, .*, found 'logistic'"):
        train(PLAN, cohort, method="logistic")


@pytest.mark.parametrize("method", ["lens", "cdel"])
def test_a_stopped_training_goes_on_member_by_member(method, cohort, tmp_path, request):
    whole = request.getfixturevalue("model" if method == "cdel" else "lens")
    expected = contents(save_model(whole, tmp_path / "expected"))
    out = tmp_path / "model"

    def stop(note, steps):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), member_folder(out) as parts:
        train(PLAN, cohort, stop, method, parts=parts)
    (half,) = tmp_path.glob(".model.epilens-members")
    assert len(list(half.glob("*.part"))) == 1
    notes = []
    with member_folder(out) as parts:
        resumed = train(PLAN, cohort, lambda note, steps: notes.append(note), method, parts=parts)
        assert contents(save_model(resumed, out)) == expected
    assert [note.endswith(" kept") for note in notes] == [True] + [False] * (len(notes) - 1)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["expected", "model"]


@pytest.mark.parametrize("damage", [b"", b"x" * 200, None])
def test_a_damaged_or_foreign_part_is_fitted_again(lens, cohort, tmp_path, damage):
    out, notes = tmp_path / "model", []
    train_and_stop(cohort, out)
    for part in (tmp_path / ".model.epilens-members").glob("*.part"):
        content = bytearray(part.read_bytes())
        content[len(content) // 2] ^= 1
        part.write_bytes(bytes(content) if damage is None else damage)
    with member_folder(out) as parts:
        again = train(PLAN, cohort, lambda note, steps: notes.append(note), parts=parts)
    assert not any(note.endswith("kept") for note in notes)
    assert again.threshold == lens.threshold


def test_parts_of_other_settings_are_not_used(cohort, tmp_path):
    out, notes = tmp_path / "model", []
    train_and_stop(cohort, out)
    other = PLAN.override(splits={"seed": 7})
    with member_folder(out) as parts:
        train(other, cohort, lambda note, steps: notes.append(note), parts=parts)
    assert not any(note.endswith("kept") for note in notes)


def train_and_stop(cohort, out):
    """All parts are there, but no model was written of them."""
    with suppress(KeyboardInterrupt), member_folder(out) as parts:
        train(PLAN, cohort, parts=parts)
        raise KeyboardInterrupt


def contents(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir()}


def test_a_part_is_fitted_again_when_the_store_that_it_reads_changed(cohort, monkeypatch):
    cubes = dict(cohort.items())
    monkeypatch.setattr("epilens.evaluation.train.key_of", lambda path, store: f"{store}-1")
    before = _keys(cohort, cubes, "features")
    assert set(before.values()) == {"features-1"}
    monkeypatch.setattr("epilens.evaluation.train.key_of", lambda path, store: f"{store}-2")
    assert _keys(cohort, cubes, "features") != before
    assert _keys(cohort, cubes, "cube") == {n: c.attrs["key"] for n, c in cubes.items()}


def test_the_verb_says_what_it_trains_and_whom_it_does_not_use(tmp_path, capsys):
    cubes, plan = tmp_path / "cubes", tmp_path / "plan.toml"
    cohort = make_cohort(cubes, patients=5)
    cube = cohort["sub-02"].load().drop_vars("is_ez")
    cube.attrs["ez_channels"] = None
    save(cube, cohort.path("sub-02"))
    plan.write_text(PLAN.to_toml())
    places = ["--cubes", str(cubes), "--out", str(tmp_path / "model")]
    with suppress(SystemExit):
        main(["train", str(plan), *places])
    printed = capsys.readouterr().err.splitlines()
    assert "trains lens; --method cdel trains the paper's networks" in printed
    assert "1 of 5 patients has no EZ label and is not used: sub-02." in printed
