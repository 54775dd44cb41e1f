"""A deployable model: out-of-fold honesty, and what it carries about how sure it is."""

from __future__ import annotations

import numpy as np
import pytest

from epilens.errors import ModelError
from epilens.evaluation.deploy import train
from epilens.evaluation.splits import five_fold
from epilens.evidence.files import Cohort
from epilens.evidence.views import Standardizer
from epilens.networks.model import open_model, save_model
from epilens.plan import Plan
from epilens.testing import make_cohort
from epilens.thresholds import select_threshold

PLAN = Plan(name="test", seeds=(1, 2)).override(
    splits={"folds": 2}, training={"epochs": 2, "least_epochs": 1}
)


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    return make_cohort(tmp_path_factory.mktemp("cohort"), patients=12)


@pytest.fixture(scope="module")
def model(cohort):
    return train(PLAN, cohort)


def out_of_fold(model, cohort):
    """Scores of each patient by the members that never fitted it, whatever `train` says."""
    centers = {name: cube.attrs["center"] for name, cube in cohort.items()}
    split = five_fold(centers, 2, PLAN.splits.validation, PLAN.splits.seed)
    tested = split[split["partition"] == "test"].set_index("patient")["fold"].to_dict()
    scores = {name: [] for name in cohort}
    for member in model.members:
        fit = [cube for name, cube in cohort.items() if tested[name] != member.fold]
        # The standardizer proves who was fitted on.
        np.testing.assert_allclose(member.prq.standardizer.mean, Standardizer.fit(fit).mean)
        for name in (name for name in cohort if tested[name] == member.fold):
            cube = cohort[name]
            scores[name].append(0.8 * member.prq.p_nez(cube) + 0.2 * member.bcr.p_nez(cube))
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
    assert len(known["seizures"]) == model.about["cohort"]["seizures"]


def test_assurance_survives_the_disk(model, tmp_path):
    again = open_model(save_model(model, tmp_path / "model"))
    assert again.assurance == model.assurance


def test_a_patient_can_be_held_out(cohort):
    fewer = Cohort({name: cohort.path(name) for name in list(cohort)[:-1]})
    quick = PLAN.override(seeds=(1,), training={"epochs": 1})
    assert train(quick, fewer).about["cohort"]["patients"] == 11


def test_too_few_patients_are_told(cohort):
    fewer = Cohort({name: cohort.path(name) for name in list(cohort)[:3]})
    with pytest.raises(ModelError, match="expected 4 or more labelled patients, found 3"):
        train(PLAN, fewer)
