"""The shipped model: what it is, what it says about itself, and how it scores."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from benchmarks import real, recorded, sensitivity

import epilens
from epilens.core.errors import ModelError
from epilens.evaluation.certainty import Certainty
from epilens.evidence.contact_features import feature_table
from epilens.networks.lens import FeatureLens
from epilens.networks.model import model_folder, open_model, save_model, shipped_models
from epilens.testing import make_patient

FOLDER = shipped_models()["recorded"]


@pytest.fixture(scope="module")
def model():
    return open_model("recorded")


@pytest.fixture(scope="module")
def patient():
    names = [f"{shaft}{i}" for shaft in "ABC" for i in range(1, 7)]
    return make_patient(channels=names, ez=3, fs=512.0)


def test_it_is_a_small_model_folder_that_opens_by_its_name(model, tmp_path, monkeypatch):
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 1e6
    assert model.kind == "lens/features"
    assert epilens.open_model("recorded").threshold == model.threshold
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recorded").mkdir()
    assert str(model_folder("recorded")) == "recorded"  # a folder of the user's comes first


def test_its_card_states_training_data_validation_and_limits(model):
    card = (FOLDER / "MODEL_CARD.md").read_text(encoding="utf-8")
    for words in (
        "For research, not for diagnosis",
        "ds003029 (CC0)",
        "computed by others",
        "clinicians' seizure-onset contacts",
        "seizures: 47",
        "external validation, mean over 12 patients",
        "AUROC 0.813, EZ-AUPRC 0.561",
        "out of fold, mean over 15 patients: AUROC 0.908",
        "never seen: children",
    ):
        assert words in card
    assert not model.about["simulated"]


def test_it_contains_no_patient():
    text = (FOLDER / "model.json").read_text(encoding="utf-8")
    assert not re.search(r"\b(pt\d+|jh\d+|umm?c\d+|sub-\w+)\b", text)
    tree = json.loads(text)
    for middle in (tree["assurance"]["evidence"], tree["assurance"]["scores"]):
        assert len(middle["distances"]) == 1  # the limit, and not one number per patient
    assert tree["assurance"]["contacts"] == []


def test_it_ranks_contacts_that_take_part_first(model, patient):
    scores = model.predict(patient).set_index("channel")["p_nez"]
    assert {"A1", "A2", "A3"} <= set(scores.nsmallest(4).index)
    certainty = Certainty.from_json(model.assurance)
    p_ez = certainty.calibration.probability(scores.to_numpy())
    assert p_ez[:3].min() > p_ez[6:].max()  # other electrodes
    assert [part.coverage for part in certainty.sets] == [0.8, 0.9]


def test_a_cube_without_features_is_refused(model, patient):
    with pytest.raises(ModelError, match=r"expected a patient with its features, found a cube"):
        model.predict(patient.drop_vars(["features", "features_valid", "feature"]))


def test_contributions_add_up_by_feature_location_and_seizure(model, patient):
    order = np.arange(patient.sizes["channel"])
    why = model.explain(patient, order)
    assert why.residual < 1e-12
    np.testing.assert_allclose(why.located.sum(axis=1), why.by_feature)
    assert why.located.shape == (18, 3, 3, 11)
    np.testing.assert_allclose(why.values, feature_table(patient).x)
    assert not why.timed
    assert len(why.words) == 11


def test_noise_is_far_from_the_training_patients(model, patient):
    certainty = Certainty.from_json(model.assurance)
    noise = patient.copy()
    values = np.random.default_rng(0).normal(size=noise["features"].shape)
    noise["features"] = (noise["features"].dims, values)
    p_nez = model.predict(noise)["p_nez"].to_numpy()
    evidence, _ = certainty.distances(noise, p_nez, model.threshold)
    assert evidence.is_unusual


def features_file(tmp_path, patients=5, seed=0):
    """A file with the columns of the published table."""
    rng = np.random.default_rng(seed)
    frames = []
    for p in range(patients):
        for run in (1, 2):
            values = rng.normal(size=(16, 33))
            values[:4] += 2
            frame = pd.DataFrame(values, columns=list(real.FEATURES))
            frame["channel"] = [f"{'AB'[i // 8]}{i % 8 + 1}" for i in range(16)]
            frame["is_soz"] = np.arange(16) < 4
            frames.append(frame.assign(patient=f"{seed}-{p}", run=run))
    path = tmp_path / f"{seed}.parquet"
    pd.concat(frames, ignore_index=True).to_parquet(path)
    return path


def test_one_command_builds_such_a_model_again_and_again(tmp_path):
    path = features_file(tmp_path)
    for name in ("a", "b"):
        real.measure("--build", str(tmp_path / name), str(path))
    first, second = (open_model(tmp_path / name) for name in ("a", "b"))
    assert first.about == second.about
    assert first.about["cohort"]["patients"] == 5
    np.testing.assert_array_equal(*(m[0].parts["lens/features"].weight for m in (first, second)))
    assert isinstance(first[0].parts["lens/features"], FeatureLens)


def test_a_model_is_evaluated_on_a_file_of_features(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(real, "CLASSIFIERS", ())
    fit, test = features_file(tmp_path), features_file(tmp_path, patients=3, seed=1)
    folder = save_model(recorded.recorded_model(real.read(fit)), tmp_path / "model")
    rows = {
        r["what"]: r["value"] for r in real.measure(str(fit), str(test), "--model", str(folder))
    }
    assert rows["model: AUROC"] == rows["lens: AUROC"] > 0.8
    assert "| `model` |" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="expected two files, found 1"):
        real.measure(str(fit), "--model", str(folder))


def test_scores_do_not_depend_on_gain_and_little_on_rate():
    x = np.random.default_rng(0).normal(size=(8, 72 * 500))
    x[2, 36 * 500 :] *= 3
    seizure = sensitivity.Seizure(x, 500.0, -36.0, 60.0)
    names = tuple(f"A{i}" for i in range(1, 9))
    usual, louder, faster = (
        sensitivity.scores_of(sensitivity.Patient(names, (one,)))
        for one in (
            seizure,
            sensitivity.Seizure(7 * x, 500.0, -36.0, 60.0),
            sensitivity.at_rate(1000.0)(seizure),
        )
    )
    np.testing.assert_allclose(usual, louder, atol=1e-3)
    assert np.corrcoef(usual, faster)[0, 1] > 0.95
    assert usual.argmax() in (1, 2, 3)  # the contact that changes, or a neighbour


@pytest.mark.skipif(not real.DEFAULT.exists(), reason="the published features are not here")
def test_the_shipped_model_is_what_the_command_builds(model):
    built = recorded.recorded_model(real.read(real.DEFAULT))
    ours, theirs = (m[0].parts["lens/features"] for m in (model, built))
    np.testing.assert_allclose(ours.weight, theirs.weight, atol=1e-4)
    assert model.threshold == pytest.approx(built.threshold, abs=0.011)
    assert model.about["out_of_fold"]["auroc"] == pytest.approx(0.908, abs=0.002)
