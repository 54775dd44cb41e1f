"""What the author of a method runs: it passes a method that keeps the contract, and no other."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

from epilens.methods import Method, Scorer, Training, memoize, seen_channels
from epilens.networks.kinds import ModelKind, ModelPart
from epilens.networks.predictor import Predictor
from epilens.testing import check_method
from epilens.testing.contract import modules_run


def rms(patient):
    """Mean RMS of the seen channels, between 0 and 1."""
    level = patient["x"].sel(descriptor="rms").mean(["seizure", "window"]).values
    return 1 / (1 + np.abs(level[seen_channels(patient)]))


def fit_rms(settings, training):
    return Scorer(lambda patient: rms(patient) ** settings["power"])


def fit_leaking(settings, training):
    return Scorer(lambda p: np.where(p["is_ez"], 0.0, rms(p)) if "is_ez" in p else rms(p))


def fit_by_position(settings, training):
    return Scorer(lambda patient: np.arange(len(rms(patient))) / 100)


def fit_restless(settings, training):
    rng = np.random.default_rng()
    return Scorer(lambda patient: rng.random(len(rms(patient))))


def fit_seeded(settings, training):
    return Scorer(lambda patient: rms(patient) ** (1 + training.seed))


def fit_beyond_one(settings, training):
    return Scorer(lambda patient: 1 + rms(patient))


class Forgetful(Scorer):
    """The last channel gets no score."""

    def predict(self, patients):
        return super().predict(patients)[:-1]


def fit_forgetful(settings, training):
    return Forgetful(rms)


def fit_learning(settings, training):
    level = np.mean([rms(patient).mean() for patient in training.fit] or [1.0])
    return Scorer(lambda patient: rms(patient) * level)


class Counting(Scorer):
    """Scores that depend on who else is predicted."""

    def predict(self, patients):
        return super().predict(patients).assign(p_nez=lambda frame: frame["p_nez"] / len(patients))


def fit_counting(settings, training):
    return Counting(rms)


def fit_by_a_hidden_way(settings, training):
    module = sys.modules["epilens.methods.plain"]  # neither imported nor named
    return Scorer(lambda patient: module.as_ranks(rms(patient)))


def fit_with_a_lost_choice(settings, training):
    return Scorer(rms, threshold=0.123, threshold_from="inner folds")


def fit_with_another_choice(settings, training):
    scores = pd.DataFrame({"patient": "sub-01", "channel": ["A1", "A2"], "is_ez": [True, False]})
    own = scores.assign(p_nez=[0.1, 0.9])
    return Scorer(rms, threshold=0.123, threshold_from="inner folds", threshold_scores=own)


def row(fitter, **fields):
    given = {"settings": {"power": 1.0}, "training_free": True, "seeded": False} | fields
    return Method("mine", "Mine", "cube", "a test", fitter, **given)


def test_a_method_that_keeps_the_contract_passes():
    check_method(row(fit_rms))


@pytest.mark.parametrize(
    ("fitter", "message"),
    [
        (fit_leaking, "mine: expected predictions without labels"),
        (fit_by_position, "mine: expected scores that follow their channels"),
        (fit_restless, "mine: expected the same bits from the same seed"),
        (fit_seeded, r"mine: expected the same scores from another seed \(seeded=False\)"),
        (fit_beyond_one, r"mine: expected p_nez in \[0, 1\]"),
        (fit_forgetful, "mine: expected a row for every seen channel"),
        (fit_counting, "mine: expected the scores of a patient alone"),
        (fit_with_a_lost_choice, "mine: expected the scores that chose its threshold, found none"),
        (fit_with_another_choice, r"its scores select, found 0\.123, they select 0\.5"),
        (fit_by_a_hidden_way, r"all code behind the row .* \['epilens.methods.plain'\] too"),
    ],
)
def test_what_breaks_the_contract_is_said(fitter, message):
    with pytest.raises(AssertionError, match=message):
        check_method(row(fitter))


class Rounded(Predictor):
    """Forgets digits when it is stored."""

    def __init__(self, power):
        self.power = power

    def p_nez(self, patient):
        return rms(patient) ** self.power

    def tensors(self):
        return {"power": np.array(round(self.power))}

    @classmethod
    def open(cls, tensors, layout):
        return cls(float(tensors["power"]))


def fit_rounded(settings, training):
    fitted = Rounded(settings["power"])
    return Scorer(fitted.p_nez, predictor=lambda: fitted)


def test_a_fitted_object_that_changes_when_it_is_stored_is_reported(monkeypatch):
    kind = ModelKind("mine", "Mine", (ModelPart("mine", "mine", f"{__name__}:Rounded"),))
    monkeypatch.setattr("epilens.testing.contract.KINDS", {"mine": kind})
    check_method(row(fit_rounded, settings={"power": 2.0}))
    with pytest.raises(AssertionError, match="mine: expected the same scores after its tensors"):
        check_method(row(fit_rounded, settings={"power": 1.5}))
    with pytest.raises(AssertionError, match="mine: expected a fit with a predictor"):
        check_method(row(fit_rms))


def test_a_method_that_does_not_say_that_chance_enters_is_reported():
    with pytest.raises(AssertionError, match="mine: expected other scores from another seed"):
        check_method(row(fit_rms, seeded=True))


def test_a_section_that_no_plan_has_is_reported():
    with pytest.raises(AssertionError, match=r"mine: expected a section of .* 'nothing'"):
        check_method(row(fit_rms, sections=("nothing",)))


def test_settings_that_are_not_plain_are_reported():
    with pytest.raises(TypeError, match="settings: expected plain values, found function"):
        check_method(row(fit_rms, settings={"power": rms}))


def test_a_method_that_needs_patients_is_not_training_free():
    with pytest.raises(AssertionError, match="mine: expected a training-free method to look at no"):
        check_method(row(fit_learning))
    check_method(row(fit_learning, training_free=False))


def test_the_modules_that_run_are_seen_wherever_they_were_loaded():
    ran = modules_run(lambda: memoize("settings", rms))
    assert {"epilens.methods", "epilens.core.provenance"} <= ran
    assert Training().plan.name == "paper"
    assert "epilens.plan" not in ran
